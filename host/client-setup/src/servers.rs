//! Reads all servers of a client's file, whichever client it belongs to.

use std::path::Path;

use serde_json::Value;

use crate::clients::Format;
use crate::document::Document;
use crate::entry::Shape;
use crate::plan::{Refusal, read};

/// The formats in which a file may list servers, by the extension of its name.
fn formats(path: &Path) -> &'static [Format] {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("toml") => &[Format::Toml("mcp_servers")],
        Some("yaml" | "yml") => &[Format::YamlMap("extensions"), Format::YamlList("mcpServers")],
        _ => {
            &[Format::Json("mcpServers"), Format::Json("servers"), Format::Json("context_servers")]
        }
    }
}

/// The servers of a file, by name, as their client writes them.
///
/// # Errors
///
/// [`Refusal`]. The file cannot be read or parsed, or has no servers.
pub fn servers(path: &Path) -> Result<Vec<(String, Value)>, Refusal> {
    let missing = || Refusal::Unreadable {
        path: path.to_owned(),
        cause: std::io::ErrorKind::NotFound.into(),
    };
    let text = read(path)?.ok_or_else(missing)?;
    let mut found = Vec::new();
    for format in formats(path) {
        let document = Document::parse(*format, &text)
            .map_err(|cause| Refusal::Unparsable { path: path.to_owned(), cause })?;
        let entries = document.entries().unwrap_or_default();
        found.extend(entries.into_iter().map(|(name, entry)| (name.to_owned(), entry.clone())));
    }
    if found.is_empty() {
        let looked_for: Vec<_> = formats(path).iter().map(|format| format.key()).collect();
        return Err(Refusal::NoneListed { path: path.to_owned(), looked_for });
    }
    Ok(found)
}

/// Whether a server's program is Portcullis itself.
pub fn is_portcullis(entry: &Value) -> bool {
    ["command", "cmd"].iter().any(|key| {
        let shape = Shape { before: &[], command: key, after: &[] };
        // The server's name does not matter here, so it is left empty.
        shape.portcullis_entry("", entry).is_some()
    })
}
