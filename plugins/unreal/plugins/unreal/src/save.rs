//! The tool `save_assets`: has the editor save changed assets to their files.

use crate::{
    answer::{SourceKind, shown},
    import::Target,
    live::{Kind, names::AssetName, value::Reply},
    source::to_change,
};
use portcullis_plugin::prelude::*;

/// Maximum number of assets that are named in the question to the user.
const NAMED: usize = 20;

about_project! {
    /// Have the editor save assets to their files, which replaces the files. The user is asked first, and sees the files and their state in source control. Not possible while a game runs in the editor.
    pub struct SaveAssets {
        /// Paths of the assets, such as /Game/Doors/BP_Door.
        #[schemars(length(min = 1, max = 200))]
        asset_paths: Vec<String>,
    }
}

tool_result! {
    /// The result of saving.
    pub struct Saved {
        /// Whether the editor saved all of them
        #[serde(rename = "bSuccess")]
        success: bool,
        /// The packages that the editor was asked to save
        asset_paths: Vec<String>,
    }
}

impl Tool for SaveAssets {
    const NAME: &'static str = "save_assets";
    const TITLE: Option<&'static str> = Some("Save assets");
    const HINTS: Hints =
        Hints::new().read_only(false).destructive(true).idempotent(true).open_world(false);
    const NEEDS: &'static [&'static str] = &["editor-save"];
    type Output = Json<Saved>;

    fn call(self, request: &Request) -> Result<Json<Saved>, Failure> {
        let editor = to_change(request, self.project_dir.as_deref())?;
        if editor.seen.kind != Kind::Epic {
            return Err(Failure::new(
                "UnrealMCPServer cannot save assets: the editor needs Epic's Unreal MCP (engine 5.8 or newer)",
            ));
        }
        // With an empty list, the editor would save everything.
        if self.asset_paths.is_empty() {
            return Err(Failure::new("nothing was saved: no asset is named"));
        }
        let project = editor.project.as_ref().or_fail("no project is open")?;
        let mounts = project.mounts().mounts;
        let mut packages = Vec::new();
        let mut files = Vec::new();
        for path in &self.asset_paths {
            let name = AssetName::read(path).or_fail("nothing was saved")?;
            let target = Target::parse(name.package(), &mounts)?;
            files.extend(target.file(project, &mounts));
            packages.push(name.package().to_owned());
        }
        let named: Vec<&str> = packages.iter().take(NAMED).map(String::as_str).collect();
        let more = match packages.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let subject = format!("{}{more} in {}", named.join(", "), project.dir.display());
        let mut question = consent("save", editor.deed("save assets to their files"), subject);
        question = match files.as_slice() {
            [] => question,
            [file] => question.overwriting(file),
            files => question.overwriting(format!("{} files: {}", files.len(), files.join("; "))),
        };
        request.ask(question)?;
        let saved =
            editor.write_epic("AssetTools", "save_assets", &json!({ "asset_paths": packages }))?;
        let success = Reply::of("save_assets", &saved).flag("")?;
        let failed = (!success).then(|| {
            "the editor could not save all assets: see read_editor_log, and check whether a file is \
             read-only or locked by source control"
                .to_owned()
        });
        Ok(Json(Saved {
            success,
            asset_paths: packages.iter().map(|package| shown(package)).collect(),
            source: SourceKind::Live,
            as_of: editor.as_of(),
            warnings: editor.warnings(failed),
        }))
    }
}
