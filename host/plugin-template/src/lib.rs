//! Creates new projects of plugins from templates. Each folder of `resources/templates` is the template of one
//! language. The templates are part of the binary.

mod name;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use portcullis_file_transaction::{Change, Expected, Plan, TransactionError};
use portcullis_roots::{HostFiles, Root};

pub use name::{NameError, ProjectName};

/// A language in which plugins are written, with the template of a project.
#[derive(Debug)]
pub struct Language {
    /// The word for `--lang`.
    pub id: &'static str,
    /// The language, and how it becomes a component.
    pub title: &'static str,
    /// The command that builds the plugin, with placeholders.
    build: &'static str,
    /// The file that the build makes, with placeholders.
    component: &'static str,
    /// Whether a project has the sources of the SDK. Without them, it has the contract.
    has_sdk: bool,
    /// Names that the language or its tools refuse.
    reserved: &'static [&'static str],
    /// The paths and texts of the files, with placeholders.
    files: &'static [(&'static str, &'static str)],
}

include!(concat!(env!("OUT_DIR"), "/templates.rs"));

/// The folder of the SDK in a project.
const SDK_FOLDER: &str = "sdk";

/// The folder of the contract in a project whose tools are functions of a WIT file: the folder in which the tools of
/// all languages look for other packages.
const CONTRACT_FOLDER: &str = "wit/deps/portcullis-plugin";

/// Why a project is not made.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// Something has the name of the project's folder.
    #[error("{} exists already\n  hint: choose another name, or move it away", .0.display())]
    Exists(PathBuf),
    /// The folder in which the project should be cannot be used.
    #[error("opening the folder {}", .0.display())]
    Folder(PathBuf, #[source] io::Error),
    /// The files cannot be written. Nothing is left of them.
    #[error("writing the project")]
    Files(#[source] TransactionError),
}

impl Language {
    /// The language with this word for `--lang`.
    pub fn named(id: &str) -> Option<&'static Self> {
        LANGUAGES.iter().find(|language| language.id == id)
    }

    /// The command that builds the project.
    pub fn build(&self, name: &ProjectName) -> String {
        filled(self.build, name)
    }

    /// The path of the component in the project, once it is built.
    pub fn component(&self, name: &ProjectName) -> String {
        filled(self.component, name)
    }

    /// The files of a new project, by their paths.
    pub fn files(&self, name: &ProjectName) -> BTreeMap<String, String> {
        let own = self.files.iter().map(|(path, text)| ((*path).to_owned(), filled(text, name)));
        let (folder, shared) =
            if self.has_sdk { (SDK_FOLDER, SDK) } else { (CONTRACT_FOLDER, CONTRACT) };
        let shared =
            shared.iter().map(|(path, text)| (format!("{folder}/{path}"), (*text).to_owned()));
        own.chain(shared).collect()
    }

    /// Makes a project in a new folder within `parent`, as a whole or not at all. Returns the number of files. If this
    /// process is killed, the next `portcullis_file_transaction::recover` with the same `journals` completes the
    /// project or removes the files that are left.
    ///
    /// # Errors
    ///
    /// The folder exists, or the files cannot be written.
    pub fn create(
        &self,
        name: &ProjectName,
        parent: &Path,
        journals: &Path,
    ) -> Result<usize, CreateError> {
        let folder = parent.join(name.as_str());
        if folder.symlink_metadata().is_ok() {
            return Err(CreateError::Exists(folder));
        }
        let failed = |error| CreateError::Folder(parent.to_owned(), error);
        // No file of the host is closed here, because the user names the folder and no plugin writes to it.
        let root = Root::open(parent, &HostFiles::new([])).map_err(failed)?;
        let base = Arc::new(root.dir().map_err(failed)?);
        let change = |(path, text): (String, String)| Change {
            base: base.clone(),
            guard: root.guard().clone(),
            base_path: parent.to_owned(),
            path: Path::new(name.as_str()).join(path),
            expected: Expected::NewDirectory(folder.clone()),
            contents: text.into_bytes(),
        };
        let changes: Vec<_> = self.files(name).into_iter().map(change).collect();
        let count = changes.len();
        let written = Plan::new(changes)
            .and_then(|plan| plan.stage(journals, &|| false))
            .and_then(|staged| staged.commit());
        match written {
            Ok(()) => Ok(count),
            Err(TransactionError::Exists(_)) => Err(CreateError::Exists(folder)),
            Err(error) => Err(CreateError::Files(error)),
        }
    }
}

/// A text of a template with its placeholders filled in.
fn filled(text: &str, name: &ProjectName) -> String {
    text.replace("{{name}}", name.as_str()).replace("{{snake}}", &name.snake())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(language: &Language) -> ProjectName {
        ProjectName::new("word-count", language).unwrap()
    }

    #[test]
    fn each_language_has_what_a_project_needs() {
        assert_eq!(LANGUAGES.len(), 5);
        for language in LANGUAGES {
            let files = language.files(&name(language));
            let readme = &files["README.md"];
            assert!(readme.starts_with("# word-count\n"), "{}", language.id);
            assert!(readme.contains(&language.component(&name(language))), "{}", language.id);
            assert!(readme.contains("portcullis test") || readme.contains("npm test"));
            assert!(files.contains_key(".gitignore"), "{}", language.id);
            let cases = files.keys().filter(|path| path.starts_with("cases/"));
            assert!(cases.count() >= 2, "{}", language.id);
            let own = files.iter().filter(|(path, _)| !path.starts_with("sdk/"));
            for (path, text) in own {
                assert!(!text.contains("{{"), "{}: {path}", language.id);
            }
            for file in ["plugin.wit", "deps/portcullis-plugin/store.wit"] {
                let file = format!("wit/{file}");
                assert_eq!(files.contains_key(&file), !language.has_sdk, "{}: {file}", language.id);
            }
        }
    }

    #[test]
    fn the_sdk_has_the_dependencies_that_its_crates_inherit() {
        let files = LANGUAGES.iter().find(|language| language.has_sdk).unwrap();
        let files = files.files(&name(files));
        let whole = &files["sdk/Cargo.toml"];
        for crate_ in ["portcullis-plugin", "portcullis-plugin-macros"] {
            let manifest = &files[&format!("sdk/plugins/{crate_}/Cargo.toml")];
            for line in manifest.lines().filter(|line| line.ends_with(".workspace = true")) {
                let (key, _) = line.split_once('.').unwrap();
                assert!(whole.contains(&format!("\n{key} = ")), "{key}");
            }
            assert!(files.contains_key(&format!("sdk/plugins/{crate_}/src/lib.rs")));
        }
        assert!(whole.contains("[workspace.lints.rust]") && whole.contains("unsafe_code"));
        for file in ["wit/package.wit", "LICENSE"] {
            assert!(files.contains_key(&format!("sdk/plugins/portcullis-plugin/{file}")), "{file}");
        }
    }

    #[test]
    fn what_exists_is_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let (parent, journals) = (folder.path().join("a"), folder.path().join("journals"));
        let own = parent.join("word-count/mine.txt");
        #[expect(clippy::disallowed_methods, reason = "the test needs a file")]
        {
            std::fs::create_dir_all(own.parent().unwrap()).unwrap();
            std::fs::write(&own, "mine").unwrap();
        }
        let language = Language::named("js").unwrap();
        let refused = language.create(&name(language), &parent, &journals).unwrap_err();
        assert!(matches!(&refused, CreateError::Exists(_)), "{refused}");
        assert_eq!(parent.join("word-count").read_dir().unwrap().count(), 1);
        let missing = language.create(&name(language), &folder.path().join("b"), &journals);
        assert!(matches!(missing, Err(CreateError::Folder(..))));
    }
}
