//! The tool `export_asset`: an object as text, reconstructed from its file.

use crate::{
    answer::{SourceKind, failed, shown},
    live::{Editor, Fault, Kind, value},
    offline::Offline,
    source::Asked,
};
use portcullis_plugin::prelude::*;
use serde_json::Value;

/// The longest text of one call, in bytes.
const MAX_TEXT: usize = 4 << 20;

about_project! {
    /// Export an object as text: by the editor if it runs, and else reconstructed from the file, which is like the engine's T3D but not made by the engine and not for import (`source` says which).
    pub struct ExportAsset {
        /// Path of the object, such as /Game/Doors/BP_Door.BP_Door, or of one in it, such as /Game/Doors/BP_Door.BP_Door:EventGraph.
        #[schemars(length(min = 1, max = 2048))]
        object_path: String,
        /// `T3D`; or `MD` for a Blueprint as Markdown, which is much shorter.
        #[serde(default = "t3d")]
        format: String,
        /// About how many characters at most.
        #[serde(default = "usual")]
        #[schemars(range(min = 1_000, max = 4_000_000))]
        max_chars: u32,
    }
}

fn t3d() -> String {
    "T3D".to_owned()
}

fn usual() -> u32 {
    100_000
}

told! {
    /// An exported object.
    pub struct Exported {
        #[serde(rename = "bSuccess")]
        success: bool,
        object_path: String,
        format: String,
        /// The text
        content: String,
        /// Why there is none
        error: String,
        /// How much of the object the text tells
        #[serde(skip_serializing_if = "Option::is_none")]
        told: Option<Told>,
    }
}

/// How much of an object a text tells.
#[data]
struct Told {
    objects: usize,
    properties: usize,
    pins: usize,
    /// Properties of which only the size is told
    undecoded: usize,
    /// Whether the text ends before the object does
    cut: bool,
}

answered!(ExportAsset, "export_asset", "Export asset", Exported);

impl Asked for ExportAsset {
    type Answer = Exported;

    fn ask_editor(&self, editor: &Editor<'_>) -> Result<Exported, Fault> {
        let is_markdown = self.format.to_ascii_uppercase().starts_with('M');
        if is_markdown || editor.seen.kind == Kind::Epic {
            return Err(Fault::Unsupported(
                "the editor exports no Markdown, and Epic's server nothing: the files answer",
            ));
        }
        let arguments = json!({ "objectPath": self.object_path, "format": self.format });
        let mut answer = Exported {
            success: false,
            object_path: shown(&self.object_path),
            format: shown(&self.format),
            content: String::new(),
            error: String::new(),
            told: None,
            source: SourceKind::Live,
            as_of: editor.as_of(),
            warnings: editor.warnings(None),
        };
        match editor.read("export_asset", &arguments) {
            Ok(result) => {
                let (content, cut) = told_by_editor(&result, self.max_chars);
                answer.content = content;
                answer.success = true;
                answer.warnings.extend(cut);
                Ok(answer)
            }
            Err(Fault::Failed(said)) => {
                answer.error = value::why(&said);
                Err(Fault::from(failed(&answer)))
            }
            Err(fault) => Err(fault),
        }
    }

    fn ask_files(&self, _request: &Request<'_>, offline: &Offline) -> Result<Exported, Failure> {
        let mut answer = Exported {
            success: false,
            object_path: shown(&self.object_path),
            format: shown(&self.format),
            content: String::new(),
            error: String::new(),
            told: None,
            source: SourceKind::Offline,
            as_of: offline.as_of.clone(),
            warnings: Vec::new(),
        };
        match self.export(offline, &mut answer) {
            Ok(warnings) => {
                answer.success = true;
                answer.warnings = offline.warnings_and(warnings);
                Ok(answer)
            }
            Err(error) => {
                answer.error = error;
                answer.warnings = offline.warnings_and(None);
                Err(failed(&answer))
            }
        }
    }
}

/// The text of an object as the editor wrote it, cut where it is too long.
pub fn told_by_editor(result: &Value, most: u32) -> (String, Option<String>) {
    let content = result["content"].as_str().unwrap_or_default();
    let most = (most as usize).min(MAX_TEXT);
    let is_cut = content.len() > most;
    let warning = is_cut.then(|| {
        format!("the text is cut after {most} of {} bytes: see `maxChars`", content.len())
    });
    (unreal_package::visible(content, most, true).into_owned(), warning)
}

impl ExportAsset {
    fn export(&self, offline: &Offline, answer: &mut Exported) -> Result<Vec<String>, String> {
        let limit = (self.max_chars as usize).min(MAX_TEXT);
        let opened =
            offline.index.open(&offline.project, &self.object_path).map_err(|e| e.to_string())?;
        let package = opened.package().map_err(|error| error.to_string())?;
        let mut warnings: Vec<String> = opened
            .redirected_from
            .iter()
            .map(|from| format!("{from} is a redirector to {}", opened.package))
            .collect();
        if package.header.summary.is_cooked() {
            warnings.push("the package is cooked: it has no editor data".to_owned());
        }
        match self.format.to_ascii_uppercase().as_str() {
            "" | "T3D" => {
                let Some(object) = opened.find(&package) else {
                    return Err(format!(
                        "there is no object {} in {}",
                        opened.object, opened.package
                    ));
                };
                let text = package.t3d(object, &opened.package, limit);
                warnings.extend(text.warnings.into_iter().take(20));
                answer.content = text.text;
                let unreal_package::Told { objects, properties, pins, undecoded, cut } = text.told;
                answer.told = Some(Told { objects, properties, pins, undecoded, cut });
            }
            "MD" | "MARKDOWN" => {
                answer.content = package.markdown(&opened.package, limit);
                if answer.content.is_empty() {
                    return Err(format!("{} has no Blueprint: use format T3D", opened.package));
                }
            }
            _ => {
                return Err(format!(
                    "Failed to find {} exporter for Object: {}; without the editor there are T3D \
                     and MD",
                    shown(&self.format),
                    shown(&self.object_path)
                ));
            }
        }
        Ok(warnings)
    }
}
