//! Compiling foreign components in a child process of the host itself, with limits of memory and
//! time and without files or network: malformed components crash or exhaust compilers.

use std::io::{Read, Write};
use std::process::Stdio;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

use super::code::{COMPILE_TIME, CodeError, MAX_COMPONENT_BYTES};
use super::{TARGET, compile};

/// The hidden subcommand of the child.
pub const SUBCOMMAND: &str = "compile-component";

/// Address space of the child. A component of 12 MB needs about 1.5 GB on two cores.
const MEMORY_BYTES: u64 = 4 * 1024 * 1024 * 1024;

/// Most code that a child may answer with.
const MAX_CODE_BYTES: u64 = 512 * 1024 * 1024;

/// Compiles a component in a child. Dropped, it ends the child.
///
/// # Errors
///
/// [`CodeError::Refused`] where the component is malformed or too much work.
#[expect(clippy::disallowed_methods, reason = "starting the compiling child is this file's job")]
pub async fn compile(component: &[u8]) -> Result<Vec<u8>, CodeError> {
    if component.len() as u64 > MAX_COMPONENT_BYTES {
        return Err(CodeError::Refused(format!(
            "it has {} bytes; {MAX_COMPONENT_BYTES} are the most",
            component.len()
        )));
    }
    let host = |error: std::io::Error| CodeError::Host(format!("compiling child: {error}"));
    let mut child = Command::new(std::env::current_exe().map_err(host)?)
        .arg(SUBCOMMAND)
        .env_clear()
        .current_dir(std::path::MAIN_SEPARATOR_STR)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(host)?;
    let mut stdin = child.stdin.take().expect("piped above");
    let mut stdout = child.stdout.take().expect("piped above").take(MAX_CODE_BYTES);
    let mut stderr = child.stderr.take().expect("piped above").take(64 * 1024);
    let (mut code, mut said) = (Vec::new(), Vec::new());
    let work = async {
        // A child that fails early does not read all: its message counts, not the broken pipe.
        let feed = async {
            let _fed = stdin.write_all(component).await;
            drop(stdin);
        };
        let (_, code_read, said_read, status) = tokio::join!(
            feed,
            stdout.read_to_end(&mut code),
            stderr.read_to_end(&mut said),
            child.wait()
        );
        code_read.and(said_read).and(status)
    };
    let status = tokio::time::timeout(COMPILE_TIME, work)
        .await
        .map_err(|_| {
            CodeError::Refused(format!("compiling took over {} s", COMPILE_TIME.as_secs()))
        })?
        .map_err(host)?;
    if !status.success() {
        return Err(CodeError::Refused(explain(&said, status)));
    }
    Ok(code)
}

fn explain(said: &[u8], status: std::process::ExitStatus) -> String {
    let said = String::from_utf8_lossy(said);
    let lines: Vec<_> = said.lines().filter(|line| !line.trim().is_empty()).take(4).collect();
    if lines.is_empty() {
        format!("the compiler ended with {status}: the component is malformed or too large")
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
    confine()?;
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

#[cfg(unix)]
fn confine() -> Result<(), String> {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let cpu = COMPILE_TIME.as_secs() * 2;
    for (resource, limit) in [
        (Resource::As, MEMORY_BYTES),
        (Resource::Cpu, cpu),
        (Resource::Core, 0),
        (Resource::Fsize, 0),
    ] {
        let limit = Rlimit { current: Some(limit), maximum: Some(limit) };
        setrlimit(resource, limit).map_err(|error| format!("limiting {resource:?}: {error}"))?;
    }
    landlock()
}

#[cfg(not(unix))]
fn confine() -> Result<(), String> {
    Ok(())
}

/// No file can be opened and no address reached from here on. Where the kernel has no Landlock the
/// child still has its limits; `portcullis check` says which it is.
#[cfg(target_os = "linux")]
fn landlock() -> Result<(), String> {
    use landlock::{
        ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr,
    };
    let confined = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(ABI::V5))
        .and_then(|ruleset| ruleset.handle_access(AccessNet::from_all(ABI::V5)))
        .and_then(Ruleset::create)
        .and_then(landlock::RulesetCreated::restrict_self);
    confined.map(drop).map_err(|error| format!("confining: {error}"))
}

#[cfg(all(unix, not(target_os = "linux")))]
fn landlock() -> Result<(), String> {
    Ok(())
}

/// What confines the compiling child on this system, in words for `portcullis check`.
pub fn confinement() -> &'static str {
    #[cfg(target_os = "linux")]
    {
        use landlock::{ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr};
        let supported = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(ABI::V1))
            .and_then(Ruleset::create)
            .is_ok();
        if supported {
            "limits of memory and time; no files, no network (Landlock)"
        } else {
            "limits of memory and time only: this kernel has no Landlock"
        }
    }
    #[cfg(all(unix, not(target_os = "linux")))]
    {
        "limits of memory and time only: this system has no Landlock"
    }
    #[cfg(not(unix))]
    {
        "a limit of time only"
    }
}
