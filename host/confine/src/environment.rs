//! The environment variables of children.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::find::system_path;

/// Variables by which programs find the user's folders. Unless a child is given other values, these variables name an
/// empty folder of its own.
#[cfg(not(windows))]
const FOLDERS: &[&str] = &["HOME", "TMPDIR"];
#[cfg(windows)]
const FOLDERS: &[&str] = &["HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "TEMP", "TMP"];

/// Variables that describe the machine. Programs on Windows need these variables to find their libraries and sockets.
#[cfg(not(windows))]
const MACHINE: &[&str] = &[];
#[cfg(windows)]
const MACHINE: &[&str] = &[
    "COMSPEC",
    "NUMBER_OF_PROCESSORS",
    "OS",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "SystemDrive",
    "SystemRoot",
    "windir",
];

/// Variables that say on Windows what `HOME` says on other systems.
#[cfg(not(windows))]
const HOME: &[&str] = &[];
#[cfg(windows)]
const HOME: &[&str] = &["USERPROFILE", "APPDATA", "LOCALAPPDATA"];

fn host_variable(name: &str) -> Option<(OsString, OsString)> {
    Some((name.into(), std::env::var_os(name)?))
}

/// The variables that describe the machine.
pub(crate) fn of_machine() -> impl Iterator<Item = (OsString, OsString)> {
    MACHINE.iter().filter_map(|name| host_variable(name))
}

/// The variables of the user's folders, which all lead to this folder.
pub(crate) fn of_folder(folder: &Path) -> impl Iterator<Item = (OsString, OsString)> {
    FOLDERS.iter().map(|name| (OsString::from(name), folder.into()))
}

/// The environment of a program: `PATH`, a language, and the host's variables with these names. On
/// Windows, the name `HOME` stands for the variables in [`HOME`], too.
pub(crate) fn environment_of(program: &Path, names: &[String]) -> Vec<(OsString, OsString)> {
    let own_folder = program.parent().unwrap_or(program);
    let all = [PathBuf::from(own_folder)].into_iter().chain(system_path());
    let path = std::env::join_paths(all).unwrap_or_default();
    let mut environment = vec![("PATH".into(), path), ("LANG".into(), "C.UTF-8".into())];
    environment.extend(names.iter().filter_map(|name| host_variable(name)));
    if names.iter().any(|name| name == "HOME") {
        environment.extend(HOME.iter().filter_map(|name| host_variable(name)));
    }
    environment
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_gets_what_is_named_and_nothing_else() {
        let name = |given: &(OsString, OsString)| given.0.to_string_lossy().into_owned();
        let names: Vec<String> = environment_of(Path::new("/a/b"), &[]).iter().map(name).collect();
        assert_eq!(names, ["PATH", "LANG"]);
        let some = environment_of(Path::new("/a/b"), &["PATH".to_owned(), "NO_SUCH".to_owned()]);
        assert_eq!(some.iter().filter(|given| name(given) == "PATH").count(), 2);
        assert!(!some.iter().any(|given| name(given) == "NO_SUCH"));
        let first = std::env::split_paths(&some[0].1).next();
        assert_eq!(first.as_deref(), Some(Path::new("/a")));
    }

    #[test]
    fn all_variables_of_the_users_folders_name_the_childs_folder() {
        let folder = Path::new("/of/its/own");
        let all: Vec<_> = of_folder(folder).collect();
        assert!(all.iter().all(|(_, value)| value == folder), "{all:?}");
        assert!(all.iter().any(|(name, _)| name == "HOME"));
        let has = |name: &str| all.iter().any(|(given, _)| given == name);
        assert_eq!((has("TEMP"), has("TMPDIR")), (cfg!(windows), !cfg!(windows)));
        assert_eq!(of_machine().any(|(name, _)| name == "SystemRoot"), cfg!(windows));
    }
}
