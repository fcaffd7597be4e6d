//! What a process may reach from here on: files by Landlock, system calls by seccomp, amounts by
//! resource limits.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What a process may reach.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Reach {
    /// Files and directories, with all that is in them, to read and to run. What is not there is
    /// passed over.
    pub read: Vec<PathBuf>,
    /// Directories to change as well.
    pub write: Vec<PathBuf>,
    /// Whether other machines, and other processes of this one.
    pub network: bool,
}

/// How much of everything.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Bounds {
    /// Bytes of address space, for programs that do not reserve what they never use.
    pub address_space: Option<u64>,
    /// Bytes of memory that is written to: of each process of the child, on Linux alone.
    pub memory: Option<u64>,
    /// Seconds of computing, of each process of the child.
    pub cpu_seconds: Option<u64>,
    /// Bytes of one file.
    pub file_bytes: Option<u64>,
}

/// Restricts this process and all it starts, for good. The working directory stays as it is, and
/// nothing in it can be opened unless `reach` says so.
///
/// # Errors
///
/// Where the system has the means and refuses. Where it does not have them, nothing is said here:
/// see [`strength`].
pub fn restrict(reach: &Reach, bounds: &Bounds) -> Result<(), String> {
    bound(bounds)?;
    #[cfg(target_os = "linux")]
    {
        linux::files(reach)?;
        crate::calls::confine(reach.network)?;
    }
    #[cfg(not(target_os = "linux"))]
    let _only_linux_can = reach;
    Ok(())
}

#[cfg(unix)]
fn bound(bounds: &Bounds) -> Result<(), String> {
    use rustix::process::{Resource, Rlimit, setrlimit};
    for (resource, limit) in [
        (Resource::As, bounds.address_space),
        (Resource::Data, bounds.memory),
        (Resource::Cpu, bounds.cpu_seconds),
        (Resource::Fsize, bounds.file_bytes),
        // Nothing of what it works on is left behind when it crashes.
        (Resource::Core, Some(0)),
    ] {
        let Some(limit) = limit else { continue };
        let limit = Rlimit { current: Some(limit), maximum: Some(limit) };
        setrlimit(resource, limit).map_err(|error| format!("limiting {resource:?}: {error}"))?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn bound(_: &Bounds) -> Result<(), String> {
    Ok(())
}

/// What confines children on this system, in words for the operator.
pub fn strength() -> &'static str {
    #[cfg(target_os = "linux")]
    {
        match (linux::has_landlock(), crate::calls::can_be_confined()) {
            (true, true) => "files by Landlock, system calls by seccomp, limits of memory and time",
            (true, false) => {
                "files by Landlock, limits of memory and time; system calls are not confined: no \
                 seccomp on this processor"
            }
            (false, true) => {
                "system calls by seccomp, limits of memory and time; files are not confined: this \
                 kernel has no Landlock"
            }
            (false, false) => {
                "limits of memory and time only: this kernel has neither Landlock nor seccomp"
            }
        }
    }
    #[cfg(all(unix, not(target_os = "linux")))]
    {
        "limits of memory and time only: files, network and system calls are not confined on this \
         system"
    }
    #[cfg(not(unix))]
    {
        "a limit of time only: nothing else is confined on this system"
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use landlock::{
        ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
        RulesetAttr, RulesetCreatedAttr, RulesetError, Scope,
    };

    use super::Reach;

    /// The newest rules that are known here. An older kernel enforces those that it has.
    const KNOWN: ABI = ABI::V6;

    pub fn has_landlock() -> bool {
        Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(ABI::V1))
            .and_then(Ruleset::create)
            .is_ok()
    }

    pub fn files(reach: &Reach) -> Result<(), String> {
        let failed = |error: RulesetError| format!("confining to files: {error}");
        let mut rules = Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(KNOWN))
            .and_then(|rules| rules.scope(Scope::from_all(KNOWN)))
            .map_err(failed)?;
        if !reach.network {
            rules = rules.handle_access(AccessNet::from_all(KNOWN)).map_err(failed)?;
        }
        let mut rules = rules.create().map_err(failed)?;
        let read = reach.read.iter().map(|path| (path, AccessFs::from_read(KNOWN)));
        // Everything but devices, which are doors to what no rule about files holds.
        let devices = AccessFs::MakeChar | AccessFs::MakeBlock;
        let write = reach.write.iter().map(|path| (path, AccessFs::from_all(KNOWN) & !devices));
        for (path, access) in read.chain(write) {
            // What is not there cannot be reached either.
            let Ok(place) = PathFd::new(path) else { continue };
            rules = rules.add_rule(PathBeneath::new(place, access)).map_err(failed)?;
        }
        rules.restrict_self().map(drop).map_err(failed)
    }
}
