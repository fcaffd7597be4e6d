//! Streams and futures in the arguments and results of functions: which types they can carry, and how those of arguments
//! are made. [`collector`](crate::collector) reads those of results.
//!
//! JSON has the items of a stream as a list, or as text in base64 if they are bytes, and the value of a future as it is.
//!
//! wasmtime reads and writes streams only with items of a Rust type that is known at compile time. So only the types of
//! [`with_item`] can be carried.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "wasmtime may add types: only those named here can be carried"
)]

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use wasmtime::component::types::Type;
use wasmtime::component::{ComponentType, FutureReader, Lift, Lower, StreamReader, Val};
use wasmtime::{AsContextMut, Result, StoreContextMut, bail};

use crate::value::{self, Make, ValueError};

/// The type of the items of streams, or of the values of futures.
pub(crate) trait Item: ComponentType + Lower + Lift + Unpin + Send + Sync + 'static {
    /// The item as a value of wasmtime.
    fn into_val(self) -> Val;

    /// The item, from a value of its type.
    fn from_val(value: Val) -> Option<Self>;

    /// The size of the text or the bytes in the item.
    fn bytes(&self) -> usize {
        0
    }

    /// Items as JSON. `ty` is their type.
    fn list(items: Vec<Self>, ty: &Type) -> Value {
        items.into_iter().map(|item| value::write(ty, &item.into_val(), &mut [])).collect()
    }
}

/// Implements [`Item`] for a type that is a case of [`Val`].
macro_rules! items {
    ($($of:ty: $case:ident;)+) => {$(
        impl Item for $of {
            fn into_val(self) -> Val {
                Val::$case(self)
            }

            fn from_val(value: Val) -> Option<Self> {
                if let Val::$case(value) = value { Some(value) } else { None }
            }
        }
    )+};
}

items! {
    bool: Bool;
    i8: S8;
    i16: S16;
    u16: U16;
    i32: S32;
    u32: U32;
    i64: S64;
    u64: U64;
    f32: Float32;
    f64: Float64;
    char: Char;
}

impl Item for u8 {
    fn into_val(self) -> Val {
        Val::U8(self)
    }

    fn from_val(value: Val) -> Option<Self> {
        if let Val::U8(value) = value { Some(value) } else { None }
    }

    fn list(items: Vec<Self>, _: &Type) -> Value {
        STANDARD.encode(items).into()
    }
}

impl Item for String {
    fn into_val(self) -> Val {
        Val::String(self)
    }

    fn from_val(value: Val) -> Option<Self> {
        if let Val::String(value) = value { Some(value) } else { None }
    }

    fn bytes(&self) -> usize {
        self.len()
    }
}

impl Item for Vec<u8> {
    fn into_val(self) -> Val {
        Val::List(self.into_iter().map(Val::U8).collect())
    }

    fn from_val(value: Val) -> Option<Self> {
        let Val::List(items) = value else { return None };
        items.into_iter().map(u8::from_val).collect()
    }

    fn bytes(&self) -> usize {
        self.len()
    }

    fn list(items: Vec<Self>, _: &Type) -> Value {
        items.into_iter().map(|bytes| STANDARD.encode(bytes)).collect()
    }
}

/// How something ended.
impl Item for std::result::Result<(), String> {
    fn into_val(self) -> Val {
        Val::Result(match self {
            Ok(()) => Ok(None),
            Err(error) => Err(Some(Box::new(Val::String(error)))),
        })
    }

    fn from_val(value: Val) -> Option<Self> {
        match value {
            Val::Result(Ok(None)) => Some(Ok(())),
            Val::Result(Err(Some(error))) => String::from_val(*error).map(Err),
            _ => None,
        }
    }

    fn bytes(&self) -> usize {
        self.as_ref().map_or_else(String::len, |()| 0)
    }
}

impl Item for std::result::Result<String, String> {
    fn into_val(self) -> Val {
        let held = |text| Some(Box::new(Val::String(text)));
        Val::Result(self.map(held).map_err(held))
    }

    fn from_val(value: Val) -> Option<Self> {
        match value {
            Val::Result(Ok(Some(text))) => String::from_val(*text).map(Ok),
            Val::Result(Err(Some(error))) => String::from_val(*error).map(Err),
            _ => None,
        }
    }

    fn bytes(&self) -> usize {
        self.as_ref().unwrap_or_else(|error| error).len()
    }
}

/// Something that is done for the Rust type of an item.
pub(crate) trait ForItem {
    type Output;

    fn with<T: Item>(self) -> Self::Output;
}

/// Does something for the Rust type of this item. `None`: streams and futures of this type cannot be carried.
pub(crate) fn with_item<F: ForItem>(ty: &Type, work: F) -> Option<F::Output> {
    Some(match ty {
        Type::Bool => work.with::<bool>(),
        Type::S8 => work.with::<i8>(),
        Type::U8 => work.with::<u8>(),
        Type::S16 => work.with::<i16>(),
        Type::U16 => work.with::<u16>(),
        Type::S32 => work.with::<i32>(),
        Type::U32 => work.with::<u32>(),
        Type::S64 => work.with::<i64>(),
        Type::U64 => work.with::<u64>(),
        Type::Float32 => work.with::<f32>(),
        Type::Float64 => work.with::<f64>(),
        Type::Char => work.with::<char>(),
        Type::String => work.with::<String>(),
        Type::List(list) if list.ty() == Type::U8 => work.with::<Vec<u8>>(),
        Type::Result(result) => match (result.ok(), result.err()) {
            (None, Some(Type::String)) => work.with::<std::result::Result<(), String>>(),
            (Some(Type::String), Some(Type::String)) => {
                work.with::<std::result::Result<String, String>>()
            }
            _ => return None,
        },
        _ => return None,
    })
}

/// Whether streams and futures of this type can be carried.
pub(crate) fn can_carry(ty: &Type) -> bool {
    struct Known;
    impl ForItem for Known {
        type Output = ();

        fn with<T: Item>(self) {}
    }
    with_item(ty, Known).is_some()
}

/// Makes streams and futures in a store.
pub(crate) struct InStore<'a, T: 'static>(pub StoreContextMut<'a, T>);

impl<T: Send> Make for InStore<'_, T> {
    fn stream(&mut self, ty: &Type, items: Vec<Val>) -> std::result::Result<Val, ValueError> {
        let made = with_item(ty, NewStream(self.0.as_context_mut(), items));
        made.and_then(Result::ok).ok_or(ValueError::NotInJson)
    }

    fn future(&mut self, ty: &Type, value: Val) -> std::result::Result<Val, ValueError> {
        let made = with_item(ty, NewFuture(self.0.as_context_mut(), value));
        made.and_then(Result::ok).ok_or(ValueError::NotInJson)
    }
}

struct NewStream<'a, T: 'static>(StoreContextMut<'a, T>, Vec<Val>);

impl<T: Send> ForItem for NewStream<'_, T> {
    type Output = Result<Val>;

    fn with<I: Item>(mut self) -> Result<Val> {
        let Some(items) = self.1.into_iter().map(I::from_val).collect::<Option<Vec<I>>>() else {
            bail!("an item has another type");
        };
        let stream = StreamReader::new(self.0.as_context_mut(), items)?;
        Ok(Val::Stream(stream.try_into_stream_any(self.0)?))
    }
}

struct NewFuture<'a, T: 'static>(StoreContextMut<'a, T>, Val);

impl<T: Send> ForItem for NewFuture<'_, T> {
    type Output = Result<Val>;

    fn with<I: Item>(mut self) -> Result<Val> {
        let Some(value) = I::from_val(self.1) else { bail!("the value has another type") };
        let ready = async move { wasmtime::error::Ok(value) };
        let future = FutureReader::new(self.0.as_context_mut(), ready)?;
        Ok(Val::Future(future.try_into_future_any(self.0)?))
    }
}
