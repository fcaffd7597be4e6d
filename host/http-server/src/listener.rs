//! Accepts connections, limits the time of slow clients, and ends connections when the server stops.

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
use crate::connection_threads::ConnectionThreads;
use crate::connections::{Connection, Connections};
use crate::router::Router;
use crate::timeouts::{RECEIVE_TIMEOUT, SEND_TIMEOUT};
use crate::tls::Tls;
use crate::write_timeout::WriteTimeout;

/// Time for connections to end after the shutdown began.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(3);

/// Pause after a connection could not be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The signals that end the server.
#[derive(Clone)]
pub(crate) struct StopSignals {
    /// No new connections and requests are accepted. Requests in flight go on.
    pub(crate) stop: CancellationToken,
    /// rmcp cancels requests of MCP at once. Connections that are still open after [`DRAIN_TIMEOUT`] are closed.
    pub(crate) shutdown: CancellationToken,
}

impl StopSignals {
    /// Waits for the first of the signals.
    async fn stopped(&self) {
        tokio::select! {
            () = self.stop.cancelled() => {}
            () = self.shutdown.cancelled() => {}
        }
    }
}

/// Accepts connections until a signal comes, and then waits for the connections to end. `connections`: the maximum number
/// of open connections.
pub(crate) async fn accept<S: ServerHandler>(
    listener: TcpListener,
    connections: NonZeroU32,
    mut threads: ConnectionThreads,
    tls: Option<Tls>,
    router: Arc<Router<S>>,
    signals: StopSignals,
) {
    let open = Connections::new(connections);
    let mut tasks = JoinSet::new();
    loop {
        let (stream, address) = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                // The client has closed the connection, or too many files are open. The server goes on.
                Err(error) => {
                    tracing::warn!("accepting a connection: {error}");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            },
            Some(_ended) = tasks.join_next() => continue,
            () = signals.stopped() => break,
        };
        let peer = PeerAddress::of(address.ip());
        let Some(connection) = open.open(peer, Instant::now()) else {
            router.refusal_log.note(peer, "all connections are busy");
            continue;
        };
        // The runtime of this thread gives the connection up, and that of the serving thread watches it.
        let stream = stream.into_std();
        let (router, tls, signals) = (router.clone(), tls.clone(), signals.clone());
        let served = async move {
            let stream = match stream.and_then(TcpStream::from_std) {
                Ok(stream) => stream,
                Err(error) => return tracing::warn!("a connection cannot be served: {error}"),
            };
            let close = connection.close.clone();
            let served = serve(stream, Arc::new(connection), tls, router, signals);
            if close.run_until_cancelled(served).await.is_none() {
                tracing::debug!("a connection was closed for a new one");
            }
        };
        tasks.spawn_on(served, threads.next());
    }
    // The system refuses new connections from now on.
    drop(listener);
    let shutdown = signals.shutdown;
    let drained = async { while tasks.join_next().await.is_some() {} };
    let timed_out = async {
        shutdown.cancelled().await;
        tokio::time::sleep(DRAIN_TIMEOUT).await;
    };
    tokio::select! {
        () = drained => {}
        () = timed_out => tracing::warn!("some connections did not end in time"),
    }
}

/// Serves one connection, with TLS if it is configured.
async fn serve<S: ServerHandler>(
    stream: TcpStream,
    connection: Arc<Connection>,
    tls: Option<Tls>,
    router: Arc<Router<S>>,
    signals: StopSignals,
) {
    // Without TCP_NODELAY, small parts of a response can be delayed by 40 ms.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!("TCP_NODELAY: {error}");
    }
    let stream = WriteTimeout::new(stream, SEND_TIMEOUT);
    let Some(tls) = tls else { return serve_requests(stream, connection, router, signals).await };
    let handshake = tokio::time::timeout(RECEIVE_TIMEOUT, tls.acceptor().accept(stream));
    let shaken = tokio::select! {
        shaken = handshake => shaken,
        () = signals.stopped() => return,
    };
    match shaken {
        Ok(Ok(stream)) => serve_requests(stream, connection, router, signals).await,
        Ok(Err(error)) => tracing::debug!("a TLS handshake failed: {error}"),
        Err(_) => tracing::debug!("a TLS handshake took too long"),
    }
}

/// Serves the requests of one connection.
async fn serve_requests<S: ServerHandler>(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    connection: Arc<Connection>,
    router: Arc<Router<S>>,
    signals: StopSignals,
) {
    let service = service_fn(move |request| {
        let (router, connection) = (router.clone(), connection.clone());
        async move {
            let serving = connection.serving();
            let response = router.respond(request, &connection).await;
            Ok::<_, Infallible>(serving.until_written(response))
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
        () = signals.stopped() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        // The text of hyper's error does not contain its cause.
        tracing::debug!("a connection ended: {}", portcullis_sanitize::error_chain(&error));
    }
}
