//! The binary `portcullis`: see `cli`.

use std::process::ExitCode;

/// Calls make many short-lived allocations, for which mimalloc is faster than the system's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    portcullis::cli::main()
}
