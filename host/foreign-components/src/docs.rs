//! Reads the documentation of a component's functions from the custom section `package-docs`, which wit-component
//! writes: a version byte, then JSON.

use serde_json::Value;
use wasmparser::{Parser, Payload};

/// The name of the section.
pub(crate) const SECTION: &str = "package-docs";

/// The documentation of WIT packages.
#[derive(Debug, Default)]
pub struct Docs(Vec<Value>);

impl Docs {
    /// The documentation in the bytes of a component. Bytes that cannot be parsed are left out without an error,
    /// because the documentation only helps readers.
    pub fn of_component(bytes: &[u8]) -> Self {
        let mut all = Vec::new();
        for payload in Parser::new(0).parse_all(bytes) {
            let Ok(payload) = payload else { break };
            if let Payload::CustomSection(section) = payload
                && section.name() == SECTION
                && let Some((_version, json)) = section.data().split_first()
                && let Ok(docs) = serde_json::from_slice(json)
            {
                all.push(docs);
            }
        }
        Self(all)
    }

    /// The documentation of a function. `interface`: the full name of its interface. Only the part after the last `/`,
    /// and without the version, is compared. `None`: the component itself exports the function.
    pub fn of(&self, interface: Option<&str>, function: &str) -> Option<String> {
        let short = interface.map(short_name);
        self.0.iter().find_map(|package| match short {
            Some(interface) => entry_text(&package["interfaces"][interface]["funcs"][function]),
            None => {
                let worlds = package["worlds"].as_object()?;
                worlds.values().find_map(|world| entry_text(&world["func_exports"][function]))
            }
        })
    }

    /// The documentation of a type in the interface with this full name: its text in `docs`, and the texts of its
    /// fields or cases in `items`.
    pub fn of_type<'a>(&'a self, interface: &str, name: &str) -> Option<&'a Value> {
        let interface = short_name(interface);
        let of = |package: &'a Value| &package["interfaces"][interface]["types"][name];
        self.0.iter().map(of).find(|entry| entry.is_object())
    }
}

/// The name of an interface without its package and its version.
fn short_name(interface: &str) -> &str {
    let plain = interface.split('@').next().unwrap_or(interface);
    plain.rsplit('/').next().unwrap_or(plain)
}

/// The text of an entry. In the older format the entry is the text, in the newer one an object with the member `docs`.
fn entry_text(entry: &Value) -> Option<String> {
    let text = entry.as_str().or_else(|| entry["docs"].as_str())?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn both_formats_of_documentation_are_read() {
        let docs = Docs(vec![json!({
            "worlds": { "tool": { "func_exports": { "fetch": "Fetches." } } },
            "interfaces": { "time": { "funcs": { "now": { "docs": "The time.\n" }, "mute": {} } } },
        })]);
        assert_eq!(docs.of(None, "fetch").as_deref(), Some("Fetches."));
        assert_eq!(docs.of(Some("a:b/time@1.0.0"), "now").as_deref(), Some("The time."));
        assert_eq!(docs.of(Some("a:b/time@1.0.0"), "mute"), None);
        assert_eq!(docs.of(None, "other"), None);
    }

    #[test]
    fn bytes_that_are_not_a_component_have_no_documentation() {
        assert!(Docs::of_component(b"nonsense").0.is_empty());
    }
}
