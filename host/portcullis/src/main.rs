//! The binary: what is typed goes to `cli`.

use std::process::ExitCode;

/// A call makes many small allocations and ends them all: the system's allocator takes longer for that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    portcullis::cli::main()
}
