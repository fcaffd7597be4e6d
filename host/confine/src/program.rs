//! The confinement of programs that are not defined as commands, such as upstream servers.

use std::path::{Path, PathBuf};

use crate::command::SYSTEM;
use crate::find::find;
use crate::package::package_of;
use crate::restrict::Confinement;

/// The confinement of a program with these arguments: it may read the files of the system and its package, and reach
/// what `grants` allows. Arguments that are absolute paths of files, such as a script, count as part of the program.
pub fn terms_of(program: &Path, arguments: &[String], grants: &Confinement) -> Confinement {
    let mut read: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
    read.extend(find(program).iter().flat_map(|found| package_of(found)));
    let scripts = arguments.iter().map(Path::new);
    let scripts = scripts.filter(|path| path.is_absolute() && path.is_file());
    read.extend(scripts.flat_map(package_of));
    read.extend(grants.read.iter().cloned());
    let mut write = grants.write.clone();
    write.push("/dev/null".into());
    // The confinement is passed on as text, so its paths must be UTF-8.
    for paths in [&mut read, &mut write] {
        paths.retain(|path| path.to_str().is_some());
    }
    Confinement { read, write, network: grants.network, hosts: grants.hosts.clone() }
}
