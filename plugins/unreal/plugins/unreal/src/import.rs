//! The tool `import_asset`: has the editor create or replace an asset from a file.

use crate::{
    answer::{SourceKind, failed, shown},
    live::{
        Editor, Fault, Kind,
        value::{self, Reply},
    },
    source::to_change,
};
use portcullis_plugin::prelude::*;
use std::{
    fs::{self, File},
    io::Read,
    path::{Component, Path},
};
use unreal_project::{Mount, Project, SourceControl};

/// Maximum size of a file that is imported, in bytes.
const MAX_FILE: u64 = 2 << 30;
/// The first words of T3D texts that this plugin reconstructed. The engine would accept such a text
/// as its own export.
const RECONSTRUCTED: &[u8] = b"; Reconstructed from";
/// Classes that may be imported: data from files of other programs. The setting `import-classes` adds more;
/// the operator decides about classes that run code, such as Blueprints.
const CLASSES: &[&str] = &[
    "/Script/Engine.AnimSequence",
    "/Script/Engine.CurveFloat",
    "/Script/Engine.CurveLinearColor",
    "/Script/Engine.CurveTable",
    "/Script/Engine.CurveVector",
    "/Script/Engine.DataTable",
    "/Script/Engine.Font",
    "/Script/Engine.FontFace",
    "/Script/Engine.Material",
    "/Script/Engine.MaterialInstanceConstant",
    "/Script/Engine.SkeletalMesh",
    "/Script/Engine.SoundWave",
    "/Script/Engine.StaticMesh",
    "/Script/Engine.StringTable",
    "/Script/Engine.SubsurfaceProfile",
    "/Script/Engine.Texture2D",
    "/Script/Engine.Texture2DArray",
    "/Script/Engine.TextureCube",
    "/Script/Engine.TextureLightProfile",
    "/Script/Engine.VectorFieldStatic",
    "/Script/Engine.VolumeTexture",
    "/Script/MediaAssets.FileMediaSource",
];

about_project! {
    /// Have the editor import a file as a new asset, or in place of an existing one. The user is asked first. The imported asset is not saved.
    pub struct ImportAsset {
        /// Absolute path of the file to import, such as a picture or a mesh.
        #[path(file, read)]
        file_path: Option<String>,
        /// Absolute path of a T3D file with the settings of the asset, or with the whole asset. Not a reconstructed file.
        #[path(file, read)]
        t3d_file_path: Option<String>,
        /// Path of the asset to make, such as /Game/Doors/T_Door or /Game/Doors/T_Door.T_Door.
        #[schemars(length(min = 1, max = 1024))]
        package_path: String,
        /// Path of its class, such as /Script/Engine.Texture2D. Allowed: animations, curves, fonts, materials, meshes, sounds, tables, textures, and the classes in the operator's setting `import-classes`.
        #[schemars(length(min = 1, max = 1024))]
        class_path: String,
    }
}

tool_result! {
    /// The result of an import.
    pub struct Imported {
        #[serde(rename = "bSuccess")]
        success: bool,
        count: usize,
        file_path: String,
        package_path: String,
        factory_class: String,
        imported_objects: Vec<String>,
        error: String,
    }
}

impl Tool for ImportAsset {
    const NAME: &'static str = "import_asset";
    const TITLE: Option<&'static str> = Some("Import asset");
    const HINTS: Hints =
        Hints::new().read_only(false).destructive(true).idempotent(false).open_world(false);
    const NEEDS: &'static [&'static str] = &["editor-write"];
    type Output = Json<Imported>;

    fn call(self, request: &Request) -> Result<Json<Imported>, Failure> {
        let named = |path: &Option<String>| path.clone().filter(|path| !path.trim().is_empty());
        let (file, t3d) = (named(&self.file_path), named(&self.t3d_file_path));
        if file.is_none() && t3d.is_none() {
            return Err(Failure::new("At least one of filePath or t3dFilePath must be specified."));
        }
        let editor = to_change(request, self.project_dir.as_deref())?;
        for path in file.iter().chain(&t3d) {
            check_file(path)?;
        }
        if let Some(path) = &t3d {
            check_origin(path)?;
        }
        // The paths under which the editor finds the files.
        let there =
            |path: &Option<String>| path.as_deref().map(|path| editor.path_there(path)).transpose();
        let (file_there, t3d_there) = (there(&file)?, there(&t3d)?);
        let project = editor.project.as_ref().or_fail("no project is open")?;
        let target = Target::parse(&self.package_path, &project.mounts().mounts)?;
        let class = class(&self.class_path)?;
        let how = ImportTool::choose(&editor, file.as_deref(), t3d.as_deref(), class)?;
        let there = target.already_there(&editor, project)?;
        let files: Vec<&str> = file.iter().chain(&t3d).map(String::as_str).collect();
        let subject = format!(
            "{} as {class} to {} in the project {}, by the editor at {}",
            files.join(" and "),
            target.object,
            project.dir.display(),
            editor.url
        );
        let deed = editor.deed("import a file into the Unreal project");
        let mut question = consent("import", deed, subject);
        if let Some(there) = there {
            if editor.seen.kind == Kind::Epic {
                return Err(Failure::new(format!(
                    "nothing is imported: Epic's server cannot replace an asset, and there is {there}"
                )));
            }
            question = question.overwriting(there);
        }
        request.ask(question)?;
        request.background()?;
        let done = how.import(&editor, file_there.as_deref(), t3d_there.as_deref(), &target, class);
        let mut answer = Imported {
            success: false,
            count: 0,
            file_path: shown(files.first().copied().unwrap_or_default()),
            package_path: target.object.clone(),
            factory_class: String::new(),
            imported_objects: Vec::new(),
            error: String::new(),
            source: SourceKind::Live,
            as_of: editor.as_of(),
            warnings: Vec::new(),
        };
        match done {
            Ok(objects) => {
                answer.success = true;
                answer.count = objects.len();
                answer.imported_objects = objects;
                answer.warnings.push("the asset is not saved: save it in the editor".to_owned());
                Ok(Json(answer))
            }
            Err(Fault::Failed(said)) => {
                answer.error = value::why(&said);
                Err(failed(&answer))
            }
            Err(fault) => Err(Failure::from(fault)),
        }
    }
}

/// Refuses folders, files that are too large, and paths that the editor cannot find or resolves to
/// another file than this plugin.
fn check_file(path: &str) -> Result<(), Failure> {
    let refused = |why: &str| Failure::new(format!("{} is not imported: {why}", shown(path)));
    check_path(path).map_err(&refused)?;
    let found = fs::metadata(path).or_fail(format!("cannot look at {}", shown(path)))?;
    if !found.is_file() {
        return Err(refused("it is not a file"));
    }
    if found.len() > MAX_FILE {
        return Err(refused("it has more than 2 GiB"));
    }
    Ok(())
}

/// Checks that the editor resolves a path as this plugin does: the path is absolute, is not on a
/// network, and has no `..` and no invisible characters. `Err` has the reason.
pub fn check_path(path: &str) -> Result<(), &'static str> {
    let is_hidden = shown(path) != path;
    let network = path.starts_with("//") || path.starts_with("\\\\");
    if is_hidden || network {
        return Err("its path is on a network, or has invisible characters");
    }
    let has_drive = path.as_bytes().get(1) == Some(&b':');
    if !has_drive && !Path::new(path).is_absolute() {
        return Err("its path is not absolute");
    }
    let detours = Path::new(path).components().any(|part| part == Component::ParentDir);
    if detours || path.split(['/', '\\']).any(|part| part == "..") {
        return Err("its path has `..` in it");
    }
    Ok(())
}

fn check_origin(path: &str) -> Result<(), Failure> {
    let mut start = Vec::new();
    let file = File::open(path).or_fail(format!("cannot open {}", shown(path)))?;
    file.take(RECONSTRUCTED.len() as u64 + 3).read_to_end(&mut start)?;
    let start = start.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&start);
    if start.starts_with(RECONSTRUCTED) {
        return Err(Failure::new(format!(
            "{} was reconstructed from a package and not exported by the engine: it is not for \
             import",
            shown(path)
        )));
    }
    Ok(())
}

/// An asset of the project, to create or to save.
pub struct Target {
    folder: String,
    name: String,
    /// `/Game/Doors/T_Door.T_Door`
    object: String,
}

impl Target {
    /// Reads the path of an asset in one of the project's `mounts`.
    ///
    /// # Errors
    ///
    /// When the path has another form, or is in none of the `mounts`.
    pub fn parse(path: &str, mounts: &[Mount]) -> Result<Self, Failure> {
        let wrong = |why: &str| {
            let path = shown(path);
            Failure::new(format!(
                "`{path}` is not a path of an asset: {why}. Write it like /Game/Folder/Asset"
            ))
        };
        let (package, object) = path.trim().split_once('.').unwrap_or((path.trim(), ""));
        let (folder, name) = package.rsplit_once('/').ok_or_else(|| wrong("it has no folder"))?;
        let object = if object.is_empty() { name } else { object };
        let fits = |part: &str| {
            !part.is_empty()
                && part.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '+'))
        };
        let mut parts = package.split('/');
        let is_rooted = parts.next() == Some("");
        if !is_rooted || !parts.all(fits) || !fits(object) {
            return Err(wrong(
                "it does not begin with a slash, or has characters that names cannot have",
            ));
        }
        if !mounts.iter().any(|mount| mount.below(package).is_some()) {
            return Err(wrong("it is neither in /Game nor in a plugin of this project"));
        }
        let object = format!("{package}.{object}");
        Ok(Self { folder: folder.to_owned(), name: name.to_owned(), object })
    }

    /// Describes the asset that exists at the path, as the editor knows it and as a file on disk.
    /// `None` if no asset exists.
    fn already_there(
        &self,
        editor: &Editor<'_>,
        project: &Project,
    ) -> Result<Option<String>, Failure> {
        let known = self.known(editor)?;
        let file = self.file(project, &project.mounts().mounts);
        Ok(match (known, file) {
            (None, None) => None,
            (Some(known), Some(file)) => Some(format!("{known}, saved as {file}")),
            (Some(known), None) => Some(format!("{known}, which has no file")),
            (None, Some(file)) => Some(format!("{file} (the editor does not know this asset)")),
        })
    }

    /// Describes the file of the asset and its source control; `None` if there is no file.
    pub fn file(&self, project: &Project, mounts: &[Mount]) -> Option<String> {
        let package = format!("{}/{}", self.folder, self.name);
        let files = mounts.iter().filter_map(|mount| Some((mount, mount.below(&package)?)));
        let files = files.flat_map(|(mount, rest)| {
            ["uasset", "umap"].map(|end| format!("{}/{rest}.{end}", mount.folder))
        });
        let file =
            files.map(|name| (project.dir.join(&name), name)).find(|(path, _)| path.is_file());
        let (path, name) = file?;
        Some(format!("the file {}, {}", shown(&name), SourceControl::of(project, &path)))
    }

    /// Describes the asset that the editor knows at the path; `None` if it knows none.
    fn known(&self, editor: &Editor<'_>) -> Result<Option<String>, Failure> {
        let is_there = match editor.seen.kind {
            Kind::UnrealMcpServer => {
                let asset = json!({ "assetPath": self.object, "bIncludeTags": false });
                let found = editor.read("query_asset", &asset)?;
                let found = Reply::of("query_asset", &found);
                match found.flag("bExists")? {
                    true => Some(found.text("classPath")?),
                    false => None,
                }
            }
            Kind::Epic => {
                let package = format!("{}/{}", self.folder, self.name);
                let there = editor.epic("AssetTools", "exists", &json!({ "path": package }))?;
                Reply::of("exists", &there).flag("")?.then(|| "an asset".to_owned())
            }
        };
        Ok(is_there.map(|class| format!("{} ({class}) in the editor", self.object)))
    }
}

/// Checks that the class with this path may be imported, and returns the trimmed path.
fn class(path: &str) -> Result<&str, Failure> {
    let path = path.trim();
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-');
    let is_path = path.starts_with('/') && path.contains('.') && path.chars().all(fits);
    if !is_path {
        return Err(Failure::new(format!(
            "`{}` is not a path of a class: write it like /Script/Engine.Texture2D",
            shown(path)
        )));
    }
    let more = settings::get("import-classes").unwrap_or_default();
    let mut allowed = CLASSES.iter().copied().chain(more.split([',', ' ']).map(str::trim));
    if allowed.any(|class| class.eq_ignore_ascii_case(path)) {
        return Ok(path);
    }
    Err(Failure::new(format!(
        "the class {} cannot be imported. By default, these can: {}. The operator of this server can allow \
         more in the setting `import-classes` of this plugin",
        shown(path),
        CLASSES.join(", ")
    )))
}

/// The tool that imports the file.
enum ImportTool {
    /// The import tool of UnrealMCPServer, for all classes.
    Plugin,
    /// A toolset of Epic's server, for one kind of asset.
    Epic(&'static str),
}

impl ImportTool {
    fn choose(
        editor: &Editor<'_>,
        file: Option<&str>,
        t3d: Option<&str>,
        class: &str,
    ) -> Result<Self, Failure> {
        if editor.seen.kind == Kind::UnrealMcpServer {
            return Ok(Self::Plugin);
        }
        let set = match class.rsplit('.').next().unwrap_or_default() {
            "Texture2D" => Some("TextureTools"),
            "StaticMesh" => Some("StaticMeshTools"),
            "StringTable" => Some("StringTableTools"),
            _ => None,
        };
        match (set, file, t3d) {
            (Some(set), Some(_), None) => Ok(Self::Epic(set)),
            _ => Err(Failure::new(
                "Epic's server can import files only as Texture2D, StaticMesh or StringTable, and no \
                 T3D: for anything else, the editor needs the plugin UnrealMCPServer",
            )),
        }
    }

    fn import(
        &self,
        editor: &Editor<'_>,
        file: Option<&str>,
        t3d: Option<&str>,
        target: &Target,
        class: &str,
    ) -> Result<Vec<String>, Fault> {
        match self {
            Self::Plugin => {
                let arguments = json!({
                    "filePath": file.unwrap_or_default(),
                    "t3dFilePath": t3d.unwrap_or_default(),
                    "packagePath": target.object,
                    "classPath": class,
                });
                let result = editor.write("import_asset", &arguments)?;
                let imported = Reply::of("import_asset", &result).texts("importedObjects");
                imported.map_err(|misshapen| Fault::Unknown(Box::new(misshapen)))
            }
            Self::Epic(set) => {
                let arguments = json!({
                    "folder_path": target.folder,
                    "asset_name": target.name,
                    "source_file": file.unwrap_or_default(),
                });
                let returned = editor.write_epic(set, "import_file", &arguments)?;
                let imported = Reply::of("import_file", &returned).objects("");
                imported.map_err(|misshapen| Fault::Unknown(Box::new(misshapen)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets() {
        let mounts = [Mount { name: "/Game".to_owned(), folder: "Content".to_owned() }];
        for path in ["Doors/T", "/Engine/T", "/Game/../Engine/T", "/Game/T T", "/GameX/T", "/Game/"]
        {
            assert!(Target::parse(path, &mounts).is_err(), "{path}");
        }
        let target = Target::parse("/Game/Doors/T_Door", &mounts).expect("it is one");
        assert_eq!((target.folder.as_str(), target.name.as_str()), ("/Game/Doors", "T_Door"));
        assert_eq!(target.object, "/Game/Doors/T_Door.T_Door");
    }

    #[test]
    fn paths() {
        for path in
            ["a/b.png", "/a/../b.png", "//server/b.png", "\\\\server\\b", "/a\n/b", "C:\\a\\..\\b"]
        {
            assert!(check_path(path).is_err(), "{path}");
        }
        assert!(check_path("/a/b c.png").is_ok());
    }
}
