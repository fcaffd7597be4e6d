//! Confines this process with Landlock (files and connections), seccomp (system calls) and resource limits.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::error::ConfineError;
use crate::host::Host;
use crate::resource_limits::ResourceLimits;
#[cfg(target_os = "linux")]
use crate::sockets::Sockets;

/// The files that a confined process may reach, and whether it may use the network.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Confinement {
    /// Files and directories that the process may read and run, with all that is in them. Paths that do not exist are
    /// skipped.
    pub read: Vec<PathBuf>,
    /// Files and directories that the process may also write to.
    pub write: Vec<PathBuf>,
    /// Whether the process may connect to other machines, and to other processes of this machine.
    pub network: bool,
    /// Without `network`: the hosts that the process may connect to. The process has to be in the network of these hosts
    /// ([`enter_network`](crate::enter_network)), which only Linux has.
    #[serde(default)]
    pub hosts: Vec<Host>,
}

#[cfg(target_os = "linux")]
impl Confinement {
    fn sockets(&self) -> Sockets {
        match (self.network, self.hosts.is_empty()) {
            (true, _) => Sockets::All,
            (false, false) => Sockets::Internet,
            (false, true) => Sockets::None,
        }
    }
}

/// Confines the calling thread and all processes that it starts. This cannot be undone. Must be called while the
/// process has only one thread. The working directory stays the same, but its files can be opened only if `confinement`
/// allows it.
///
/// # Errors
///
/// The system supports a restriction and refuses to apply it. A system without such support is not an error: see
/// [`strength`].
pub fn restrict(confinement: &Confinement, limits: &ResourceLimits) -> Result<(), ConfineError> {
    set_limits(limits)?;
    #[cfg(target_os = "linux")]
    {
        linux::confine_files(confinement)?;
        crate::seccomp::restrict(confinement.sockets())?;
    }
    #[cfg(not(target_os = "linux"))]
    let _only_linux_can = confinement;
    Ok(())
}

#[cfg(unix)]
fn set_limits(limits: &ResourceLimits) -> Result<(), ConfineError> {
    use rustix::process::{Resource, Rlimit, setrlimit};
    for (resource, limit) in [
        (Resource::As, limits.address_space),
        (Resource::Data, limits.memory),
        (Resource::Cpu, limits.cpu_seconds),
        (Resource::Fsize, limits.file_bytes),
        // A crash must not leave a core dump.
        (Resource::Core, Some(0)),
    ] {
        let Some(limit) = limit else { continue };
        let limit = Rlimit { current: Some(limit), maximum: Some(limit) };
        setrlimit(resource, limit).map_err(|error| ConfineError::Limit {
            resource: format!("{resource:?}"),
            cause: error.into(),
        })?;
    }
    Ok(())
}

/// The limits hold for all processes that this process starts. None of those processes survives this process.
#[cfg(windows)]
fn set_limits(limits: &ResourceLimits) -> Result<(), ConfineError> {
    use crate::job::Job;
    let resource = || "memory and time".to_owned();
    Job::new(limits)
        .and_then(Job::enter)
        .map_err(|cause| ConfineError::Limit { resource: resource(), cause })
}

/// Whether this system confines the files of children. On other systems, a child reaches all files that its user can
/// reach.
pub fn confines_files() -> bool {
    #[cfg(target_os = "linux")]
    {
        linux::has_landlock()
    }
    #[cfg(not(target_os = "linux"))]
    {
        false
    }
}

/// The restrictions that this system enforces on children, as text for the operator.
pub fn strength() -> &'static str {
    #[cfg(target_os = "linux")]
    {
        match (linux::has_landlock(), crate::seccomp::is_available()) {
            (true, true) => "files by Landlock, system calls by seccomp, limits of memory and time",
            (true, false) => {
                "files by Landlock, limits of memory and time; system calls are not confined: no \
                 seccomp filter can be made for this processor"
            }
            (false, true) => {
                "system calls by seccomp, limits of memory and time; files are not confined: this \
                 kernel has no Landlock"
            }
            (false, false) => {
                "limits of memory and time only: this kernel has no Landlock, and no seccomp filter can \
                 be made for this processor"
            }
        }
    }
    #[cfg(all(unix, not(target_os = "linux")))]
    {
        "limits of time only: memory, files, network and system calls are not confined on this \
         system"
    }
    #[cfg(windows)]
    {
        "limits of memory and time by job objects, which also end all processes of a child together; files, \
         network and system calls are not confined on this system"
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use landlock::{
        ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
        RulesetAttr, RulesetCreatedAttr, RulesetError, Scope,
    };

    use super::{ConfineError, Confinement};
    use crate::sockets::Sockets;

    /// The newest version of Landlock whose rules are used here. An older kernel enforces the rules that it supports.
    const NEWEST_ABI: ABI = ABI::V6;

    pub fn has_landlock() -> bool {
        Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(ABI::V1))
            .and_then(Ruleset::create)
            .is_ok()
    }

    pub fn confine_files(confinement: &Confinement) -> Result<(), ConfineError> {
        let failed = |error: RulesetError| ConfineError::Files(error.into());
        let mut rules = Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(NEWEST_ABI))
            .and_then(|rules| rules.scope(Scope::from_all(NEWEST_ABI)))
            .map_err(failed)?;
        if confinement.sockets() == Sockets::None {
            rules = rules.handle_access(AccessNet::from_all(NEWEST_ABI)).map_err(failed)?;
        }
        let mut rules = rules.create().map_err(failed)?;
        let read = confinement.read.iter().map(|path| (path, AccessFs::from_read(NEWEST_ABI)));
        // All rights except making devices: a device file in a writable directory would give access to the device.
        let devices = AccessFs::MakeChar | AccessFs::MakeBlock;
        let write =
            confinement.write.iter().map(|path| (path, AccessFs::from_all(NEWEST_ABI) & !devices));
        for (path, access) in read.chain(write) {
            // A path that does not exist gets no rule: it stays unreachable, even if it is made later.
            let Ok(place) = PathFd::new(path) else { continue };
            rules = rules.add_rule(PathBeneath::new(place, access)).map_err(failed)?;
        }
        rules.restrict_self().map(drop).map_err(failed)
    }
}
