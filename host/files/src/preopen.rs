//! The preopened directories of a guest. A guest can access the whole of such a directory, or only single entries.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use portcullis_roots::{Designated, DesignatedPart, Guard};

use super::{Access, Origin};

/// A preopened directory of a guest.
#[derive(Debug)]
pub struct Preopen {
    pub(super) directory: PathBuf,
    pub(super) handle: File,
    pub(super) guard: Guard,
    pub(super) reach: AccessRules,
    pub(super) origin: Origin,
}

/// Which entries of a directory can be accessed, and how.
#[derive(Debug, Default)]
pub(super) struct AccessRules {
    /// The access to the whole directory. `None`: only `names` can be accessed.
    pub all: Option<Access>,
    /// Single entries, which take precedence over [`AccessRules::all`].
    pub names: Vec<Name>,
}

/// A single entry that can be accessed.
#[derive(Debug)]
pub(super) struct Name {
    pub name: String,
    pub access: Access,
    pub what: AccessibleEntry,
}

#[derive(Debug)]
pub(super) enum AccessibleEntry {
    /// The handle of a designated file. `None`: the file is missing. A change that replaces the file replaces the
    /// handle.
    File(Mutex<Option<File>>),
    /// A file or directory that the guest may create, and then write to.
    Create,
}

impl AccessRules {
    pub(super) fn all(access: Access) -> Arc<Self> {
        Arc::new(Self { all: Some(access), names: Vec::new() })
    }

    pub(super) fn widest(&self) -> Access {
        let names = self.names.iter().map(|name| name.access);
        names.chain(self.all).max().unwrap_or(Access::Read)
    }
}

impl Preopen {
    /// A whole directory. `guard` refuses the protected files beneath it.
    pub fn whole(
        directory: PathBuf,
        handle: File,
        guard: Guard,
        origin: Origin,
        access: Access,
    ) -> Self {
        let reach = AccessRules { all: Some(access), names: Vec::new() };
        Self { directory, handle, guard, reach, origin }
    }

    /// The absolute path of the directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The preopened directories for the path arguments of a call. Each directory occurs once, because a guest
    /// looks a path up only in the innermost preopened directory that contains the path.
    pub fn of_arguments(designated: Vec<Designated>) -> Vec<Self> {
        let mut preopens: Vec<Self> = Vec::new();
        for Designated { directory, handle, guard, reach, write } in designated {
            let access = if write { Access::Write } else { Access::Read };
            let index = match preopens.iter().position(|known| known.directory == directory) {
                Some(index) => index,
                None => {
                    let (reach, origin) = (AccessRules::default(), Origin::Argument);
                    preopens.push(Self { directory, handle, guard, reach, origin });
                    preopens.len() - 1
                }
            };
            let known = &mut preopens[index].reach;
            match reach {
                DesignatedPart::Everything => known.all = known.all.max(Some(access)),
                DesignatedPart::File { name, handle } => {
                    known.names.push(Name {
                        name,
                        access,
                        what: AccessibleEntry::File(handle.into()),
                    });
                }
                DesignatedPart::Create { name } => {
                    known.names.push(Name { name, access, what: AccessibleEntry::Create });
                }
            }
        }
        // A directory with single entries is open as a whole if a directory that contains it is open as a whole.
        for index in 0..preopens.len() {
            let outer_access = preopens
                .iter()
                .filter(|outer| preopens[index].directory.starts_with(&outer.directory))
                .filter_map(|outer| outer.reach.all)
                .max();
            preopens[index].reach.all = outer_access;
        }
        preopens
    }

    /// Widens the access to the directory of each argument: if the directory is at or beneath a root of the call, the
    /// access becomes at least the access to this root. Without this, a guest could access less in the directory of a
    /// named file than elsewhere in the root.
    pub fn widen_by_roots(arguments: &mut [Self], granted: &[Self]) {
        for argument in arguments {
            let around = granted.iter().filter(|outer| {
                outer.origin == Origin::Root && argument.directory.starts_with(&outer.directory)
            });
            let access = around.filter_map(|outer| outer.reach.all).max();
            argument.reach.all = argument.reach.all.max(access);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_of_the_call_is_as_open_in_the_directory_of_a_named_file() {
        let folder = tempfile::tempdir().unwrap();
        let handle = || File::open(folder.path()).unwrap();
        let named = |directory: &str| Designated {
            directory: directory.into(),
            handle: handle(),
            guard: Guard::default(),
            reach: DesignatedPart::File { name: "a".into(), handle: None },
            write: false,
        };
        let mut named = Preopen::of_arguments(vec![named("/p/in"), named("/q"), named("/r")]);
        let whole = |directory: &str, origin, access| {
            Preopen::whole(directory.into(), handle(), Guard::default(), origin, access)
        };
        let granted = [
            whole("/p", Origin::Root, Access::Read),
            whole("/r", Origin::Directory, Access::Write),
        ];
        Preopen::widen_by_roots(&mut named, &granted);
        let open: Vec<_> = named.iter().map(|preopen| preopen.reach.all).collect();
        // `/r` is a granted directory and no root, so the access to its files is not widened.
        assert_eq!(open, [Some(Access::Read), None, None]);
    }

    #[test]
    fn single_entries_open_nothing_else_and_whole_directories_stay_open() {
        let folder = tempfile::tempdir().unwrap();
        let designated = |directory: &str, reach, write| Designated {
            directory: directory.into(),
            handle: File::open(folder.path()).unwrap(),
            guard: Guard::default(),
            reach,
            write,
        };
        let create = |name: &str| DesignatedPart::Create { name: name.into() };
        let preopens = Preopen::of_arguments(vec![
            designated("/p", DesignatedPart::Everything, false),
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
}
