//! System calls that must fail or have no effect in a confined child, grouped into families.
//!
//! The calls are made by number, without the C library's functions for them. With these arguments, a kernel without the
//! filter returns another result, or does something harmless.

use std::ffi::CString;
use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use libc::{EINVAL, ENOSYS, EOPNOTSUPP, EPERM, c_long};

/// A call: its name, its number, its arguments, and the error that it must return. 0: it must return no
/// error.
type Call = (&'static str, c_long, [u64; 6], i32);

/// The families of calls. The host starts one child for each.
pub const FAMILIES: &[&str] = &[
    "modes",
    "times",
    "owners",
    "attributes",
    "flags",
    "contents",
    "devices",
    "set-user-id",
    "namespaces",
    "mounts",
    "keys",
    "bpf",
    "rings",
    "processes",
    "handles",
    "machine",
    "group",
    "channels",
    "newer",
];

/// Makes a call by its number, and returns its error or 0.
#[expect(unsafe_code, reason = "no safe library makes the calls that a confined child tries")]
fn raw(number: c_long, with: [u64; 6]) -> i32 {
    let [a, b, c, d, e, f] = with;
    // SAFETY: numbers, and pointers to values that outlive the call; nothing is unmapped.
    let result = unsafe { libc::syscall(number, a, b, c, d, e, f) };
    let error = std::io::Error::last_os_error().raw_os_error().unwrap_or(0);
    if matches!(number, libc::SYS_clone | libc::SYS_clone3) && result == 0 {
        // The call should have been refused. This child shares no memory with its parent.
        std::process::exit(0);
    }
    if result < 0 { error } else { 0 }
}

/// Tries a family on `file` by its path, on a new file in `writable`, and on the opened `readable`. Returns the calls
/// with another result than the expected one.
pub fn attempt(family: &str, file: &Path, writable: &Path, readable: &Path) -> Vec<String> {
    let name = CString::new(file.as_os_str().as_bytes()).expect("a path");
    let made = writable.join(family);
    let made_name = CString::new(made.as_os_str().as_bytes()).expect("a path");
    let open = fs::File::open(readable).expect("it may be read");
    let things = Things {
        path: name.as_ptr() as u64,
        made: made_name.as_ptr() as u64,
        open: open.as_raw_fd() as u64,
        here: u64::from(libc::AT_FDCWD.cast_unsigned()),
    };
    let mut wrong = Vec::new();
    for (name, number, with, expected) in calls(family, &things) {
        let error = raw(number, with);
        if error != expected {
            wrong.push(format!("{family}: {name}: error {error} instead of {expected}"));
        }
    }
    if family == "devices" {
        let pipe = raw(libc::SYS_mknodat, [things.here, things.made, 0o010_600, 0, 0, 0]);
        if pipe != 0 {
            wrong.push(format!("a FIFO may be made, but: error {pipe}"));
        }
    }
    wrong
}

/// Arguments of calls: addresses of paths, and descriptors.
struct Things {
    path: u64,
    made: u64,
    open: u64,
    here: u64,
}

fn calls(family: &str, on: &Things) -> Vec<Call> {
    match family {
        "modes" | "times" | "owners" | "attributes" | "flags" => metadata(family, on),
        "contents" | "devices" | "set-user-id" => files(family, on),
        "namespaces" | "mounts" => namespaces(family, on),
        "machine" => machine(),
        _ => doors(family, on),
    }
}

/// Calls that empty or create files.
fn files(family: &str, on: &Things) -> Vec<Call> {
    let Things { path, made, here, .. } = *on;
    let (setuid, create) = (0o4755, (libc::O_CREAT | libc::O_WRONLY) as u64);
    match family {
        "contents" => vec![
            ("truncate", libc::SYS_truncate, [path, 0, 0, 0, 0, 0], EPERM),
            ("O_RDONLY | O_TRUNC", libc::SYS_openat, [here, path, 0o1000, 0, 0, 0], EPERM),
        ],
        "devices" => vec![
            #[cfg(target_arch = "x86_64")]
            ("mknod", libc::SYS_mknod, [made, 0o020_600, 0x103, 0, 0, 0], EPERM),
            ("mknodat", libc::SYS_mknodat, [here, made, 0o020_600, 0x103, 0, 0], EPERM),
            ("a block device", libc::SYS_mknodat, [here, made, 0o060_600, 0x100, 0, 0], EPERM),
        ],
        "set-user-id" => vec![
            #[cfg(target_arch = "x86_64")]
            ("open", libc::SYS_open, [made, create, setuid, 0, 0, 0], EPERM),
            #[cfg(target_arch = "x86_64")]
            ("creat", libc::SYS_creat, [made, 0o2755, 0, 0, 0, 0], EPERM),
            ("openat", libc::SYS_openat, [here, made, create, setuid, 0, 0], EPERM),
            ("mknodat", libc::SYS_mknodat, [here, made, 0o104_755, 0, 0, 0], EPERM),
            ("openat2", libc::SYS_openat2, [here, made, 0, 0, 0, 0], ENOSYS),
        ],
        other => unreachable!("no family is called {other}"),
    }
}

fn metadata(family: &str, on: &Things) -> Vec<Call> {
    let Things { path, open, here, .. } = *on;
    // Times of 1970; the name of an attribute, which is also used as its value.
    static TIMES: [u64; 4] = [1, 0, 1, 0];
    static NAME: &[u8] = b"user.portcullis\0";
    let times = TIMES.as_ptr() as u64;
    let name = NAME.as_ptr() as u64;
    match family {
        "modes" => vec![
            #[cfg(target_arch = "x86_64")]
            ("chmod", libc::SYS_chmod, [path, 0o777, 0, 0, 0, 0], 0),
            ("fchmod", libc::SYS_fchmod, [open, 0o777, 0, 0, 0, 0], 0),
            ("fchmodat", libc::SYS_fchmodat, [here, path, 0o777, 0, 0, 0], 0),
            ("fchmodat2", 452, [here, path, 0o777, 0, 0, 0], 0),
        ],
        "times" => vec![
            #[cfg(target_arch = "x86_64")]
            ("utime", libc::SYS_utime, [path, times, 0, 0, 0, 0], 0),
            #[cfg(target_arch = "x86_64")]
            ("utimes", libc::SYS_utimes, [path, times, 0, 0, 0, 0], 0),
            #[cfg(target_arch = "x86_64")]
            ("futimesat", libc::SYS_futimesat, [here, path, times, 0, 0, 0], 0),
            ("utimensat", libc::SYS_utimensat, [here, path, times, 0, 0, 0], 0),
            ("futimens", libc::SYS_utimensat, [open, 0, times, 0, 0, 0], 0),
        ],
        "owners" => vec![
            #[cfg(target_arch = "x86_64")]
            ("chown", libc::SYS_chown, [path, 0, 0, 0, 0, 0], EPERM),
            #[cfg(target_arch = "x86_64")]
            ("lchown", libc::SYS_lchown, [path, 0, 0, 0, 0, 0], EPERM),
            ("fchown", libc::SYS_fchown, [open, 0, 0, 0, 0, 0], EPERM),
            ("fchownat", libc::SYS_fchownat, [here, path, 0, 0, 0, 0], EPERM),
        ],
        "attributes" => vec![
            ("setxattr", libc::SYS_setxattr, [path, name, name, 4, 0, 0], EOPNOTSUPP),
            ("lsetxattr", libc::SYS_lsetxattr, [path, name, name, 4, 0, 0], EOPNOTSUPP),
            ("fsetxattr", libc::SYS_fsetxattr, [open, name, name, 4, 0, 0], EOPNOTSUPP),
            ("removexattr", libc::SYS_removexattr, [path, name, 0, 0, 0, 0], EOPNOTSUPP),
            ("lremovexattr", libc::SYS_lremovexattr, [path, name, 0, 0, 0, 0], EOPNOTSUPP),
            ("fremovexattr", libc::SYS_fremovexattr, [open, name, 0, 0, 0, 0], EOPNOTSUPP),
            ("setxattrat", 463, [here, path, 0, name, name, 16], ENOSYS),
            ("removexattrat", 466, [here, path, 0, name, 0, 0], ENOSYS),
            ("file_setattr", 469, [here, path, name, 24, 0, 0], ENOSYS),
        ],
        "flags" => vec![
            ("FS_IOC_SETFLAGS", libc::SYS_ioctl, [open, 0x4008_6602, name, 0, 0, 0], EPERM),
            ("FS_IOC_FSSETXATTR", libc::SYS_ioctl, [open, 0x401c_5820, name, 0, 0, 0], EPERM),
            ("F_SETLEASE", libc::SYS_fcntl, [open, 1024, 1, 0, 0, 0], EPERM),
        ],
        other => unreachable!("no family is called {other}"),
    }
}

fn namespaces(family: &str, on: &Things) -> Vec<Call> {
    let Things { path, open, here, .. } = *on;
    if family == "mounts" {
        return vec![
            ("mount", libc::SYS_mount, [path, path, path, 4096, 0, 0], EPERM),
            ("umount2", libc::SYS_umount2, [path, 0, 0, 0, 0, 0], EPERM),
            ("move_mount", libc::SYS_move_mount, [open, path, here, path, 0, 0], EPERM),
            ("mount_setattr", libc::SYS_mount_setattr, [here, path, 0, 0, 0, 0], EPERM),
            ("open_tree", libc::SYS_open_tree, [here, path, 1, 0, 0, 0], EPERM),
            ("fsopen", libc::SYS_fsopen, [path, 0, 0, 0, 0, 0], EPERM),
            ("fspick", libc::SYS_fspick, [here, path, 0, 0, 0, 0], EPERM),
            ("pivot_root", libc::SYS_pivot_root, [path, path, 0, 0, 0, 0], EPERM),
            ("chroot", libc::SYS_chroot, [path, 0, 0, 0, 0, 0], EPERM),
        ];
    }
    let flags: [(&'static str, i32); 7] = [
        ("CLONE_NEWUSER", libc::CLONE_NEWUSER),
        ("CLONE_NEWNS", libc::CLONE_NEWNS),
        ("CLONE_NEWPID", libc::CLONE_NEWPID),
        ("CLONE_NEWNET", libc::CLONE_NEWNET),
        ("CLONE_NEWIPC", libc::CLONE_NEWIPC),
        ("CLONE_NEWUTS", libc::CLONE_NEWUTS),
        ("CLONE_NEWCGROUP", libc::CLONE_NEWCGROUP),
    ];
    let mut calls: Vec<Call> = Vec::new();
    for (name, flag) in flags {
        let with = |more: i32| [(flag | more).cast_unsigned().into(), 0, 0, 0, 0, 0];
        calls.push((name, libc::SYS_clone, with(libc::SIGCHLD), EPERM));
        // The flag must be refused together with another flag, too.
        calls.push((name, libc::SYS_clone, with(libc::SIGCHLD | libc::CLONE_NEWUSER), EPERM));
        calls.push((name, libc::SYS_unshare, with(0), EPERM));
    }
    let sibling = (libc::CLONE_PARENT | libc::SIGCHLD).cast_unsigned().into();
    calls.push(("CLONE_PARENT", libc::SYS_clone, [sibling, 0, 0, 0, 0, 0], EPERM));
    calls.push(("clone3", libc::SYS_clone3, [0; 6], ENOSYS));
    calls.push(("setns", libc::SYS_setns, [open, 0, 0, 0, 0, 0], EPERM));
    calls
}

fn doors(family: &str, on: &Things) -> Vec<Call> {
    let Things { path, open, here, .. } = *on;
    let none = [0; 6];
    let me = u64::from(std::process::id());
    match family {
        "keys" => vec![
            ("add_key", libc::SYS_add_key, none, EPERM),
            ("request_key", libc::SYS_request_key, none, EPERM),
            ("keyctl", libc::SYS_keyctl, [u64::MAX, 0, 0, 0, 0, 0], EPERM),
        ],
        "bpf" => vec![
            ("bpf", libc::SYS_bpf, [u64::MAX, 0, 0, 0, 0, 0], EPERM),
            ("userfaultfd", libc::SYS_userfaultfd, [u64::MAX, 0, 0, 0, 0, 0], EPERM),
            ("perf_event_open", libc::SYS_perf_event_open, none, EPERM),
        ],
        "rings" => vec![
            ("io_uring_setup", libc::SYS_io_uring_setup, none, ENOSYS),
            ("io_uring_enter", libc::SYS_io_uring_enter, none, ENOSYS),
            ("io_uring_register", libc::SYS_io_uring_register, none, ENOSYS),
        ],
        "processes" => vec![
            ("ptrace", libc::SYS_ptrace, [u64::MAX, 0, 0, 0, 0, 0], EPERM),
            ("process_vm_readv", libc::SYS_process_vm_readv, [me, 0, 0, 0, 0, 0], EPERM),
            ("process_vm_writev", libc::SYS_process_vm_writev, [me, 0, 0, 0, 0, 0], EPERM),
            ("pidfd_getfd", libc::SYS_pidfd_getfd, [open, 0, 0, 0, 0, 0], EPERM),
            ("process_madvise", libc::SYS_process_madvise, none, EPERM),
            ("kcmp", libc::SYS_kcmp, [me, me, 0, 0, 0, 0], EPERM),
            ("move_pages", libc::SYS_move_pages, [0, 0, 0, 0, 0, 0], EPERM),
            ("prlimit64", libc::SYS_prlimit64, [me, 0, 0, 0, 0, 0], EPERM),
        ],
        "handles" => vec![
            ("name_to_handle_at", libc::SYS_name_to_handle_at, [here, path, 0, 0, 0, 0], EPERM),
            ("open_by_handle_at", libc::SYS_open_by_handle_at, [here, 0, 0, 0, 0, 0], EPERM),
            ("fanotify_init", libc::SYS_fanotify_init, [u64::MAX, 0, 0, 0, 0, 0], EPERM),
        ],
        "group" => vec![
            ("setsid", libc::SYS_setsid, none, EPERM),
            ("setpgid", libc::SYS_setpgid, none, EPERM),
            ("PR_SET_PDEATHSIG", libc::SYS_prctl, [1, 0, 0, 0, 0, 0], EPERM),
        ],
        "channels" => vec![
            ("socket", libc::SYS_socket, [1, 1, 0, 0, 0, 0], EPERM),
            ("shmget", libc::SYS_shmget, [0, 4096, 0o1600, 0, 0, 0], EPERM),
            ("semget", libc::SYS_semget, [0, 1, 0o1600, 0, 0, 0], EPERM),
            ("msgget", libc::SYS_msgget, [0, 0o1600, 0, 0, 0, 0], EPERM),
            ("mq_open", libc::SYS_mq_open, none, EPERM),
        ],
        "newer" => vec![
            ("statmount", 457, none, ENOSYS),
            ("lsm_set_self_attr", 460, [u64::MAX, 0, 0, 0, 0, 0], ENOSYS),
            #[cfg(target_arch = "x86_64")]
            ("getpid of x32", 0x4000_0000 + libc::SYS_getpid, none, ENOSYS),
            // A call that was reviewed and is harmless reaches the kernel, which returns its own error.
            ("futex_requeue", 456, [0, u64::MAX, 0, 0, 0, 0], EINVAL),
        ],
        other => unreachable!("no family is called {other}"),
    }
}

/// Calls that change the whole machine.
fn machine() -> Vec<Call> {
    let none = [0; 6];
    vec![
        ("init_module", libc::SYS_init_module, none, EPERM),
        ("finit_module", libc::SYS_finit_module, [u64::MAX, 0, 0, 0, 0, 0], EPERM),
        ("delete_module", libc::SYS_delete_module, none, EPERM),
        ("kexec_load", libc::SYS_kexec_load, [0, u64::MAX, 0, 0, 0, 0], EPERM),
        ("reboot", libc::SYS_reboot, none, EPERM),
        ("swapon", libc::SYS_swapon, none, EPERM),
        ("swapoff", libc::SYS_swapoff, none, EPERM),
        ("acct", libc::SYS_acct, [1, 0, 0, 0, 0, 0], EPERM),
        ("quotactl", libc::SYS_quotactl, none, EPERM),
        ("quotactl_fd", 443, [u64::MAX, 0, 0, 0, 0, 0], EPERM),
        ("settimeofday", libc::SYS_settimeofday, [1, 0, 0, 0, 0, 0], EPERM),
        ("clock_settime", libc::SYS_clock_settime, [99, 0, 0, 0, 0, 0], EPERM),
        ("adjtimex", libc::SYS_adjtimex, none, EPERM),
        ("sethostname", libc::SYS_sethostname, [1, u64::MAX, 0, 0, 0, 0], EPERM),
        ("syslog", libc::SYS_syslog, [99, 0, 0, 0, 0, 0], EPERM),
        ("personality", libc::SYS_personality, [0x0040_0000, 0, 0, 0, 0, 0], EPERM),
    ]
}

/// A file's metadata, without the time of its last access.
pub fn metadata_of(file: &Path) -> String {
    let found = fs::metadata(file).expect("it is there");
    let mode = found.permissions().mode();
    let (owner, group) = (found.uid(), found.gid());
    let (changed, nanoseconds) = (found.ctime(), found.ctime_nsec());
    format!("{mode:o} {owner} {group} {:?} {changed} {nanoseconds}", found.modified())
}
