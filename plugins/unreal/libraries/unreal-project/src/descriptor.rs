//! Reads `.uproject` and `.uplugin` files.

use serde_json::Value;
use std::{borrow::Cow, fs, io, path::Path};

/// Maximum size of a descriptor, in bytes.
const MAX_DESCRIPTOR_BYTES: u64 = 4 << 20;

/// The engine of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Association {
    /// An installed version, such as `5.6`.
    Version(String),
    /// A source build, by its registered id.
    Guid(String),
    /// An engine in a folder.
    Path(String),
    /// No engine is named: the project lies in the engine's folder, or the field is empty.
    #[default]
    Absent,
}

/// An entry that enables or disables an Unreal plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginUse {
    /// Its name.
    pub name: String,
    /// Whether the entry enables the plugin.
    pub enabled: bool,
}

/// The content of a `.uproject` or `.uplugin`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Descriptor {
    /// The engine.
    pub association: Association,
    /// The description.
    pub description: String,
    /// The names of the C++ modules.
    pub modules: Vec<String>,
    /// The Unreal plugins that the descriptor enables or disables.
    pub plugins: Vec<PluginUse>,
    /// Additional folders of plugins, relative to the project.
    pub plugin_dirs: Vec<String>,
    /// The version, for display.
    pub version: String,
}

impl Descriptor {
    /// Reads a file, in UTF-8 or in UTF-16 with a byte order mark.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, is larger than 4 MiB or is not a JSON object.
    pub fn read(path: &Path) -> io::Result<Self> {
        if fs::metadata(path)?.len() > MAX_DESCRIPTOR_BYTES {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is larger than 4 MiB"));
        }
        Self::parse(&fs::read(path)?)
            .map_err(|fault| io::Error::new(io::ErrorKind::InvalidData, fault))
    }

    /// Parses the bytes of a descriptor.
    ///
    /// # Errors
    ///
    /// When the bytes are not a JSON object; the error is a message.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let text = decode(bytes);
        let json: Value = serde_json::from_str(&text).map_err(|fault| fault.to_string())?;
        if !json.is_object() {
            return Err("it is not a JSON object".to_owned());
        }
        let text = |key: &str| json[key].as_str().unwrap_or_default().to_owned();
        let list = |key: &str| json[key].as_array().into_iter().flatten();
        let plugin = |plugin: &Value| {
            let name = plugin["Name"].as_str()?.to_owned();
            Some(PluginUse { name, enabled: plugin["Enabled"].as_bool().unwrap_or(true) })
        };
        let name = |module: &Value| module["Name"].as_str().map(str::to_owned);
        let dirs = list("AdditionalPluginDirectories").filter_map(Value::as_str);
        Ok(Self {
            association: association(&text("EngineAssociation")),
            description: text("Description"),
            modules: list("Modules").filter_map(name).collect(),
            plugins: list("Plugins").filter_map(plugin).collect(),
            plugin_dirs: dirs.map(str::to_owned).collect(),
            version: text("VersionName"),
        })
    }
}

fn association(text: &str) -> Association {
    let text = text.trim();
    if text.is_empty() {
        Association::Absent
    } else if text.starts_with('{') {
        Association::Guid(text.to_owned())
    } else if text.contains(['/', '\\']) || text.starts_with('.') {
        Association::Path(text.to_owned())
    } else {
        Association::Version(text.to_owned())
    }
}

/// Decodes text: UTF-16 if it begins with a byte order mark of UTF-16, or else UTF-8. Invalid parts
/// are replaced.
pub fn decode(bytes: &[u8]) -> Cow<'_, str> {
    let decode_utf16 = |bytes: &[u8], read: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| read([pair[0], pair[1]])).collect();
        Cow::Owned(String::from_utf16_lossy(&units))
    };
    match bytes {
        [0xEF, 0xBB, 0xBF, rest @ ..] => String::from_utf8_lossy(rest),
        [0xFF, 0xFE, rest @ ..] => decode_utf16(rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => decode_utf16(rest, u16::from_be_bytes),
        rest => String::from_utf8_lossy(rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_engine_in_all_its_forms() {
        let of = |text: &str| Descriptor::parse(text.as_bytes()).map(|found| found.association);
        let version = Ok(Association::Version("5.6".to_owned()));
        assert_eq!(of(r#"{"EngineAssociation": "5.6"}"#), version);
        assert_eq!(of("\u{FEFF}{\"EngineAssociation\": \"5.6\"}"), version);
        let guid = "{0A1B2C3D-4455-6677-8899-AABBCCDDEEFF}";
        let text = format!(r#"{{"EngineAssociation": "{guid}"}}"#);
        assert_eq!(of(&text), Ok(Association::Guid(guid.to_owned())));
        let path = "E:/UnrealEngine";
        let text = format!(r#"{{"EngineAssociation": "{path}"}}"#);
        assert_eq!(of(&text), Ok(Association::Path(path.to_owned())));
        assert_eq!(of("{}"), Ok(Association::Absent));
        assert!(of("[]").is_err() && of("{,}").is_err());
        let wide: Vec<u8> = "\u{FEFF}{\"EngineAssociation\": \"5.6\"}"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        assert_eq!(Descriptor::parse(&wide).map(|found| found.association), version);
    }

    #[test]
    fn modules_and_plugins() {
        let text = r#"{"Modules": [{"Name": "Game"}, {}], "Plugins": [
            {"Name": "A", "Enabled": true}, {"Name": "B", "Enabled": false}, 3],
            "AdditionalPluginDirectories": ["../More"], "Description": "A game"}"#;
        let found = Descriptor::parse(text.as_bytes()).expect("it is one");
        assert_eq!(found.modules, ["Game"]);
        let plugins: Vec<_> = found.plugins.iter().map(|p| (p.name.as_str(), p.enabled)).collect();
        assert_eq!(plugins, [("A", true), ("B", false)]);
        assert_eq!((found.plugin_dirs.len(), found.description.as_str()), (1, "A game"));
    }
}
