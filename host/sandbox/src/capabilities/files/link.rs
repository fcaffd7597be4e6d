//! Links the interfaces for files: `wasi:filesystem`, and `changes`.

use wasmtime::component::{HasSelf, Linker};
use wasmtime_wasi::p2::bindings::filesystem;

use crate::bindings::portcullis::plugin::changes;
use crate::sandbox::InstanceState;
use portcullis_files::FilesData;

/// Links the interfaces.
pub(super) fn link(linker: &mut Linker<InstanceState>) -> wasmtime::Result<()> {
    filesystem::types::add_to_linker::<InstanceState, FilesData>(linker, InstanceState::files)?;
    filesystem::preopens::add_to_linker::<InstanceState, FilesData>(linker, InstanceState::files)?;
    changes::add_to_linker::<InstanceState, HasSelf<InstanceState>>(linker, |state| state)
}

/// Links the interfaces of WASI 0.3.
pub(super) fn link_concurrent(linker: &mut Linker<InstanceState>) -> wasmtime::Result<()> {
    use wasmtime_wasi::p3::bindings::filesystem;

    filesystem::types::add_to_linker::<InstanceState, FilesData>(linker, InstanceState::files)?;
    filesystem::preopens::add_to_linker::<InstanceState, FilesData>(linker, InstanceState::files)
}
