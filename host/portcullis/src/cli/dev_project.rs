//! Builds the project of a plugin, finds the component that the build made, and tells whether the sources have changed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, bail};

use super::file_stamps::FileStamps;

/// Folders without sources, such as those that builds and package managers make.
const SKIPPED: &[&str] = &[".git", ".venv", "__pycache__", "node_modules", "target", "venv"];

/// Maximum number of files that are watched. Further files of a project are not watched.
const MAX_FILES: usize = 20_000;

/// The project of a plugin.
pub struct Project {
    folder: PathBuf,
    build: Vec<String>,
    component: Option<PathBuf>,
    /// Files that the build itself writes. They are not watched. `None`: no build has succeeded yet.
    generated: Option<BTreeSet<PathBuf>>,
}

impl Project {
    /// The project in a folder. `build`: the command that builds it, as words separated by spaces; `component`: the
    /// file that the build makes. Without these arguments, both are found by the files of the folder.
    ///
    /// # Errors
    ///
    /// The folder does not exist, or nothing tells how the project is built.
    #[expect(clippy::disallowed_methods, reason = "the operator names the folder")]
    pub fn open(
        folder: &Path,
        build: Option<&str>,
        component: Option<PathBuf>,
    ) -> anyhow::Result<Self> {
        let folder = std::fs::canonicalize(folder)
            .with_context(|| format!("opening the project {}", folder.display()))?;
        let words = |text: &str| text.split_whitespace().map(ToOwned::to_owned).collect();
        let build: Vec<String> = match build {
            Some(text) => words(text),
            None => match found_build(&folder) {
                Some(text) => words(text),
                None => bail!(
                    "{} has no Cargo.toml, package.json or build.sh, so the build command is not known\n  hint: add \
                     `--build 'COMMAND'`",
                    folder.display()
                ),
            },
        };
        if build.is_empty() {
            bail!("`--build` is empty\n  hint: write the command that builds the component");
        }
        Ok(Self { folder, build, component, generated: None })
    }

    /// The folder, without symbolic links in its path.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The build command, for display.
    pub fn command(&self) -> String {
        self.build.join(" ")
    }

    /// Whether no build has succeeded yet. Until then, it is not known which files the build writes.
    pub fn is_unbuilt(&self) -> bool {
        self.generated.is_none()
    }

    /// Builds the project. The output of the build goes to stderr. `None`: the build has failed, and its output says
    /// why.
    ///
    /// # Errors
    ///
    /// The build command cannot be started, or its component is not found.
    pub async fn build(&mut self) -> anyhow::Result<Option<PathBuf>> {
        let before = self.stamps([]);
        let (program, arguments) =
            self.build.split_first().context("the build command is empty")?;
        #[expect(clippy::disallowed_methods, reason = "the operator names the command")]
        let mut command = tokio::process::Command::new(program);
        command.args(arguments).current_dir(&self.folder).stdin(Stdio::null());
        command.stdout(std::io::stderr()).kill_on_drop(true);
        let status = command.status().await.with_context(|| {
            format!("starting `{}` in {}", self.command(), self.folder.display())
        })?;
        if !status.success() {
            return Ok(None);
        }
        // The user may edit files during later builds, so only the first build shows which files it writes.
        if self.is_unbuilt() {
            self.generated = Some(before.differing(&self.stamps([])));
        }
        self.found_component().map(Some)
    }

    /// The stamps of the sources and of further files.
    pub fn stamps<'a>(&self, files: impl IntoIterator<Item = &'a Path>) -> FileStamps {
        let skips = |name: &str| SKIPPED.contains(&name);
        let all = FileStamps::beneath(&self.folder, skips, MAX_FILES, files);
        match &self.generated {
            Some(generated) => all.without(generated),
            None => all,
        }
    }

    /// The component that the build has made: the named one, or the newest `*.wasm` where builds of the known languages
    /// write it.
    #[expect(clippy::disallowed_methods, reason = "the build has written the file")]
    fn found_component(&self) -> anyhow::Result<PathBuf> {
        if let Some(named) = &self.component {
            return Ok(self.folder.join(named));
        }
        let places = [
            "target/wasm32-wasip2/release",
            "target/wasm32-wasip2/debug",
            "target/wasm32-wasip1/release",
            "",
        ];
        let files = places.iter().flat_map(|place| std::fs::read_dir(self.folder.join(place)));
        let files = files.flatten().flatten().map(|entry| entry.path());
        let components = files.filter(|path| path.extension().is_some_and(|end| end == "wasm"));
        let modified =
            |path: &PathBuf| std::fs::metadata(path).and_then(|found| found.modified()).ok();
        components.max_by_key(modified).with_context(|| {
            format!(
                "`{}` has made no *.wasm in {}\n  hint: name the component with `--component FILE`",
                self.command(),
                self.folder.display()
            )
        })
    }
}

/// The build command of a project that `portcullis new` has made, or of a similar one.
fn found_build(folder: &Path) -> Option<&'static str> {
    let commands = [
        ("Cargo.toml", "cargo build --release --target wasm32-wasip2"),
        ("package.json", "npm run build"),
        ("build.sh", "sh build.sh"),
    ];
    let has = |file: &str| std::fs::symlink_metadata(folder.join(file)).is_ok();
    commands.into_iter().find(|(file, _)| has(file)).map(|(_, command)| command)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the files they need")]
mod tests {
    use super::*;

    fn project(files: &[(&str, &str)]) -> (tempfile::TempDir, anyhow::Result<Project>) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let project = Project::open(folder.path(), None, None);
        (folder, project)
    }

    #[test]
    fn the_build_is_found_by_the_files_of_the_project() {
        for (file, build) in [
            ("Cargo.toml", "cargo build --release --target wasm32-wasip2"),
            ("package.json", "npm run build"),
            ("build.sh", "sh build.sh"),
        ] {
            assert_eq!(project(&[(file, "")]).1.unwrap().command(), build);
        }
        let error = project(&[("README.md", "")]).1.err().unwrap().to_string();
        assert!(error.contains("--build"), "{error}");
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn what_the_build_writes_is_no_change_of_the_sources() {
        let script = "echo made > made.txt; echo wasm > tool.wasm";
        let (folder, project) = project(&[("build.sh", script), ("src/a.py", "one")]);
        let mut project = project.unwrap();
        let component = project.build().await.unwrap().unwrap();
        assert_eq!(component.file_name().unwrap(), "tool.wasm");
        let built = project.stamps([]);
        project.build().await.unwrap();
        assert_eq!(project.stamps([]), built);
        std::fs::write(folder.path().join("node_modules.txt"), "new").unwrap();
        let with_new = project.stamps([]);
        assert_ne!(with_new, built);
        std::fs::create_dir(folder.path().join("target")).unwrap();
        std::fs::write(folder.path().join("target/a.o"), "object").unwrap();
        assert_eq!(project.stamps([]), with_new);
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_build_that_fails_is_no_component_and_one_without_a_component_is_an_error() {
        let (_folder, failing) = project(&[("build.sh", "exit 3")]);
        assert!(failing.unwrap().build().await.unwrap().is_none());
        let (_folder, empty) = project(&[("build.sh", "true")]);
        let error = empty.unwrap().build().await.unwrap_err().to_string();
        assert!(error.contains("--component"), "{error}");
    }
}
