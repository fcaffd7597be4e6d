//! What a guest sees of its files: `wasi:filesystem`, and the interface `changes`.

use wasmtime::component::{HasSelf, Linker};
use wasmtime_wasi::p2::bindings::filesystem;

use crate::bindings::portcullis::plugin::changes;
use crate::sandbox::State;
use portcullis_files::FilesData;

/// Links the interfaces.
pub(super) fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    filesystem::types::add_to_linker::<State, FilesData>(linker, State::files)?;
    filesystem::preopens::add_to_linker::<State, FilesData>(linker, State::files)?;
    changes::add_to_linker::<State, HasSelf<State>>(linker, |state| state)
}
