//! Fetching for a pack: from where the order says, and from nowhere else.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Limited};
use portcullis_egress::{
    Caps, Client, Connection, ConnectionPermit, Origin, Policy, Request, RequestPermit, is_public,
};

use crate::{Order, SCHEMAS};

/// What one pack may ask for: as many requests as it can have items, and some.
const CAPS: Caps =
    Caps { requests: 5000, body_bytes: 64 * 1024 * 1024, time: Duration::from_secs(120) };

/// The servers that an order names.
pub struct Web {
    client: Client,
    runtime: tokio::runtime::Runtime,
}

impl Web {
    /// Those that this order needs. Not to be made, and not to be used, where a runtime runs already.
    ///
    /// # Errors
    ///
    /// What is wrong with the mirrors it names.
    pub fn of(order: &Order) -> Result<Self, String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| format!("starting threads: {error}"))?;
        let agent = concat!("portcullis/", env!("CARGO_PKG_VERSION"));
        Ok(Self { client: Client::new(Sources::of(order)?, CAPS, agent), runtime })
    }

    /// Fetches what is at an address, of at most so many bytes; `None` where there is nothing.
    ///
    /// # Errors
    ///
    /// Why it cannot be had.
    pub fn fetch(&mut self, url: &str, most: u64) -> Result<Option<Vec<u8>>, String> {
        let Self { client, runtime } = self;
        let work = async {
            let request = http::Request::get(url).body(Empty::<Bytes>::new());
            let request = request.map_err(|error| error.to_string())?;
            let response = client.send(request, None).await.map_err(|fault| fault.to_string())?;
            match response.status().as_u16() {
                200..=299 => {}
                404 => return Ok(None),
                status => return Err(format!("the server answers {status}")),
            }
            let most = usize::try_from(most).unwrap_or(usize::MAX);
            let body = Limited::new(response.into_body(), most).collect().await;
            Ok(Some(body.map_err(|error| error.to_string())?.to_bytes().into()))
        };
        runtime.block_on(work).map_err(|why: String| format!("Fetching {url}: {why}"))
    }
}

/// Where a pack comes from.
struct Sources {
    /// May have any address: the operator named them.
    named: Vec<Origin>,
    /// May have public addresses.
    public: Vec<Origin>,
}

impl Sources {
    fn of(order: &Order) -> Result<Self, String> {
        let mut sources = Self { named: Vec::new(), public: Vec::new() };
        match &order.cdn {
            Some(mirror) => sources.named.push(mirror.parse()?),
            None => sources.public.push(order.framework.public_cdn().parse()?),
        }
        match order.schemas.as_deref() {
            Some(SCHEMAS) => sources.public.push(SCHEMAS.parse()?),
            Some(mirror) => sources.named.push(mirror.parse()?),
            None => {}
        }
        Ok(sources)
    }
}

impl Policy for Sources {
    fn permit(&self, request: Request) -> Option<Box<dyn RequestPermit>> {
        let is_named = self.named.contains(&request.origin);
        let is_allowed = is_named || self.public.contains(&request.origin);
        request.permit_if(is_allowed)
    }

    fn permit_connection(&self, connection: Connection) -> Option<Box<dyn ConnectionPermit>> {
        let is_named = self.named.iter().any(|origin| origin.host() == connection.host);
        let is_allowed = is_named || is_public(connection.address);
        connection.permit_if(is_allowed)
    }
}
