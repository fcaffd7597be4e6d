//! The binary: what is typed goes to `cli`.

use std::process::ExitCode;

fn main() -> ExitCode {
    portcullis::cli::main()
}
