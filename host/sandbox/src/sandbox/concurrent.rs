//! Links the interfaces of WASI 0.3 that every guest may import: clocks, random numbers, and stdio without input,
//! environment and arguments. A guest gets the same of them as of WASI 0.2.

use wasmtime::Result;
use wasmtime::component::Linker;
use wasmtime_wasi::cli::{WasiCli, WasiCliView as _};
use wasmtime_wasi::clocks::{WasiClocks, WasiClocksView as _};
use wasmtime_wasi::p3::bindings::{cli, clocks, random};
use wasmtime_wasi::random::WasiRandom;

use super::state::InstanceState;

/// Links the interfaces.
///
/// # Errors
///
/// Two interfaces define one name: a fault of this program.
pub(super) fn link(linker: &mut Linker<InstanceState>) -> Result<()> {
    clocks::types::add_to_linker::<InstanceState, WasiClocks>(linker, InstanceState::clocks)?;
    clocks::system_clock::add_to_linker::<InstanceState, WasiClocks>(
        linker,
        InstanceState::clocks,
    )?;
    clocks::monotonic_clock::add_to_linker::<InstanceState, WasiClocks>(
        linker,
        InstanceState::clocks,
    )?;
    random::random::add_to_linker::<InstanceState, WasiRandom>(linker, |s| s.wasi.random())?;
    random::insecure::add_to_linker::<InstanceState, WasiRandom>(linker, |s| s.wasi.random())?;
    random::insecure_seed::add_to_linker::<InstanceState, WasiRandom>(linker, |s| s.wasi.random())?;
    cli::exit::add_to_linker::<InstanceState, WasiCli>(linker, InstanceState::cli)?;
    cli::environment::add_to_linker::<InstanceState, WasiCli>(linker, InstanceState::cli)?;
    cli::stdin::add_to_linker::<InstanceState, WasiCli>(linker, InstanceState::cli)?;
    cli::stdout::add_to_linker::<InstanceState, WasiCli>(linker, InstanceState::cli)?;
    cli::stderr::add_to_linker::<InstanceState, WasiCli>(linker, InstanceState::cli)?;
    cli::terminal_input::add_to_linker::<InstanceState, WasiCli>(linker, InstanceState::cli)?;
    cli::terminal_output::add_to_linker::<InstanceState, WasiCli>(linker, InstanceState::cli)?;
    cli::terminal_stdin::add_to_linker::<InstanceState, WasiCli>(linker, InstanceState::cli)?;
    cli::terminal_stdout::add_to_linker::<InstanceState, WasiCli>(linker, InstanceState::cli)?;
    cli::terminal_stderr::add_to_linker::<InstanceState, WasiCli>(linker, InstanceState::cli)
}
