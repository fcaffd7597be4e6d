//! The capability `files`: reads or writes the paths that a call names, the session's roots, or directories that the
//! operator names.

mod changes;
pub mod effect;
mod grant;
mod link;
mod short_form;
#[cfg(test)]
mod tests;

use portcullis_files::Access;
use wasmtime::component::Linker;

use super::{InvalidWant, Registered};
use crate::sandbox::InstanceState;

pub use grant::{FilesGrant, Scope};
pub use portcullis_files::FileUse;

impl Registered for FilesGrant {
    const NAME: &'static str = "files";
    const IMPORTS: &'static [&'static str] = &["wasi:filesystem/", "portcullis:plugin/changes"];
    const EXAMPLE: &'static str = "access = \"read\"";

    fn want(wants: &mut Option<Self>, target: &str, access: &str) -> Result<(), InvalidWant> {
        grant::want(wants, target, access)
    }

    fn targets(&self) -> Vec<String> {
        grant::targets(self)
    }

    fn can_change(&self) -> bool {
        self.access == Access::Write || !self.writable.is_empty()
    }

    fn link(linker: &mut Linker<InstanceState>) -> wasmtime::Result<()> {
        link::link(linker)
    }

    fn link_concurrent(linker: &mut Linker<InstanceState>) -> wasmtime::Result<()> {
        link::link_concurrent(linker)
    }
}
