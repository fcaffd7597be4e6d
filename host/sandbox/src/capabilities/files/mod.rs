//! The capability `files`: the paths that a call names, or the session's roots, or directories of
//! the operator's choice; to read, or to write as well.

mod changes;
pub mod effect;
mod grant;
mod link;
#[cfg(test)]
mod tests;

use wasmtime::component::Linker;

use super::Registered;
use crate::sandbox::State;

pub use grant::{FilesGrant, Scope};
pub use portcullis_files::FileUse;

impl Registered for FilesGrant {
    const NAME: &'static str = "files";
    const IMPORTS: &'static [&'static str] = &["wasi:filesystem/", "portcullis:plugin/changes"];
    const LEAST: &'static str = "access = \"read\"";

    fn want(sum: &mut Option<Self>, target: &str, access: &str) -> Result<(), String> {
        grant::want(sum, target, access)
    }

    fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
        link::link(linker)
    }
}
