//! Opens untrusted paths beneath the session's roots: a path becomes a handle or a refusal.
//!
//! A root is opened once. A [`Guard`] opens all paths beneath the root, relative to the handle of the root. Therefore
//! no `..`, link or rename can lead out of the root, to the host's own files, or into a virtual file system of the
//! kernel.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make the files they need"))]

mod designate;
mod folded_name;
mod guard;
mod guest_path;
mod host_files;
mod open;
mod protected;
mod refusal;
mod uri;
mod virtual_file_systems;
mod walk;
mod windows_path;

use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use cap_std::io_lifetimes::AsFilelike as _;

pub use designate::{Designated, DesignatedPart, Intent, Kind};
pub use guard::{Guard, NameInParent};
pub use guest_path::{
    GuestDirectories, beneath, guest_path, guest_setting, is_absolute_somewhere, native_path,
    normal_path, refused_name,
};
use host_files::Id;
pub use host_files::{HostFile, HostFiles};
pub use open::{OpenHow, Opened};
pub use protected::ProtectedFile;
pub use refusal::Refusal;
pub use uri::{InvalidRoot, path_of_uri, uri_of_path};

/// A directory in which a session may work.
#[derive(Debug)]
pub struct Root {
    /// The path as it was named, and the path without links. Path arguments may begin with either spelling. For a
    /// client's root within a root of the operator, only the operator's part is free of links.
    spellings: [PathBuf; 2],
    dir: Dir,
    guard: Guard,
}

impl Root {
    /// Opens a directory as a root. The host's own files in it cannot be opened.
    ///
    /// # Errors
    ///
    /// The path is not absolute, cannot be opened as a directory, or is protected ([`ProtectedFile`]).
    #[expect(clippy::disallowed_methods, reason = "a root is where ambient authority enters")]
    pub fn open(path: &Path, host_files: &HostFiles) -> io::Result<Self> {
        if !path.is_absolute() {
            return Err(io::Error::other("a root must be an absolute path"));
        }
        let dir = Dir::open_ambient_dir(path, ambient_authority())?;
        let guard = Guard::begin(host_files, &dir)?;
        let named = normal_path(path).map_err(io::Error::other)?;
        // A drive may be mapped to a network share. The canonical path is then a UNC path, which has no normal form.
        let canonical =
            normal_path(&std::fs::canonicalize(path)?).unwrap_or_else(|_| named.clone());
        if host_files.holds(&canonical) {
            return Err(ProtectedFile::HostFile.into());
        }
        // Where names are compared without case, the root gets the spelling of the directory on disk.
        let named = if beneath(&named, &canonical) == Some(Path::new("")) {
            canonical.clone()
        } else {
            named
        };
        Ok(Self { spellings: [named, canonical], dir, guard })
    }

    /// The path by which the directory was named.
    pub fn path(&self) -> &Path {
        &self.spellings[0]
    }

    /// The open directory.
    ///
    /// # Errors
    ///
    /// The process has no file descriptor left.
    pub fn dir(&self) -> io::Result<Dir> {
        self.dir.try_clone()
    }

    /// The guard of the files beneath the root.
    pub fn guard(&self) -> &Guard {
        &self.guard
    }

    /// Whether the directory is the root of the file system or a whole drive, even if the path is a link to it.
    pub fn is_everything(&self) -> bool {
        let own_id = self.dir.dir_metadata().map(|metadata| Id::of(&metadata));
        let is_file_system_root = |id| Id::at(Path::new("/")).is_ok_and(|root| root == id);
        uri::is_everything(&self.spellings[1])
            || (cfg!(unix) && own_id.is_ok_and(is_file_system_root))
    }

    /// The path relative to this root, if the path is the root or beneath the root.
    fn beneath<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        self.spellings.iter().find_map(|root| beneath(root, path))
    }

    /// Opens a path beneath this root.
    fn open_beneath(&self, rest: &Path, how: OpenHow) -> io::Result<(Opened, Guard)> {
        let dir = self.dir.as_filelike_view::<File>();
        self.guard.open(&dir, rest, how)
    }

    /// Opens a directory at or beneath this root.
    fn open_dir(&self, rest: &Path) -> io::Result<(Dir, Guard)> {
        if rest.as_os_str().is_empty() {
            return Ok((self.dir()?, self.guard.clone()));
        }
        match self.open_beneath(rest, OpenHow::default())? {
            (Opened::Directory(dir), guard) => Ok((Dir::from_std_file(dir), guard)),
            (Opened::File(_) | Opened::Special, _) => Err(walk::not_a_directory()),
        }
    }

    /// Whether the path still names the directory that was opened.
    fn is_in_place(&self) -> bool {
        let (opened, named) = (self.dir.dir_metadata(), Id::at(self.path()));
        opened.is_ok_and(|opened| named.is_ok_and(|named| Id::of(&opened) == named))
    }
}

/// The directories of a session. If the list is empty, every path argument is refused.
#[derive(Debug, Clone, Default)]
pub struct Roots {
    roots: Vec<Arc<Root>>,
    /// Directories that are not roots, but beneath which the paths in arguments can be opened.
    for_arguments: Vec<Arc<Root>>,
    /// The host's own files, which cannot be opened.
    host_files: HostFiles,
    /// Whether the client has roots, but has not listed them yet.
    unknown: bool,
}

impl Roots {
    /// The roots of a session, all opened with these `host_files`, which cannot be opened in any root.
    pub fn new(roots: Vec<Root>, host_files: HostFiles) -> Self {
        let roots = roots.into_iter().map(Arc::new).collect();
        Self { roots, for_arguments: Vec::new(), host_files, unknown: false }
    }

    /// These roots, and one more.
    pub fn with(mut self, root: Root) -> Self {
        self.roots.push(Arc::new(root));
        self
    }

    /// These roots, and a directory beneath which the paths in arguments can be opened. The directory is not a root: a
    /// grant of all roots does not include it, [`iter`](Self::iter) leaves it out, and narrowed roots do not contain
    /// it.
    pub fn with_directory_for_arguments(mut self, directory: Root) -> Self {
        self.for_arguments.push(Arc::new(directory));
        self
    }

    /// The roots.
    pub fn iter(&self) -> impl Iterator<Item = &Root> {
        self.roots.iter().map(|root| &**root)
    }

    /// Whether there are no roots.
    pub fn is_empty(&self) -> bool {
        self.roots.is_empty()
    }

    /// Whether both values share the same opened roots, because one is a clone of the other. Equal roots that were
    /// opened separately do not count.
    pub fn is_clone_of(&self, other: &Self) -> bool {
        let same = |(one, other): (&Arc<Root>, &Arc<Root>)| Arc::ptr_eq(one, other);
        self.roots.len() == other.roots.len()
            && self.roots.iter().zip(&other.roots).all(same)
            && self.host_files.is_clone_of(&other.host_files)
    }

    /// An empty list of roots, with the same files of the host.
    pub fn none(&self) -> Self {
        Self::new(Vec::new(), self.host_files.clone())
    }

    /// An empty list of roots, for a client that has roots, but has not listed them yet.
    pub fn unknown(&self) -> Self {
        Self { unknown: true, ..self.none() }
    }

    /// Whether the client has roots, but has not listed them yet.
    pub fn is_unknown(&self) -> bool {
        self.unknown
    }

    /// The host's files, which cannot be opened in any root.
    pub fn host_files(&self) -> &HostFiles {
        &self.host_files
    }

    /// These roots, narrowed by those that a client names as URIs: each root of the client that lies within a root
    /// of the operator, and each root of the operator that lies within a root of the client. If the operator named
    /// no roots, the client's roots are used, except for the root of the file system and whole drives. A text that
    /// is not the URI of a root is left out, with a warning.
    pub fn narrowed_by_uris<'a>(&self, uris: impl IntoIterator<Item = &'a str>) -> Self {
        let mut paths = Vec::new();
        for uri in uris {
            let path = match self.is_empty() {
                true => path_of_uri(uri),
                false => uri::any_path_of_uri(uri),
            };
            match path {
                Ok(path) => paths.push(path),
                Err(why) => {
                    let uri = portcullis_sanitize::line(uri, 300);
                    tracing::warn!("the client's root {uri} is left out: {why}");
                }
            }
        }
        self.narrowed_by(&paths)
    }

    /// The intersection of these roots with the client's roots: a client can narrow the operator's roots and not
    /// widen them. If the operator named no roots, the client's roots are used.
    pub fn narrowed_by(&self, client: &[PathBuf]) -> Self {
        let host_files = self.host_files.clone();
        if self.is_empty() {
            let opened = client.iter().filter_map(|path| open_client_root(path, &host_files));
            return Self::new(opened.collect(), host_files);
        }
        let mut narrowed: Vec<Arc<Root>> = Vec::new();
        for path in client {
            let mut is_within = false;
            for root in &self.roots {
                if let Some(rest) = root.beneath(path) {
                    is_within = true;
                    narrowed.extend(open_client_subdirectory(root, path, rest).map(Arc::new));
                } else if root.spellings.iter().any(|spelling| beneath(path, spelling).is_some()) {
                    is_within = true;
                    narrowed.push(root.clone());
                }
            }
            if !is_within {
                tracing::warn!(
                    "the client's root {} is not within the operator's roots: left out",
                    path.display()
                );
            }
        }
        Self { roots: narrowed, for_arguments: Vec::new(), host_files, unknown: false }
    }

    /// Opens the file or directory that a path argument names.
    ///
    /// If `nearest` is not empty, the directories from the path up to its root are searched for an entry of one of
    /// these names, and the first directory that has one is opened instead. If no directory has one, the path itself is
    /// opened or, if the path is a file, its directory.
    ///
    /// # Errors
    ///
    /// The path is not allowed, is wrong, or cannot be opened: [`Refusal`].
    pub fn designate(
        &self,
        argument: &str,
        kind: Kind,
        intent: Intent,
        nearest: &[String],
    ) -> Result<Designated, Refusal> {
        self.locate(argument)?.open(kind, intent, nearest)
    }

    /// Finds the root of a path argument by its text only. No file is accessed.
    ///
    /// # Errors
    ///
    /// The path is wrong or outside the roots, or there are no roots: [`Refusal`].
    pub fn locate(&self, argument: &str) -> Result<Located<'_>, Refusal> {
        if self.unknown {
            return Err(Refusal::RootsNotListed);
        }
        if self.is_empty() && self.for_arguments.is_empty() {
            return Err(Refusal::NoRoots);
        }
        let path = designate::parse(argument)?;
        let all = self.roots.iter().chain(&self.for_arguments);
        let found = all.filter_map(|root| Some((root, root.beneath(&path)?)));
        // The innermost root is the one with the shortest relative path.
        let innermost = found.min_by_key(|(_, rest)| rest.components().count());
        match innermost.map(|(root, rest)| (root, rest.to_owned())) {
            Some((root, rest)) => {
                Ok(Located { root, path: guest_path::spelled(root.path(), &rest, path), rest })
            }
            None => Err(Refusal::Outside(self.to_string())),
        }
    }
}

/// A path argument and its root, before the path is opened.
#[derive(Debug)]
pub struct Located<'a> {
    root: &'a Root,
    path: PathBuf,
    /// The path relative to the root.
    rest: PathBuf,
}

impl Located<'_> {
    /// The path as the guest gets it.
    pub fn guest_path(&self) -> String {
        guest_path(&self.path)
    }

    /// Opens the file or directory. `nearest`: see [`Roots::designate`].
    ///
    /// # Errors
    ///
    /// The path is not allowed, is wrong, or cannot be opened: [`Refusal`].
    pub fn open(
        &self,
        kind: Kind,
        intent: Intent,
        nearest: &[String],
    ) -> Result<Designated, Refusal> {
        let Self { root, path, rest } = self;
        if !root.is_in_place() {
            return Err(Refusal::RootReplaced(root.path().display().to_string()));
        }
        match designate::find_nearest(root, rest, nearest)? {
            Some(above) => {
                let path =
                    path.ancestors().nth(above).expect("the nearest is at or beneath the root");
                let rest =
                    rest.ancestors().nth(above).expect("the nearest is at or beneath the root");
                designate::designate(root, path, rest, kind, intent)
            }
            None => designate::designate(root, path, rest, kind, intent),
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

/// Opens a root that a client names. A failure is logged.
fn open_client_root(path: &Path, host_files: &HostFiles) -> Option<Root> {
    match Root::open(path, host_files) {
        Ok(root) if root.is_everything() => {
            tracing::warn!(
                "the client's root {} is left out: {}",
                path.display(),
                InvalidRoot::Everything
            );
            None
        }
        Ok(root) => {
            tracing::info!("using the client's root {}", path.display());
            Some(root)
        }
        Err(error) => {
            tracing::warn!("the client's root {} is left out: {error}", path.display());
            None
        }
    }
}

/// Opens the client's root at `rest` within a root of the operator. A failure is logged.
fn open_client_subdirectory(root: &Root, path: &Path, rest: &Path) -> Option<Root> {
    let (dir, guard) = root
        .open_dir(rest)
        .inspect_err(|error| {
            tracing::warn!("the client's root {} is left out: {error}", path.display())
        })
        .ok()?;
    let named = guest_path::spelled(root.path(), rest, path.components().collect());
    let spellings = [named, root.spellings[1].join(rest)];
    Some(Root { spellings, dir, guard })
}

#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod protected_tests;
#[cfg(test)]
mod tests;
