//! Opens the folders of files that a command line names.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use portcullis_core::bindings::PathArgument;
use portcullis_roots::{Root, Roots};
use serde_json::{Map, Value};

use super::relative::{each_path, working_folder};

/// How the files that a command line names are opened. A user who types the name of a file gives the file to the call,
/// even if the file is outside of the roots. Apart from `root_marks`, the tool gets nothing beside the file.
#[derive(Default)]
pub struct NamedFiles {
    /// Names that mark a folder as a root of the call: for each name and each file, the nearest folder above the file
    /// that has an entry of this name.
    pub root_marks: Vec<&'static str>,
}

impl NamedFiles {
    /// Makes the paths among the arguments absolute; relative paths are relative to the working directory. Returns the
    /// roots in which the paths can be opened.
    ///
    /// # Errors
    ///
    /// A file does not exist, its folder cannot be opened or cannot be a root, or its path is not UTF-8.
    pub fn open(
        &self,
        arguments: &mut Map<String, Value>,
        declared: &[PathArgument],
        roots: &Roots,
    ) -> anyhow::Result<Roots> {
        let mut opened = roots.clone();
        each_path(arguments, declared, |text| {
            let (folder, name) = place(text)?;
            for mark in &self.root_marks {
                if let Some(marked) = marked_folder(&folder, mark)
                    && !is_inside(&marked, &opened)
                {
                    let root = open(&marked, roots)?;
                    if root.is_everything() {
                        bail!(
                            "the folder with {mark} above {text} is the whole machine, which cannot be a \
                             root of this command"
                        );
                    }
                    opened = std::mem::take(&mut opened).with(root);
                }
            }
            if !is_inside(&folder, &opened) {
                let directory = open(&folder, roots)?;
                opened = std::mem::take(&mut opened).with_directory_for_arguments(directory);
            }
            *text = text_of(&folder.join(name))?;
            Ok(())
        })?;
        Ok(opened)
    }
}

/// The folder and the name of an existing file.
#[expect(clippy::disallowed_methods, reason = "the operator names the file")]
fn place(text: &str) -> anyhow::Result<(PathBuf, PathBuf)> {
    let failing =
        || format!("cannot read the file {}", portcullis_sanitize::visible_line(text, 300));
    let path = std::path::absolute(text).with_context(failing)?;
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        bail!("{}: this is a folder\n  hint: name a file", failing());
    };
    if let Err(error) = std::fs::symlink_metadata(&path) {
        let hint = match name_of_other_case(folder, name) {
            Some(name) => format!("\n  hint: the folder has {name}, whose name differs in case"),
            None if Path::new(text).is_absolute() => String::new(),
            None => match working_folder() {
                Ok(here) => format!("\n  hint: a relative path begins here: {}", here.display()),
                Err(_) => String::new(),
            },
        };
        bail!("{}: {error}{hint}", failing());
    }
    // The path of a root must not contain `..`.
    let has_parents = folder.components().any(|part| part == std::path::Component::ParentDir);
    let folder = match has_parents {
        true => std::fs::canonicalize(folder).with_context(failing)?,
        false => folder.to_owned(),
    };
    Ok((folder, name.into()))
}

/// The name of an entry of the folder that differs from `name` only in case, if there is such an entry.
#[expect(clippy::disallowed_methods, reason = "the operator names a file of this folder")]
fn name_of_other_case(folder: &Path, name: &OsStr) -> Option<String> {
    let wanted = name.to_str()?.to_lowercase();
    let mut entries = std::fs::read_dir(folder).ok()?.flatten();
    let name = entries.find_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        (name.to_lowercase() == wanted).then_some(name)
    });
    name.map(|name| portcullis_sanitize::visible_line(&name, 300))
}

/// The nearest folder that has an entry of this name: `folder`, or one above it.
fn marked_folder(folder: &Path, mark: &str) -> Option<PathBuf> {
    let has_mark = |folder: &&Path| std::fs::symlink_metadata(folder.join(mark)).is_ok();
    folder.ancestors().find(has_mark).map(Path::to_owned)
}

/// Whether paths in a folder can be opened already.
fn is_inside(folder: &Path, roots: &Roots) -> bool {
    folder.to_str().is_some_and(|folder| roots.locate(folder).is_ok())
}

fn open(folder: &Path, roots: &Roots) -> anyhow::Result<Root> {
    let root = Root::open(folder, roots.host_files());
    root.with_context(|| format!("cannot open the folder {}", folder.display()))
}

fn text_of(path: &Path) -> anyhow::Result<String> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| anyhow!("the path {} is not UTF-8", path.display()))
}
