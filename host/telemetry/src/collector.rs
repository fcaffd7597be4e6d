//! The HTTP client of the exporters. The client has the TLS configuration of all outgoing requests of the host. Only
//! the threads of the exporters use the client.

use std::time::Instant;

use async_trait::async_trait;
use http::header::CONTENT_TYPE;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use tokio::runtime::Runtime;

use crate::faults::FAULTS;
use crate::settings::{Headers, Settings};
use crate::{REQUEST_TIME, SettingsError};

/// Maximum size of a response, in bytes. A collector answers with few bytes.
const MAX_RESPONSE: usize = 64 << 10;

/// Why the HTTP client cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The tokio runtime of the client cannot be started.
    #[error("starting its runtime")]
    Runtime(#[source] std::io::Error),
    /// The client of reqwest cannot be made.
    #[error("making a client")]
    Client(#[source] reqwest::Error),
}

/// Why a request failed. The text of the error contains nothing that the collector wrote.
#[derive(Debug, thiserror::Error)]
enum SendError {
    #[error("the collector cannot be reached")]
    Connect(#[source] reqwest::Error),
    #[error("the collector did not answer within {} s", REQUEST_TIME.as_secs())]
    TimedOut(#[source] reqwest::Error),
    #[error("the request failed")]
    Request(#[source] reqwest::Error),
    #[error("the response of the collector has more than {MAX_RESPONSE} bytes")]
    TooLarge,
    #[error("a header for the collector cannot be used")]
    Header(#[source] SettingsError),
}

impl SendError {
    fn of(error: reqwest::Error) -> Self {
        match () {
            () if error.is_connect() => Self::Connect(error),
            () if error.is_timeout() => Self::TimedOut(error),
            () => Self::Request(error),
        }
    }
}

/// Sends the requests of one exporter.
#[derive(Debug)]
pub(crate) struct Collector {
    client: reqwest::Client,
    /// reqwest needs a tokio runtime, which the exporters' threads do not have.
    runtime: Runtime,
    headers: Headers,
    origin: String,
}

impl Collector {
    pub(crate) fn new(settings: &Settings) -> Result<Self, ClientError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(ClientError::Runtime)?;
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(portcullis_egress::tls_config())
            // Headers with secrets go to the configured address only, so no redirect is followed.
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .timeout(REQUEST_TIME)
            .user_agent(concat!("portcullis/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(ClientError::Client)?;
        let (headers, origin) = (settings.headers.clone(), settings.origin());
        Ok(Self { client, runtime, headers, origin })
    }

    async fn exchange(&self, request: Request<Bytes>) -> Result<Response<Bytes>, SendError> {
        let (parts, body) = request.into_parts();
        let mut builder = self.client.request(parts.method, parts.uri.to_string());
        // The exporter takes its other headers from the environment. They may be meant for another collector than the
        // configured one, and are not sent.
        if let Some(value) = parts.headers.get(CONTENT_TYPE) {
            builder = builder.header(CONTENT_TYPE, value);
        }
        let configured = self.headers.read().map_err(SendError::Header)?;
        let sent = builder.headers(configured).body(body).send().await;
        let mut response = sent.map_err(SendError::of)?;
        let mut read = Vec::new();
        while let Some(part) = response.chunk().await.map_err(SendError::of)? {
            if read.len() + part.len() > MAX_RESPONSE {
                return Err(SendError::TooLarge);
            }
            read.extend_from_slice(&part);
        }
        let mut answer = Response::new(Bytes::from(read));
        *answer.status_mut() = response.status();
        *answer.headers_mut() = response.headers().clone();
        Ok(answer)
    }
}

#[async_trait]
impl HttpClient for Collector {
    /// Blocks the thread of the exporter, which has nothing else to do.
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let answered = self.runtime.block_on(self.exchange(request));
        let why = match &answered {
            Ok(response) if response.status().is_success() => None,
            Ok(response) => Some(format!("status {}", response.status().as_u16())),
            Err(error) => Some(error.to_string()),
        };
        if let Some(why) = why
            && let Some(count) = FAULTS.count(Instant::now())
        {
            tracing::warn!(
                "sending telemetry to {} failed: {why} ({count} failed requests since the last warning)",
                self.origin
            );
        }
        answered.map_err(Into::into)
    }
}
