//! Restricts the system calls of a confined process with seccomp. Lists name the calls that are refused. Calls that are
//! newer than the last review of these lists are refused, too.
//!
//! Landlock restricts which files a process may open, but not changes of a file's mode, owner, times and attributes.
//! seccomp sees numbers and no paths, so it cannot tell one file from another. Therefore calls that change this
//! metadata have no effect on any file: they fail, or they succeed and do nothing. Calls that reach other processes,
//! the kernel or the whole machine are refused as well. The reasons and measurements are in
//! `docs/adr/0039-confined-children-cannot-change-metadata.md`. Numbers and arguments are those of the kernel's own
//! system call tables.

use std::collections::BTreeMap;
use std::error::Error;

use libc::c_long;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, sock_filter,
};

use crate::error::ConfineError;
use crate::sockets::Sockets;

/// The newest call that was reviewed: `futex_requeue` of Linux 6.7. A newer call fails with `ENOSYS`, as on a
/// kernel that does not have it. From 424 on, a call has the same number on every processor.
const NEWEST_REVIEWED: u32 = 456;

/// Numbers of calls that are the same on every processor, but that the C library does not define on every processor.
const QUOTACTL_FD: c_long = 443;
const FCHMODAT2: c_long = 452;

/// `kexec_file_load` on arm64, which the crate `libc` defines there for the GNU C library only.
#[cfg(target_arch = "aarch64")]
const KEXEC_FILE_LOAD: c_long = 294;

/// Calls that fail with `EPERM`, whatever their arguments are.
const REFUSED: &[c_long] = &[
    // Other processes: their memory, their descriptors and their execution.
    libc::SYS_kcmp,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    libc::SYS_perf_event_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    // Leaving the process group, by which the host kills the child.
    libc::SYS_setpgid,
    libc::SYS_setsid,
    // Namespaces. `clone` is refused by its flags, see `refusals`, and `clone3` is in `MISSING`.
    libc::SYS_setns,
    libc::SYS_unshare,
    // Mounts, and another root.
    libc::SYS_chroot,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_pivot_root,
    libc::SYS_umount2,
    // Opening files by handle, which bypasses all rules about paths; watching whole file systems.
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    // The kernel's keys.
    libc::SYS_add_key,
    libc::SYS_keyctl,
    libc::SYS_request_key,
    // BPF programs in the kernel, and page faults that the process handles itself.
    libc::SYS_bpf,
    libc::SYS_userfaultfd,
    // The machine: its modules, clock, names, swap, accounts, quotas and log.
    libc::SYS_acct,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_finit_module,
    libc::SYS_init_module,
    libc::SYS_kexec_load,
    libc::SYS_quotactl,
    QUOTACTL_FD,
    libc::SYS_reboot,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    // Emptying a file by its path, which Landlock does not restrict before Linux 6.2.
    libc::SYS_truncate,
    // Owners of files. Programs expect that only root may change them.
    libc::SYS_fchown,
    libc::SYS_fchownat,
];

/// More calls that fail with `EPERM`, on processors that have them.
#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[c_long] = &[
    libc::SYS_chown,
    libc::SYS_ioperm,
    libc::SYS_iopl,
    libc::SYS_kexec_file_load,
    libc::SYS_lchown,
    libc::SYS_modify_ldt,
    libc::SYS_uselib,
];
#[cfg(target_arch = "aarch64")]
const REFUSED_HERE: &[c_long] = &[KEXEC_FILE_LOAD];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const REFUSED_HERE: &[c_long] = &[];

/// Calls that fail with `EPERM` unless a child may use the whole network, because they connect to other processes.
const CONNECTING: &[c_long] =
    &[libc::SYS_mq_open, libc::SYS_msgget, libc::SYS_semget, libc::SYS_shmget];

/// The kinds of sockets that stay in the network of a process. Netlink tells a process about the interfaces of its
/// network. Sockets of other kinds reach other processes of this machine, or its hypervisor.
const INTERNET: [i32; 3] = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// Calls that fail with `ENOSYS`, as they do on a kernel without these calls: programs then use an older call. io_uring
/// would bypass this filter. `clone3` and `openat2` have their flags in memory, which the filter cannot read.
const MISSING: &[c_long] = &[
    libc::SYS_clone3,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_openat2,
];

/// Calls that fail with `EOPNOTSUPP`, as they do on a file system without extended attributes.
const ATTRIBUTES: &[c_long] = &[
    libc::SYS_fremovexattr,
    libc::SYS_fsetxattr,
    libc::SYS_lremovexattr,
    libc::SYS_lsetxattr,
    libc::SYS_removexattr,
    libc::SYS_setxattr,
];

/// Calls that succeed and do nothing: they set modes and times of files. Programs such as npm and git set them on
/// files that they have just created, and give up if that fails. The files keep the mode that they were created
/// with.
const IGNORED: &[c_long] = &[libc::SYS_fchmod, libc::SYS_fchmodat, FCHMODAT2, libc::SYS_utimensat];

/// More calls that succeed and do nothing, on processors that have them.
#[cfg(target_arch = "x86_64")]
const IGNORED_HERE: &[c_long] =
    &[libc::SYS_chmod, libc::SYS_futimesat, libc::SYS_utime, libc::SYS_utimes];
#[cfg(not(target_arch = "x86_64"))]
const IGNORED_HERE: &[c_long] = &[];

/// Requests of `ioctl` that are refused. Most set flags, versions, encryption or verity of a file, even if the file
/// is open for reading only. The others insert input into a terminal.
const REFUSED_IOCTLS: &[u64] = &[
    0x4004_6602, // FS_IOC32_SETFLAGS
    0x4008_6602, // FS_IOC_SETFLAGS
    0x4004_7602, // FS_IOC32_SETVERSION
    0x4008_7602, // FS_IOC_SETVERSION
    0x401c_5820, // FS_IOC_FSSETXATTR
    0x4080_6685, // FS_IOC_ENABLE_VERITY
    0x800c_6613, // FS_IOC_SET_ENCRYPTION_POLICY
    0x5412,      // TIOCSTI
    0x541c,      // TIOCLINUX
];

/// A condition on the arguments of a call, which holds if all of its parts hold.
type When = Vec<SeccompCondition>;

/// Restricts the system calls of this process and of all its descendants. This cannot be undone. Does nothing on a
/// processor for which no filters can be made: see [`is_available`].
pub(crate) fn restrict(sockets: Sockets) -> Result<(), ConfineError> {
    let Ok(arch) = TargetArch::try_from(std::env::consts::ARCH) else { return Ok(()) };
    let unconditional = |calls: &[&[c_long]]| -> BTreeMap<c_long, Vec<SeccompRule>> {
        calls.iter().copied().flatten().map(|call| (*call, Vec::new())).collect()
    };
    let connecting = if sockets == Sockets::All { &[][..] } else { CONNECTING };
    let mut refused = unconditional(&[REFUSED, REFUSED_HERE, connecting]);
    // `socketpair` is allowed: its two sockets are connected only with each other.
    let refused_sockets = match sockets {
        Sockets::All => None,
        Sockets::Internet => Some(vec![other_sockets().map_err(failed)?]),
        Sockets::None => Some(Vec::new()),
    };
    refused.extend(refused_sockets.map(|when| (libc::SYS_socket, when)));
    refused.extend(refusals().map_err(failed)?);
    let filter = |rules, errno: i32| {
        let answer = SeccompAction::Errno(errno.cast_unsigned());
        SeccompFilter::new(rules, SeccompAction::Allow, answer, arch)
            .and_then(BpfProgram::try_from)
            .map_err(failed)
    };
    let filters = [
        newer_than_reviewed(),
        filter(refused, libc::EPERM)?,
        filter(unconditional(&[MISSING]), libc::ENOSYS)?,
        filter(unconditional(&[ATTRIBUTES]), libc::EOPNOTSUPP)?,
        filter(unconditional(&[IGNORED, IGNORED_HERE]), 0)?,
    ];
    for program in filters {
        seccompiler::apply_filter(&program).map_err(failed)?;
    }
    Ok(())
}

/// Whether seccomp filters can be made for this processor.
pub(crate) fn is_available() -> bool {
    TargetArch::try_from(std::env::consts::ARCH).is_ok()
}

fn failed(error: impl Error + Send + Sync + 'static) -> ConfineError {
    ConfineError::SystemCalls(error.into())
}

/// The calls that are refused for some arguments, with the conditions.
fn refusals() -> Result<BTreeMap<c_long, Vec<SeccompRule>>, BackendError> {
    let mut refusals: BTreeMap<c_long, Vec<When>> = BTreeMap::new();
    // Making a new namespace, or a sibling of this process: a sibling would be a child of the host.
    let namespaces = [
        libc::CLONE_NEWCGROUP,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWNET,
        libc::CLONE_NEWNS,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWUTS,
        libc::CLONE_PARENT,
    ];
    for flag in namespaces {
        refusals.entry(libc::SYS_clone).or_default().push(vec![has_flag(0, flag)?]);
    }
    for control in REFUSED_IOCTLS {
        refusals.entry(libc::SYS_ioctl).or_default().push(vec![equals(1, *control)?]);
    }
    // Any execution domain but the default. Reading the present one is allowed.
    let domain = vec![differs(0, 0xffff_ffff)?, differs(0, 0)?];
    refusals.insert(libc::SYS_personality, vec![domain]);
    // Reading or setting limits of another process.
    refusals.insert(libc::SYS_prlimit64, vec![vec![differs(0, 0)?]]);
    // Another parent-death signal than SIGKILL: the process could outlive its parent.
    let outliving =
        vec![equals(0, libc::PR_SET_PDEATHSIG as u64)?, differs(1, libc::SIGKILL as u64)?];
    refusals.insert(libc::SYS_prctl, vec![outliving]);
    // A lease can make other processes wait when they open the file.
    refusals.insert(libc::SYS_fcntl, vec![vec![equals(1, libc::F_SETLEASE as u64)?]]);
    // Making devices, and files with a set-user-ID or set-group-ID bit.
    #[cfg(target_arch = "x86_64")]
    {
        refusals.insert(libc::SYS_mknod, device_or_special_bit(1)?);
        refusals.insert(libc::SYS_creat, special_bit(1, None)?);
        refusals.insert(libc::SYS_open, refused_opens(1, 2)?);
    }
    refusals.insert(libc::SYS_mknodat, device_or_special_bit(2)?);
    refusals.insert(libc::SYS_openat, refused_opens(2, 3)?);
    refusals
        .into_iter()
        .map(|(call, whens)| {
            Ok((call, whens.into_iter().map(SeccompRule::new).collect::<Result<_, _>>()?))
        })
        .collect()
}

/// The condition on the kind of a socket that is not in [`INTERNET`].
fn other_sockets() -> Result<SeccompRule, BackendError> {
    let kinds = INTERNET.map(|kind| differs(0, u64::from(kind.unsigned_abs())));
    SeccompRule::new(kinds.into_iter().collect::<Result<When, _>>()?)
}

/// Ways to open a file that are refused: opening it for reading and truncating it, which Landlock does not restrict
/// before Linux 6.2; and creating a file with a set-user-ID or set-group-ID bit.
fn refused_opens(flags: u8, mode: u8) -> Result<Vec<When>, BackendError> {
    let (read_and_empty, all) = (libc::O_TRUNC, libc::O_TRUNC | libc::O_ACCMODE);
    let value = |flags: i32| u64::from(flags.cast_unsigned());
    let mut whens = vec![vec![masked(flags, value(all), value(read_and_empty))?]];
    whens.extend(special_bit(mode, Some((flags, libc::O_CREAT)))?);
    whens.extend(special_bit(mode, Some((flags, TMPFILE_BIT)))?);
    Ok(whens)
}

/// The bit of `O_TMPFILE` that no other flag has.
const TMPFILE_BIT: i32 = 0o20_000_000;

/// The conditions on a mode that makes a device, or has a set-user-ID or set-group-ID bit.
fn device_or_special_bit(mode: u8) -> Result<Vec<When>, BackendError> {
    let device = |kind: u32| masked(mode, libc::S_IFMT.into(), kind.into());
    let mut whens = vec![vec![device(libc::S_IFCHR)?], vec![device(libc::S_IFBLK)?]];
    whens.extend(special_bit(mode, None)?);
    Ok(whens)
}

/// The conditions on a mode with a set-user-ID or set-group-ID bit. If `flag` is given, this flag must be set, too.
fn special_bit(mode: u8, flag: Option<(u8, i32)>) -> Result<Vec<When>, BackendError> {
    let mut whens = Vec::new();
    for bit in [libc::S_ISUID, libc::S_ISGID] {
        let mut when = vec![masked(mode, bit.into(), bit.into())?];
        if let Some((argument, flag)) = flag {
            when.push(has_flag(argument, flag)?);
        }
        whens.push(when);
    }
    Ok(whens)
}

fn masked(argument: u8, mask: u64, value: u64) -> Result<SeccompCondition, BackendError> {
    let masked = SeccompCmpOp::MaskedEq(mask);
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, masked, value)
}

fn has_flag(argument: u8, flag: i32) -> Result<SeccompCondition, BackendError> {
    masked(argument, u64::from(flag.cast_unsigned()), u64::from(flag.cast_unsigned()))
}

fn equals(argument: u8, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
}

fn differs(argument: u8, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, value)
}

/// The filter for calls that are newer than the review: they fail with `ENOSYS`. The calls of x32 fail in the same way,
/// because their numbers have a high bit set. The other filters end a process that makes a call in the numbering of
/// another processor.
fn newer_than_reviewed() -> BpfProgram {
    // Opcodes of <linux/filter.h>: load a word of `struct seccomp_data` (the first word is the number of the call),
    // jump if greater, return.
    const LOAD: u16 = 0x20;
    const IF_GREATER: u16 = 0x25;
    const RETURN: u16 = 0x06;
    let step = |code, jt, k| sock_filter { code, jt, jf: 0, k };
    vec![
        step(LOAD, 0, 0),
        step(IF_GREATER, 1, NEWEST_REVIEWED),
        step(RETURN, 0, SeccompAction::Allow.into()),
        step(RETURN, 0, SeccompAction::Errno(libc::ENOSYS.cast_unsigned()).into()),
    ]
}
