//! The tool `query_asset`: tells whether an asset exists, and its class, file and tags.

use crate::{
    answer::{Names, SourceKind, shown, tags_told, time},
    live::{Editor, Fault, Kind, classes, names::AssetName, value::Reply},
    offline::Offline,
    search::TagReader,
    source::SourceQuery,
};
use portcullis_plugin::prelude::*;
use serde_json::{Map, Value};
use std::{collections::BTreeMap, fs::File, io::Read};
use unreal_package::{Fault as PackageFault, Header};
use unreal_project::{Entry, Hit, Index, object_path};

/// Maximum size of a header, in bytes.
const MAX_HEADER: u64 = 64 << 20;

about_project! {
    /// Query a single asset: whether it exists, its class, its file, and its tags.
    pub struct QueryAsset {
        /// Path of the asset, such as /Game/Doors/BP_Door or /Game/Doors/BP_Door.BP_Door.
        #[schemars(length(min = 1, max = 2048))]
        asset_path: String,
        /// Whether to return its tags.
        #[serde(default, rename = "bIncludeTags")]
        include_tags: bool,
    }
}

tool_result! {
    /// An asset, or its absence.
    pub struct Queried {
        #[serde(rename = "bExists")]
        exists: bool,
        /// As given in the call
        asset_path: String,
        asset_name: String,
        package_path: String,
        class_path: String,
        object_path: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Option<BTreeMap<String, String>>")]
        tags: Option<Map<String, Value>>,
        /// Where its package is
        #[serde(skip_serializing_if = "Option::is_none")]
        file: Option<PackageFile>,
    }
}

/// The file of a package.
#[data]
struct PackageFile {
    /// Relative to the project
    path: String,
    bytes: u64,
    modified: String,
    /// The engine that saved it; empty where the file does not say
    saved_by: String,
    /// Whether it was made for a packaged game
    cooked: bool,
    /// Where it leads, if it is a redirector
    #[serde(skip_serializing_if = "Option::is_none")]
    redirects_to: Option<String>,
}

read_only_tool!(QueryAsset, "query_asset", "Query asset", Queried);

impl SourceQuery for QueryAsset {
    type Answer = Queried;

    fn ask_editor(&self, editor: &Editor<'_>) -> Result<Queried, Fault> {
        let name = AssetName::read(&self.asset_path)?;
        match editor.seen.kind {
            Kind::UnrealMcpServer => self.ask_plugin(editor, &name),
            Kind::Epic => self.ask_epic(editor, &name),
        }
    }

    fn ask_files(&self, _request: &Request<'_>, offline: &Offline) -> Result<Queried, Failure> {
        let mut answer = Queried {
            exists: false,
            asset_path: shown(&self.asset_path),
            asset_name: String::new(),
            package_path: String::new(),
            class_path: String::new(),
            object_path: String::new(),
            tags: None,
            file: None,
            source: SourceKind::Offline,
            as_of: offline.as_of.clone(),
            warnings: Vec::new(),
        };
        let mut problem = None;
        if let Some((package, object)) = object_path(&self.asset_path) {
            let index = &offline.index;
            match index.find(package) {
                Some(entry) => {
                    answer.file = Some(file(index, entry));
                    problem = index.problem(entry).map(|why| {
                        let why = fault(offline, entry).unwrap_or_else(|| why.to_owned());
                        format!("{package}: {why}")
                    });
                    if let Some(hit) = hit(index, entry, object) {
                        let names = Names::of(index, hit.entry, hit.asset);
                        answer.exists = true;
                        answer.asset_name = names.name;
                        answer.package_path = names.folder;
                        answer.class_path = names.class;
                        answer.object_path = names.object_path;
                        answer.tags =
                            self.include_tags.then(|| TagReader::default().tags(offline, hit));
                    }
                }
                None if !index.has_mount_of(package) => {
                    problem = Some(format!(
                        "{package} is not in this project: packages of the engine are known only to a \
                         running editor"
                    ));
                }
                None => {}
            }
        } else {
            problem = Some(
                "assetPath is not a path of an asset, such as /Game/Doors/BP_Door: if only the name \
                 is known, call search_assets with `*/BP_Door` in packageNames"
                    .to_owned(),
            );
        }
        answer.warnings = offline.warnings_and(problem);
        Ok(answer)
    }
}

impl QueryAsset {
    fn ask_plugin(&self, editor: &Editor<'_>, name: &AssetName) -> Result<Queried, Fault> {
        let arguments = json!({ "assetPath": name.path(), "bIncludeTags": self.include_tags });
        let result = editor.read(Self::NAME, &arguments)?;
        let reply = Reply::of(Self::NAME, &result);
        if !reply.flag("bExists")? {
            return Ok(self.found(editor, None, None, None));
        }
        let asset = Found {
            name: reply.text("assetName")?,
            folder: reply.text("packagePath")?,
            class: reply.text("classPath")?,
            object_path: reply.text("objectPath")?,
        };
        let tags = match self.include_tags {
            true => {
                reply.object("tags")?;
                Some(tags_told(&result["tags"]))
            }
            false => None,
        };
        Ok(self.found(editor, Some(asset), tags, None))
    }

    fn ask_epic(&self, editor: &Editor<'_>, name: &AssetName) -> Result<Queried, Fault> {
        let exists = editor.epic("AssetTools", "exists", &json!({ "path": name.package() }))?;
        if !Reply::of("exists", &exists).flag("")? {
            // During play in the editor, the server finds no assets.
            return Err(Fault::Refuses(
                "Epic's server does not find this asset, or a game runs in the editor: this answer is from the files",
            ));
        }
        let asset = json!({ "asset_path": name.package() });
        let told = editor.epic("AssetTools", "get_asset_class", &asset)?;
        let told = Reply::of("get_asset_class", &told).text("")?;
        let class = classes::path(editor.files().as_ref(), name, &told);
        let unknown: Vec<String> = class.is_none().then(|| told.clone()).into_iter().collect();
        let tags = match self.include_tags {
            true => {
                let tags = editor.epic("AssetTools", "get_asset_tags", &asset)?;
                Reply::of("get_asset_tags", &tags).object("")?;
                Some(tags_told(&tags))
            }
            false => None,
        };
        let found = Found {
            name: shown(name.object()),
            folder: shown(name.folder()),
            class: class.unwrap_or(told),
            object_path: shown(&name.path()),
        };
        Ok(self.found(editor, Some(found), tags, classes::warning(&unknown)))
    }

    fn found(
        &self,
        editor: &Editor<'_>,
        asset: Option<Found>,
        tags: Option<Map<String, Value>>,
        warning: Option<String>,
    ) -> Queried {
        let exists = asset.is_some();
        let Found { name, folder, class, object_path } = asset.unwrap_or_default();
        Queried {
            exists,
            asset_path: shown(&self.asset_path),
            asset_name: name,
            package_path: folder,
            class_path: class,
            object_path,
            tags,
            file: None,
            source: SourceKind::Live,
            as_of: editor.as_of(),
            warnings: editor.warnings(warning),
        }
    }
}

/// An asset that an editor knows.
#[derive(Default)]
struct Found {
    name: String,
    folder: String,
    class: String,
    object_path: String,
}

/// The asset with this name in a package. Without a name, the asset with the name of the package,
/// or else the first asset.
fn hit<'i>(index: &'i Index, entry: &'i Entry, object: &str) -> Option<Hit<'i>> {
    let assets = index.assets_of(entry);
    let package = index.text(entry.package);
    let name = package.rsplit('/').next().unwrap_or(package);
    let wanted = if object.is_empty() { name } else { object };
    let named = assets.iter().find(|asset| index.text(asset.path).eq_ignore_ascii_case(wanted));
    let first = || assets.first().filter(|_| object.is_empty());
    named.or_else(first).map(|asset| Hit { entry, asset })
}

fn file(index: &Index, entry: &Entry) -> PackageFile {
    PackageFile {
        path: shown(index.text(entry.file)),
        bytes: entry.size,
        modified: time(entry.modified),
        // The engine is not known for unreadable files.
        saved_by: match entry.engine {
            [0, 0, 0, 0] => String::new(),
            [major, minor, patch, change] => format!("{major}.{minor}.{patch}-{change}"),
        },
        cooked: entry.is_cooked,
        redirects_to: index.redirected(entry).map(shown),
    }
}

/// The reason why a package cannot be read, with its version numbers. `None` if no such reason is
/// found.
fn fault(offline: &Offline, entry: &Entry) -> Option<String> {
    match read_header(offline, entry)? {
        Ok(_) => None,
        Err(fault) => Some(fault.to_string()),
    }
}

/// The first bytes of a package's file, with the whole header. `None` if the header cannot be read.
pub fn header(offline: &Offline, entry: &Entry) -> Option<Vec<u8>> {
    read_header(offline, entry)?.ok()
}

/// Reads the start of a package's file, up to the end of the header. `None` if the file cannot be
/// opened or read, ends before its header, or has a header that is too large.
fn read_header(offline: &Offline, entry: &Entry) -> Option<Result<Vec<u8>, PackageFault>> {
    let path = offline.project.dir.join(offline.index.text(entry.file));
    let mut file = File::open(path).ok()?;
    let (mut bytes, mut want) = (Vec::new(), 64 * 1024);
    loop {
        let more = want - bytes.len() as u64;
        file.by_ref().take(more).read_to_end(&mut bytes).ok()?;
        match Header::read(&bytes, entry.size) {
            Ok(_) => return Some(Ok(bytes)),
            Err(PackageFault::NeedMore { bytes: need }) if need > want && need <= MAX_HEADER => {
                want = need
            }
            Err(PackageFault::NeedMore { .. }) => return None,
            Err(fault) => return Some(Err(fault)),
        }
    }
}
