//! The capability `cache`: derived data of one plugin that the host may drop at any time.

pub mod effect;
mod grant;
mod link;
#[cfg(test)]
mod tests;

use wasmtime::component::Linker;

use super::{InvalidWant, Registered};
use crate::sandbox::InstanceState;

pub use grant::{CacheAsk, CacheGrant};
pub use link::Claim;

impl Registered for CacheGrant {
    const NAME: &'static str = "cache";
    const IMPORTS: &'static [&'static str] = &["portcullis:plugin/cache"];
    const EXAMPLE: &'static str = "bytes = 1_000_000";

    fn want(wants: &mut Option<Self>, target: &str, _: &str) -> Result<(), InvalidWant> {
        grant::want(wants, target)
    }

    /// Compares the sizes only: a manifest cannot say whether the cache is on disk.
    fn is_as_wanted(&self, want: &Self) -> bool {
        self.bytes == want.bytes
    }

    fn link(linker: &mut Linker<InstanceState>) -> wasmtime::Result<()> {
        link::link(linker)
    }
}
