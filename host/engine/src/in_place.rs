//! Makes compiled code executable in place. wasmtime copies code into memory of its own, but the code in this
//! binary needs no copy. So only the pages that are used are read from disk, and the system can drop them from
//! memory like the pages of any program.

use rustix::mm::{MprotectFlags, mprotect};
use wasmtime::{CustomCodeMemory, Result};

/// Changes the protection of the pages of code. No page is writable and executable at the same time.
pub struct InPlace;

impl CustomCodeMemory for InPlace {
    fn required_alignment(&self) -> usize {
        rustix::param::page_size()
    }

    fn publish_executable(&self, code: *const u8, length: usize) -> Result<()> {
        protect(code, length, MprotectFlags::READ | MprotectFlags::EXEC)
    }

    /// The pages stay read-only, as nothing ever writes to the binary's code.
    fn unpublish_executable(&self, code: *const u8, length: usize) -> Result<()> {
        protect(code, length, MprotectFlags::READ)
    }
}

#[expect(unsafe_code, reason = "mprotect takes an address")]
fn protect(code: *const u8, length: usize, flags: MprotectFlags) -> Result<()> {
    // SAFETY: wasmtime passes whole pages of a component's code. Nothing else is in these pages, and nothing
    // writes to them any more.
    unsafe { mprotect(code.cast_mut().cast(), length, flags) }?;
    Ok(())
}
