//! The connection to the server: opened at the first use, and opened again after it was lost.
//!
//! A command that was sent may have taken effect. So it is sent again on another connection only if doing it twice is
//! the same as doing it once. Connecting is tried again until the time of the operation is over.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use portcullis_sanitize::error_chain;
use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Client, Cmd, FromRedisValue, IntoConnectionInfo, RedisResult,
    TlsCertificates,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};
use tokio_util::task::AbortOnDropHandle;

use crate::address::Address;
use crate::error::StateError;

/// Maximum time of an operation, with connecting.
const OPERATION_TIME: Duration = Duration::from_secs(4);

/// Maximum time of one attempt to connect.
const CONNECT_TIME: Duration = Duration::from_secs(1);

/// Maximum time until the answer to one command.
const ANSWER_TIME: Duration = Duration::from_secs(2);

/// Pause between two attempts to connect.
const CONNECT_PAUSE: Duration = Duration::from_millis(100);

/// Pause before a command is sent again.
const REPEAT_PAUSE: Duration = Duration::from_millis(50);

/// Interval at which the server is asked whether it is there.
const WATCH_INTERVAL: Duration = Duration::from_secs(1);

/// The user and the password for the server, and whose certificates of the server count.
#[derive(Default)]
pub struct Credentials {
    /// The user. `None`: the server's default user.
    pub user: Option<String>,
    /// The password. `None`: the server needs none.
    pub password: Option<String>,
    /// The certificates, in PEM format, of the authorities that may have signed the server's certificate. `None`: those
    /// that this system trusts.
    pub authorities: Option<Vec<u8>>,
}

/// A connection to the server, with a thread of its own: it outlives the runtimes of its users.
pub(crate) struct Connection {
    client: Client,
    address: String,
    runtime: OnceLock<Option<Runtime>>,
    open: Mutex<Open>,
    is_away: AtomicBool,
}

#[derive(Default)]
struct Open {
    connection: Option<MultiplexedConnection>,
    /// Counts the connections, so that only the one that failed is dropped.
    number: u64,
}

impl Connection {
    /// A connection that is opened at its first use.
    pub(crate) fn new(address: &Address, credentials: Credentials) -> Result<Self, StateError> {
        let shown = address.shown();
        let refused = |cause| StateError::of(&shown, cause);
        let info = address.url().into_connection_info().map_err(refused)?;
        let mut settings = info.redis_settings().clone();
        if let Some(user) = credentials.user {
            settings = settings.set_username(user);
        }
        if let Some(password) = credentials.password {
            settings = settings.set_password(password);
        }
        let info = info.set_redis_settings(settings);
        let client = match credentials.authorities {
            None => Client::open(info),
            Some(pem) => {
                check_certificates(&pem)?;
                let root_cert = Some(pem);
                Client::build_with_tls(info, TlsCertificates { client_tls: None, root_cert })
            }
        };
        let client = client.map_err(refused)?;
        Ok(Self {
            client,
            address: shown,
            runtime: OnceLock::new(),
            open: Mutex::default(),
            is_away: AtomicBool::new(false),
        })
    }

    /// Sends a command that may be sent twice, such as one that reads. If the connection is lost, sends the command
    /// again on a new one.
    ///
    /// # Errors
    ///
    /// [`StateError`].
    pub(crate) async fn repeat<T>(self: &Arc<Self>, command: Cmd) -> Result<T, StateError>
    where
        T: FromRedisValue + Send + 'static,
    {
        self.run_again(move |mut connection| {
            let command = command.clone();
            async move { command.query_async::<T>(&mut connection).await }
        })
        .await
    }

    /// Runs an operation that may take effect twice. If the connection is lost, runs it again on a new one.
    ///
    /// # Errors
    ///
    /// [`StateError`].
    pub(crate) async fn run_again<T, F>(
        self: &Arc<Self>,
        work: impl Fn(MultiplexedConnection) -> F + Send + Sync + 'static,
    ) -> Result<T, StateError>
    where
        T: Send + 'static,
        F: Future<Output = RedisResult<T>> + Send,
    {
        self.spawned(|this, until| async move {
            loop {
                match this.run_until(until, &work).await {
                    Err(StateError::Away { cause: Some(_), .. }) if Instant::now() < until => {
                        tokio::time::sleep(REPEAT_PAUSE).await;
                    }
                    done => return done,
                }
            }
        })
        .await
    }

    /// Runs an operation with the connection, once.
    ///
    /// # Errors
    ///
    /// [`StateError`].
    pub(crate) async fn run<T, F>(
        self: &Arc<Self>,
        work: impl FnOnce(MultiplexedConnection) -> F + Send + 'static,
    ) -> Result<T, StateError>
    where
        T: Send + 'static,
        F: Future<Output = RedisResult<T>> + Send,
    {
        self.spawned(|this, until| async move { this.run_until(until, work).await }).await
    }

    /// Runs an operation on the runtime of the connection.
    async fn spawned<T, F>(
        self: &Arc<Self>,
        work: impl FnOnce(Arc<Self>, Instant) -> F,
    ) -> Result<T, StateError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StateError>> + Send + 'static,
    {
        let working = self.runtime()?.spawn(work(self.clone(), Instant::now() + OPERATION_TIME));
        match AbortOnDropHandle::new(working).await {
            Ok(done) => done,
            Err(error) => Err(StateError::Machine(error.to_string())),
        }
    }

    async fn run_until<T, F: Future<Output = RedisResult<T>>>(
        &self,
        until: Instant,
        work: impl FnOnce(MultiplexedConnection) -> F,
    ) -> Result<T, StateError> {
        let away = || StateError::Away { address: self.address.clone(), cause: None };
        let connected = timeout_at(until, self.connected(until)).await;
        let (connection, number) = connected.map_err(|_| away()).flatten()?;
        let failed = match timeout_at(until, work(connection)).await {
            Ok(Ok(done)) => return Ok(done),
            Ok(Err(cause)) => StateError::of(&self.address, cause),
            Err(_) => away(),
        };
        if failed.is_away() {
            // After a timeout, too: nobody knows whether a connection through a broken network will ever answer.
            let mut open = self.open.lock().await;
            if open.number == number {
                open.connection = None;
            }
        }
        Err(failed)
    }

    /// The open connection with its number. Tries to connect until the time is over.
    async fn connected(&self, until: Instant) -> Result<(MultiplexedConnection, u64), StateError> {
        let mut open = self.open.lock().await;
        if let Some(connection) = &open.connection {
            return Ok((connection.clone(), open.number));
        }
        loop {
            let config = AsyncConnectionConfig::new()
                .set_connection_timeout(Some(CONNECT_TIME))
                .set_response_timeout(Some(ANSWER_TIME));
            match self.client.get_multiplexed_async_connection_with_config(&config).await {
                Ok(connection) => {
                    open.connection = Some(connection.clone());
                    open.number += 1;
                    return Ok((connection, open.number));
                }
                Err(cause) => {
                    let failed = StateError::of(&self.address, cause);
                    if !failed.is_away() || Instant::now() + CONNECT_PAUSE >= until {
                        return Err(failed);
                    }
                }
            }
            tokio::time::sleep(CONNECT_PAUSE).await;
        }
    }

    /// Opens one more connection, for a command that waits in the server. Call it on the runtime of this connection.
    ///
    /// # Errors
    ///
    /// The server cannot be reached, or refuses.
    pub(crate) async fn open_another(&self) -> RedisResult<MultiplexedConnection> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT_TIME))
            .set_response_timeout(Some(OPERATION_TIME));
        self.client.get_multiplexed_async_connection_with_config(&config).await
    }

    /// The runtime of the connection.
    fn runtime(&self) -> Result<&Runtime, StateError> {
        let made = self.runtime.get_or_init(|| {
            // The provider of another part of the process may be installed already. That provider is also suitable.
            let _already = rustls::crypto::ring::default_provider().install_default();
            let mut builder = Builder::new_multi_thread();
            builder.worker_threads(1).thread_name("cluster-state").enable_all();
            let failed = |error: &std::io::Error| tracing::error!("the cluster's state: {error}");
            builder.build().inspect_err(failed).ok()
        });
        let failed = || StateError::Machine("a thread cannot be started".to_owned());
        made.as_ref().ok_or_else(failed)
    }

    /// Asks the server every second whether it is there, until the connection is dropped. Logs when the server goes
    /// away, and when it comes back.
    ///
    /// # Errors
    ///
    /// [`StateError::Machine`]: no thread can be started.
    pub(crate) fn watch(self: &Arc<Self>) -> Result<(), StateError> {
        self.is_away.store(true, Ordering::Relaxed);
        self.runtime()?.spawn(watch(Arc::downgrade(self)));
        Ok(())
    }

    /// Whether the server did not answer when it was last asked.
    pub(crate) fn is_away(&self) -> bool {
        self.is_away.load(Ordering::Relaxed)
    }

    /// The host and the port of the server.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }
}

/// Checks that a file in PEM format has certificates. The client would take a file without any.
fn check_certificates(pem: &[u8]) -> Result<(), StateError> {
    let mut found = CertificateDer::pem_slice_iter(pem).peekable();
    if found.peek().is_none() {
        return Err(StateError::Authorities { cause: None });
    }
    found
        .try_for_each(|one| one.map(drop))
        .map_err(|cause| StateError::Authorities { cause: Some(cause) })
}

impl Drop for Connection {
    fn drop(&mut self) {
        // A runtime may not be dropped by a thread of a runtime, unless it is told not to wait.
        if let Some(Some(runtime)) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

async fn watch(connection: Weak<Connection>) {
    let mut was_away = None;
    loop {
        let Some(connection) = connection.upgrade() else { return };
        let until = Instant::now() + ANSWER_TIME;
        let asked = |mut connection| async move {
            redis::cmd("PING").query_async::<()>(&mut connection).await
        };
        let found = connection.run_until(until, asked).await;
        connection.is_away.store(found.is_err(), Ordering::Relaxed);
        match found {
            Ok(()) if was_away != Some(false) => {
                tracing::info!("the cluster's state at {} is reached", connection.address);
            }
            Err(error) if was_away != Some(true) => {
                let error = error_chain(&error);
                tracing::warn!(
                    "{error}; calls that need the cluster's state fail until it is back"
                );
            }
            Ok(()) | Err(_) => {}
        }
        was_away = Some(connection.is_away());
        drop(connection);
        tokio::time::sleep(WATCH_INTERVAL).await;
    }
}
