//! The settings of wasmtime with which components are compiled. The code in the binary, the code in the cache and
//! the engine that runs it share them.
//!
//! The build script includes this file too, to compile the bundled plugins ahead of time.

use wasmtime::Config;

/// Settings that compiled code depends on.
///
/// The target is named, so that code compiled on a build machine runs on every machine of its
/// architecture, and not only on those that have the build machine's extensions.
///
/// # Errors
///
/// Where Cranelift was built without that target.
pub fn settings(target: &str) -> wasmtime::Result<Config> {
    let mut config = Config::new();
    config
        .target(target)?
        .wasm_component_model(true)
        // Only component-model async needs this support. Our contract does not, and instances are cheaper without.
        .concurrency_support(false)
        // Guests are stopped by time: fuel would count instructions.
        .epoch_interruption(true)
        // The guest's stack is small, so that endless recursion ends early. The fibre's holds host functions, too.
        .max_wasm_stack(512 * 1024)
        .async_stack_size(1024 * 1024)
        // Backtraces of traps name functions without them. They would be a tenth of the compiled code.
        .generate_address_map(false)
        .native_unwind_info(false)
        .wasm_backtrace_max_frames(std::num::NonZeroUsize::new(16));
    Ok(config)
}
