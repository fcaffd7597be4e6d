//! The settings of wasmtime for compiling components. The code in the binary, the code in the cache, and the engine
//! that runs both have the same settings.
//!
//! The build script of `portcullis-core` includes this file, too, and compiles the bundled plugins ahead of time.

use wasmtime::Config;

/// Settings that compiled code depends on.
///
/// The target is named, so that code compiled on a build machine runs on every machine of its
/// architecture, and not only on processors with the same extensions as the build machine's.
///
/// # Errors
///
/// Cranelift was built without this target.
pub fn settings(target: &str) -> wasmtime::Result<Config> {
    let mut config = Config::new();
    config
        .target(target)?
        .wasm_component_model(true)
        // Only component-model async needs this support, and our contract does not use it. Instances are cheaper
        // without the support.
        .concurrency_support(false)
        // Guests are limited by time. Fuel would count instructions.
        .epoch_interruption(true)
        // The guest's stack is small, so that endless recursion ends early. The fibre's stack also holds the frames
        // of host functions.
        .max_wasm_stack(512 * 1024)
        .async_stack_size(1024 * 1024)
        // Backtraces of traps name functions even without address maps. The maps would take a tenth of the compiled
        // code.
        .generate_address_map(false)
        // Windows does not run code without unwind information.
        .native_unwind_info(target.contains("windows"))
        .wasm_backtrace_max_frames(std::num::NonZeroUsize::new(16));
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_are_compiled_for_windows_too() {
        let target = format!("{}-pc-windows-msvc", std::env::consts::ARCH);
        let engine = wasmtime::Engine::new(&settings(&target).unwrap());
        // An empty component.
        engine.unwrap().precompile_component(b"\0asm\x0d\0\x01\0").unwrap();
    }
}
