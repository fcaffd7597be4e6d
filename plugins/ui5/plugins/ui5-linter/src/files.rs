//! Reads the files of a project, for a linter that has no access to the project.

use portcullis_plugin::serde::Serialize;
use std::{collections::BTreeMap, fs, io, path::Path};

/// Extensions of the files that the linter reads. For other files, the linter needs only the paths.
const READ_EXTENSIONS: [&str; 13] = [
    "cjs",
    "css",
    "html",
    "js",
    "json",
    "library",
    "mjs",
    "properties",
    "theming",
    "ts",
    "xml",
    "yaml",
    "yml",
];

/// Maximum size of the contents of all files together, in bytes.
const MAX_BYTES: u64 = 48 << 20;

/// Maximum number of files, including files for which only the paths are sent.
const MAX_FILES: usize = 20_000;

/// Maximum number of directories between the project's directory and a file.
const MAX_LEVELS: usize = 64;

/// The files of a project. Paths are relative to the project, with `/` between names.
#[derive(Debug, Default, PartialEq, Serialize)]
#[serde(crate = "portcullis_plugin::serde")]
pub struct Files {
    /// The contents of the files that the linter reads, by path.
    pub files: BTreeMap<String, String>,
    /// The paths of all other files.
    pub others: Vec<String>,
}

/// Why the files of a project cannot be sent to the linter.
#[derive(Debug)]
pub enum Unsuitable {
    /// The project exceeds [`MAX_FILES`], [`MAX_BYTES`] or [`MAX_LEVELS`].
    TooLarge,
    /// A directory of the project is a symbolic link.
    LinkedDirectory,
    /// A file or directory cannot be read, or its name is not UTF-8.
    Unreadable,
}

impl From<io::Error> for Unsuitable {
    fn from(_: io::Error) -> Self {
        Self::Unreadable
    }
}

/// Reads the files of a project. Leaves out `node_modules` and names that begin with a dot, except `.library`:
/// the linter does not read them.
pub fn read(project: &Path) -> Result<Files, Unsuitable> {
    let mut found = Files::default();
    let mut bytes = 0;
    let mut folders = vec![(project.to_owned(), String::new(), 0)];
    while let Some((folder, prefix, level)) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let name = entry.file_name().into_string().map_err(|_| Unsuitable::Unreadable)?;
            if name == "node_modules" || (name.starts_with('.') && name != ".library") {
                continue;
            }
            let (path, name) = (entry.path(), format!("{prefix}{name}"));
            let kind = entry.file_type()?;
            if kind.is_dir() {
                if level == MAX_LEVELS {
                    return Err(Unsuitable::TooLarge);
                }
                folders.push((path, format!("{name}/"), level + 1));
                continue;
            }
            let is_readable = match fs::metadata(&path) {
                Ok(target) if target.is_dir() => return Err(Unsuitable::LinkedDirectory),
                Ok(target) => {
                    bytes += if is_read(&name) { target.len() } else { 0 };
                    true
                }
                // The link leads out of the project, or nowhere.
                Err(_) if kind.is_symlink() => false,
                Err(error) => return Err(error.into()),
            };
            if found.files.len() + found.others.len() == MAX_FILES {
                return Err(Unsuitable::TooLarge);
            }
            if !is_readable || !is_read(&name) {
                found.others.push(name);
                continue;
            }
            if bytes > MAX_BYTES {
                return Err(Unsuitable::TooLarge);
            }
            // Like Node.js, replaces invalid UTF-8.
            let text = String::from_utf8_lossy(&fs::read(&path)?).into_owned();
            found.files.insert(name, text);
        }
    }
    found.others.sort_unstable();
    Ok(found)
}

fn is_read(name: &str) -> bool {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    READ_EXTENSIONS.iter().any(|known| extension.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for name in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("it has one")).expect("a folder");
            fs::write(&path, format!("text of {name}")).expect("a file");
        }
        folder
    }

    #[test]
    fn files_that_the_linter_reads_have_contents_and_others_only_paths() {
        let folder = project(&[
            "ui5.yaml",
            "package.json",
            "webapp/Main.view.XML",
            "webapp/img/a.png",
            "src/.library",
            "webapp/none",
            ".git/config.json",
            ".env",
            "node_modules/a/index.js",
            "webapp/node_modules/a.js",
        ]);
        let found = read(folder.path()).expect("it is read");
        let names: Vec<&str> = found.files.keys().map(String::as_str).collect();
        assert_eq!(names, ["package.json", "src/.library", "ui5.yaml", "webapp/Main.view.XML"]);
        assert_eq!(found.files["ui5.yaml"], "text of ui5.yaml");
        assert_eq!(found.others, ["webapp/img/a.png", "webapp/none"]);
    }

    #[test]
    fn a_project_with_a_linked_directory_is_not_sent() {
        let folder = project(&["webapp/a.js"]);
        let (target, link) = (folder.path().join("webapp"), folder.path().join("linked"));
        std::os::unix::fs::symlink(target, link).expect("a link");
        assert!(matches!(read(folder.path()), Err(Unsuitable::LinkedDirectory)));
    }

    #[test]
    fn a_dangling_link_is_sent_only_by_its_path() {
        let folder = project(&["a.js"]);
        std::os::unix::fs::symlink("/no/such/file", folder.path().join("b.js")).expect("a link");
        let found = read(folder.path()).expect("it is read");
        assert_eq!((found.files.len(), found.others), (1, vec!["b.js".to_owned()]));
    }

    #[test]
    fn a_project_that_is_too_large_is_not_sent() {
        let folder = project(&["a.js"]);
        let large = fs::File::create(folder.path().join("b.json")).expect("a file");
        large.set_len(MAX_BYTES).expect("a sparse file");
        assert!(matches!(read(folder.path()), Err(Unsuitable::TooLarge)));
    }
}
