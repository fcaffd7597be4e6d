//! The tool `export_class_default`: what objects of a class begin with.

use crate::{
    answer::{SourceKind, failed, shown},
    export::told_by_editor,
    live::{Editor, Fault, Kind, value},
    offline::Offline,
    source::Asked,
};
use portcullis_plugin::prelude::*;
use unreal_project::object_path;

about_project! {
    /// Export the class default object of a class as text: the values that its objects begin with. Without the editor, those of a Blueprint are reconstructed: what it sets other than its parent.
    pub struct ExportClassDefault {
        /// Path of the class, such as /Game/Doors/BP_Door.BP_Door_C; with the editor also /Script/Engine.Actor.
        #[schemars(length(min = 1, max = 2048))]
        class_path: String,
        /// `T3D`, or another that the editor knows.
        #[serde(default = "t3d")]
        #[schemars(length(max = 64))]
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
    /// An exported class default object.
    pub struct ClassDefault {
        #[serde(rename = "bSuccess")]
        success: bool,
        class_path: String,
        format: String,
        /// The text
        content: String,
        /// Why there is none
        error: String,
    }
}

answered!(ExportClassDefault, "export_class_default", "Export class default", ClassDefault);

impl Asked for ExportClassDefault {
    type Answer = ClassDefault;

    fn ask_editor(&self, editor: &Editor<'_>) -> Result<ClassDefault, Fault> {
        if editor.seen.kind == Kind::Epic {
            return Err(Fault::Unsupported("Epic's server exports nothing: the files answer"));
        }
        let arguments = json!({ "classPath": self.class_path, "format": self.format });
        let mut answer = self.begun(SourceKind::Live, editor.as_of(), editor.warnings(None));
        match editor.read("export_class_default", &arguments) {
            Ok(result) => {
                let (content, cut) = told_by_editor(&result, self.max_chars);
                (answer.success, answer.content) = (true, content);
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

    fn ask_files(
        &self,
        _request: &Request<'_>,
        offline: &Offline,
    ) -> Result<ClassDefault, Failure> {
        let warnings = offline.warnings_and(None);
        let mut answer = self.begun(SourceKind::Offline, offline.as_of.clone(), warnings);
        match self.reconstruct(offline) {
            Ok((content, warnings)) => {
                (answer.success, answer.content) = (true, content);
                answer.warnings.extend(warnings);
                Ok(answer)
            }
            Err(error) => {
                answer.error = error;
                Err(failed(&answer))
            }
        }
    }
}

impl ExportClassDefault {
    fn begun(&self, source: SourceKind, as_of: String, warnings: Vec<String>) -> ClassDefault {
        ClassDefault {
            success: false,
            class_path: shown(&self.class_path),
            format: shown(&self.format),
            content: String::new(),
            error: String::new(),
            source,
            as_of,
            warnings,
        }
    }

    fn reconstruct(&self, offline: &Offline) -> Result<(String, Vec<String>), String> {
        if !self.format.is_empty() && !self.format.eq_ignore_ascii_case("t3d") {
            return Err("without the editor there is T3D alone".to_owned());
        }
        let (package, class) = object_path(&self.class_path)
            .ok_or("this is no path of a class, such as /Game/Doors/BP_Door.BP_Door_C")?;
        if package.starts_with("/Script/") {
            return Err(format!(
                "{} is a class in C++: what its objects begin with only the editor knows",
                shown(&self.class_path)
            ));
        }
        let name = package.rsplit('/').next().unwrap_or_default();
        let class = match class {
            "" => format!("{name}_C"),
            class if class.ends_with("_C") => class.to_owned(),
            class => format!("{class}_C"),
        };
        let path = format!("{package}.Default__{class}");
        let opened =
            offline.index.open(&offline.project, &path).map_err(|error| error.to_string())?;
        let package = opened.package().map_err(|error| error.to_string())?;
        let object = opened.find(&package).ok_or_else(|| {
            format!("{} has no class {} with defaults", opened.package, shown(&class))
        })?;
        let text = package.t3d(object, &opened.package, self.max_chars as usize);
        Ok((text.text, text.warnings.into_iter().take(20).collect()))
    }
}
