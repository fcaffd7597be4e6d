//! Refuses files in virtual file systems of the kernel, such as procfs and sysfs, because these file systems expose
//! processes, devices and settings.

use std::io;

use super::host_files::Id;
#[cfg(any(
    target_os = "linux",
    target_os = "android",
    target_vendor = "apple",
    target_os = "freebsd"
))]
use super::protected::ProtectedFile;

/// Refuses an open file or directory in a virtual file system of the kernel.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn refuse_virtual_file_systems(open: impl std::os::fd::AsFd, id: Id) -> io::Result<()> {
    let kind = rustix::fs::fstatfs(open)?.f_type;
    // The magic numbers have 32 bits, but their field is signed on some machines.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the magic numbers have 32 bits"
    )]
    let kind = kind as u32;
    match VIRTUAL_FILE_SYSTEMS.iter().find(|(magic, _)| *magic == kind) {
        Some((_, name)) => Err(ProtectedFile::Kernel(name).into()),
        // devtmpfs has the magic number of tmpfs, so it is recognised by the device of `/dev`.
        None if kind == TMPFS && devices() == Some(id.dev) => {
            Err(ProtectedFile::Kernel("/dev").into())
        }
        None => Ok(()),
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
const TMPFS: u32 = 0x0102_1994;

/// The magic numbers of virtual file systems, in `f_type` of `fstatfs`. Sources: `include/uapi/linux/magic.h` and
/// the kernel's `fs/*/`.
#[cfg(any(target_os = "linux", target_os = "android"))]
const VIRTUAL_FILE_SYSTEMS: &[(u32, &str)] = &[
    (0x0000_9fa0, "procfs"),
    (0x0000_9fa1, "openpromfs"),
    (0x0000_9fa2, "usbdevfs"),
    (0x6265_6572, "sysfs"),
    (0x0000_1cd1, "devpts"),
    (0x6462_6720, "debugfs"),
    (0x7472_6163, "tracefs"),
    (0x7363_6673, "securityfs"),
    (0xf97c_ff8c, "selinuxfs"),
    (0x4341_5d53, "smackfs"),
    (0x5a3c_69f0, "apparmorfs"),
    (0x0027_e0eb, "cgroup"),
    (0x6367_7270, "cgroup2"),
    (0x0765_5821, "resctrl"),
    (0xcafe_4a11, "bpf"),
    (0x6265_6570, "configfs"),
    (0x1980_0202, "mqueue"),
    (0xde5e_81e4, "efivarfs"),
    (0x6573_5543, "fusectl"),
    (0x6165_676c, "pstore"),
    (0x4249_4e4d, "binfmt_misc"),
    (0x6c6f_6f70, "binderfs"),
    (0x6e73_6673, "nsfs"),
    (0x5049_4446, "pidfs"),
    (0x5049_5045, "pipefs"),
    (0x534f_434b, "sockfs"),
    (0x0904_1934, "anon_inodefs"),
    (0x6264_6576, "bdevfs"),
    (0x454d_444d, "devmem"),
    (0x444d_4142, "dma-buf"),
    (0x5345_434d, "secretmem"),
    (0x6759_6969, "rpc_pipefs"),
    (0x6e66_7364, "nfsd"),
    (0xabba_1974, "xenfs"),
    (0x6f70_726f, "oprofilefs"),
    (0x0a64_7361, "functionfs"),
    (0xaee7_1ee7, "gadgetfs"),
    (0x1130_7854, "mtd_inodefs"),
    (0x76a9_f425, "dlmfs"),
    (0x23c9_b64e, "spufs"),
];

/// The device number of `/dev`. `None`: `/dev` is not a separate file system.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn devices() -> Option<u64> {
    static DEVICES: std::sync::OnceLock<Option<u64>> = std::sync::OnceLock::new();
    *DEVICES.get_or_init(|| {
        let device = |path: &str| Id::at(std::path::Path::new(path)).ok().map(|id| id.dev);
        device("/dev").filter(|dev| device("/") != Some(*dev))
    })
}

/// Refuses an open file or directory in a virtual file system of the kernel.
#[cfg(any(target_vendor = "apple", target_os = "freebsd"))]
pub(super) fn refuse_virtual_file_systems(open: impl std::os::fd::AsFd, _: Id) -> io::Result<()> {
    const VIRTUAL_FILE_SYSTEMS: [&str; 6] =
        ["devfs", "fdescfs", "procfs", "linprocfs", "linsysfs", "mqueuefs"];
    let found = rustix::fs::fstatfs(open)?;
    let letters = found.f_fstypename.iter().map(|letter| letter.to_ne_bytes()[0]);
    let name: Vec<u8> = letters.take_while(|&letter| letter != 0).collect();
    match VIRTUAL_FILE_SYSTEMS.into_iter().find(|kernel| kernel.as_bytes() == name) {
        Some(name) => Err(ProtectedFile::Kernel(name).into()),
        None => Ok(()),
    }
}

/// Accepts every file: Windows has no virtual file systems, and those of other systems are not recognised.
#[cfg(not(any(
    target_os = "linux",
    target_os = "android",
    target_vendor = "apple",
    target_os = "freebsd"
)))]
#[expect(clippy::unnecessary_wraps, reason = "as on other systems")]
pub(super) fn refuse_virtual_file_systems<Open>(_: Open, _: Id) -> io::Result<()> {
    Ok(())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs::File;
    use std::path::Path;

    use super::*;

    fn opened(path: &str) -> io::Result<()> {
        refuse_virtual_file_systems(File::open(path).unwrap(), Id::at(Path::new(path)).unwrap())
    }

    #[test]
    fn virtual_file_systems_are_recognised() {
        for path in ["/proc", "/proc/self/environ", "/proc/self/ns/mnt", "/proc/sys", "/sys"] {
            let error = opened(path).unwrap_err();
            assert!(
                matches!(ProtectedFile::of(&error), Some(ProtectedFile::Kernel(_))),
                "{path}: {error}"
            );
        }
        opened("/").unwrap();
        opened("/etc").unwrap();
        let folder = tempfile::tempdir().unwrap();
        opened(folder.path().to_str().unwrap()).unwrap();
        // `/dev` is refused where it is a separate file system.
        assert_eq!(opened("/dev").is_err(), devices().is_some());
    }
}
