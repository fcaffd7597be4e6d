//! Reads folders and the starts of files with as few calls to the host as possible.
//!
//! In the sandbox, the standard library makes several calls for each folder entry and each file,
//! since it has to provide, for example, an inode number and a read position. With tens of
//! thousands of packages, these calls take most of the time. So this module calls WASI directly.
//! If WASI cannot open, list or examine something, the module tries again with the standard library.

use std::{fs, io, io::Read, path::Path, time::UNIX_EPOCH};

/// A folder entry.
pub struct Listed {
    pub name: String,
    pub kind: Kind,
}

/// The kind of a folder entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Folder,
    File,
    /// A link, or any other kind.
    Link,
}

/// The kind of a file or folder, its size in bytes, and its time of modification in nanoseconds since 1970; the time is
/// 0 if it is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    pub size: u64,
    pub modified: u64,
    pub is_file: bool,
    pub is_folder: bool,
}

/// Access to files.
#[derive(Default)]
pub struct Disk {
    #[cfg(target_family = "wasm")]
    sandbox: sandbox::Sandbox,
}

/// An open folder.
pub struct Folder<'d> {
    path: &'d Path,
    #[cfg(target_family = "wasm")]
    open: Option<sandbox::Open>,
}

/// An open file.
pub enum File {
    Standard(fs::File),
    #[cfg(target_family = "wasm")]
    Sandbox(sandbox::Open),
}

impl Disk {
    /// Opens a folder, to list it and to examine its entries.
    pub fn folder<'d>(&self, path: &'d Path) -> Folder<'d> {
        Folder {
            path,
            #[cfg(target_family = "wasm")]
            open: self.sandbox.open(path, true),
        }
    }

    /// Opens a file, to read its start.
    pub fn file(&self, path: &Path) -> io::Result<File> {
        #[cfg(target_family = "wasm")]
        if let Some(open) = self.sandbox.open(path, false) {
            return Ok(File::Sandbox(open));
        }
        fs::File::open(path).map(File::Standard)
    }
}

impl File {
    /// Fills the buffer with the first `want` bytes of the file, or with all bytes if the file is
    /// shorter. The buffer must be empty before the first call. Later calls keep its bytes and read
    /// only the missing bytes.
    pub fn start(&mut self, want: usize, buffer: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Self::Standard(file) => fill(file, buffer, want),
            #[cfg(target_family = "wasm")]
            Self::Sandbox(open) => {
                open.start(want, buffer).ok_or_else(|| io::Error::other("the file cannot be read"))
            }
        }
    }
}

/// Reads until the buffer has `want` bytes, or the file ends.
fn fill(file: &mut impl Read, buffer: &mut Vec<u8>, want: usize) -> io::Result<()> {
    let mut have = buffer.len();
    buffer.resize(want.max(have), 0);
    while have < want {
        match file.read(&mut buffer[have..])? {
            0 => break,
            read => have += read,
        }
    }
    buffer.truncate(have);
    Ok(())
}

impl Folder<'_> {
    /// Lists the folder.
    pub fn list(&self) -> io::Result<Vec<Listed>> {
        #[cfg(target_family = "wasm")]
        if let Some(listed) = self.open.as_ref().and_then(sandbox::Open::list) {
            return Ok(listed);
        }
        let listed = fs::read_dir(self.path)?.flatten().filter_map(|entry| {
            let (name, kind) = (entry.file_name().into_string().ok()?, entry.file_type().ok()?);
            let kind = match (kind.is_dir(), kind.is_file()) {
                (true, _) => Kind::Folder,
                (_, true) => Kind::File,
                (false, false) => Kind::Link,
            };
            Some(Listed { name, kind })
        });
        Ok(listed.collect())
    }

    /// Size and time of an entry; with an empty name, of the folder itself. Follows links. `None`
    /// if the entry cannot be examined.
    pub fn stat(&self, name: &str) -> Option<Stat> {
        #[cfg(target_family = "wasm")]
        if let Some(stat) = self.open.as_ref().and_then(|open| open.stat(name)) {
            return Some(stat);
        }
        let found = if name.is_empty() {
            fs::metadata(self.path).ok()?
        } else {
            fs::metadata(self.path.join(name)).ok()?
        };
        let modified = found.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        Some(Stat {
            size: found.len(),
            modified: modified.and_then(|since| u64::try_from(since.as_nanos()).ok()).unwrap_or(0),
            is_file: found.is_file(),
            is_folder: found.is_dir(),
        })
    }
}

#[cfg(target_family = "wasm")]
mod sandbox {
    //! The WASI functions. They return `None` if a call fails.

    use super::{Kind, Listed, Stat};
    use std::path::Path;
    use wasip2::filesystem::{
        preopens::get_directories,
        types::{
            Descriptor, DescriptorFlags, DescriptorStat, DescriptorType, OpenFlags, PathFlags,
        },
    };

    /// The preopened folders of this call.
    pub struct Sandbox(Vec<(Descriptor, String)>);

    impl Default for Sandbox {
        fn default() -> Self {
            Self(get_directories())
        }
    }

    /// An open file or folder.
    pub struct Open(Descriptor);

    impl Sandbox {
        /// Opens a path inside one of the preopened folders.
        pub fn open(&self, path: &Path, is_folder: bool) -> Option<Open> {
            let (base, inside) = self.0.iter().find_map(|(base, name)| {
                let inside = path.strip_prefix(name).ok()?;
                Some((base, inside.to_str()?))
            })?;
            let inside = if inside.is_empty() { "." } else { inside };
            let how = if is_folder { OpenFlags::DIRECTORY } else { OpenFlags::empty() };
            base.open_at(PathFlags::SYMLINK_FOLLOW, inside, how, DescriptorFlags::READ)
                .ok()
                .map(Open)
        }
    }

    impl Open {
        pub fn list(&self) -> Option<Vec<Listed>> {
            let stream = self.0.read_directory().ok()?;
            let mut listed = Vec::new();
            while let Some(entry) = stream.read_directory_entry().ok()? {
                let kind = match entry.type_ {
                    DescriptorType::Directory => Kind::Folder,
                    DescriptorType::RegularFile => Kind::File,
                    DescriptorType::Unknown
                    | DescriptorType::BlockDevice
                    | DescriptorType::CharacterDevice
                    | DescriptorType::Fifo
                    | DescriptorType::SymbolicLink
                    | DescriptorType::Socket => Kind::Link,
                };
                listed.push(Listed { name: entry.name, kind });
            }
            Some(listed)
        }

        pub fn stat(&self, name: &str) -> Option<Stat> {
            let stat: DescriptorStat = if name.is_empty() {
                self.0.stat().ok()?
            } else {
                self.0.stat_at(PathFlags::SYMLINK_FOLLOW, name).ok()?
            };
            let modified = stat.data_modification_timestamp.map_or(0, |time| {
                time.seconds.saturating_mul(1_000_000_000).saturating_add(time.nanoseconds.into())
            });
            Some(Stat {
                size: stat.size,
                modified,
                is_file: stat.type_ == DescriptorType::RegularFile,
                is_folder: stat.type_ == DescriptorType::Directory,
            })
        }

        /// See [`super::File::start`].
        pub fn start(&self, want: usize, buffer: &mut Vec<u8>) -> Option<()> {
            while buffer.len() < want {
                let more = (want - buffer.len()) as u64;
                let (bytes, is_end) = self.0.read(more, buffer.len() as u64).ok()?;
                buffer.extend_from_slice(&bytes);
                if is_end || bytes.is_empty() {
                    break;
                }
            }
            Some(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_and_the_beginning_of_a_file() {
        let dir = tempfile::tempdir().expect("a folder");
        let dir = dir.path();
        fs::create_dir(dir.join("inner")).expect("it can be made");
        fs::write(dir.join("file"), "0123456789").expect("it can be written");
        let disk = Disk::default();
        let folder = disk.folder(dir);
        let mut listed: Vec<_> =
            folder.list().expect("it is there").into_iter().map(|e| (e.name, e.kind)).collect();
        listed.sort_by(|a, b| a.0.cmp(&b.0));
        assert_eq!(listed, [("file".to_owned(), Kind::File), ("inner".to_owned(), Kind::Folder)]);
        let stat = folder.stat("file").expect("it is there");
        assert!(stat.size == 10 && stat.is_file && !stat.is_folder && stat.modified > 0);
        assert!(folder.stat("").is_some_and(|stat| stat.is_folder));
        assert_eq!(folder.stat("none"), None);
        let mut buffer = Vec::new();
        let mut file = disk.file(&dir.join("file")).expect("it is there");
        file.start(4, &mut buffer).expect("it can be read");
        assert_eq!(buffer, b"0123");
        file.start(100, &mut buffer).expect("it can be read");
        assert_eq!(buffer, b"0123456789");
        assert!(disk.file(&dir.join("none")).is_err());
    }
}
