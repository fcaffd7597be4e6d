//! Detects the source control of a package from files on disk, before the package is overwritten.
//!
//! Only the server knows whether a file is checked out or locked, and the sandbox does not show
//! whether a file is read-only. This module does not guess these facts.

mod git_index;

use crate::{Project, config::lines_of, descriptor::decode};
use git_index::Tracked;
use std::{
    fmt, fs,
    io::Read,
    path::{Path, PathBuf},
};

/// Maximum number of folders searched above a file.
const MAX_DEPTH: usize = 64;
/// Maximum size of a git index, in bytes: enough for about half a million files.
const MAX_INDEX: u64 = 64 << 20;
/// Maximum size of other files, in bytes.
const MAX_SIZE: u64 = 1 << 20;
/// Files and folders that mark the root of a source control.
const MARKS: &[(&str, Mark)] = &[
    (".git", Mark::Git),
    (".p4config", Mark::Of("Perforce")),
    (".p4config.txt", Mark::Of("Perforce")),
    ("p4config.txt", Mark::Of("Perforce")),
    (".svn", Mark::Of("Subversion")),
    (".plastic", Mark::Of("Unity Version Control")),
    (".hg", Mark::Of("Mercurial")),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Git,
    Of(&'static str),
}

/// The source control of a file. Its text is part of a sentence about the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceControl {
    keeper: SourceControlKind,
    /// The source control selected in the editor.
    of_editor: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum SourceControlKind {
    /// No source control was found.
    Unknown,
    Git {
        /// `None` if the git index cannot be read.
        tracked: Option<Tracked>,
        is_lockable: bool,
    },
    /// Another source control, by its name. Files on disk tell nothing more.
    Other(&'static str),
}

impl SourceControl {
    /// Detects the source control of a project's file. Unreadable folders count as missing.
    pub fn of(project: &Project, file: &Path) -> Self {
        let above = file.ancestors().skip(1).take(MAX_DEPTH);
        let found = above.flat_map(|folder| MARKS.iter().map(move |mark| (folder, mark)));
        let mut found = found.filter(|(folder, (name, _))| folder.join(name).exists());
        let keeper = match found.next() {
            None => SourceControlKind::Unknown,
            Some((_, (_, Mark::Of(name)))) => SourceControlKind::Other(name),
            Some((top, (_, Mark::Git))) => SourceControlKind::Git {
                tracked: tracked(top, file),
                is_lockable: is_lockable(top, file),
            },
        };
        Self { keeper, of_editor: of_editor(project) }
    }
}

impl fmt::Display for SourceControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.keeper {
            SourceControlKind::Unknown => {
                f.write_str("which is under no source control that can be seen from here")?
            }
            SourceControlKind::Other(name) => write!(
                f,
                "which is in a workspace of {name} (only {name} knows whether it is checked out)"
            )?,
            SourceControlKind::Git { tracked, is_lockable } => {
                f.write_str(match tracked {
                    None => "which is in a git repository whose index cannot be read from here",
                    Some(Tracked::Same) => "which is unchanged in git",
                    Some(Tracked::Changed) => "which is in git, but was changed or touched since",
                    Some(Tracked::No) => "which is not in git: git could not restore it",
                })?;
                if *is_lockable {
                    f.write_str("; files like it are to be locked with Git LFS before a change")?;
                }
            }
        }
        match &self.of_editor {
            Some(provider) => write!(f, "; the editor is set to use {provider}"),
            None => Ok(()),
        }
    }
}

/// Whether git tracks the file; `top` is the repository's root.
fn tracked(top: &Path, file: &Path) -> Option<Tracked> {
    let mut folder = top.join(".git");
    if folder.is_file() {
        // In a submodule or a linked working tree, `.git` is a file with the path of the folder.
        let text = read(&folder, MAX_SIZE)?;
        let text = String::from_utf8(text).ok()?;
        folder = top.join(text.strip_prefix("gitdir:")?.trim());
    }
    let index = read(&folder.join("index"), MAX_INDEX)?;
    let name = file.strip_prefix(top).ok()?.to_str()?.replace('\\', "/");
    git_index::tracked(&index, &name, &fs::metadata(file).ok()?)
}

/// Whether the `.gitattributes` in the repository's root marks all files, or those with this file's
/// extension, as lockable.
fn is_lockable(top: &Path, file: &Path) -> bool {
    let text = read(&top.join(".gitattributes"), MAX_SIZE).unwrap_or_default();
    let end = file.extension().map(|end| end.to_string_lossy().into_owned()).unwrap_or_default();
    let mut lockable = false;
    for line in String::from_utf8_lossy(&text).lines() {
        let mut words = line.split_whitespace();
        let pattern = words.next().unwrap_or_default();
        if pattern == "*" || pattern.strip_prefix("*.").is_some_and(|of| of == end) {
            for word in words {
                match word {
                    "lockable" => lockable = true,
                    "-lockable" | "!lockable" => lockable = false,
                    _ => {}
                }
            }
        }
    }
    lockable
}

/// The source control selected in the editor, stored for each platform in `Saved/Config`; or else
/// the project's default.
fn of_editor(project: &Project) -> Option<String> {
    let platforms = fs::read_dir(project.dir.join("Saved/Config")).into_iter().flatten().flatten();
    let files = platforms.map(|one| one.path().join("SourceControlSettings.ini"));
    let mut files: Vec<PathBuf> = files.filter(|file| file.is_file()).collect();
    // If there are files of several platforms, the newest file counts.
    files.sort_by_key(|file| fs::metadata(file).and_then(|found| found.modified()).ok());
    let of_all = project.dir.join("Config/DefaultSourceControlSettings.ini");
    let text = read(files.last().unwrap_or(&of_all), MAX_SIZE)?;
    let settings = lines_of("SourceControlSettings.ini", &decode(&text));
    let provider = settings.into_iter().rev().find(|setting| {
        setting.section.eq_ignore_ascii_case("SourceControl.SourceControlSettings")
            && setting.key.eq_ignore_ascii_case("Provider")
    });
    let is_set = |name: &String| !name.is_empty() && !name.eq_ignore_ascii_case("None");
    provider.map(|setting| setting.value).filter(is_set)
}

fn read(path: &Path, most: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::open(path).ok()?.take(most + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= most).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;
    use tempfile::TempDir;

    /// A project with one file.
    fn project() -> (TempDir, Project, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let dir = folder.path().to_owned();
        let file = dir.join("Content/A.uasset");
        fs::create_dir(dir.join("Content")).expect("it can be made");
        fs::write(&file, "one").expect("it can be written");
        (folder, Project { dir, ..Project::default() }, file)
    }

    #[test]
    fn a_workspace_and_what_the_editor_uses() {
        let (folder, project, file) = project();
        let words = || SourceControl::of(&project, &file).to_string();
        fs::write(folder.path().join(".p4config"), "P4CLIENT=ada").expect("it can be written");
        assert!(
            words().contains("Perforce (only Perforce knows whether it is checked out)"),
            "{}",
            words()
        );
        let settings = folder.path().join("Saved/Config/WindowsEditor");
        fs::create_dir_all(&settings).expect("it can be made");
        let say = |provider: &str| {
            let text = format!("[SourceControl.SourceControlSettings]\r\nProvider={provider}\r\n");
            let file = settings.join("SourceControlSettings.ini");
            fs::write(file, text).expect("it can be written");
        };
        say("Perforce");
        assert!(words().ends_with("; the editor is set to use Perforce"), "{}", words());
        say("None");
        assert!(words().ends_with("checked out)"), "{}", words());
    }

    #[test]
    fn a_repository_of_git() {
        let (folder, project, file) = project();
        let words = || SourceControl::of(&project, &file).to_string();
        let git = |arguments: &[&str]| {
            let mut git = Command::new("git");
            git.current_dir(folder.path()).args(["-c", "core.autocrlf=false"]).args(arguments);
            git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
            let done = git.output().expect("git is installed");
            assert!(done.status.success(), "{arguments:?}: {done:?}");
        };
        git(&["init", "--quiet"]);
        assert!(words().contains("cannot be read"), "it has no index yet: {}", words());
        fs::write(folder.path().join("Content/B.uasset"), "two").expect("it can be written");
        git(&["add", "Content/B.uasset"]);
        for version in ["2", "4"] {
            git(&["update-index", "--index-version", version]);
            git(&["rm", "--cached", "--force", "--quiet", "--ignore-unmatch", "Content/A.uasset"]);
            assert!(words().contains("not in git"), "{version}: {}", words());
            fs::write(&file, "one").expect("it can be written");
            git(&["add", "Content/A.uasset"]);
            assert_eq!(words(), "which is unchanged in git", "{version}");
            fs::write(&file, "longer").expect("it can be written");
            assert!(words().contains("changed or touched"), "{version}: {}", words());
        }
        let attributes = "*.png lockable\n*.uasset filter=lfs lockable\n";
        fs::write(folder.path().join(".gitattributes"), attributes).expect("it can be written");
        assert!(words().contains("locked with Git LFS"), "{}", words());
    }
}
