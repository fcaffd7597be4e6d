//! MCP resources: objects as T3D, Blueprints as Markdown, and the project's maps and Blueprints.

use crate::{
    answer::shown,
    live::{self, Fault, Kind, names::AssetName, value::Reply},
    offline::{self, Offline},
    source::Mode,
};
use portcullis_plugin::prelude::*;
use std::fs;
use unreal_project::{Entry, Index, State};

const T3D: &str = "unreal+t3d://";
const MARKDOWN: &str = "unreal+md://";
/// MIME type of text exported by the engine.
const OF_THE_ENGINE: &str = "application/vnd.unreal.t3d";
/// MIME type of reconstructed text, which must never be imported.
const RECONSTRUCTED: &str = "text/plain; profile=t3d-like";
/// Number of resources on a page of the list.
const PAGE: usize = 200;
/// Maximum number of completions, by MCP.
const MAX_COMPLETIONS: usize = 100;
/// Maximum length of the text of one resource: in characters for text from the editor, and approximately in bytes for
/// text from the files.
const MAX_TEXT: usize = 8 << 20;

/// The resources of the session's project.
pub struct ProjectResources;

impl Resources for ProjectResources {
    fn templates() -> Vec<Template> {
        vec![
            Template::new(format!("{T3D}{{+filepath}}"), "blueprint-t3d")
                .title("Object as T3D")
                .description("An asset as a running editor exports it, or as reconstructed from the file. Reconstructed text says so in its first line and is not for import. The path is like /Game/Doors/BP_Door."),
            Template::new(format!("{MARKDOWN}{{+filepath}}"), "blueprint-markdown")
                .title("Blueprint as Markdown")
                .description("A Blueprint: parent, components, variables, and its graphs step by step. The path is like /Game/Doors/BP_Door.")
                .mime_type("text/markdown"),
        ]
    }

    fn list(request: &Request<'_>, cursor: Option<&str>) -> Result<Listing, Failure> {
        // Without a project the list is empty, which is not an error.
        if offline::project(None).is_err() {
            return Ok(Listing::default());
        }
        let offset: usize = match cursor {
            None => 0,
            Some(cursor) => cursor.parse().map_err(|_| {
                Failure::invalid_arguments(format!(
                    "`{}` is not a cursor of this list",
                    shown(cursor)
                ))
            })?,
        };
        let offline = Offline::open(request, None)?;
        let index = &offline.index;
        let mut listed = index.entries().iter().filter_map(|entry| listed(index, entry));
        let resources: Vec<Resource> = listed.by_ref().skip(offset).take(PAGE).collect();
        let next = listed.next().map(|_| (offset + PAGE).to_string());
        Ok(Listing { resources, next, fresh: None })
    }

    fn read(request: &Request<'_>, uri: &str) -> Result<Contents, Failure> {
        let address = Address::parse(uri).ok_or_else(|| Failure::not_found(uri))?;
        match address {
            Address::T3d(path) => match from_editor(request, uri, &path)? {
                Some(text) => Ok(Contents::text(uri, OF_THE_ENGINE, text)),
                None => reconstructed(request, uri, &path),
            },
            Address::Markdown(path) => {
                let offline = Offline::open(request, None)?;
                let opened = opened(&offline, uri, &path)?;
                let text = opened.package()?.markdown(&opened.package, MAX_TEXT);
                if text.is_empty() {
                    return Err(Failure::not_found(uri));
                }
                Ok(Contents::text(uri, "text/markdown", text))
            }
        }
    }

    fn version(request: &Request<'_>, uri: &str) -> Result<Option<String>, Failure> {
        let Some(Address::T3d(path) | Address::Markdown(path)) = Address::parse(uri) else {
            return Err(Failure::not_found(uri));
        };
        let offline = Offline::open(request, None)?;
        let Some(entry) = entry(&offline.index, &path) else { return Ok(None) };
        // The file itself is checked, because the index can miss a file that is changed in place: such a change leaves
        // the time of the folder as it is.
        let file = offline.project.dir.join(offline.index.text(entry.file));
        let Ok(found) = fs::metadata(file) else { return Ok(Some("gone".to_owned())) };
        let modified = found.modified().ok().and_then(|time| {
            time.duration_since(std::time::UNIX_EPOCH).ok().map(|since| since.as_nanos())
        });
        Ok(Some(format!("{}-{}", found.len(), modified.unwrap_or_default())))
    }

    fn complete(
        request: &Request<'_>,
        template: &str,
        variable: &str,
        value: &str,
        _context: &[(String, String)],
    ) -> Vec<String> {
        let which =
            if template.starts_with(MARKDOWN) { PathKind::Blueprints } else { PathKind::All };
        if variable == "filepath" { complete(request, which, value) } else { Vec::new() }
    }
}

/// The parsed URI of a resource.
enum Address {
    T3d(String),
    Markdown(String),
}

impl Address {
    fn parse(uri: &str) -> Option<Self> {
        let of = |scheme| {
            let path = decoded(uri.strip_prefix(scheme)?)?;
            let path = if path.starts_with('/') { path } else { format!("/{path}") };
            (path.len() > 2 && !path.chars().any(char::is_control)).then_some(path)
        };
        of(T3D).map(Self::T3d).or_else(|| of(MARKDOWN).map(Self::Markdown))
    }
}

/// Decodes percent-encoding; `None` if the encoding or the UTF-8 is invalid.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next()?, rest.next()?];
        // The parser of numbers would also accept a sign.
        let is_hex = digits.iter().all(u8::is_ascii_hexdigit);
        let digits = std::str::from_utf8(&digits).ok().filter(|_| is_hex)?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
    }
    String::from_utf8(bytes).ok()
}

/// Percent-encodes everything but ASCII letters, digits, and the characters `/-._~`.
fn encoded(path: &str) -> String {
    let mut uri = String::new();
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri
}

fn entry<'i>(index: &'i Index, path: &str) -> Option<&'i Entry> {
    index.find(unreal_project::object_path(path)?.0)
}

fn is_blueprint(index: &Index, entry: &Entry) -> bool {
    index.assets_of(entry).iter().any(|asset| index.is_blueprint(asset))
}

/// The entry of a map or a Blueprint in the list; `None` for other packages, and for packages that
/// are not read or hold an external actor or object.
fn listed(index: &Index, entry: &Entry) -> Option<Resource> {
    let is_read = matches!(entry.state, State::Read | State::Partly);
    if !is_read || entry.is_external {
        return None;
    }
    let package = index.text(entry.package);
    let (scheme, mime_type, what) = if entry.is_map {
        (T3D, RECONSTRUCTED, "Map")
    } else if is_blueprint(index, entry) {
        (MARKDOWN, "text/markdown", "Blueprint")
    } else {
        return None;
    };
    let name = shown(package.rsplit('/').next().unwrap_or(package));
    let resource = Resource::new(format!("{scheme}{}", encoded(package)), name)
        .description(format!("{what} {}", shown(package)));
    // The MIME type of a map depends on the source of the text.
    Some(if entry.is_map { resource } else { resource.mime_type(mime_type) })
}

/// The text of an object from the editor; `None` if the files have to answer.
fn from_editor(request: &Request<'_>, uri: &str, path: &str) -> Result<Option<String>, Failure> {
    let mode = Mode::set()?;
    let Ok(project) = offline::project(None) else { return Ok(None) };
    if mode == Mode::Offline {
        return Ok(None);
    }
    let asked = live::editor(request, Some(&project)).and_then(|editor| {
        if editor.seen.kind == Kind::Epic {
            return Err(Fault::Unsupported(
                "Epic's server cannot export objects: this answer is from the files",
            ));
        }
        // The editor's server has a resource of the same URI, but only for Blueprints, and for no path with a comma or `=`.
        // If the server refuses the URI, its tool `export_asset` exports the object.
        match editor.resource(uri) {
            Err(Fault::Refused(..)) => {
                let object = AssetName::read(path)?.path();
                let arguments = json!({ "objectPath": object, "format": "T3D" });
                let result = editor.read("export_asset", &arguments)?;
                Reply::of("export_asset", &result).text("content")?;
                Ok(result["content"].as_str().unwrap_or_default().to_owned())
            }
            other => other,
        }
    });
    match asked {
        Ok(text) => Ok(Some(unreal_package::visible(&text, MAX_TEXT, true).into_owned())),
        Err(Fault::Failed(_)) if mode == Mode::Live => Err(Failure::not_found(uri)),
        Err(Fault::Unsupported(_) | Fault::NotSet) => Ok(None),
        Err(fault) if mode == Mode::Live => Err(Failure::from(fault)),
        Err(_) => Ok(None),
    }
}

fn opened(offline: &Offline, uri: &str, path: &str) -> Result<unreal_project::Opened, Failure> {
    if entry(&offline.index, path).is_none() {
        return Err(Failure::not_found(uri));
    }
    offline.read(path)
}

fn reconstructed(request: &Request<'_>, uri: &str, path: &str) -> Result<Contents, Failure> {
    let offline = Offline::open(request, None)?;
    let opened = opened(&offline, uri, path)?;
    let package = opened.package()?;
    let object = opened.find(&package).ok_or_else(|| Failure::not_found(uri))?;
    let text = package.t3d(object, &opened.package, MAX_TEXT).text;
    Ok(Contents::text(uri, RECONSTRUCTED, text))
}

/// The kind of paths to complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathKind {
    /// Packages.
    All,
    /// Packages with a Blueprint.
    Blueprints,
    /// Maps.
    Maps,
    /// Folders.
    Folders,
}

/// Paths that start with the typed text, then other paths that contain the text.
pub fn complete(request: &Request<'_>, which: PathKind, value: &str) -> Vec<String> {
    let Ok(offline) = Offline::open(request, None) else { return Vec::new() };
    let index = &offline.index;
    let wanted = value.to_lowercase();
    let fits = |entry: &&Entry| {
        !entry.is_external
            && match which {
                PathKind::All | PathKind::Folders => true,
                PathKind::Blueprints => is_blueprint(index, entry),
                PathKind::Maps => entry.is_map,
            }
    };
    let mut paths: Vec<&str> = index
        .entries()
        .iter()
        .filter(fits)
        .map(|entry| index.text(entry.package))
        .map(|path| match which {
            PathKind::Folders => path.rsplit_once('/').map_or("", |(folder, _)| folder),
            PathKind::All | PathKind::Blueprints | PathKind::Maps => path,
        })
        .filter(|path| !path.is_empty())
        .collect();
    paths.dedup();
    let mut found: Vec<(bool, &str)> = paths
        .into_iter()
        .filter_map(|path| {
            let at = path.to_lowercase().find(&wanted)?;
            Some((at != 0, path))
        })
        .collect();
    found.sort_unstable();
    found.dedup();
    found.into_iter().take(MAX_COMPLETIONS).map(|(_, path)| shown(path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_encoded_and_decoded() {
        let path = "/Game/T\u{FC}r #1/BP%";
        assert_eq!(decoded(&encoded(path)).as_deref(), Some(path));
        for damaged in ["%4", "%zz", "%ff", "%+4", "%-0"] {
            assert_eq!(decoded(damaged), None, "{damaged}");
        }
        let of = |uri| match Address::parse(uri)? {
            Address::T3d(path) => Some(("t3d", path)),
            Address::Markdown(path) => Some(("md", path)),
        };
        assert_eq!(of("unreal+t3d:///Game/A"), Some(("t3d", "/Game/A".to_owned())));
        assert_eq!(of("unreal+md://Game/A"), Some(("md", "/Game/A".to_owned())));
        assert_eq!(
            (of("unreal+t3d://"), of("file:///Game/A"), of("unreal+md:///a%0a")),
            (None, None, None)
        );
    }
}
