//! Reads the streams and futures of results to their ends, within a bound.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "wasmtime may add types: only those named here have streams in them"
)]

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use serde_json::Value;
use tokio::sync::oneshot;
use wasmtime::component::types::Type;
use wasmtime::component::{
    FutureAny, FutureConsumer, Source, StreamAny, StreamConsumer, StreamResult, Val,
};
use wasmtime::{AsContextMut as _, Result, StoreContextMut, bail};

use crate::streams::{ForItem, Item, with_item};
use crate::value;

/// Maximum number of items that are read at once.
const ITEMS: usize = 4096;

/// The memory that an item takes in the host, besides its text, in bytes.
const ITEM_BYTES: usize = 32;

/// The streams and futures of a result have more data than the caller allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the streams and futures of the result have too much data")]
pub struct TooMuchData;

/// A future of the result ended without a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a future of the result ended without a value")]
pub struct NoValue;

/// Whether values of this type have streams or futures in them.
fn has_streams(ty: &Type) -> bool {
    let some = |ty: Option<Type>| ty.is_some_and(|ty| has_streams(&ty));
    match ty {
        Type::Stream(_) | Type::Future(_) => true,
        Type::List(list) => has_streams(&list.ty()),
        Type::FixedLengthList(list) => has_streams(&list.ty()),
        Type::Map(map) => has_streams(&map.value()),
        Type::Record(record) => record.fields().any(|field| has_streams(&field.ty)),
        Type::Tuple(tuple) => tuple.types().any(|ty| has_streams(&ty)),
        Type::Variant(variant) => variant.cases().any(|case| some(case.ty)),
        Type::Option(option) => has_streams(&option.ty()),
        Type::Result(result) => some(result.ok()) || some(result.err()),
        _ => false,
    }
}

/// Reads the streams and futures of one result.
pub(crate) struct Collector {
    /// How many bytes may still be read.
    left: Arc<AtomicUsize>,
    coming: Vec<oneshot::Receiver<Value>>,
}

impl Collector {
    /// A collector that reads at most `most` bytes.
    pub(crate) fn new(most: usize) -> Self {
        Self { left: Arc::new(AtomicUsize::new(most)), coming: Vec::new() }
    }

    /// Begins to read the streams and futures in a value of this type. In the value, they are replaced by numbers.
    pub(crate) fn begin<T: Send>(
        &mut self,
        store: &mut StoreContextMut<'_, T>,
        ty: &Type,
        value: &mut Val,
    ) -> Result<()> {
        if !has_streams(ty) {
            return Ok(());
        }
        match (ty, value) {
            (Type::Stream(of), value) => {
                let stream = std::mem::replace(value, Val::Bool(false));
                let (Val::Stream(stream), Some(ty)) = (stream, of.ty()) else {
                    bail!("a stream without values cannot be read")
                };
                *value = self.stream(store.as_context_mut(), &ty, stream)?;
            }
            (Type::Future(of), value) => {
                let future = std::mem::replace(value, Val::Bool(false));
                let (Val::Future(future), Some(ty)) = (future, of.ty()) else {
                    bail!("a future without a value cannot be read")
                };
                *value = self.future(store.as_context_mut(), &ty, future)?;
            }
            (Type::List(list), Val::List(items)) => {
                items.iter_mut().try_for_each(|item| self.begin(store, &list.ty(), item))?;
            }
            (Type::FixedLengthList(list), Val::FixedLengthList(items)) => {
                items.iter_mut().try_for_each(|item| self.begin(store, &list.ty(), item))?;
            }
            (Type::Map(map), Val::Map(pairs)) => {
                pairs.iter_mut().try_for_each(|(_, held)| self.begin(store, &map.value(), held))?;
            }
            (Type::Record(record), Val::Record(fields)) => {
                let mut pairs = record.fields().zip(fields);
                pairs.try_for_each(|(field, (_, held))| self.begin(store, &field.ty, held))?;
            }
            (Type::Tuple(tuple), Val::Tuple(values)) => {
                let mut pairs = tuple.types().zip(values);
                pairs.try_for_each(|(ty, held)| self.begin(store, &ty, held))?;
            }
            (Type::Variant(variant), Val::Variant(name, Some(held))) => {
                let case = variant.cases().find(|case| case.name == *name);
                self.begin_held(store, case.and_then(|case| case.ty), held)?;
            }
            (Type::Option(option), Val::Option(Some(held))) => {
                self.begin(store, &option.ty(), held)?;
            }
            (Type::Result(result), Val::Result(Ok(Some(held)))) => {
                self.begin_held(store, result.ok(), held)?;
            }
            (Type::Result(result), Val::Result(Err(Some(held)))) => {
                self.begin_held(store, result.err(), held)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// As [`Self::begin`], for the value of a case, if the case has a value.
    fn begin_held<T: Send>(
        &mut self,
        store: &mut StoreContextMut<'_, T>,
        ty: Option<Type>,
        held: &mut Val,
    ) -> Result<()> {
        ty.map_or(Ok(()), |ty| self.begin(store, &ty, held))
    }

    /// Whether nothing is read.
    pub(crate) fn is_empty(&self) -> bool {
        self.coming.is_empty()
    }

    /// Begins to read a stream. Returns the value that stands for its items in the result.
    fn stream<T: Send>(
        &mut self,
        store: StoreContextMut<'_, T>,
        ty: &Type,
        stream: StreamAny,
    ) -> Result<Val> {
        let work = ReadStream { store, ty, stream, left: self.left.clone() };
        let coming = with_item(ty, work);
        self.push(coming.unwrap_or_else(|| bail!("streams of this type cannot be read")))
    }

    /// Begins to wait for a future. Returns the value that stands for the future's value in the result.
    fn future<T: Send>(
        &mut self,
        store: StoreContextMut<'_, T>,
        ty: &Type,
        future: FutureAny,
    ) -> Result<Val> {
        let work = ReadFuture { store, ty, future, left: self.left.clone() };
        let coming = with_item(ty, work);
        self.push(coming.unwrap_or_else(|| bail!("futures of this type cannot be read")))
    }

    fn push(&mut self, coming: Result<oneshot::Receiver<Value>>) -> Result<Val> {
        let index = u32::try_from(self.coming.len())?;
        self.coming.push(coming?);
        Ok(Val::U32(index))
    }

    /// Waits until all streams have ended and all futures have a value. Must be called in the event loop of the store.
    pub(crate) async fn collect(self) -> Result<Vec<Value>> {
        let mut values = Vec::with_capacity(self.coming.len());
        for coming in self.coming {
            values.push(coming.await.map_err(|_| NoValue)?);
        }
        Ok(values)
    }
}

/// Takes the sizes of items from what is left.
fn take<I: Item>(left: &AtomicUsize, items: &[I]) -> Result<()> {
    let bytes = items.iter().map(|item| ITEM_BYTES.saturating_add(item.bytes()));
    take_bytes(left, bytes.fold(0, usize::saturating_add))
}

fn take_bytes(left: &AtomicUsize, bytes: usize) -> Result<()> {
    left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes))
        .map(drop)
        .map_err(|_| TooMuchData.into())
}

struct ReadStream<'a, T: 'static> {
    store: StoreContextMut<'a, T>,
    ty: &'a Type,
    stream: StreamAny,
    left: Arc<AtomicUsize>,
}

impl<T: Send> ForItem for ReadStream<'_, T> {
    type Output = Result<oneshot::Receiver<Value>>;

    fn with<I: Item>(self) -> Self::Output {
        let reader = self.stream.try_into_stream_reader::<I>()?;
        let (done, coming) = oneshot::channel();
        let reading = Reading::<I> {
            items: Vec::new(),
            ty: self.ty.clone(),
            left: self.left,
            done: Some(done),
        };
        reader.pipe(self.store, reading)?;
        Ok(coming)
    }
}

/// The items of a stream that were read so far.
struct Reading<I: Item> {
    items: Vec<I>,
    ty: Type,
    left: Arc<AtomicUsize>,
    done: Option<oneshot::Sender<Value>>,
}

/// The stream has ended.
impl<I: Item> Drop for Reading<I> {
    fn drop(&mut self) {
        if let Some(done) = self.done.take() {
            // The call may have ended already.
            let _nobody = done.send(I::list(std::mem::take(&mut self.items), &self.ty));
        }
    }
}

impl<D: 'static, I: Item> StreamConsumer<D> for Reading<I> {
    type Item = I;

    fn poll_consume(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        mut store: StoreContextMut<'_, D>,
        mut source: Source<'_, I>,
        _: bool,
    ) -> Poll<Result<StreamResult>> {
        let mut items = Vec::with_capacity(source.remaining(&mut store).min(ITEMS));
        let taken = source.read(&mut store, &mut items).and_then(|()| match size_of::<I>() {
            // A byte takes a byte, and two at most while its text is made.
            1 => take_bytes(&self.left, items.len()),
            _ => take(&self.left, &items),
        });
        Poll::Ready(taken.map(|()| {
            self.items.append(&mut items);
            StreamResult::Completed
        }))
    }
}

struct ReadFuture<'a, T: 'static> {
    store: StoreContextMut<'a, T>,
    ty: &'a Type,
    future: FutureAny,
    left: Arc<AtomicUsize>,
}

impl<T: Send> ForItem for ReadFuture<'_, T> {
    type Output = Result<oneshot::Receiver<Value>>;

    fn with<I: Item>(self) -> Self::Output {
        let reader = self.future.try_into_future_reader::<I>()?;
        let (done, coming) = oneshot::channel();
        let waiting = Waiting::<I> {
            ty: self.ty.clone(),
            left: self.left,
            done: Some(done),
            of: std::marker::PhantomData,
        };
        reader.pipe(self.store, waiting)?;
        Ok(coming)
    }
}

/// A future whose value has not come yet.
struct Waiting<I> {
    ty: Type,
    left: Arc<AtomicUsize>,
    done: Option<oneshot::Sender<Value>>,
    of: std::marker::PhantomData<I>,
}

impl<D: 'static, I: Item> FutureConsumer<D> for Waiting<I> {
    type Item = I;

    fn poll_consume(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        mut store: StoreContextMut<'_, D>,
        mut source: Source<'_, I>,
        _: bool,
    ) -> Poll<Result<()>> {
        let mut item = None;
        let taken =
            source.read(&mut store, &mut item).and_then(|()| take(&self.left, item.as_slice()));
        Poll::Ready(taken.map(|()| {
            if let (Some(item), Some(done)) = (item, self.done.take()) {
                // The call may have ended already.
                let _nobody = done.send(value::write(&self.ty, &item.into_val(), &mut []));
            }
        }))
    }
}
