//! The tool `export_asset`, and the parts that it shares with other tools that answer with the text
//! of an object.

use crate::{
    answer::{SourceKind, failed, limited, shown},
    live::{
        Editor, Fault, Kind,
        names::AssetName,
        value::{self, Reply},
    },
    offline::Offline,
    source::SourceQuery,
};
use portcullis_plugin::{prelude::*, serde::Serialize};
use serde_json::Value;

/// Maximum length of the text of one call: of a reconstructed text in bytes, of the editor's in characters.
const MAX_TEXT: usize = 4 << 20;
/// Maximum number of warnings about one text in an answer.
const MAX_WARNINGS: usize = 20;

about_project! {
    #[exporting]
    /// Export an object as text. A running editor exports it; without one, the text is reconstructed from the file: it resembles the engine's T3D, but is not for import (`source` says which).
    pub struct ExportAsset {
        /// Path of the object, such as /Game/Doors/BP_Door.BP_Door or /Game/Doors/BP_Door.BP_Door:EventGraph.
        #[schemars(length(min = 1, max = 2048))]
        object_path: String,
        /// `T3D`; or `MD` for a Blueprint as Markdown, which is much shorter.
        #[serde(default = "crate::export::t3d")]
        #[schemars(length(max = 64))]
        format: String,
    }
}

/// The default format.
pub fn t3d() -> String {
    "T3D".to_owned()
}

/// The default length limit of a text, in characters.
pub fn usual() -> u32 {
    100_000
}

tool_result! {
    #[exported]
    /// An exported object.
    pub struct Exported {
        object_path: String,
        /// How complete a reconstructed T3D text is
        #[serde(skip_serializing_if = "Option::is_none")]
        told: Option<Told>,
    }
}

/// What the text of an object contains.
#[data]
#[derive(Clone, Copy)]
pub struct Told {
    objects: usize,
    properties: usize,
    pins: usize,
    /// Rows of tables
    rows: usize,
    /// Properties that are given only by their size
    undecoded: usize,
    /// Bytes after the properties, which only the objects' classes can decode; the text says where
    native_bytes: u64,
    /// Whether the text was cut off at the length limit
    cut: bool,
}

read_only_tool!(ExportAsset, "export_asset", "Export asset", Exported);

impl SourceQuery for ExportAsset {
    type Answer = Exported;

    fn ask_editor(&self, editor: &Editor<'_>) -> Result<Exported, Fault> {
        if self.format.to_ascii_uppercase().starts_with('M') {
            return Err(Fault::Unsupported(
                "the editor exports no Markdown: this answer is from the files",
            ));
        }
        let name = AssetName::read(&self.object_path)?;
        by_editor(self, editor, &json!({ "objectPath": name.path(), "format": self.format }))
    }

    fn ask_files(&self, _request: &Request<'_>, offline: &Offline) -> Result<Exported, Failure> {
        from_files(self, offline)
    }
}

impl Exports for ExportAsset {
    fn max_chars(&self) -> u32 {
        self.max_chars
    }

    fn reconstruct(&self, offline: &Offline) -> Result<Text, String> {
        let limit = self.limit();
        let opened =
            offline.index.open(&offline.project, &self.object_path).map_err(|e| e.to_string())?;
        let package = opened.package().map_err(|error| error.to_string())?;
        let from = opened.redirected_from.iter();
        let mut warnings: Vec<String> =
            from.map(|from| format!("{from} is a redirector to {}", opened.package)).collect();
        if package.header.summary.is_cooked() {
            warnings.push("the package is cooked: it has no editor data".to_owned());
        }
        match self.format.to_ascii_uppercase().as_str() {
            "" | "T3D" => {
                let object = opened.find(&package).ok_or_else(|| {
                    format!("there is no object {} in {}", opened.object, opened.package)
                })?;
                let mut text = Text::of(package.t3d(object, &opened.package, limit), limit);
                text.warnings.splice(0..0, warnings);
                Ok(text)
            }
            "MD" | "MARKDOWN" => match package.markdown(&opened.package, limit) {
                none if none.is_empty() => {
                    Err(format!("{} has no Blueprint: use format T3D", opened.package))
                }
                content => {
                    if content.len() >= limit {
                        warnings.push(cut_warning(limit, "get_blueprint_graph gives it in pages"));
                    }
                    Ok(Text { content, warnings, told: None })
                }
            },
            _ => Err(format!(
                "Failed to find {} exporter for Object: {}; without the editor, only T3D and MD are available",
                shown(&self.format),
                shown(&self.object_path)
            )),
        }
    }

    fn answer(&self, made: Result<Text, String>, from: Origin) -> Exported {
        let (told, path) = (made.as_ref().ok().and_then(|text| text.told), &self.object_path);
        export_result!(Exported { made, from, &self.format, object_path: shown(path), told: told })
    }
}

/// Tools that answer with the text of an object.
pub trait Exports: SourceQuery + Tool {
    /// Maximum length of the text, in characters.
    fn max_chars(&self) -> u32;

    /// Maximum length of a reconstructed text, in bytes.
    fn limit(&self) -> usize {
        (self.max_chars() as usize).min(MAX_TEXT)
    }

    /// The text reconstructed from the files, or the reason why there is none.
    fn reconstruct(&self, offline: &Offline) -> Result<Text, String>;

    /// The answer with the text, or with the reason why there is none.
    fn answer(&self, made: Result<Text, String>, from: Origin) -> Self::Answer;
}

/// The text of an object.
pub struct Text {
    pub content: String,
    pub warnings: Vec<String>,
    /// Statistics that tell how complete a reconstructed T3D text is; `None` for other texts.
    pub told: Option<Told>,
}

impl Text {
    /// The reconstruction from a package, which was limited to `limit` bytes.
    pub fn of(text: unreal_package::T3d, limit: usize) -> Self {
        let unreal_package::T3dStatistics {
            objects,
            properties,
            pins,
            rows,
            undecoded,
            native_bytes,
            cut,
        } = text.told;
        let mut warnings = limited(text.warnings, MAX_WARNINGS);
        if cut {
            warnings.push(cut_warning(limit, "export_asset exports one of the objects in it"));
        }
        Self {
            content: text.text,
            warnings,
            told: Some(Told { objects, properties, pins, rows, undecoded, native_bytes, cut }),
        }
    }
}

/// The source of an answer.
pub struct Origin {
    pub source: SourceKind,
    pub as_of: String,
    pub warnings: Vec<String>,
}

/// Asks the editor's tool of the same name for the text, and makes the answer.
pub fn by_editor<E>(asked: &E, editor: &Editor<'_>, arguments: &Value) -> Result<E::Answer, Fault>
where
    E: Exports<Answer: Serialize>,
{
    if editor.seen.kind == Kind::Epic {
        return Err(Fault::Unsupported(
            "Epic's server cannot export objects: this answer is from the files",
        ));
    }
    let made = match editor.read(E::NAME, arguments) {
        Ok(result) => {
            let content = Reply::of(E::NAME, &result).raw("content")?;
            if content.is_empty() {
                return Err(Fault::Refuses(
                    "the editor exported an empty text: this answer is from the files, without unsaved changes",
                ));
            }
            let (content, cut) = cut_editor_text(content, asked.max_chars());
            Ok(Text { content, warnings: cut.into_iter().collect(), told: None })
        }
        // Newer versions of UnrealMCPServer export Blueprints to files only, not into answers.
        Err(Fault::Failed(said)) if said.contains("batch_export_assets") => {
            return Err(Fault::Refuses(
                "the editor exports Blueprints only to files: this answer is from the project's files, without \
                 unsaved changes. batch_export_assets makes the editor export the Blueprint",
            ));
        }
        Err(Fault::Failed(said)) => Err(value::why(&said)),
        Err(fault) => return Err(fault),
    };
    let warnings = editor.warnings(None);
    let from = Origin { source: SourceKind::Live, as_of: editor.as_of(), warnings };
    finish(asked, made, from).map_err(Fault::from)
}

/// Makes the answer with the text that is reconstructed from the files.
pub fn from_files<E>(asked: &E, offline: &Offline) -> Result<E::Answer, Failure>
where
    E: Exports<Answer: Serialize>,
{
    let warnings = offline.warnings_and(None);
    let from = Origin { source: SourceKind::Offline, as_of: offline.as_of.clone(), warnings };
    finish(asked, asked.reconstruct(offline), from)
}

fn finish<E>(asked: &E, made: Result<Text, String>, from: Origin) -> Result<E::Answer, Failure>
where
    E: Exports<Answer: Serialize>,
{
    let is_made = made.is_ok();
    let answer = asked.answer(made, from);
    if is_made { Ok(answer) } else { Err(failed(&answer)) }
}

/// The warning that a reconstructed text is cut, with another way to the rest.
fn cut_warning(limit: usize, other_way: &str) -> String {
    let larger = if limit < MAX_TEXT { "a larger `maxChars` gives more, and " } else { "" };
    format!("the text is cut after about {limit} characters: {larger}{other_way}")
}

/// The text from the editor, cut to the length limit in characters, and a warning if it was cut.
fn cut_editor_text(content: &str, max_chars: u32) -> (String, Option<String>) {
    let max_chars = (max_chars as usize).min(MAX_TEXT);
    let visible = unreal_package::visible(content, usize::MAX, true);
    let length = visible.chars().count();
    if length <= max_chars {
        return (visible.into_owned(), None);
    }
    let warning =
        format!("the text is cut after {max_chars} of {length} characters: see `maxChars`");
    (unreal_package::visible(&visible, max_chars, true).into_owned(), Some(warning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_the_editor_is_cut_by_characters() {
        assert_eq!(cut_editor_text("Größe", 5), ("Größe".to_owned(), None));
        let (text, warning) = cut_editor_text("Größen", 5);
        assert_eq!(text, "Größe…");
        assert_eq!(
            warning.as_deref(),
            Some("the text is cut after 5 of 6 characters: see `maxChars`")
        );
        // Characters that are not shown do not count.
        assert_eq!(cut_editor_text("Größe\r\n\u{202e}", 6), ("Größe\n".to_owned(), None));
    }
}
