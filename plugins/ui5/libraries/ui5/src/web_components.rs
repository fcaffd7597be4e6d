//! The API of UI5 Web Components, from the custom-elements manifests in their npm packages.

use crate::{
    project::Project,
    reference::{Found, Miss, Reference, normalise},
};
use serde_json::{Map, Value};
use std::{fs, path::Path};
use ui5_data::{Compact, Written, make_compact};

/// The title of the reference.
pub const TITLE: &str = "UI5 Web Components";

/// The packages with components, most used first. If several packages have the same name of a component, the
/// first one counts.
pub const PACKAGES: [&str; 5] = [
    "@ui5/webcomponents",
    "@ui5/webcomponents-fiori",
    "@ui5/webcomponents-ai",
    "@ui5/webcomponents-compat",
    "@ui5/webcomponents-base",
];

/// The manifests in a package, the fullest first.
const MANIFESTS: [&str; 2] = ["dist/custom-elements-internal.json", "dist/custom-elements.json"];

/// Maximum size of a manifest or a `package.json`, in bytes; far above real ones.
const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// Whether a query can only mean a web component: `ui5-button`, `@ui5/webcomponents/dist/Button.js`.
pub fn is_meant(query: &str) -> bool {
    let query = normalise(query);
    query.starts_with("ui5-") || query.starts_with("@ui5.")
}

/// The API of web components in the version that a project uses, or else in another.
pub struct WebComponents {
    reference: Reference,
    /// The version of each package.
    libraries: Vec<(String, String)>,
    /// A note if the version is not the project's.
    pub note: Option<String>,
}

impl WebComponents {
    /// Makes the reference from the packages in the project's `node_modules`. Opens the carried reference if no package
    /// is installed, if the carried reference has the version of each installed package, or if no reference can be made
    /// from the installed packages. Fails if the carried reference is damaged.
    pub fn open(project: &Project, carried: &'static [u8]) -> Result<Self, String> {
        let compact = Compact::open(carried)?;
        let installed = installed(Path::new(&project.directory));
        let is_other = |(package, version): &(String, String)| {
            !compact.libraries().contains(&(package.clone(), version.clone()))
        };
        if installed.iter().any(is_other)
            && let Some(compact) = of_packages(Path::new(&project.directory), &installed)
        {
            let libraries = compact.libraries().to_vec();
            let reference = Reference::of_compact(compact)?;
            return Ok(Self { reference, libraries, note: None });
        }
        let libraries = compact.libraries().to_vec();
        let unreadable =
            installed.iter().find(|package| is_other(package)).map(|(package, version)| {
                format!("the manifest of {package} {version} in the project could not be read")
            });
        let note = match unreadable {
            Some(why) => Some(note(&compact, &why)),
            None => installed.is_empty().then(|| note(&compact, &missing(project))),
        };
        Ok(Self { reference: Reference::of_compact(compact)?, libraries, note })
    }

    /// Looks up a component, a type, or a member: `ui5-button`, `Button#design`,
    /// `@ui5/webcomponents/dist/Button.js`.
    pub fn find(&mut self, query: &str) -> Result<Found, Miss> {
        self.reference.find(query).or_else(|miss| {
            // The query may name a property by its attribute: `end-icon` for `endIcon`.
            let attribute = query.split_once('#').filter(|(_, member)| member.contains('-'));
            let Some((owner, member)) = attribute else { return Err(miss) };
            let property = format!("{owner}#{}", member.replace('-', ""));
            self.reference.find(&property).map_err(|_| miss)
        })
    }

    /// The version of a package in this reference; empty if the reference lacks the package.
    pub fn version(&self, package: &str) -> &str {
        let found = self.libraries.iter().find(|(known, _)| known == package);
        found.map(|(_, version)| version.as_str()).unwrap_or_default()
    }
}

/// URL of the documentation of a formatted symbol.
pub fn uri(shown: &Map<String, Value>) -> String {
    let text = |name: &str| shown.get(name).and_then(Value::as_str).unwrap_or_default();
    let site = "https://ui5.github.io/webcomponents/components/";
    let folder = match text("library").strip_prefix("@ui5/webcomponents") {
        Some("") => String::new(),
        Some(part) => format!("{}/", part.trim_start_matches('-')),
        None => return site.to_owned(),
    };
    let file = text("module").rsplit('/').next().unwrap_or_default();
    match file.strip_suffix(".js") {
        Some(name) if !text("module").contains("/types/") => format!("{site}{folder}{name}/"),
        Some(_) | None => site.to_owned(),
    }
}

fn note(compact: &Compact, why: &str) -> String {
    format!("This is {TITLE} {}, which comes with this tool: {why}.", compact.version())
}

/// The reason why the project's own version is not available.
fn missing(project: &Project) -> String {
    match wanted_range(Path::new(&project.directory)) {
        Some(range) => format!("the project asks for {range}, which is not installed"),
        None => "the project has none installed".to_owned(),
    }
}

/// The range of versions of `@ui5/webcomponents` in the project's `package.json`.
fn wanted_range(directory: &Path) -> Option<String> {
    let package = read_json(&directory.join("package.json"))?;
    let lists = ["dependencies", "devDependencies", "peerDependencies"];
    let range = lists.iter().find_map(|list| package.get(list)?.get(PACKAGES[0])?.as_str());
    range.filter(|range| is_plain(range)).map(str::to_owned)
}

/// Whether a version or a range is short, and has only the characters of versions and ranges.
fn is_plain(version: &str) -> bool {
    version.len() <= 40
        && version.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-^~<>=|* ".contains(&byte))
}

/// The packages in the project's `node_modules`, with their versions.
fn installed(directory: &Path) -> Vec<(String, String)> {
    let version = |package: &&str| {
        let path = directory.join("node_modules").join(package).join("package.json");
        let version = read_json(&path)?.get("version")?.as_str()?.to_owned();
        is_plain(&version).then(|| ((*package).to_owned(), version))
    };
    PACKAGES.iter().filter_map(version).collect()
}

/// Reads a JSON file, with or without a byte order mark. `None`: the file is missing, too large or invalid.
fn read_json(path: &Path) -> Option<Value> {
    if fs::metadata(path).ok()?.len() > MAX_FILE_BYTES {
        return None;
    }
    let bytes = fs::read(path).ok()?;
    serde_json::from_slice(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes)).ok()
}

/// The reference of installed packages; `None` if their manifests are unreadable or declare nothing public.
fn of_packages(directory: &Path, installed: &[(String, String)]) -> Option<Compact> {
    let folder = |package: &str| directory.join("node_modules").join(package);
    let manifest =
        |package: &str| MANIFESTS.iter().find_map(|name| read_json(&folder(package).join(name)));
    let manifests: Vec<_> = installed
        .iter()
        .filter_map(|(package, version)| {
            Some((package.clone(), version.clone(), manifest(package)?))
        })
        .collect();
    // Level 1 compresses fastest: better compression would take more time than it saves.
    Compact::open(pack(manifests, 1).ok()?).ok()
}

/// Makes the reference of packages, each with its name, version and manifest. `level` is the level
/// of compression, from 0 to 10. Fails if there is no package or no public declaration, or if the reference becomes
/// too large.
pub fn pack(packages: Vec<(String, String, Value)>, level: u8) -> Result<Vec<u8>, String> {
    let first = packages.first().ok_or("there is no package")?;
    let version = first.1.clone();
    let (mut libraries, mut symbols) = (Vec::new(), Vec::new());
    for ((package, version, manifest), number) in packages.into_iter().zip(0_u32..) {
        symbols.extend(public_declarations(&package, number, &manifest));
        libraries.push((package, version));
    }
    if symbols.is_empty() {
        return Err("the manifests declare nothing that is public".to_owned());
    }
    make_compact((TITLE, &version), &libraries, symbols, level)
}

/// The public declarations of a manifest.
fn public_declarations(package: &str, library: u32, manifest: &Value) -> Vec<Written> {
    let modules = manifest.get("modules").and_then(Value::as_array).into_iter().flatten();
    let mut all = Vec::new();
    for module in modules {
        let path = module.get("path").and_then(Value::as_str).unwrap_or_default();
        let declared = module.get("declarations").and_then(Value::as_array).into_iter().flatten();
        for declared in declared.filter_map(Value::as_object).filter(|it| is_public(it)) {
            let name = text(declared, "name");
            if name.is_empty() || path.is_empty() {
                continue;
            }
            let address = format!("{package}/{path}");
            let keys = keys(package, path, name, text(declared, "tagName"));
            let content = symbol(declared, &address);
            all.push(Written {
                name: shown_name(declared),
                library,
                module: Some(address),
                keys,
                content,
            });
        }
    }
    all
}

/// The name in suggestions: the tag, if there is one.
fn shown_name(declared: &Map<String, Value>) -> String {
    match text(declared, "tagName") {
        "" => text(declared, "name").to_owned(),
        tag => tag.to_owned(),
    }
}

/// The keys of a declaration. A declaration with the name of its file also has the module's paths as keys.
fn keys(package: &str, path: &str, name: &str, tag: &str) -> Vec<String> {
    let stem = path.strip_suffix(".js").unwrap_or(path);
    let is_named_like_file = stem.rsplit('/').next() == Some(name);
    let short = stem.strip_prefix("dist/").unwrap_or(stem);
    let mut keys = vec![tag.to_owned()];
    if is_named_like_file {
        keys.extend([path, stem, short].map(|path| format!("{package}/{path}")));
    }
    keys.extend([format!("{package}/{path}/{name}"), format!("{package}/{name}"), name.to_owned()]);
    keys.retain(|key| !key.is_empty());
    keys.iter().map(|key| normalise(key)).collect()
}

fn text<'m>(map: &'m Map<String, Value>, key: &str) -> &'m str {
    map.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Whether a declaration or a member is public. If it does not state its privacy, it is public: the short manifest
/// lists only public declarations.
fn is_public(map: &Map<String, Value>) -> bool {
    let privacy = map.get("_ui5privacy").or_else(|| map.get("privacy"));
    privacy.and_then(Value::as_str).is_none_or(|privacy| privacy == "public")
}

/// A declaration in the form of `api.json`.
fn symbol(declared: &Map<String, Value>, module: &str) -> Map<String, Value> {
    let mut symbol = Map::new();
    for (name, key) in [("kind", "kind"), ("name", "name"), ("tagName", "tagName")] {
        put(&mut symbol, name, declared.get(key).cloned());
    }
    put(&mut symbol, "module", Some(module.into()));
    if let Some(parent) = declared.get("superclass").and_then(Value::as_object) {
        let parent = format!("{}/{}", text(parent, "package"), text(parent, "module"));
        put(&mut symbol, "extends", Some(parent.into()));
    }
    put_common(&mut symbol, declared);
    let attribute = |field: &str| {
        let attributes = declared.get("attributes").and_then(Value::as_array)?;
        let of_field = |it: &&Value| it.get("fieldName").is_some_and(|name| name == field);
        attributes.iter().find(of_field)?.get("name").cloned()
    };
    let (mut fields, mut methods) = (Vec::new(), Vec::new());
    for member in members(declared, "members") {
        if text(member, "kind") == "method" {
            methods.push(method(member));
        } else {
            let mut field = part(member);
            put(&mut field, "attribute", attribute(text(member, "name")));
            fields.push(field.into());
        }
    }
    put(&mut symbol, "properties", Some(Value::Array(fields)));
    for (name, key) in [
        ("slots", "slots"),
        ("events", "events"),
        ("cssParts", "cssParts"),
        ("cssStates", "cssStates"),
    ] {
        let parts: Vec<Value> = members(declared, key).map(|member| part(member).into()).collect();
        put(&mut symbol, name, Some(Value::Array(parts)));
    }
    put(&mut symbol, "methods", Some(Value::Array(methods)));
    symbol
}

fn members<'d>(
    declared: &'d Map<String, Value>,
    key: &str,
) -> impl Iterator<Item = &'d Map<String, Value>> {
    let all = declared.get(key).and_then(Value::as_array).into_iter().flatten();
    all.filter_map(Value::as_object).filter(|member| is_public(member))
}

/// Adds a value that is neither missing nor empty.
fn put(map: &mut Map<String, Value>, name: &str, value: Option<Value>) {
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(_) | Value::Bool(_) | Value::Number(_) => false,
    };
    if let Some(value) = value.filter(|value| !is_empty(value)) {
        map.insert(name.to_owned(), value);
    }
}

fn put_common(map: &mut Map<String, Value>, from: &Map<String, Value>) {
    put(map, "since", from.get("_ui5since").cloned());
    for (name, key) in [("deprecated", "deprecated"), ("experimental", "_ui5experimental")] {
        let value = match from.get(key) {
            Some(Value::String(text)) => Some(serde_json::json!({ "text": text })),
            Some(Value::Bool(true)) => Some(serde_json::json!({})),
            Some(_) | None => None,
        };
        put(map, name, value);
    }
    put(map, "description", from.get("description").cloned());
}

/// A member of any kind, a parameter, or what a method returns.
fn part(member: &Map<String, Value>) -> Map<String, Value> {
    let mut part = Map::new();
    put(&mut part, "name", member.get("name").cloned());
    let value_type = member.get("type").or_else(|| member.get("_ui5type"));
    put(&mut part, "type", value_type.and_then(|value_type| value_type.get("text")).cloned());
    let value = member.get("default").and_then(Value::as_str).filter(|text| *text != "undefined");
    let value = value.map(|text| serde_json::from_str(text).unwrap_or_else(|_| text.into()));
    put(&mut part, "defaultValue", value);
    for key in ["readonly", "optional", "static"] {
        put(&mut part, key, member.get(key).filter(|value| **value == true).cloned());
    }
    let parameters: Vec<Value> =
        members(member, "_ui5parameters").map(|parameter| self::part(parameter).into()).collect();
    put(&mut part, "parameters", Some(Value::Array(parameters)));
    put_common(&mut part, member);
    part
}

fn method(member: &Map<String, Value>) -> Value {
    let mut method = part(member);
    let parameters: Vec<Value> =
        members(member, "parameters").map(|parameter| part(parameter).into()).collect();
    put(&mut method, "parameters", Some(Value::Array(parameters)));
    let returned = member.get("return").and_then(Value::as_object).map(part);
    put(&mut method, "returnValue", returned.map(Value::Object));
    Value::Object(method)
}

#[cfg(test)]
mod tests;
