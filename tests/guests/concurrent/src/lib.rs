//! A foreign component of WASI 0.3: its functions wait, and take and return streams and futures. Some do what the host
//! must stop.
#![expect(unsafe_code, missing_docs, reason = "what wit-bindgen generates at the border")]

mod files;
mod network;

use std::future::Future;
use std::pin::pin;
use std::task::Poll;

use wasip3::clocks::monotonic_clock;
use wit_bindgen::{FutureReader, StreamReader, StreamResult, spawn_local};

wit_bindgen::generate!({ world: "concurrent" });

struct Concurrent;

/// A stream that gets its items from a task of its own.
fn fed<T: 'static, F: Future<Output = ()> + 'static>(
    (writer, reader): (wit_bindgen::StreamWriter<T>, StreamReader<T>),
    feed: impl FnOnce(wit_bindgen::StreamWriter<T>) -> F,
) -> StreamReader<T> {
    spawn_local(feed(writer));
    reader
}

/// Waits for both.
async fn both(first: impl Future<Output = ()>, second: impl Future<Output = ()>) {
    let (mut first, mut second) = (pin!(first), pin!(second));
    let (mut is_first_over, mut is_second_over) = (false, false);
    std::future::poll_fn(|context| {
        is_first_over = is_first_over || first.as_mut().poll(context).is_ready();
        is_second_over = is_second_over || second.as_mut().poll(context).is_ready();
        if is_first_over && is_second_over { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

impl Guest for Concurrent {
    fn shout(text: String) -> String {
        text.to_uppercase()
    }

    async fn shout_async(text: String) -> String {
        text.to_uppercase()
    }

    async fn count(to: u32) -> StreamReader<u32> {
        fed(wit_stream::new(), async move |mut out| {
            for number in 1..=to {
                out.write_all(vec![number]).await;
            }
        })
    }

    async fn spell(text: String) -> StreamReader<u8> {
        fed(wit_stream::new(), async move |mut out| {
            out.write_all(text.into_bytes()).await;
        })
    }

    async fn sum(mut numbers: StreamReader<u32>) -> u64 {
        let mut sum = 0;
        loop {
            let (result, read) = numbers.read(Vec::with_capacity(3)).await;
            sum += read.into_iter().map(u64::from).sum::<u64>();
            match result {
                StreamResult::Complete(_) => {}
                StreamResult::Dropped | StreamResult::Cancelled => return sum,
            }
        }
    }

    async fn shout_all(mut texts: StreamReader<String>) -> StreamReader<String> {
        fed(wit_stream::new(), async move |mut out| {
            while let Some(text) = texts.next().await {
                out.write_all(vec![text.to_uppercase()]).await;
            }
        })
    }

    async fn later(
        text: String,
        ms: u64,
    ) -> (FutureReader<String>, FutureReader<Result<(), String>>) {
        let (answer, answered) = wit_future::new(String::new);
        let (ending, ended) = wit_future::new(|| Err("it was dropped".to_owned()));
        spawn_local(async move {
            monotonic_clock::wait_for(ms * 1_000_000).await;
            let _written = answer.write(text).await;
            let _written = ending.write(Ok(())).await;
        });
        (answered, ended)
    }

    async fn expect(text: FutureReader<String>) -> Result<String, String> {
        let text = text.await;
        if text.is_empty() { Err("it is empty".to_owned()) } else { Ok(text) }
    }

    async fn wait_twice(ms: u64) -> u64 {
        let began = monotonic_clock::now();
        let wait = || monotonic_clock::wait_for(ms * 1_000_000);
        both(wait(), wait()).await;
        (monotonic_clock::now() - began) / 1_000_000
    }

    async fn say(text: String) -> Result<(), String> {
        let (mut out, read) = wasip3::wit_stream::new();
        let ended = wasip3::cli::stdout::write_via_stream(read);
        out.write_all(text.into_bytes()).await;
        drop(out);
        ended.await.map_err(|code| format!("{code:?}"))
    }

    async fn around() -> Vec<String> {
        let mut all = wasip3::cli::environment::get_arguments();
        let variables = wasip3::cli::environment::get_environment();
        all.extend(variables.into_iter().map(|(name, value)| format!("{name}={value}")));
        let (input, ended) = wasip3::cli::stdin::read_via_stream();
        let input = input.collect().await;
        all.push(format!("{} bytes of input, {:?}", input.len(), ended.await));
        let directories = wasip3::filesystem::preopens::get_directories();
        all.push(format!("{} directories", directories.len()));
        let random = wasip3::random::random::get_random_bytes(9).len();
        all.push(format!("{random} random bytes"));
        let is_late = wasip3::clocks::system_clock::now().seconds > 1_700_000_000;
        all.push(format!("after 2023: {is_late}"));
        all
    }

    async fn copy(path: String, suffix: String) -> Result<Vec<String>, String> {
        files::copy(&path, &suffix).await
    }

    async fn read_text(path: String) -> Result<String, String> {
        files::read_text(&path).await
    }

    async fn fill(path: String, chunks: u32) -> Result<u64, String> {
        files::fill(&path, chunks).await
    }

    async fn link(path: String, target: String) -> Result<(), String> {
        files::link(&path, target).await
    }

    async fn fetch(url: String) -> Result<String, String> {
        network::fetch(&url).await
    }

    async fn reach() -> Vec<String> {
        network::reach().await
    }

    async fn flood() -> StreamReader<u8> {
        fed(
            wit_stream::new(),
            async |mut out| {
                while out.write_all(vec![b'.'; 65_536]).await.is_empty() {}
            },
        )
    }

    async fn hoard() -> u32 {
        let mut kept = Vec::new();
        for _ in 0..1_000_000 {
            kept.push(wit_stream::new::<u8>());
        }
        u32::try_from(kept.len()).unwrap_or(u32::MAX)
    }

    async fn spin() -> StreamReader<u8> {
        fed(wit_stream::new(), async |mut out| {
            out.write_all(vec![1]).await;
            loop {
                std::hint::black_box(&mut out);
            }
        })
    }

    async fn fail() -> StreamReader<u8> {
        fed(wit_stream::new(), async |mut out| {
            out.write_all(vec![1]).await;
            panic!("the stream broke");
        })
    }

    async fn hang() {
        monotonic_clock::wait_for(u64::MAX).await;
    }

    async fn promise() -> FutureReader<String> {
        let (answer, answered) = wit_future::new(String::new);
        spawn_local(async move {
            monotonic_clock::wait_for(u64::MAX).await;
            drop(answer);
        });
        answered
    }

    async fn records() -> StreamReader<(u32, String)> {
        wit_stream::new().1
    }
}

export!(Concurrent);
