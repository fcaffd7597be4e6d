//! The directories that a guest finds: each as a whole, or single entries of it.

use std::fs::File;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use portcullis_roots::{Designated, DesignatedPart, Guard};

use super::{Access, Origin};

/// A directory that a guest finds.
#[derive(Debug)]
pub struct Preopen {
    pub(super) directory: PathBuf,
    pub(super) handle: File,
    pub(super) guard: Guard,
    pub(super) reach: AccessRules,
    pub(super) origin: Origin,
}

/// How much of a directory can be reached, and for what.
#[derive(Debug, Default)]
pub(super) struct AccessRules {
    /// All of it. `None`: only the names.
    pub all: Option<Access>,
    /// Single entries, which come before [`AccessRules::all`].
    pub names: Vec<Name>,
}

/// A single entry that can be reached.
#[derive(Debug)]
pub(super) struct Name {
    pub name: String,
    pub access: Access,
    pub what: What,
}

#[derive(Debug)]
pub(super) enum What {
    /// A designated file, already open unless it is missing. Another one once a change has replaced it.
    File(Mutex<Option<File>>),
    /// Something that may be made and then filled.
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
    /// A whole directory, and what is closed beneath it.
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

    /// What the arguments of a call opened: one for each directory, as a guest finds a path in the
    /// innermost directory that holds it and looks no further.
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
                    known.names.push(Name { name, access, what: What::File(handle.into()) });
                }
                DesignatedPart::Create { name } => {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_entries_keep_to_themselves_and_open_directories_stay_open() {
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
