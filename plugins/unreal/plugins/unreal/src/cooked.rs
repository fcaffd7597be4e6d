//! The tool `inspect_cooked`: lists the content of a cooked package, an IoStore container, a pak
//! archive or an asset registry.

mod archive;
mod container;
mod package;
mod registry;

use crate::answer::{Page, limited, shown};
use portcullis_plugin::prelude::*;
use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::Path,
};

/// Maximum size of a file that is read whole, in bytes.
const MAX_FILE: u64 = 64 << 20;
/// Maximum number of lines in each list of a package: dependencies, tags.
const MAX_LIST: usize = 200;
/// Maximum number of warnings.
const MAX_WARNINGS: usize = 50;

/// Look into what Unreal Engine has cooked or packaged, without an editor: a cooked package (.uasset, .umap), an IoStore container (.utoc with its .ucas), an archive (.pak), or an asset registry (AssetRegistry.bin). Lists objects, files or assets with their classes and sizes; with `package`, the objects and dependencies of one package. Says what needs a key or a decompressor.
#[arguments]
pub struct InspectCooked {
    /// Absolute path of the file, usually below Saved/Cooked or Saved/StagedBuilds.
    #[path(file_in_directory, read)]
    file: String,
    /// Only this package of a container, archive or registry: /Game/Doors/BP_Door.
    #[schemars(length(min = 1, max = 1024))]
    package: Option<String>,
    /// Only items with this text in their path or class.
    #[schemars(length(min = 1, max = 1024))]
    query: Option<String>,
    /// How many items at most; 0: as many as fit.
    #[serde(default = "crate::answer::forty")]
    max_results: u32,
    /// Number of results to skip.
    #[serde(default)]
    offset: u32,
}

/// The kind of a cooked file.
#[data]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum CookedKind {
    /// A cooked package in a file of its own; its items are objects
    Package,
    /// An IoStore container; its items are files
    Container,
    /// An archive; its items are files
    Archive,
    /// An asset registry; its items are assets
    Registry,
}

/// What is in a cooked file.
#[data]
pub struct CookedFile {
    file: String,
    kind: CookedKind,
    /// Engines that write this format, such as 5.5 or 5.4
    #[serde(skip_serializing_if = "String::is_empty", default)]
    engine: String,
    /// Version of the format of a container, archive or registry
    #[serde(skip_serializing_if = "Option::is_none")]
    format_version: Option<u32>,
    /// Compression methods of a container or archive
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    compression: Vec<String>,
    /// Whether the container is encrypted; of an archive, its index or at least one file
    #[serde(skip_serializing_if = "Option::is_none")]
    encrypted: Option<bool>,
    /// Number of items of each class or kind, for the 20 most frequent ones
    counts: BTreeMap<String, usize>,
    /// The requested package, or the only one of the file
    #[serde(skip_serializing_if = "Option::is_none")]
    package: Option<CookedPackage>,
    items: Vec<CookedItem>,
    count: usize,
    total_count: usize,
    offset: usize,
    has_more: bool,
    warnings: Vec<String>,
}

/// An object, a file or an asset.
#[data]
#[derive(Clone, Debug, Default)]
pub struct CookedItem {
    path: String,
    /// Class of an object or asset, kind of a file
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<String>,
    /// Bytes before compression; of an asset, those of its package
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    /// Bytes after compression, of a compressed file in an archive
    #[serde(skip_serializing_if = "Option::is_none", default)]
    stored: Option<u64>,
    /// Compression method of a file in an archive
    #[serde(skip_serializing_if = "Option::is_none", default)]
    compression: Option<String>,
}

/// A package.
#[data]
#[derive(Clone, Debug, Default)]
pub struct CookedPackage {
    name: String,
    /// Packages that it needs
    depends_on: Vec<String>,
    /// Packages that need it, as far as this file knows
    needed_by: Vec<String>,
    /// Tags of its assets in a registry
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    tags: BTreeMap<String, String>,
}

/// The result of a reader, before the requested page is taken.
struct CookedFacts {
    kind: CookedKind,
    engine: String,
    format_version: Option<u32>,
    compression: Vec<String>,
    encrypted: Option<bool>,
    package: Option<CookedPackage>,
    /// Number of tags of the package that were not read.
    unread_tags: usize,
    items: Vec<CookedItem>,
    warnings: Vec<String>,
}

impl CookedFacts {
    fn new(kind: CookedKind) -> Self {
        Self {
            kind,
            engine: String::new(),
            format_version: None,
            compression: Vec::new(),
            encrypted: None,
            package: None,
            unread_tags: 0,
            items: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

impl Tool for InspectCooked {
    const NAME: &'static str = "inspect_cooked";
    const TITLE: Option<&'static str> = Some("Inspect cooked content");
    const HINTS: Hints = Hints::new().read_only(true).idempotent(true).open_world(false);
    type Output = Json<CookedFile>;

    fn call(self, _request: &Request) -> Result<Json<CookedFile>, Failure> {
        let file = Path::new(&self.file);
        let wanted = self.package.as_deref().map(str::trim).filter(|name| !name.is_empty());
        let extension = file.extension().unwrap_or_default().to_string_lossy().to_lowercase();
        let found = match extension.as_str() {
            "utoc" | "ucas" => container::read(&file.with_extension("utoc"), wanted),
            "uasset" | "umap" => package::read(file, wanted),
            "bin" => registry::read(file, wanted),
            "pak" => archive::read(file, wanted),
            _ => Err(Failure::new(format!(
                "{} does not have an extension of cooked content: .utoc, .ucas, .pak, .uasset, .umap or .bin",
                shown(&self.file)
            ))),
        }?;
        Ok(Json(self.answer(found)))
    }
}

impl InspectCooked {
    fn answer(&self, found: CookedFacts) -> CookedFile {
        let query = self.query.as_deref().unwrap_or_default().to_lowercase();
        let holds = |text: &str| text.to_lowercase().contains(&query);
        let is_wanted =
            |item: &CookedItem| holds(&item.path) || item.class.as_deref().is_some_and(holds);
        let items: Vec<CookedItem> = found.items.into_iter().filter(is_wanted).collect();
        let page = Page::new(self.offset, self.max_results);
        let total_count = items.len();
        let counts = counts(&items);
        let items: Vec<CookedItem> = page.of(items).into_iter().map(CookedItem::shown).collect();
        let mut warnings = found.warnings;
        let package =
            found.package.map(|package| package.shown(&holds, found.unread_tags, &mut warnings));
        CookedFile {
            file: shown(&self.file),
            kind: found.kind,
            engine: found.engine,
            format_version: found.format_version,
            compression: found.compression.iter().map(|method| shown(method)).collect(),
            encrypted: found.encrypted,
            counts,
            package,
            count: items.len(),
            items,
            total_count,
            offset: page.offset,
            has_more: page.has_more(total_count),
            warnings: limited(warnings, MAX_WARNINGS),
        }
    }
}

/// The number of items of each class, of the most frequent classes.
fn counts(items: &[CookedItem]) -> BTreeMap<String, usize> {
    const MAX_CLASSES: usize = 20;
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for item in items {
        *counts.entry(item.class.as_deref().unwrap_or("unknown")).or_default() += 1;
    }
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by(|a, b| (b.1, a.0).cmp(&(a.1, b.0)));
    counts.into_iter().take(MAX_CLASSES).map(|(class, count)| (shown(class), count)).collect()
}

impl CookedItem {
    fn shown(self) -> Self {
        Self {
            path: shown(&self.path),
            class: self.class.map(|class| shown(&class)),
            compression: self.compression.map(|method| shown(&method)),
            ..self
        }
    }
}

impl CookedPackage {
    /// The package with at most `MAX_LIST` items in each list; those that `holds` accepts are preferred. If items are
    /// left out, a warning says so, and a list of packages ends with their number. `unread_tags` is the number of the
    /// package's tags that were not read.
    fn shown(
        self,
        holds: &impl Fn(&str) -> bool,
        unread_tags: usize,
        warnings: &mut Vec<String>,
    ) -> Self {
        let mut list = |name: &str, list: Vec<String>| -> Vec<String> {
            let total = list.len();
            let listed = first(list, |name| holds(name));
            warnings.extend(left_out(listed.len(), total, &format!("packages in `{name}`")));
            let more = total - listed.len();
            let more = (more > 0).then(|| format!("{more} more"));
            listed.iter().map(|name| shown(name)).chain(more).collect()
        };
        let depends_on = list("dependsOn", self.depends_on);
        let needed_by = list("neededBy", self.needed_by);
        let total = self.tags.len() + unread_tags;
        let tags = first(self.tags.into_iter().collect(), |(key, _)| holds(key));
        warnings.extend(left_out(tags.len(), total, "tags of the package"));
        Self {
            name: shown(&self.name),
            depends_on,
            needed_by,
            tags: tags.iter().map(|(key, value)| (shown(key), shown(value))).collect(),
        }
    }
}

/// At most `MAX_LIST` items. Preferred items come first.
fn first<T>(all: Vec<T>, is_preferred: impl Fn(&T) -> bool) -> Vec<T> {
    let (preferred, rest): (Vec<T>, Vec<T>) = all.into_iter().partition(is_preferred);
    preferred.into_iter().chain(rest).take(MAX_LIST).collect()
}

/// The warning about items that are not listed; `None` if there are none.
fn left_out(listed: usize, total: usize, what: &str) -> Option<String> {
    (listed < total).then(|| {
        format!(
            "only {listed} of {total} {what} are listed: those with the text of `query` come first"
        )
    })
}

/// Reads a whole file of at most 64 MiB.
fn whole(path: &Path) -> Result<Vec<u8>, Failure> {
    let name = shown(&path.to_string_lossy());
    let size = fs::metadata(path).or_fail(format!("cannot look at {name}"))?.len();
    if size > MAX_FILE {
        return Err(Failure::new(format!("{name} has {size} bytes: at most {MAX_FILE} are read")));
    }
    fs::read(path).or_fail(format!("cannot read {name}"))
}

/// The message about a file that cannot be read.
fn failing(path: &Path) -> String {
    format!("cannot read {}", shown(&path.to_string_lossy()))
}

/// The failure if the file does not have the package.
fn absent(path: &Path, package: &str) -> Failure {
    Failure::new(format!(
        "{} has no package {}: without `package`, its items are listed, and `query` finds them by \
         a part of their path",
        shown(&path.to_string_lossy()),
        shown(package)
    ))
}
