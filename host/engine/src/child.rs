//! Compiling foreign components in a child process of the host itself, with limits of memory and
//! time and without files or network: malformed components crash or exhaust compilers.

use std::io::{Read, Write};

use portcullis_confine::{Bounds, Child, Ended, Output, Reach, restrict};

use super::code::{COMPILE_TIME, CodeError, MAX_COMPONENT_BYTES};
use super::{TARGET, compile};

/// The hidden subcommand of the child.
pub const SUBCOMMAND: &str = "compile-component";

/// Address space of the child. A component of 12 MB needs about 1.5 GB on two cores.
const MEMORY_BYTES: u64 = 4 * 1024 * 1024 * 1024;

/// The processor's time that a child may use. A component of 12 MB needs about half a minute.
const CPU_SECONDS: u64 = 120;

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
        Some(output) => Err(CodeError::Refused(explain(&output))),
        None => Err(CodeError::Refused(format!("its code has over {MAX_CODE_BYTES} bytes"))),
    }
}

fn explain(output: &Output) -> String {
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
    let bounds = Bounds {
        address_space: Some(MEMORY_BYTES),
        cpu_seconds: Some(CPU_SECONDS),
        file_bytes: Some(0),
        ..Bounds::default()
    };
    // It works on its pipes alone: no file, no network.
    restrict(&Reach::default(), &bounds)?;
    let mut component = Vec::new();
    std::io::stdin()
        .take(MAX_COMPONENT_BYTES + 1)
        .read_to_end(&mut component)
        .map_err(|error| format!("reading the component: {error}"))?;
    let engine = compile::settings(TARGET)
        .and_then(|config| wasmtime::Engine::new(&config))
        .map_err(|error| format!("{error:#}"))?;
    let code = engine.precompile_component(&component).map_err(|error| format!("{error:#}"))?;
    std::io::stdout().write_all(&code).map_err(|error| format!("writing the code: {error}"))
}
