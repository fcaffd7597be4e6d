//! The parts of an OData service's metadata that a table needs: the version, the entity sets, and their
//! properties.

use super::{property::Property, version::MetadataVersion};
use roxmltree::{Document, Node, ParsingOptions};
use std::collections::HashMap;

/// Maximum number of XML nodes in metadata.
const MAX_NODES: u32 = 2_000_000;

/// Maximum number of types in a chain of base types: the chain may be cyclic.
const MAX_CHAIN: usize = 32;

/// The version of a service, and its entity sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// The version of OData.
    pub spoken: MetadataVersion,
    sets: Vec<EntitySet>,
}

/// An entity set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntitySet {
    /// The name in the URL.
    pub name: String,
    /// Properties whose values fit into a cell, in order, those of the base types first.
    pub properties: Vec<Property>,
}

struct EntityType<'x> {
    base: Option<&'x str>,
    properties: Vec<Property>,
}

impl Metadata {
    /// Parses the XML, with any namespace prefixes. Fails with the reason.
    pub fn parse(text: &str) -> Result<Self, String> {
        let options = ParsingOptions { nodes_limit: MAX_NODES, ..ParsingOptions::default() };
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let document = Document::parse_with_options(text, options)
            .map_err(|error| format!("the metadata are not XML that can be read: {error}"))?;
        if document.root_element().tag_name().name() != "Edmx" {
            return Err("the answer is XML, but no OData metadata".to_owned());
        }
        let mut types = HashMap::new();
        for entity_type in elements(document.root(), "EntityType") {
            let Some(name) = entity_type.attribute("Name") else {
                continue;
            };
            for namespace in namespaces(entity_type) {
                types.insert(format!("{namespace}.{name}"), EntityType::read(entity_type));
            }
        }
        let sets = elements(document.root(), "EntitySet").filter_map(|set| {
            let name = set.attribute("Name")?;
            let properties =
                set.attribute("EntityType").map(|type_name| properties_of(type_name, &types));
            Some(EntitySet { name: name.to_owned(), properties: properties.unwrap_or_default() })
        });
        Ok(Self { spoken: MetadataVersion::of(document.root_element()), sets: sets.collect() })
    }

    /// The entity set of that name.
    pub fn set(&self, name: &str) -> Option<&EntitySet> {
        self.sets.iter().find(|set| set.name == name)
    }

    /// The names of all entity sets that a call can name.
    pub fn set_names(&self) -> impl Iterator<Item = &str> {
        self.sets.iter().map(|set| set.name.as_str()).filter(|name| is_plain(name))
    }
}

impl<'x> EntityType<'x> {
    fn read(entity_type: Node<'x, 'x>) -> Self {
        let properties = entity_type
            .children()
            .filter(|child| child.tag_name().name() == "Property")
            .filter(|property| property.attribute("Type").is_none_or(fits_into_a_cell))
            .filter_map(|property| Some((property.attribute("Name")?, property)))
            .filter(|(name, _)| is_plain(name))
            .map(|(name, property)| Property::read(name, property));
        Self { base: entity_type.attribute("BaseType"), properties: properties.collect() }
    }
}

/// Whether a name from a service is safe in files and answers. Services are untrusted, so their names have to follow
/// the same rule as names in arguments.
pub fn is_plain(name: &str) -> bool {
    (1..=128).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Whether values of a type fit into a cell. Collections, types that the service defines itself, binary data, streams
/// and geographic data do not fit.
fn fits_into_a_cell(edm_type: &str) -> bool {
    edm_type.strip_prefix("Edm.").is_some_and(|name| {
        !matches!(name, "Stream" | "Binary")
            && !name.starts_with("Geography")
            && !name.starts_with("Geometry")
    })
}

fn elements<'x>(root: Node<'x, 'x>, name: &'static str) -> impl Iterator<Item = Node<'x, 'x>> {
    root.descendants().filter(move |node| node.tag_name().name() == name)
}

/// The schema's namespace, and its alias.
fn namespaces<'x>(node: Node<'x, 'x>) -> impl Iterator<Item = &'x str> {
    let schema = node.ancestors().find(|ancestor| ancestor.tag_name().name() == "Schema");
    let names = schema.map(|schema| [schema.attribute("Namespace"), schema.attribute("Alias")]);
    names.into_iter().flatten().flatten()
}

fn properties_of(name: &str, types: &HashMap<String, EntityType<'_>>) -> Vec<Property> {
    let mut chain = Vec::new();
    let mut next = Some(name);
    while let Some(found) = next.and_then(|name| types.get(name)) {
        chain.push(found);
        next = found.base.filter(|_| chain.len() < MAX_CHAIN);
    }
    let mut properties: Vec<Property> = Vec::new();
    for property in chain.iter().rev().flat_map(|found| &found.properties) {
        if !properties.iter().any(|known| known.name == property.name) {
            properties.push(property.clone());
        }
    }
    properties
}
