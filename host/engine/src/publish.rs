//! Makes compiled code executable where it lies: wasmtime does so with memory of its own alone, but what
//! comes with the binary needs no copy. Only the pages that are used are then read, and they are given back
//! to the system like those of any program.

use rustix::mm::{MprotectFlags, mprotect};
use wasmtime::{CustomCodeMemory, Result};

/// Changes what the pages of code allow; never is one writable and executable.
pub struct InPlace;

impl CustomCodeMemory for InPlace {
    fn required_alignment(&self) -> usize {
        rustix::param::page_size()
    }

    fn publish_executable(&self, code: *const u8, length: usize) -> Result<()> {
        protect(code, length, MprotectFlags::READ | MprotectFlags::EXEC)
    }

    /// Nobody writes there: what is wasmtime's own goes next, and the binary stays as it is.
    fn unpublish_executable(&self, code: *const u8, length: usize) -> Result<()> {
        protect(code, length, MprotectFlags::READ)
    }
}

#[expect(unsafe_code, reason = "what memory allows is said by address")]
fn protect(code: *const u8, length: usize, flags: MprotectFlags) -> Result<()> {
    // SAFETY: wasmtime hands over whole pages of a component's code, which nothing else lies in, and which
    // nobody writes to any more.
    unsafe { mprotect(code.cast_mut().cast(), length, flags) }?;
    Ok(())
}
