//! Finds the files that a program must be able to read to run: those of its package. A home directory or a folder of
//! secrets never counts as a package.
//!
//! A program in `~/bin` does not make the rest of `~` a part of its package. So a folder is readable only if its name
//! or one of its entries marks the folder as a package or an installation: see [`package_of`]. The operator names other
//! files and folders that a program needs.

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::find::system_path;

/// Folders of a home directory with logins and other secrets. A folder that is or contains one of these is not readable
/// as a whole, even if the folder is marked as a package.
const PRIVATE: &[&str] = &[
    ".aws",
    ".azure",
    ".cargo",
    ".config",
    ".docker",
    ".gnupg",
    ".kube",
    ".local/share",
    ".local/state",
    ".npm",
    ".password-store",
    ".ssh",
];

/// Version managers. In each pair, the first item is a folder in the parent of the program's folder, which marks the
/// version manager. The second item lists the folders in the same parent that a program needs to run.
const VERSION_MANAGERS: &[(&str, &[&str])] = &[
    // asdf, mise and pyenv: a script or a link in `shims` chooses the version.
    ("shims", &["bin", "installs", "lib", "libexec", "plugins", "shims", "versions"]),
    // Volta: a link in `bin` leads to one program, which chooses the version.
    ("tools/image", &["bin", "tools"]),
];

/// Maximum number of bytes of a script that are read to find its interpreter.
const MAX_FIRST_LINE_BYTES: u64 = 512;

/// The files and folders that a program at this path needs besides those of the system:
///
/// - the program, and its target if it is a link;
/// - the outermost folder `node_modules` that contains the program; if there is none and the program is a script of
///   Node.js, the folder of the nearest `package.json`; and `lib/node_modules` beside the program's folder;
/// - the virtual environment of Python or Conda, or the package in `/opt`, that contains the program;
/// - the files of the version manager that starts the program;
/// - if the program is a script that names an interpreter, the same files and folders for the interpreter.
pub(crate) fn package_of(program: &Path) -> Vec<PathBuf> {
    let home = std::env::home_dir();
    let mut needs = Vec::new();
    collect(program, home.as_deref(), &mut needs);
    if let Some(interpreter) = interpreter(program) {
        collect(&interpreter, home.as_deref(), &mut needs);
    }
    needs.sort();
    needs.dedup();
    needs
}

fn collect(program: &Path, home: Option<&Path>, needs: &mut Vec<PathBuf>) {
    let real = fs::canonicalize(program).unwrap_or_else(|_| program.to_owned());
    let is_node_script =
        interpreter(program).is_some_and(|found| found.file_name() == Some("node".as_ref()));
    let mut folders = Vec::new();
    for path in [program, &real] {
        needs.push(path.to_owned());
        let modules = path.ancestors().filter(|folder| ends_with(folder, "node_modules")).last();
        folders.extend(modules.map(Path::to_owned));
        folders.extend(path.parent().and_then(Path::parent).into_iter().flat_map(installation));
        let in_opt = path.strip_prefix("/opt").ok().and_then(|rest| rest.components().next());
        folders.extend(in_opt.map(|name| Path::new("/opt").join(name)));
    }
    if is_node_script && !real.iter().any(|part| part == "node_modules") {
        let package = real.ancestors().skip(1).find(|at| at.join("package.json").is_file());
        folders.extend(package.map(Path::to_owned));
    }
    folders.retain(|folder| folder.is_dir());
    needs.extend(folders.into_iter().filter(|folder| !is_private(folder, home)));
}

/// Folders in `prefix`, the parent of the program's folder, that the program may need.
fn installation(prefix: &Path) -> Vec<PathBuf> {
    let mut folders = vec![prefix.join("lib/node_modules")];
    if ["pyvenv.cfg", "conda-meta"].iter().any(|marker| prefix.join(marker).exists()) {
        folders.push(prefix.to_owned());
    }
    for (marker, beside) in VERSION_MANAGERS {
        if prefix.join(marker).is_dir() {
            folders.extend(beside.iter().map(|name| prefix.join(name)));
        }
    }
    folders
}

/// Whether a folder is or contains the home directory or one of its folders with secrets ([`PRIVATE`]).
fn is_private(folder: &Path, home: Option<&Path>) -> bool {
    if folder.parent().is_none() {
        return true;
    }
    let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    home.is_some_and(|home| {
        let real = fs::canonicalize(home).unwrap_or_else(|_| home.to_owned());
        [home.to_owned(), real].iter().any(|home| {
            home.starts_with(&folder)
                || PRIVATE.iter().any(|name| home.join(name).starts_with(&folder))
        })
    })
}

/// The interpreter that a script names in its first line, as the child will find it.
fn interpreter(program: &Path) -> Option<PathBuf> {
    let mut first = Vec::new();
    fs::File::open(program).ok()?.take(MAX_FIRST_LINE_BYTES).read_to_end(&mut first).ok()?;
    let line = first.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.split_whitespace();
    let named = Path::new(words.next()?);
    if named.file_name() != Some(OsStr::new("env")) {
        return named.is_absolute().then(|| named.to_owned());
    }
    let name = words.find(|word| !word.starts_with('-') && !word.contains('='))?;
    let own = program.parent().unwrap_or(program).to_owned();
    let folders = std::iter::once(own).chain(system_path());
    folders.map(|folder| folder.join(name)).find(|found| found.is_file())
}

/// Whether the last part of a path has this name.
fn ends_with(path: &Path, name: &str) -> bool {
    path.file_name().is_some_and(|last| last == name)
}
