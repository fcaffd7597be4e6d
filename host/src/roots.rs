//! The session's roots; a path argument → a directory handle beneath one, or a refusal.
//!
//! Nothing here resolves a string twice: a root is opened once, and whatever lies beneath it is
//! opened from that handle (`openat2` on Linux, through cap-std), so that no `..`, no link and no
//! rename can lead outside.

use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};

use crate::bindings::{PathAccess, PathKind};

/// One directory that the session may work in.
#[derive(Debug)]
pub struct Root {
    /// As it was named, and without links: a path may be spelled either way.
    spellings: [PathBuf; 2],
    dir: Dir,
}

impl Root {
    /// Opens a directory of the operator's choice.
    ///
    /// # Errors
    ///
    /// Where it is not absolute, not there, or not a directory.
    #[expect(clippy::disallowed_methods, reason = "a root is where ambient authority enters")]
    pub fn open(path: &Path) -> io::Result<Self> {
        if !path.is_absolute() {
            return Err(io::Error::other("a root is an absolute path"));
        }
        let dir = Dir::open_ambient_dir(path, ambient_authority())?;
        let canonical = std::fs::canonicalize(path)?;
        Ok(Self { spellings: [path.components().collect(), canonical], dir })
    }

    /// The directory, as it was named.
    pub fn path(&self) -> &Path {
        &self.spellings[0]
    }

    /// The open directory.
    ///
    /// # Errors
    ///
    /// Where the process has no handle left.
    pub fn dir(&self) -> io::Result<Dir> {
        self.dir.try_clone()
    }

    /// What is left of a path beneath this root, by whole components.
    fn beneath<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        self.spellings.iter().find_map(|root| path.strip_prefix(root).ok())
    }

    /// Whether the path still leads to the directory that was opened.
    #[cfg(unix)]
    #[expect(clippy::disallowed_methods, reason = "a root is where ambient authority enters")]
    fn is_in_place(&self) -> bool {
        use cap_std::fs::MetadataExt as _;
        use std::os::unix::fs::MetadataExt as _;
        let (Ok(opened), Ok(named)) = (self.dir.dir_metadata(), std::fs::metadata(self.path()))
        else {
            return false;
        };
        (opened.dev(), opened.ino()) == (named.dev(), named.ino())
    }

    #[cfg(not(unix))]
    fn is_in_place(&self) -> bool {
        self.dir.dir_metadata().is_ok()
    }
}

/// The directories of a session. None of them: no path argument is accepted.
#[derive(Debug, Clone, Default)]
pub struct Roots(Vec<Arc<Root>>);

impl Roots {
    /// Roots of the operator's choice.
    pub fn new(roots: Vec<Root>) -> Self {
        Self(roots.into_iter().map(Arc::new).collect())
    }

    /// Each root.
    pub fn iter(&self) -> impl Iterator<Item = &Root> {
        self.0.iter().map(|root| &**root)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// These roots as far as the client's lie within them or they within the client's: a client
    /// narrows and never widens. Where the operator named none, the client's count.
    pub fn narrowed_by(&self, client: &[PathBuf]) -> Self {
        if self.is_empty() {
            let opened = client.iter().filter_map(|path| {
                Root::open(path)
                    .inspect(|_| tracing::info!("using the client's root {}", path.display()))
                    .inspect_err(|error| {
                        tracing::warn!("the client's root {}: {error}", path.display());
                    })
                    .ok()
            });
            return Self::new(opened.collect());
        }
        let mut narrowed: Vec<Arc<Root>> = Vec::new();
        for path in client {
            let before = narrowed.len();
            for root in &self.0 {
                if let Some(rest) = root.beneath(path) {
                    narrowed.extend(subdirectory(root, path, rest).map(Arc::new));
                } else if root.spellings.iter().any(|spelling| spelling.starts_with(path)) {
                    narrowed.push(root.clone());
                }
            }
            if narrowed.len() == before {
                tracing::warn!(
                    "the client's root {} is not within the operator's roots: left out",
                    path.display()
                );
            }
        }
        Self(narrowed)
    }

    /// Opens what a path argument names, for one call.
    ///
    /// # Errors
    ///
    /// [`Refusal`], in words for whoever made the call.
    pub fn designate(
        &self,
        argument: &str,
        kind: PathKind,
        access: PathAccess,
        nearest: &[String],
    ) -> Result<Designated, Refusal> {
        if self.is_empty() {
            return Err(Refusal::NoRoots);
        }
        let path = parse(argument)?;
        let found = self.0.iter().filter_map(|root| Some((root, root.beneath(&path)?)));
        // The innermost root, which leaves the shortest rest.
        let (root, rest) = found
            .min_by_key(|(_, rest)| rest.components().count())
            .ok_or_else(|| Refusal::Outside(self.to_string()))?;
        if !root.is_in_place() {
            return Err(Refusal::Moved(root.path().display().to_string()));
        }
        match find_nearest(root, rest, nearest)? {
            Some(above) => {
                let path = path.ancestors().nth(above).expect("it is at or beneath the root");
                let rest = rest.ancestors().nth(above).expect("it is at or beneath the root");
                designate(root, path, rest, kind, access)
            }
            None => designate(root, &path, rest, kind, access),
        }
    }
}

impl fmt::Display for Roots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, root) in self.iter().enumerate() {
            write!(f, "{}{}", if n == 0 { "" } else { ", " }, root.path().display())?;
        }
        Ok(())
    }
}

/// The path of a `file:` address, as MCP clients name their roots. `None`: another scheme, another
/// machine, or no address at all.
pub fn path_of_uri(uri: &str) -> Option<PathBuf> {
    let url = url::Url::parse(uri).ok()?;
    if url.scheme() != "file" {
        return None;
    }
    url.to_file_path().ok()
}

fn subdirectory(root: &Root, path: &Path, rest: &Path) -> Option<Root> {
    let dir = if rest.as_os_str().is_empty() { root.dir() } else { root.dir.open_dir(rest) };
    let dir = dir
        .inspect_err(|error| tracing::warn!("the client's root {}: {error}", path.display()))
        .ok()?;
    let spellings = [path.components().collect(), root.spellings[1].join(rest)];
    Some(Root { spellings, dir })
}

/// A path as a tool's argument may be: absolute, and without a way up.
fn parse(argument: &str) -> Result<PathBuf, Refusal> {
    if argument.contains('\0') {
        return Err(Refusal::Malformed("it holds a NUL character"));
    }
    let path = Path::new(argument);
    if !path.is_absolute() {
        return Err(Refusal::NotAbsolute);
    }
    if path.components().any(|part| matches!(part, Component::ParentDir)) {
        return Err(Refusal::Malformed("it holds `..`: write the path without it"));
    }
    Ok(path.components().collect())
}

/// What one path argument opened.
#[derive(Debug)]
pub struct Designated {
    /// The directory the plugin finds, at this absolute path.
    pub directory: PathBuf,
    /// Its handle.
    pub handle: File,
    /// How much of it.
    pub reach: Reach,
    /// Whether for writing.
    pub write: bool,
}

/// How much of a designated directory can be reached.
#[derive(Debug)]
pub enum Reach {
    /// All of it.
    Everything,
    /// One file, already open unless it is missing.
    File {
        /// Its name in the directory.
        name: String,
        /// `None`: there is no such file.
        handle: Option<File>,
    },
    /// One name that may be made and then filled.
    Create {
        /// The name in the directory.
        name: String,
    },
}

/// How many levels above a path the nearest directory is that has an entry of one of these names.
/// `None`: it is to be taken as it is.
fn find_nearest(root: &Root, rest: &Path, names: &[String]) -> Result<Option<usize>, Refusal> {
    if names.is_empty() {
        return Ok(None);
    }
    let is_file = match open_dir(root, rest) {
        Ok(_) => 0,
        Err(Refusal::NotADirectory) => 1,
        Err(refusal) => return Err(refusal),
    };
    for (above, directory) in rest.ancestors().enumerate().skip(is_file) {
        let dir = open_dir(root, directory)?;
        if names.iter().any(|name| dir.symlink_metadata(name).is_ok()) {
            return Ok(Some(above));
        }
    }
    Ok(Some(is_file))
}

fn designate(
    root: &Root,
    path: &Path,
    rest: &Path,
    kind: PathKind,
    access: PathAccess,
) -> Result<Designated, Refusal> {
    let write = !matches!(access, PathAccess::Read);
    let everything = |dir: Dir, directory: &Path| Designated {
        directory: directory.to_owned(),
        handle: dir.into_std_file(),
        reach: Reach::Everything,
        write,
    };
    if matches!((kind, access), (PathKind::Directory, PathAccess::Read | PathAccess::Write)) {
        return Ok(everything(open_dir(root, rest)?, path));
    }
    // All else has a name in a directory that must be there.
    let (Some(parent), Some(name)) = (rest.parent(), rest.file_name()) else {
        return Err(match kind {
            PathKind::Directory => Refusal::Malformed("it is a root itself, which exists"),
            PathKind::File | PathKind::FileInDirectory => Refusal::NotAFile,
        });
    };
    let name = name.to_str().expect("an argument is UTF-8").to_owned();
    let directory = path.parent().expect("it has a name, so it has a parent");
    let dir = open_dir(root, parent)?;
    if matches!(access, PathAccess::Create) {
        // What is made through a link would lie elsewhere than the path says.
        if dir.symlink_metadata(&name).is_ok_and(|metadata| metadata.is_symlink()) {
            return Err(Refusal::Malformed("a link stands there"));
        }
        return Ok(Designated { reach: Reach::Create { name }, ..everything(dir, directory) });
    }
    let handle = match open_beneath(&root.dir, rest, OpenHow { write, ..OpenHow::default() }) {
        Ok(Opened::File(file)) => Some(file),
        Ok(Opened::Directory(_) | Opened::Special) => return Err(Refusal::NotAFile),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(Refusal::of(&error)),
    };
    Ok(match kind {
        PathKind::FileInDirectory => everything(dir, directory),
        PathKind::File | PathKind::Directory => {
            Designated { reach: Reach::File { name, handle }, ..everything(dir, directory) }
        }
    })
}

fn open_dir(root: &Root, rest: &Path) -> Result<Dir, Refusal> {
    let opened = if rest.as_os_str().is_empty() { root.dir() } else { root.dir.open_dir(rest) };
    opened.map_err(|error| Refusal::of(&error))
}

/// How to open something beneath a directory.
#[derive(Debug, Clone, Copy, Default)]
pub struct OpenHow {
    /// Also for writing.
    pub write: bool,
    /// Make it where it is missing.
    pub create: bool,
    /// Fail where it is there.
    pub exclusive: bool,
    /// Cut it to nothing.
    pub truncate: bool,
    /// Do not follow a link in the last place.
    pub nofollow: bool,
}

/// What was opened.
#[derive(Debug)]
pub enum Opened {
    /// A regular file.
    File(File),
    /// A directory.
    Directory(File),
    /// A FIFO, socket or device: closed again.
    Special,
}

/// Opens a path beneath a directory without ever blocking: neither a FIFO without a writer nor a
/// device holds up the host.
///
/// # Errors
///
/// What the system says; a way out of the directory is "permission denied".
pub fn open_beneath(dir: &Dir, path: &Path, how: OpenHow) -> io::Result<Opened> {
    let mut options = OpenOptions::new();
    options.read(true).write(how.write);
    if how.exclusive {
        options.create_new(true);
    } else {
        options.create(how.create);
    }
    // Cut only after it has been seen to be a regular file.
    options.follow(if how.nofollow { FollowSymlinks::No } else { FollowSymlinks::Yes });
    #[cfg(unix)]
    {
        use cap_std::fs::OpenOptionsExt;
        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
        options.custom_flags(flags.bits().cast_signed());
    }
    let file = match dir.open_with(path, &options) {
        Ok(file) => file.into_std(),
        // A directory cannot be opened for writing.
        Err(error) if error.kind() == io::ErrorKind::IsADirectory && !how.create => {
            return Ok(Opened::Directory(dir.open_dir(path)?.into_std_file()));
        }
        Err(error) if is_special(&error) => return Ok(Opened::Special),
        Err(error) => return Err(error),
    };
    let kind = file.metadata()?.file_type();
    if kind.is_dir() {
        return Ok(Opened::Directory(file));
    }
    if !kind.is_file() {
        return Ok(Opened::Special);
    }
    if how.truncate {
        file.set_len(0)?;
    }
    Ok(Opened::File(file))
}

/// A FIFO without a reader, or a socket: the system refuses to open them at all.
#[cfg(unix)]
fn is_special(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error())
}

#[cfg(not(unix))]
fn is_special(_: &io::Error) -> bool {
    false
}

/// Why a path argument was not opened, in words for whoever made the call.
#[derive(Debug, PartialEq)]
pub enum Refusal {
    /// The session has no roots.
    NoRoots,
    /// The path is relative.
    NotAbsolute,
    /// The path cannot be meant.
    Malformed(&'static str),
    /// The path lies beneath none of these roots.
    Outside(String),
    /// A link on the way leads out of the root.
    LeadsOut,
    /// This root is no longer the directory that was opened.
    Moved(String),
    /// There is nothing there.
    Missing,
    /// It is not a regular file.
    NotAFile,
    /// It is not a directory.
    NotADirectory,
    /// The system refused.
    System(io::ErrorKind),
}

impl Refusal {
    fn of(error: &io::Error) -> Self {
        use io::ErrorKind::{CrossesDevices, NotADirectory, NotFound, PermissionDenied};
        let kind = error.kind();
        if kind == NotFound {
            Self::Missing
        } else if kind == NotADirectory {
            Self::NotADirectory
        // `openat2` (EXDEV) and cap-std say so of a way out.
        } else if kind == CrossesDevices
            || (kind == PermissionDenied && error.raw_os_error().is_none())
        {
            Self::LeadsOut
        } else {
            Self::System(kind)
        }
    }

    /// Whether the path was refused, and not merely wrong.
    pub fn is_denial(&self) -> bool {
        match self {
            Self::NoRoots | Self::Outside(_) | Self::LeadsOut | Self::Moved(_) => true,
            Self::NotAbsolute
            | Self::Malformed(_)
            | Self::Missing
            | Self::NotAFile
            | Self::NotADirectory
            | Self::System(_) => false,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRoots => f.write_str(
                "this session has no roots, so no path can be opened: start portcullis with \
                 --root DIRECTORY, set `roots` in portcullis.toml, or open a folder in the client",
            ),
            Self::NotAbsolute => f.write_str("the path is not absolute"),
            Self::Malformed(why) => write!(f, "the path cannot be used: {why}"),
            Self::Outside(roots) => {
                write!(f, "the path is outside the roots of this session ({roots})")
            }
            Self::LeadsOut => f.write_str("a link in the path leads out of its root"),
            Self::Moved(root) => write!(
                f,
                "the root {root} is no longer the directory that was opened: restart portcullis"
            ),
            Self::Missing => f.write_str("there is no such file or directory"),
            Self::NotAFile => f.write_str("it is not a regular file"),
            Self::NotADirectory => f.write_str("it is not a directory"),
            Self::System(kind) => write!(f, "the system refused to open it: {kind}"),
        }
    }
}

#[cfg(test)]
#[path = "roots_tests.rs"]
mod tests;
