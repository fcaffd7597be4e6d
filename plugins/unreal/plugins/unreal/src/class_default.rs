//! The tool `export_class_default`: exports the default object of a class.

use crate::{
    answer::shown,
    export::{Exports, Origin, Text, by_editor, from_files},
    live::{Editor, Fault},
    offline::Offline,
    source::SourceQuery,
};
use portcullis_plugin::prelude::*;
use unreal_project::object_path;

about_project! {
    #[exporting]
    /// Export the class default object of a class as text: the default values of its objects. Without the editor, only the values that a Blueprint changes are reconstructed.
    pub struct ExportClassDefault {
        /// Path of the class, such as /Game/Doors/BP_Door.BP_Door_C; with the editor also /Script/Engine.Actor.
        #[schemars(length(min = 1, max = 2048))]
        class_path: String,
        /// `T3D`, or another format that the editor supports.
        #[serde(default = "crate::export::t3d")]
        #[schemars(length(max = 64))]
        format: String,
    }
}

tool_result! {
    #[exported]
    /// An exported class default object.
    pub struct ClassDefault {
        class_path: String,
    }
}

read_only_tool!(ExportClassDefault, "export_class_default", "Export class default", ClassDefault);

impl SourceQuery for ExportClassDefault {
    type Answer = ClassDefault;

    fn ask_editor(&self, editor: &Editor<'_>) -> Result<ClassDefault, Fault> {
        by_editor(self, editor, &json!({ "classPath": self.class_path, "format": self.format }))
    }

    fn ask_files(
        &self,
        _request: &Request<'_>,
        offline: &Offline,
    ) -> Result<ClassDefault, Failure> {
        from_files(self, offline)
    }
}

impl Exports for ExportClassDefault {
    fn max_chars(&self) -> u32 {
        self.max_chars
    }

    fn answer(&self, made: Result<Text, String>, from: Origin) -> ClassDefault {
        export_result!(ClassDefault { made, from, &self.format, class_path: shown(&self.class_path) })
    }

    fn reconstruct(&self, offline: &Offline) -> Result<Text, String> {
        if !self.format.is_empty() && !self.format.eq_ignore_ascii_case("t3d") {
            return Err("without the editor, T3D is the only format".to_owned());
        }
        let (package, class) = object_path(&self.class_path)
            .ok_or("this is not the path of a class, such as /Game/Doors/BP_Door.BP_Door_C")?;
        if package.starts_with("/Script/") {
            return Err(format!(
                "{} is a C++ class: only a running editor knows the default values of its objects",
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
        let limit = self.limit();
        Ok(Text::of(package.t3d(object, &opened.package, limit), limit))
    }
}
