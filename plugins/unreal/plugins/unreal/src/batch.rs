//! The tool `batch_export_assets`: makes the editor export assets to files.

use crate::{
    answer::{SourceKind, failed, shown},
    import::check_path,
    live::{Fault, Kind, value},
    source::to_change,
};
use portcullis_plugin::prelude::*;
use std::fs;

/// Most assets named in the question to the user.
const NAMED: usize = 20;

about_project! {
    /// Have the editor export assets to files in a folder. You are asked first. For what is too large for an answer; see also export_asset.
    pub struct BatchExportAssets {
        /// Paths of the objects, such as /Game/Doors/BP_Door.BP_Door.
        #[schemars(length(min = 1, max = 200))]
        object_paths: Vec<String>,
        /// Absolute path of the folder that the files are written to. It must be there.
        #[path(directory, write)]
        output_folder: String,
        /// Such as `T3D`.
        #[serde(default = "crate::export::t3d")]
        #[schemars(length(min = 1, max = 16))]
        format: String,
    }
}

told! {
    /// What was exported.
    pub struct BatchExported {
        #[serde(rename = "bSuccess")]
        success: bool,
        exported_count: usize,
        failed_count: usize,
        /// Files
        exported_paths: Vec<String>,
        /// Objects
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
                "Epic's server exports nothing: the editor needs the plugin UnrealMCPServer",
            ));
        }
        self.check()?;
        let overwritten = self.overwritten()?;
        let named: Vec<String> =
            self.object_paths.iter().take(NAMED).map(|path| shown(path)).collect();
        let more = match self.object_paths.len().saturating_sub(NAMED) {
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
        let mut question = consent("export", "export assets to files", subject);
        question = match overwritten.as_slice() {
            [] => question,
            [file] => question.overwriting(file),
            // The number comes first, since a long list may be cut off.
            files => question.overwriting(format!("{} files: {}", files.len(), files.join(", "))),
        };
        request.ask(question)?;
        request.background()?;
        let arguments = json!({
            "objectPaths": self.object_paths,
            "outputFolder": self.output_folder,
            "format": self.format,
        });
        let (result, is_whole) = match editor.write("batch_export_assets", &arguments) {
            Ok(result) => (result, true),
            Err(Fault::Failed(said)) => {
                (serde_json::from_str(&said).unwrap_or_else(|_| json!({ "error": said })), false)
            }
            Err(fault) => return Err(Failure::from(fault)),
        };
        let answer = BatchExported {
            success: is_whole && result["bSuccess"] == true,
            exported_count: value::number(&result, "exportedCount"),
            failed_count: value::number(&result, "failedCount"),
            exported_paths: value::texts(&result["exportedPaths"]),
            failed_paths: value::texts(&result["failedPaths"]),
            error: value::text(&result, "error"),
            source: SourceKind::Live,
            as_of: editor.as_of(),
            warnings: Vec::new(),
        };
        if is_whole { Ok(Json(answer)) } else { Err(failed(&answer)) }
    }
}

impl BatchExportAssets {
    fn check(&self) -> Result<(), Failure> {
        let folder = shown(&self.output_folder);
        check_path(&self.output_folder)
            .map_err(|why| Failure::new(format!("nothing is exported to {folder}: {why}")))?;
        if !fs::metadata(&self.output_folder).is_ok_and(|found| found.is_dir()) {
            return Err(Failure::new(format!("{folder} is no folder that is there")));
        }
        let is_name = self.format.chars().all(|c| c.is_ascii_alphanumeric());
        let strange =
            |path: &&String| !path.starts_with('/') || path.contains("..") || shown(path) != **path;
        if !is_name {
            return Err(Failure::new(format!("`{}` is no format", shown(&self.format))));
        }
        match self.object_paths.iter().find(strange) {
            Some(path) => Err(Failure::new(format!("`{}` is no path of an object", shown(path)))),
            None => Ok(()),
        }
    }

    /// The existing files with the names of the assets. Links are not followed.
    fn overwritten(&self) -> Result<Vec<String>, Failure> {
        let names: Vec<String> = self
            .object_paths
            .iter()
            .filter_map(|path| path.rsplit(['.', '/', ':']).next())
            .map(str::to_lowercase)
            .collect();
        let mut found = Vec::new();
        let entries = fs::read_dir(&self.output_folder)
            .or_fail(format!("cannot look into {}", shown(&self.output_folder)))?;
        for entry in entries {
            let entry = entry?;
            let file = entry.file_name().to_string_lossy().into_owned();
            let stem = file.split('.').next().unwrap_or_default().to_lowercase();
            if !names.contains(&stem) {
                continue;
            }
            if entry.file_type()?.is_symlink() {
                return Err(Failure::new(format!(
                    "nothing is exported: {} in {} is a link, and the editor would write where it \
                     leads",
                    shown(&file),
                    shown(&self.output_folder)
                )));
            }
            // Opening the file changes nothing, and fails where the editor would fail.
            let refused = fs::OpenOptions::new().write(true).open(entry.path()).err();
            let refused = refused.map(|error| format!(" (cannot be written: {error})"));
            let folder = self.output_folder.trim_end_matches('/');
            found.push(format!("{folder}/{}{}", shown(&file), refused.unwrap_or_default()));
        }
        found.sort_unstable();
        Ok(found)
    }
}
