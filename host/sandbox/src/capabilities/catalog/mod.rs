//! The capability `catalog`: the tools of all sources, for plugins that give them views.

pub mod effect;
mod grant;
mod link;
#[cfg(test)]
mod tests;

use wasmtime::component::Linker;

use super::Registered;
use crate::sandbox::State;

pub use grant::{CatalogAsk, CatalogGrant, Part};

impl Registered for CatalogGrant {
    const NAME: &'static str = "catalog";
    const IMPORTS: &'static [&'static str] = &["portcullis:plugin/catalog"];
    const LEAST: &'static str = "read = [\"tools\"]";

    fn want(sum: &mut Option<Self>, target: &str, _: &str) -> Result<(), String> {
        grant::want(sum, target)
    }

    fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
        link::link(linker)
    }
}
