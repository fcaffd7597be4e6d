//! The tool `batch_export_assets`: makes the editor export assets to files.

use crate::{
    answer::{SourceKind, failed, shown},
    import::check_path,
    live::{
        Editor, Fault, Kind,
        names::AssetName,
        value::{self, Reply},
    },
    source::to_change,
};
use portcullis_plugin::prelude::*;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// Maximum number of assets that are named in the question to the user.
const NAMED: usize = 20;

about_project! {
    /// Have the editor export assets to files in a folder, each file named after its package. Files of the same names are replaced. The user is asked first. For texts that are too large for export_asset.
    pub struct BatchExportAssets {
        /// Paths of the objects, such as /Game/Doors/BP_Door.BP_Door.
        #[schemars(length(min = 1, max = 200))]
        object_paths: Vec<String>,
        /// Absolute path of the folder that the files are written to. It must exist.
        #[path(directory, write)]
        output_folder: String,
        /// Such as `T3D`.
        #[serde(default = "crate::export::t3d")]
        #[schemars(length(min = 1, max = 16))]
        format: String,
    }
}

tool_result! {
    /// The result of an export.
    pub struct BatchExported {
        #[serde(rename = "bSuccess")]
        success: bool,
        exported_count: usize,
        failed_count: usize,
        /// The files
        exported_paths: Vec<String>,
        /// The objects that were not exported
        failed_paths: Vec<String>,
        error: String,
    }
}

impl Tool for BatchExportAssets {
    const NAME: &'static str = "batch_export_assets";
    const TITLE: Option<&'static str> = Some("Export assets to files");
    const HINTS: Hints =
        Hints::new().read_only(false).destructive(true).idempotent(true).open_world(false);
    const NEEDS: &'static [&'static str] = &["editor-write"];
    type Output = Json<BatchExported>;

    fn call(self, request: &Request) -> Result<Json<BatchExported>, Failure> {
        let editor = to_change(request, self.project_dir.as_deref())?;
        if editor.seen.kind == Kind::Epic {
            return Err(Failure::new(
                "Epic's server cannot export assets: the editor needs the plugin UnrealMCPServer",
            ));
        }
        self.check()?;
        let names = self.names()?;
        let files = files(&names, &self.format);
        let overwritten = self.overwritten(&files)?;
        let named: Vec<String> = names.iter().take(NAMED).map(|name| shown(&name.path())).collect();
        let more = match names.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let subject = format!(
            "{}{more} as {} to {}, by the editor at {}",
            named.join(", "),
            self.format,
            self.output_folder,
            editor.url
        );
        let deed = editor.deed("export assets to files");
        let mut question = consent("export", deed, subject);
        question = match overwritten.as_slice() {
            [] => question,
            [file] => question.overwriting(file),
            // The number comes first, since a long list may be cut off.
            files => question.overwriting(format!("{} files: {}", files.len(), files.join(", "))),
        };
        request.ask(question)?;
        request.background()?;
        self.export(&editor, &names, &files)
    }
}

impl BatchExportAssets {
    /// Has the editor export into a new folder, and moves the files from there. In the output
    /// folder itself, the editor would follow links, and would append a number to the name of a
    /// file that exists already.
    fn export(
        &self,
        editor: &Editor<'_>,
        names: &[AssetName],
        files: &[String],
    ) -> Result<Json<BatchExported>, Failure> {
        let fresh = ExportFolder::make(Path::new(&self.output_folder))?;
        let paths: Vec<String> = names.iter().map(AssetName::path).collect();
        let arguments = json!({
            "objectPaths": paths,
            "outputFolder": editor.path_there(&fresh.path.display().to_string())?,
            "format": self.format,
        });
        let (result, is_whole) = match editor.write(Self::NAME, &arguments) {
            Ok(result) => (result, true),
            Err(Fault::Failed(said)) => {
                (serde_json::from_str(&said).unwrap_or_else(|_| json!({ "error": said })), false)
            }
            Err(fault @ Fault::Unknown(_)) => {
                return Err(Failure::new(format!(
                    "{fault}. The temporary folder of the export is kept: {}",
                    shown(&fresh.keep().display().to_string())
                )));
            }
            Err(fault) => return Err(Failure::from(fault)),
        };
        let (moved, mut warnings) = fresh.move_to(Path::new(&self.output_folder), files)?;
        let reply = Reply::of(Self::NAME, &result);
        let failed_paths = reply.texts("failedPaths").unwrap_or_else(|_| {
            warnings.push("the editor does not say which assets it could not export".to_owned());
            Vec::new()
        });
        if let Ok(said) = reply.number("exportedCount")
            && said != moved.len()
        {
            warnings.push(format!(
                "the editor reports {said} exported files, but {} arrived in the output folder: if the editor runs on \
                 another machine or in a container, it must share this folder with this server",
                moved.len()
            ));
        }
        let answer = BatchExported {
            success: is_whole && !moved.is_empty(),
            exported_count: moved.len(),
            failed_count: failed_paths.len(),
            exported_paths: moved,
            failed_paths,
            error: value::text(&result, "error"),
            source: SourceKind::Live,
            as_of: editor.as_of(),
            warnings,
        };
        if answer.success { Ok(Json(answer)) } else { Err(failed(&answer)) }
    }

    fn check(&self) -> Result<(), Failure> {
        let folder = shown(&self.output_folder);
        check_path(&self.output_folder)
            .map_err(|why| Failure::new(format!("nothing is exported to {folder}: {why}")))?;
        if !fs::metadata(&self.output_folder).is_ok_and(|found| found.is_dir()) {
            return Err(Failure::new(format!("there is no folder {folder}")));
        }
        match self.format.chars().all(|c| c.is_ascii_alphanumeric()) {
            true => Ok(()),
            false => Err(Failure::new(format!(
                "`{}` is not the name of a format: write it with letters and digits, such as T3D",
                shown(&self.format)
            ))),
        }
    }

    /// The names of the assets. Fails if one of the paths is not the path of an object.
    fn names(&self) -> Result<Vec<AssetName>, Failure> {
        let name = |path: &String| {
            let name =
                AssetName::read(path).ok().filter(|_| !path.contains("..") && shown(path) == *path);
            name.ok_or_else(|| {
                Failure::new(format!("`{}` is not a path of an object", shown(path)))
            })
        };
        self.object_paths.iter().map(name).collect()
    }

    /// The files and links in the output folder that would be replaced: those with a name in
    /// `files`. Fails if a folder has a name in `files`.
    fn overwritten(&self, files: &[String]) -> Result<Vec<String>, Failure> {
        let mut found = Vec::new();
        let entries = fs::read_dir(&self.output_folder)
            .or_fail(format!("cannot look into {}", shown(&self.output_folder)))?;
        for entry in entries {
            let entry = entry?;
            let file = entry.file_name().to_string_lossy().into_owned();
            if !files.iter().any(|name| name.eq_ignore_ascii_case(&file)) {
                continue;
            }
            let kind = entry.file_type()?;
            let folder = self.output_folder.trim_end_matches('/');
            let path = format!("{folder}/{}", shown(&file));
            if kind.is_dir() {
                return Err(Failure::new(format!(
                    "nothing is exported: there is a folder {path}, where a file would be written"
                )));
            }
            found.push(if kind.is_symlink() { format!("the link {path}") } else { path });
        }
        found.sort_unstable();
        Ok(found)
    }
}

/// The names of the files that the editor may write. The editor names a file after the package, and
/// numbers files with the same name.
fn files(names: &[AssetName], format: &str) -> Vec<String> {
    let ending = format.to_lowercase();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut files = Vec::new();
    for name in names {
        let stem = name.package().rsplit('/').next().unwrap_or_default();
        let stem = stem.replace([' ', '.'], "_");
        let count = counts.entry(stem.to_lowercase()).or_default();
        files.push(match *count {
            0 => format!("{stem}.{ending}"),
            number => format!("{stem}_{number}.{ending}"),
        });
        *count += 1;
    }
    files
}

/// A new, empty folder for the editor's files. When the value is dropped, the folder is removed with
/// all remaining files, unless it is kept.
struct ExportFolder {
    path: PathBuf,
    is_kept: bool,
}

impl ExportFolder {
    /// Makes the folder. Fails if it cannot be made.
    fn make(within: &Path) -> Result<Self, Failure> {
        let path = within.join(format!(".portcullis-export-{}", unreal_project::now()));
        fs::create_dir(&path).or_fail(format!(
            "nothing was exported: no folder can be made in {}",
            shown(&within.display().to_string())
        ))?;
        Ok(Self { path, is_kept: false })
    }

    /// Keeps the folder, and returns its path.
    fn keep(mut self) -> PathBuf {
        self.is_kept = true;
        self.path.clone()
    }

    /// Moves the files that have these names. Returns their new paths, and warnings. Other files, and
    /// all links and folders, are not moved. A file in the target folder is replaced as a whole; a
    /// link there is replaced, not followed.
    fn move_to(
        self,
        folder: &Path,
        names: &[String],
    ) -> Result<(Vec<String>, Vec<String>), Failure> {
        let (mut moved, mut warnings) = (Vec::new(), Vec::new());
        let entries = fs::read_dir(&self.path)
            .or_fail(format!("cannot look into {}", shown(&self.path.display().to_string())))?;
        for entry in entries {
            let entry = entry?;
            let file = entry.file_name().to_string_lossy().into_owned();
            let is_expected = names.iter().any(|name| name.eq_ignore_ascii_case(&file));
            if !is_expected || !entry.file_type()?.is_file() {
                warnings.push(format!(
                    "{} is none of the requested files, and is removed",
                    shown(&file)
                ));
                continue;
            }
            let target = folder.join(&file);
            match fs::rename(entry.path(), &target) {
                Ok(()) => moved.push(shown(&target.display().to_string())),
                Err(error) => warnings.push(format!(
                    "{} cannot be written: {error}",
                    shown(&target.display().to_string())
                )),
            }
        }
        moved.sort_unstable();
        Ok((moved, warnings))
    }
}

impl Drop for ExportFolder {
    fn drop(&mut self) {
        if !self.is_kept {
            // Only this plugin and the editor use the folder. If the folder cannot be removed, it
            // stays.
            let _left_there = fs::remove_dir_all(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_as_the_editor_names_them() {
        let names = ["/Game/A/X.X", "/Game/B/X", "/Game/B/x.Other", "/Game/C D"];
        let names: Vec<AssetName> =
            names.iter().map(|name| AssetName::read(name).expect(name)).collect();
        assert_eq!(files(&names, "T3D"), ["X.t3d", "X_1.t3d", "x_2.t3d", "C_D.t3d"]);
    }

    #[cfg(unix)]
    #[test]
    fn only_requested_files_are_moved_and_the_folder_is_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let outside = tempfile::tempdir().expect("a folder");
        let fresh = ExportFolder::make(folder.path()).expect("it is made");
        let inner = fresh.path.clone();
        fs::write(inner.join("X.t3d"), "new").expect("it is written");
        fs::write(inner.join("other.sh"), "new").expect("it is written");
        std::os::unix::fs::symlink(outside.path(), inner.join("X_1.t3d")).expect("it is made");
        let aside = outside.path().join("aside");
        fs::write(&aside, "kept").expect("it is written");
        std::os::unix::fs::symlink(&aside, folder.path().join("X.t3d")).expect("it is made");
        let names = ["X.t3d".to_owned(), "X_1.t3d".to_owned()];
        let (moved, warnings) = fresh.move_to(folder.path(), &names).expect("it is moved");
        assert_eq!(moved, [folder.path().join("X.t3d").display().to_string()]);
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        assert_eq!(fs::read_to_string(&aside).expect("it is there"), "kept", "no link is followed");
        assert_eq!(fs::read_to_string(folder.path().join("X.t3d")).expect("it is there"), "new");
        assert!(!inner.exists());
    }
}
