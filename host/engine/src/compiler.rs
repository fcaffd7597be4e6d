//! Compiles components that are not bundled, in a child process with limits of memory and time, and without files or
//! network: malformed components can crash or exhaust a compiler.

use std::io::{Read, Write};
use std::time::Duration;

use portcullis_confine::{Child, Confinement, Exit, Output, ResourceLimits, restrict};

use crate::error::{CodeError, CompilerError};
use crate::limits::{MAX_CODE_BYTES, MAX_COMPONENT_BYTES};
use crate::{EngineKind, TARGET};

/// The first argument of this program when it is started as the compiler: the program must then call [`main`].
pub const SUBCOMMAND: &str = "compile-component";

/// Address space of the compiler in bytes: the base, the share for each MiB of the component, and the maximum.
/// Compiling a Python component of 18 MiB took 1.3 GiB. The allocator reserves 1 GiB of this address space without
/// using it.
const MEMORY_BYTES: (u64, u64, u64) = (1280 * MIB, 48 * MIB, 4096 * MIB);

/// CPU time of the compiler in seconds: the base, the share for each MiB, and the maximum. Compiling a component of
/// 18 MiB took 15 s.
const CPU_SECONDS: (u64, u64, u64) = (10, 5, 120);

const MIB: u64 = 1024 * 1024;

/// The limit for a component of this size in bytes, from the base, the share for each MiB and the maximum.
fn share((base, each, most): (u64, u64, u64), bytes: usize) -> u64 {
    (base + each * (bytes as u64).div_ceil(MIB)).min(most)
}

/// Maximum wall-clock time of compiling. On a busy machine, large components take minutes. A compiler that computes
/// without end is stopped by its limit of CPU time.
const COMPILE_TIME: Duration = Duration::from_secs(300);

/// The version of the compiler's limits and of what it can compile. When it changes, components that were refused before are tried again.
pub const LIMITS_VERSION: u32 = 2;

/// Compiles a component in a child process. Returns the code behind a byte for the kind of its engine. If this future is
/// dropped, the child process is killed.
///
/// # Errors
///
/// The component is malformed or exceeds a limit, or the system cannot run the compiler.
pub async fn compile(component: &[u8]) -> Result<Vec<u8>, CodeError> {
    if component.len() as u64 > MAX_COMPONENT_BYTES {
        return Err(CodeError::TooLarge(component.len()));
    }
    let child = Child::of_this_program(&[SUBCOMMAND]).map_err(CodeError::Compiler)?;
    let work = child.finish(component, MAX_CODE_BYTES);
    let output = tokio::time::timeout(COMPILE_TIME, work)
        .await
        .map_err(|_| CodeError::TimedOut(COMPILE_TIME.as_secs()))?
        .map_err(CodeError::Compiler)?;
    match output {
        Some(output) if output.ended == Exit::Exited(0) => Ok(output.stdout),
        Some(output) => Err(explain(&output, component.len())),
        None => Err(CodeError::CodeTooLarge),
    }
}

/// The signals that end a process that used up its CPU time: SIGXCPU at the soft limit, SIGKILL at the hard limit.
/// Both limits are the same, so Linux sends SIGKILL at once.
const CPU_TIME_SIGNALS: [i32; 2] = [24, 9];

fn explain(output: &Output, bytes: usize) -> CodeError {
    if let Exit::Signalled(signal) = output.ended
        && CPU_TIME_SIGNALS.contains(&signal)
    {
        return CodeError::CpuTime { seconds: share(CPU_SECONDS, bytes), bytes };
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<_> = stderr.lines().filter(|line| !line.trim().is_empty()).take(4).collect();
    if lines.is_empty() {
        CodeError::Crashed(output.ended)
    } else {
        CodeError::Malformed(lines.join(": "))
    }
}

/// The side of the child process: reads a component from stdin and writes its code to stdout.
///
/// # Errors
///
/// wasmtime refuses the component, or the system fails.
pub fn main() -> Result<(), CompilerError> {
    // Only the component's size is used before the limits are set, as the limits depend on the size.
    let mut component = Vec::new();
    std::io::stdin()
        .take(MAX_COMPONENT_BYTES + 1)
        .read_to_end(&mut component)
        .map_err(CompilerError::Read)?;
    let limits = ResourceLimits {
        address_space: Some(share(MEMORY_BYTES, component.len())),
        cpu_seconds: Some(share(CPU_SECONDS, component.len())),
        file_bytes: Some(0),
        ..ResourceLimits::default()
    };
    // The compiler needs only its pipes: no file and no network.
    restrict(&Confinement::default(), &limits)?;
    let (kind, code) = EngineKind::compile(&component, TARGET).map_err(refused)?;
    let mut stdout = std::io::stdout();
    stdout
        .write_all(&[kind.byte()])
        .and_then(|()| stdout.write_all(&code))
        .and_then(|()| stdout.flush())
        .map_err(CompilerError::Write)
}

fn refused(error: wasmtime::Error) -> CompilerError {
    CompilerError::Refused(error.into_boxed_dyn_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_grow_with_the_component_up_to_a_maximum() {
        assert_eq!(share(CPU_SECONDS, 2000), 15);
        assert_eq!(share(CPU_SECONDS, 18 * 1024 * 1024), 100);
        assert_eq!(share(CPU_SECONDS, 64 * 1024 * 1024), 120);
        assert_eq!(share(MEMORY_BYTES, 2000), 1328 * MIB);
        assert_eq!(share(MEMORY_BYTES, 64 * 1024 * 1024), 4096 * MIB);
    }
}
