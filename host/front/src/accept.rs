//! Connections: how many there may be, how slow they may be, and how they end.

use std::convert::Infallible;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::ServerHandler;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::gate::Gate;
use crate::patient::Patient;
use crate::tls::Tls;

/// How long a TLS handshake, the head of a request, and then its body may take.
pub(crate) const SLOW: Duration = Duration::from_secs(10);

/// How long a client may take nothing of what it is sent.
pub(crate) const STALLED: Duration = Duration::from_secs(30);

/// After the end was asked for: how long requests in flight may go on.
const DRAIN: Duration = Duration::from_secs(3);

/// After a connection could not be accepted: how long until the next is.
const BREATH: Duration = Duration::from_millis(50);

/// Accepts connections until `shutdown`, and then lets requests in flight end.
pub(crate) async fn accept<S: ServerHandler>(
    listener: TcpListener,
    connections: NonZeroU32,
    tls: Option<Tls>,
    gate: Arc<Gate<S>>,
    shutdown: CancellationToken,
) {
    let room = Arc::new(Semaphore::new(connections.get() as usize));
    let mut tasks = JoinSet::new();
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                // One client's trouble, or too many open files for now: others go on.
                Err(error) => {
                    tracing::warn!("accepting a connection: {error}");
                    tokio::time::sleep(BREATH).await;
                    continue;
                }
            },
            Some(_ended) = tasks.join_next() => continue,
            () = shutdown.cancelled() => break,
        };
        let Ok(permit) = room.clone().try_acquire_owned() else {
            tracing::warn!("over {connections} connections: one is turned away");
            continue;
        };
        let (gate, tls, shutdown) = (gate.clone(), tls.clone(), shutdown.clone());
        tasks.spawn(async move {
            let _permit = permit;
            connection(stream, tls, gate, shutdown).await;
        });
    }
    let drained = async { while tasks.join_next().await.is_some() {} };
    if tokio::time::timeout(DRAIN, drained).await.is_err() {
        tracing::warn!("some requests did not end in time");
    }
}

async fn connection<S: ServerHandler>(
    stream: TcpStream,
    tls: Option<Tls>,
    gate: Arc<Gate<S>>,
    shutdown: CancellationToken,
) {
    // Without it, the small parts of an answer wait for each other for 40 ms.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!("TCP_NODELAY: {error}");
    }
    let stream = Patient::new(stream, STALLED);
    let Some(tls) = tls else { return requests(stream, gate, shutdown).await };
    let handshake = tokio::time::timeout(SLOW, tls.acceptor().accept(stream));
    let shaken = tokio::select! {
        shaken = handshake => shaken,
        () = shutdown.cancelled() => return,
    };
    match shaken {
        Ok(Ok(stream)) => requests(stream, gate, shutdown).await,
        Ok(Err(error)) => tracing::debug!("a TLS handshake failed: {error}"),
        Err(_) => tracing::debug!("a TLS handshake took too long"),
    }
}

async fn requests<S: ServerHandler>(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    gate: Arc<Gate<S>>,
    shutdown: CancellationToken,
) {
    let service = service_fn(move |request| {
        let gate = gate.clone();
        async move { Ok::<_, Infallible>(gate.answer(request).await) }
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(SLOW)
        .max_buf_size(64 * 1024)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = shutdown.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!("a connection ended: {error}");
    }
}
