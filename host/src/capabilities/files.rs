//! The capability `files`: the paths that a call names, or the session's roots, or directories of
//! the operator's choice; to read, or to write as well.

mod descriptors;
mod judge;
mod quota;

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::Dir;
use portcullis_roots::{Designated, Reach as Designation};
use serde::Deserialize;
use wasmtime_wasi::filesystem::WasiFilesystemCtx;

pub use judge::{FilesData, FilesView};
pub use quota::Quota;

use crate::capabilities::{Capability, Grants};
use crate::gate::{Ask, Gate};

/// To read, or to write as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// Contents, names and metadata.
    Read,
    /// Also to change, make and remove.
    Write,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
        })
    }
}

/// Which part of the session's roots.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// What the arguments of the call name.
    #[default]
    Arguments,
    /// All of the session's roots.
    Roots,
}

/// Which files a plugin may use.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FilesGrant {
    /// At most to do what.
    pub access: Access,
    /// In which part of the roots.
    #[serde(default)]
    pub scope: Scope,
    /// Directories beside the roots, read-only.
    #[serde(default, deserialize_with = "absolute")]
    pub directories: Vec<PathBuf>,
    /// Directories beside the roots that may be written as well, made where they are missing.
    #[serde(default, deserialize_with = "absolute")]
    pub writable: Vec<PathBuf>,
}

/// Absolute paths, in which `~` is the user's home.
fn absolute<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<PathBuf>, D::Error> {
    let mut paths = Vec::<PathBuf>::deserialize(from)?;
    for path in &mut paths {
        *path = portcullis_confine::at_home(path);
        if !path.is_absolute() {
            let path = path.display();
            return Err(serde::de::Error::custom(format!("{path} is not an absolute path")));
        }
    }
    Ok(paths)
}

impl FilesGrant {
    /// The directories beside the roots, and what may be done there. Those that may be written are
    /// made where they are missing.
    ///
    /// # Errors
    ///
    /// Where one cannot be made.
    pub fn beside_the_roots(&self) -> std::io::Result<Vec<(&Path, Access)>> {
        for directory in &self.writable {
            portcullis_records::create_private_folder(directory)?;
        }
        let read = self.directories.iter().map(|directory| (&**directory, Access::Read));
        let write = self.writable.iter().map(|directory| (&**directory, Access::Write));
        Ok(read.chain(write).collect())
    }
}

impl fmt::Display for FilesGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.scope {
            Scope::Arguments => "the paths a call names",
            Scope::Roots => "all of the session's roots",
        };
        write!(f, "{} {what}", self.access)?;
        for directory in &self.directories {
            write!(f, ", read {}", directory.display())?;
        }
        for directory in &self.writable {
            write!(f, ", write {}", directory.display())?;
        }
        Ok(())
    }
}

/// Adds a want to what is wanted so far.
pub(super) fn want(sum: &mut Option<FilesGrant>, target: &str, access: &str) -> Result<(), String> {
    let access = match access {
        "read" => Access::Read,
        "write" => Access::Write,
        _ => return Err("the access is \"read\" or \"write\"".into()),
    };
    let grant = sum.get_or_insert_with(|| FilesGrant {
        access: Access::Read,
        scope: Scope::Arguments,
        directories: Vec::new(),
        writable: Vec::new(),
    });
    match target {
        "arguments" => {}
        "roots" => grant.scope = Scope::Roots,
        directory if Path::new(directory).is_absolute() => {
            match access {
                Access::Read => grant.directories.push(directory.into()),
                Access::Write => grant.writable.push(directory.into()),
            }
            return Ok(());
        }
        // A setting may hold a directory or an address; the latter is no matter of files.
        address if address.contains("://") => return Ok(()),
        _ => return Err("the target is \"arguments\", \"roots\" or an absolute path".into()),
    }
    grant.access = grant.access.max(access);
    Ok(())
}

/// By what right a directory is open to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// An argument names it.
    Argument,
    /// It is one of the session's roots.
    Root,
    /// The grant names it.
    Directory,
    /// Nothing does: it lies beside what an argument names.
    Beside,
}

/// One file or directory that a plugin would open, make, change or remove.
#[derive(Debug)]
pub struct FileAsk {
    /// Its absolute path, as the plugin spells it.
    pub path: PathBuf,
    /// To do what.
    pub access: Access,
    /// Because of what.
    pub origin: Origin,
    /// What the directory was opened for.
    pub opened_for: Access,
}

impl Ask for FileAsk {
    type Grant = FilesGrant;
    const CAPABILITY: Capability = Capability::Files;

    fn grant(grants: &Grants) -> Option<&FilesGrant> {
        grants.files.as_ref()
    }

    fn is_within(&self, grant: &FilesGrant) -> bool {
        let place = match self.origin {
            Origin::Argument => self.access <= grant.access,
            Origin::Root => self.access <= grant.access && grant.scope == Scope::Roots,
            Origin::Directory => {
                let lies_in = |list: &[PathBuf]| list.iter().any(|one| self.path.starts_with(one));
                lies_in(&grant.writable)
                    || (self.access == Access::Read && lies_in(&grant.directories))
            }
            Origin::Beside => false,
        };
        place && self.access <= self.opened_for
    }

    fn subject(&self) -> String {
        format!("{} {}", self.access, self.path.display())
    }

    fn remedy(&self) -> String {
        match self.origin {
            Origin::Argument => format!("access = \"{}\"", self.access),
            Origin::Root => format!("access = \"{}\"\nscope = \"roots\"", self.access),
            Origin::Directory | Origin::Beside => format!(
                "directories = [\"{}\"]",
                self.path.parent().unwrap_or(&self.path).display()
            ),
        }
    }
}

/// A directory that the instance of one call has.
#[derive(Debug)]
pub struct Preopen {
    directory: PathBuf,
    handle: File,
    reach: Reach,
    origin: Origin,
}

/// How much of a directory can be reached, and for what.
#[derive(Debug, Default)]
struct Reach {
    /// All of it. `None`: only the names.
    all: Option<Access>,
    /// Single entries, which come before [`Reach::all`].
    names: Vec<Name>,
}

/// A single entry that can be reached.
#[derive(Debug)]
struct Name {
    name: String,
    access: Access,
    what: What,
}

#[derive(Debug)]
enum What {
    /// A designated file, already open unless it is missing.
    File(Option<File>),
    /// Something that may be made and then filled.
    Create,
}

impl Reach {
    fn all(access: Access) -> Arc<Self> {
        Arc::new(Self { all: Some(access), names: Vec::new() })
    }

    fn widest(&self) -> Access {
        let names = self.names.iter().map(|name| name.access);
        names.chain(self.all).max().unwrap_or(Access::Read)
    }
}

impl Preopen {
    /// A whole directory, by the grant's own words.
    pub fn whole(directory: PathBuf, handle: File, origin: Origin, access: Access) -> Self {
        Self { directory, handle, reach: Reach { all: Some(access), names: Vec::new() }, origin }
    }

    /// What the arguments of a call opened: one for each directory, as a guest finds a path in the
    /// innermost directory that holds it and looks no further.
    pub fn of_arguments(designated: Vec<Designated>) -> Vec<Self> {
        let mut preopens: Vec<Self> = Vec::new();
        for Designated { directory, handle, reach, write } in designated {
            let access = if write { Access::Write } else { Access::Read };
            let index = match preopens.iter().position(|known| known.directory == directory) {
                Some(index) => index,
                None => {
                    let reach = Reach::default();
                    preopens.push(Self { directory, handle, reach, origin: Origin::Argument });
                    preopens.len() - 1
                }
            };
            let known = &mut preopens[index].reach;
            match reach {
                Designation::Everything => known.all = known.all.max(Some(access)),
                Designation::File { name, handle } => {
                    known.names.push(Name { name, access, what: What::File(handle) });
                }
                Designation::Create { name } => {
                    known.names.push(Name { name, access, what: What::Create });
                }
            }
        }
        // What lies in a directory that is open as a whole stays open beside a single entry.
        for index in 0..preopens.len() {
            let around = preopens
                .iter()
                .filter(|outer| preopens[index].directory.starts_with(&outer.directory))
                .filter_map(|outer| outer.reach.all)
                .max();
            preopens[index].reach.all = around;
        }
        preopens
    }
}

/// What a descriptor of the guest stands for.
#[derive(Clone)]
struct Node {
    path: PathBuf,
    reach: Arc<Reach>,
    origin: Origin,
    /// How many directories below the preopened one.
    depth: u32,
}

/// The files of one call.
pub struct Files {
    gate: Gate,
    preopens: Vec<(File, Node)>,
    nodes: HashMap<u32, Node>,
    quota: Arc<Quota>,
    ctx: WasiFilesystemCtx,
}

impl Files {
    /// The directories that one call has, and how much it may write in them.
    pub fn new(gate: Gate, preopens: Vec<Preopen>, quota: Quota) -> Self {
        let preopens = preopens.into_iter().map(|preopen| {
            let Preopen { directory, handle, reach, origin } = preopen;
            (handle, Node { path: directory, reach: Arc::new(reach), origin, depth: 0 })
        });
        Self {
            gate,
            preopens: preopens.collect(),
            nodes: HashMap::new(),
            quota: Arc::new(quota),
            ctx: WasiFilesystemCtx::default(),
        }
    }

    /// A directory of the call, or one beneath, opened; and what may be done there. `None`: the
    /// call has no such directory, or not the whole of it.
    pub fn directory(&self, path: &Path) -> Option<(File, Access)> {
        let around = |(_, node): &&(File, Node)| path.starts_with(&node.path);
        let whole = self.preopens.iter().filter(|(_, node)| node.reach.all.is_some());
        let (handle, node) =
            whole.filter(around).max_by_key(|(_, node)| node.path.components().count())?;
        let rest = path.strip_prefix(&node.path).ok()?;
        let handle = handle.try_clone().ok()?;
        let handle = match rest.as_os_str().is_empty() {
            true => handle,
            false => Dir::from_std_file(handle).open_dir(rest).ok()?.into_std_file(),
        };
        Some((handle, node.reach.all?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(path: &str, access: Access, origin: Origin, opened_for: Access) -> FileAsk {
        FileAsk { path: path.into(), access, origin, opened_for }
    }

    #[test]
    fn within_a_grant_for_reading_arguments() {
        use Access::{Read, Write};
        let grant: FilesGrant = toml::from_str("access = \"read\"").unwrap();
        for (ask, expected) in [
            (ask("/a/b", Read, Origin::Argument, Read), true),
            (ask("/a/b", Write, Origin::Argument, Write), false),
            (ask("/a/b", Read, Origin::Root, Read), false),
            (ask("/a/b", Read, Origin::Directory, Read), false),
            (ask("/a/b", Read, Origin::Beside, Read), false),
        ] {
            assert_eq!(ask.is_within(&grant), expected, "{ask:?}");
        }
    }

    #[test]
    fn within_a_grant_for_writing_roots_and_a_directory() {
        use Access::{Read, Write};
        let grant: FilesGrant =
            toml::from_str(
                "access = \"write\"\nscope = \"roots\"\ndirectories = [\"/opt/x\"]\nwritable = [\"/var/y\"]",
            )
            .unwrap();
        for (ask, expected) in [
            (ask("/a/b", Write, Origin::Argument, Write), true),
            // Opened for reading: the grant does not widen what the tool declared.
            (ask("/a/b", Write, Origin::Argument, Read), false),
            (ask("/a/b", Write, Origin::Root, Write), true),
            (ask("/opt/x/y", Read, Origin::Directory, Read), true),
            (ask("/opt/x/y", Write, Origin::Directory, Write), false),
            (ask("/opt/x2/y", Read, Origin::Directory, Read), false),
            (ask("/var/y/z", Write, Origin::Directory, Write), true),
            (ask("/var/y/z", Read, Origin::Directory, Write), true),
            (ask("/var/y2/z", Read, Origin::Directory, Write), false),
        ] {
            assert_eq!(ask.is_within(&grant), expected, "{ask:?}");
        }
    }

    #[test]
    fn single_entries_keep_to_themselves_and_open_directories_stay_open() {
        let folder = tempfile::tempdir().unwrap();
        let designated = |directory: &str, reach, write| Designated {
            directory: directory.into(),
            handle: File::open(folder.path()).unwrap(),
            reach,
            write,
        };
        let create = |name: &str| Designation::Create { name: name.into() };
        let preopens = Preopen::of_arguments(vec![
            designated("/p", Designation::Everything, false),
            designated("/p/out", create("a"), true),
            designated("/p/out", create("b"), true),
            designated("/q", create("c"), true),
        ]);
        let shape: Vec<_> = preopens
            .iter()
            .map(|p| (p.directory.to_str().unwrap(), p.reach.all, p.reach.names.len()))
            .collect();
        assert_eq!(
            shape,
            [("/p", Some(Access::Read), 0), ("/p/out", Some(Access::Read), 2), ("/q", None, 1)]
        );
    }

    #[test]
    fn wants_add_up() {
        let mut sum = None;
        want(&mut sum, "arguments", "read").unwrap();
        want(&mut sum, "arguments", "write").unwrap();
        want(&mut sum, "/opt/x", "read").unwrap();
        let sum = sum.unwrap();
        assert_eq!((sum.access, sum.scope), (Access::Write, Scope::Arguments));
        assert_eq!(sum.directories, [PathBuf::from("/opt/x")]);
        assert!(want(&mut None, "arguments", "execute").is_err());
        assert!(want(&mut None, "somewhere", "read").is_err());
    }
}
