//! The capability `catalog`: reads the tools of all sources and the last answers of tools, for plugins that make views
//! of tools.

pub mod effect;
mod grant;
mod link;
mod pointers;
#[cfg(test)]
mod tests;

use wasmtime::component::Linker;

use super::{InvalidWant, Registered};
use crate::sandbox::InstanceState;

pub use grant::{CatalogAsk, CatalogGrant, Part};
pub(crate) use pointers::MAX_PATHS;

impl Registered for CatalogGrant {
    const NAME: &'static str = "catalog";
    const IMPORTS: &'static [&'static str] = &["portcullis:plugin/catalog"];
    const EXAMPLE: &'static str = "read = [\"tools\"]";

    fn want(wants: &mut Option<Self>, target: &str, _: &str) -> Result<(), InvalidWant> {
        grant::want(wants, target)
    }

    fn link(linker: &mut Linker<InstanceState>) -> wasmtime::Result<()> {
        link::link(linker)
    }
}
