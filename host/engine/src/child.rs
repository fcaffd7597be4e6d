//! Compiling foreign components in a child process of the host itself, with limits of memory and
//! time and without files or network: malformed components crash or exhaust compilers.

use std::io::{Read, Write};

use portcullis_confine::{Bounds, Child, Ended, Output, Reach, restrict};

use super::code::{COMPILE_TIME, CodeError, MAX_COMPONENT_BYTES};
use super::{TARGET, compile};

/// The hidden subcommand of the child.
pub const SUBCOMMAND: &str = "compile-component";

/// Address space of a child, for a component of no size and for each MiB of it, and at most. One of 18 MiB
/// (Python) was measured with 1.3 GiB, of which its allocator reserves 1 GiB without using it.
const MEMORY_BYTES: (u64, u64, u64) = (1280 * MIB, 48 * MIB, 4096 * MIB);

/// The processor's time that a child may use in seconds, likewise. One of 18 MiB was measured with 15 s.
const CPU_SECONDS: (u64, u64, u64) = (10, 5, 120);

const MIB: u64 = 1024 * 1024;

/// What a component of this size may use of something.
fn share((base, each, most): (u64, u64, u64), bytes: usize) -> u64 {
    (base + each * (bytes as u64).div_ceil(MIB)).min(most)
}

/// Most code that a child may answer with.
const MAX_CODE_BYTES: usize = 512 * 1024 * 1024;

/// Compiles a component in a child. Dropped, it ends the child.
///
/// # Errors
///
/// [`CodeError::Refused`] where the component is malformed or too much work.
pub async fn compile(component: &[u8]) -> Result<Vec<u8>, CodeError> {
    if component.len() as u64 > MAX_COMPONENT_BYTES {
        return Err(CodeError::Refused(format!(
            "it has {} bytes; {MAX_COMPONENT_BYTES} are the most",
            component.len()
        )));
    }
    let host = |error: std::io::Error| CodeError::Host(format!("compiling child: {error}"));
    let work =
        Child::of_this_program(&[SUBCOMMAND]).map_err(host)?.finish(component, MAX_CODE_BYTES);
    let output = tokio::time::timeout(COMPILE_TIME, work)
        .await
        .map_err(|_| {
            CodeError::Refused(format!("compiling took over {} s", COMPILE_TIME.as_secs()))
        })?
        .map_err(host)?;
    match output {
        Some(output) if output.ended == Ended::Exited(0) => Ok(output.stdout),
        Some(output) => Err(CodeError::Refused(explain(&output, component.len()))),
        None => Err(CodeError::Refused(format!("its code has over {MAX_CODE_BYTES} bytes"))),
    }
}

/// What ends a process that used up its time: SIGXCPU, and SIGKILL where that is not heeded.
const OUT_OF_TIME: [i32; 2] = [24, 9];

fn explain(output: &Output, bytes: usize) -> String {
    if let Ended::Signalled(signal) = output.ended
        && OUT_OF_TIME.contains(&signal)
    {
        return format!(
            "compiling it takes more than the {} s of the processor's time that a component of {bytes} \
             bytes may use",
            share(CPU_SECONDS, bytes)
        );
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<_> = said.lines().filter(|line| !line.trim().is_empty()).take(4).collect();
    if lines.is_empty() {
        let how = match output.ended {
            Ended::Exited(code) => format!("status {code}"),
            Ended::Signalled(signal) => format!("signal {signal}"),
        };
        format!("the compiler ended with {how}: the component is malformed or too large")
    } else {
        lines.join(": ")
    }
}

/// The child: reads a component from stdin, writes its code to stdout.
///
/// # Errors
///
/// Where it is not a component that wasmtime takes.
pub fn main() -> Result<(), String> {
    // Nothing looks at the component before the bounds hold, which depend on its size.
    let mut component = Vec::new();
    std::io::stdin()
        .take(MAX_COMPONENT_BYTES + 1)
        .read_to_end(&mut component)
        .map_err(|error| format!("reading the component: {error}"))?;
    let bounds = Bounds {
        address_space: Some(share(MEMORY_BYTES, component.len())),
        cpu_seconds: Some(share(CPU_SECONDS, component.len())),
        file_bytes: Some(0),
        ..Bounds::default()
    };
    // It works on its pipes alone: no file, no network.
    restrict(&Reach::default(), &bounds)?;
    let engine = compile::settings(TARGET)
        .and_then(|config| wasmtime::Engine::new(&config))
        .map_err(|error| format!("{error:#}"))?;
    let code = engine.precompile_component(&component).map_err(|error| format!("{error:#}"))?;
    std::io::stdout().write_all(&code).map_err(|error| format!("writing the code: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_component_may_use_grows_with_its_size_and_has_an_end() {
        assert_eq!(share(CPU_SECONDS, 2000), 15);
        assert_eq!(share(CPU_SECONDS, 18 * 1024 * 1024), 100);
        assert_eq!(share(CPU_SECONDS, 64 * 1024 * 1024), 120);
        assert_eq!(share(MEMORY_BYTES, 2000), 1328 * MIB);
        assert_eq!(share(MEMORY_BYTES, 64 * 1024 * 1024), 4096 * MIB);
    }
}
