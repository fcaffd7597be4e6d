//! Paths that others name, opened beneath directories that were opened once: a path becomes a handle,
//! or a refusal.
//!
//! Nothing here resolves a string twice: a root is opened once, and whatever lies beneath it is
//! opened from that handle (`openat2` on Linux, through cap-std), so that no `..`, no link and no
//! rename can lead outside.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make the files they need"))]

mod designate;
mod open;
mod refusal;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;

pub use designate::{Designated, Intent, Kind, Reach};
pub use open::{OpenHow, Opened, open_beneath};
pub use refusal::Refusal;

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
        kind: Kind,
        intent: Intent,
        nearest: &[String],
    ) -> Result<Designated, Refusal> {
        if self.is_empty() {
            return Err(Refusal::NoRoots);
        }
        let path = designate::parse(argument)?;
        let found = self.0.iter().filter_map(|root| Some((root, root.beneath(&path)?)));
        // The innermost root, which leaves the shortest rest.
        let (root, rest) = found
            .min_by_key(|(_, rest)| rest.components().count())
            .ok_or_else(|| Refusal::Outside(self.to_string()))?;
        if !root.is_in_place() {
            return Err(Refusal::Moved(root.path().display().to_string()));
        }
        match designate::find_nearest(root, rest, nearest)? {
            Some(above) => {
                let path = path.ancestors().nth(above).expect("it is at or beneath the root");
                let rest = rest.ancestors().nth(above).expect("it is at or beneath the root");
                designate::designate(root, path, rest, kind, intent)
            }
            None => designate::designate(root, &path, rest, kind, intent),
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

/// The `file:` address of an absolute path, with what an address cannot have written as `%XX`.
pub fn uri_of_path(path: &Path) -> Option<String> {
    url::Url::from_file_path(path).ok().map(String::from)
}

fn subdirectory(root: &Root, path: &Path, rest: &Path) -> Option<Root> {
    let dir = if rest.as_os_str().is_empty() { root.dir() } else { root.dir.open_dir(rest) };
    let dir = dir
        .inspect_err(|error| tracing::warn!("the client's root {}: {error}", path.display()))
        .ok()?;
    let spellings = [path.components().collect(), root.spellings[1].join(rest)];
    Some(Root { spellings, dir })
}

#[cfg(test)]
mod tests;
