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
        linux::calls(reach)?;
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
        match (linux::has_landlock(), linux::has_seccomp()) {
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
    use std::collections::BTreeMap;

    use landlock::{
        ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
        RulesetAttr, RulesetCreatedAttr, RulesetError, Scope,
    };
    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};

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

    pub fn has_seccomp() -> bool {
        TargetArch::try_from(std::env::consts::ARCH).is_ok()
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
        let write = reach.write.iter().map(|path| (path, AccessFs::from_all(KNOWN)));
        for (path, access) in read.chain(write) {
            // What is not there cannot be reached either.
            let Ok(place) = PathFd::new(path) else { continue };
            rules = rules.add_rule(PathBeneath::new(place, access)).map_err(failed)?;
        }
        rules.restrict_self().map(drop).map_err(failed)
    }

    /// Calls that no child needs: looking into other processes, leaving the group that it is ended
    /// with, other namespaces, and doors of the kernel.
    const NEVER: &[libc::c_long] = &[
        libc::SYS_add_key,
        libc::SYS_bpf,
        libc::SYS_delete_module,
        libc::SYS_finit_module,
        libc::SYS_fsconfig,
        libc::SYS_fsmount,
        libc::SYS_fsopen,
        libc::SYS_init_module,
        libc::SYS_kexec_load,
        libc::SYS_keyctl,
        libc::SYS_mount,
        libc::SYS_move_mount,
        libc::SYS_open_by_handle_at,
        libc::SYS_open_tree,
        libc::SYS_perf_event_open,
        libc::SYS_pidfd_getfd,
        libc::SYS_pivot_root,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_ptrace,
        libc::SYS_reboot,
        libc::SYS_request_key,
        libc::SYS_setns,
        libc::SYS_setpgid,
        libc::SYS_setsid,
        libc::SYS_swapon,
        libc::SYS_umount2,
        libc::SYS_unshare,
        libc::SYS_userfaultfd,
    ];

    /// Calls that only a child with a network needs. A pair of connected sockets may be made: it
    /// leads nowhere else.
    const NETWORK: &[libc::c_long] = &[libc::SYS_socket];

    /// A ring of requests goes past this filter: with `ENOSYS` programs do without.
    const RINGS: &[libc::c_long] =
        &[libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register];

    pub fn calls(reach: &Reach) -> Result<(), String> {
        if !has_seccomp() {
            return Ok(());
        }
        let refused = if reach.network { &[][..] } else { NETWORK };
        let filters =
            [filter(NEVER.iter().chain(refused), libc::EPERM), filter(RINGS.iter(), libc::ENOSYS)];
        for filter in filters {
            seccompiler::apply_filter(&filter?)
                .map_err(|error| format!("confining system calls: {error}"))?;
        }
        Ok(())
    }

    fn filter<'a>(
        calls: impl Iterator<Item = &'a libc::c_long>,
        errno: i32,
    ) -> Result<BpfProgram, String> {
        let failed = |error: seccompiler::BackendError| format!("confining system calls: {error}");
        let mut rules = BTreeMap::new();
        for call in calls {
            rules.insert(*call, Vec::new());
            // The same call in the numbering of x32, which some kernels serve too.
            #[cfg(target_arch = "x86_64")]
            rules.insert(*call | 0x4000_0000, Vec::new());
        }
        let errno = SeccompAction::Errno(errno.cast_unsigned());
        let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(failed)?;
        SeccompFilter::new(rules, SeccompAction::Allow, errno, arch)
            .and_then(BpfProgram::try_from)
            .map_err(failed)
    }
}
