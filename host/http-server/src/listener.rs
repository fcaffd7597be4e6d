//! Accepts connections, bounds how slow they may be, and ends them.

use std::convert::Infallible;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::ServerHandler;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::client_address::PeerAddress;
use crate::connections::{Connection, Connections};
use crate::router::Router;
use crate::timeouts::{RECEIVE_TIMEOUT, SEND_TIMEOUT};
use crate::tls::Tls;
use crate::write_timeout::WriteTimeout;

/// After the end was asked for: how long requests in flight may go on.
const DRAIN: Duration = Duration::from_secs(3);

/// After a connection could not be accepted: how long until the next is.
const BREATH: Duration = Duration::from_millis(50);

/// How serving ends.
#[derive(Clone)]
pub(crate) struct Ends {
    /// Nothing new is taken.
    pub(crate) stop: CancellationToken,
    /// What is still going on is given up after [`DRAIN`].
    pub(crate) shutdown: CancellationToken,
}

impl Ends {
    async fn stopped(&self) {
        tokio::select! {
            () = self.stop.cancelled() => {}
            () = self.shutdown.cancelled() => {}
        }
    }
}

/// Accepts connections until it is stopped, and then lets requests in flight end.
pub(crate) async fn accept<S: ServerHandler>(
    listener: TcpListener,
    connections: NonZeroU32,
    tls: Option<Tls>,
    gate: Arc<Router<S>>,
    ends: Ends,
) {
    let open = Connections::new(connections);
    let mut tasks = JoinSet::new();
    loop {
        let (stream, address) = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                // One client's trouble, or too many open files for now: others go on.
                Err(error) => {
                    tracing::warn!("accepting a connection: {error}");
                    tokio::time::sleep(BREATH).await;
                    continue;
                }
            },
            Some(_ended) = tasks.join_next() => continue,
            () = ends.stopped() => break,
        };
        let peer = PeerAddress::of(address.ip());
        let Some(connection) = open.open(peer, Instant::now()) else {
            gate.refusals.note(peer, "all connections are busy");
            continue;
        };
        let (gate, tls, ends) = (gate.clone(), tls.clone(), ends.clone());
        tasks.spawn(async move {
            let close = connection.close.clone();
            let served = serve(stream, Arc::new(connection), tls, gate, ends);
            if close.run_until_cancelled(served).await.is_none() {
                tracing::debug!("a connection was closed for a new one");
            }
        });
    }
    // Whoever connects from now on is told at once that nobody listens.
    drop(listener);
    let shutdown = ends.shutdown;
    let drained = async { while tasks.join_next().await.is_some() {} };
    let given_up = async {
        shutdown.cancelled().await;
        tokio::time::sleep(DRAIN).await;
    };
    tokio::select! {
        () = drained => {}
        () = given_up => tracing::warn!("some requests did not end in time"),
    }
}

async fn serve<S: ServerHandler>(
    stream: TcpStream,
    connection: Arc<Connection>,
    tls: Option<Tls>,
    gate: Arc<Router<S>>,
    ends: Ends,
) {
    // Without it, the small parts of an answer wait for each other for 40 ms.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!("TCP_NODELAY: {error}");
    }
    let stream = WriteTimeout::new(stream, SEND_TIMEOUT);
    let Some(tls) = tls else { return requests(stream, connection, gate, ends).await };
    let handshake = tokio::time::timeout(RECEIVE_TIMEOUT, tls.acceptor().accept(stream));
    let shaken = tokio::select! {
        shaken = handshake => shaken,
        () = ends.stopped() => return,
    };
    match shaken {
        Ok(Ok(stream)) => requests(stream, connection, gate, ends).await,
        Ok(Err(error)) => tracing::debug!("a TLS handshake failed: {error}"),
        Err(_) => tracing::debug!("a TLS handshake took too long"),
    }
}

async fn requests<S: ServerHandler>(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    connection: Arc<Connection>,
    gate: Arc<Router<S>>,
    ends: Ends,
) {
    let service = service_fn(move |request| {
        let (gate, connection) = (gate.clone(), connection.clone());
        async move {
            let serving = connection.serving();
            let reply = gate.answer(request, &connection).await;
            Ok::<_, Infallible>(serving.until_written(reply))
        }
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(RECEIVE_TIMEOUT)
        .max_buf_size(64 * 1024)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = ends.stopped() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!("a connection ended: {error}");
    }
}
