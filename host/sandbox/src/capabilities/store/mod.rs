//! The capability `store`: small durable state of one plugin, with one file for each record, or in the state that
//! several hosts share.
//!
//! Writes are versioned, so that two calls or processes that change one key at the same time can notice each other.

pub mod effect;
mod grant;
mod link;
mod place;
#[cfg(test)]
mod tests;

use wasmtime::component::Linker;

use super::{InvalidWant, Registered};
use crate::sandbox::InstanceState;

pub use effect::Keyspace;
pub use grant::{StoreAsk, StoreGrant, StoreUse};

impl Registered for StoreGrant {
    const NAME: &'static str = "store";
    const IMPORTS: &'static [&'static str] = &["portcullis:plugin/store"];
    const EXAMPLE: &'static str = "bytes = 1_000_000";

    fn want(wants: &mut Option<Self>, target: &str, _: &str) -> Result<(), InvalidWant> {
        grant::want(wants, target)
    }

    fn link(linker: &mut Linker<InstanceState>) -> wasmtime::Result<()> {
        link::link(linker)
    }
}
