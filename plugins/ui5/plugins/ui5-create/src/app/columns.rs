//! Chooses the columns of an app's table: the properties that the call names and the service has, or else the
//! first properties in the metadata.

use crate::service::{metadata::Metadata, property::Property, version::ODataVersion};

/// Maximum number of columns if the call names none.
const MAX_COLUMNS: usize = 5;

/// Maximum number of entity sets to suggest if the call names none.
const MAX_SETS: usize = 20;

/// An entity set and the properties to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    /// The entity set.
    pub set: String,
    /// The properties to show, without duplicates.
    pub properties: Vec<Property>,
}

impl Columns {
    /// The names of the properties.
    pub fn names(&self) -> Vec<&str> {
        self.properties.iter().map(|property| property.name.as_str()).collect()
    }

    /// The UI5 types that bindings of these properties name, sorted, without duplicates. Only OData
    /// V2 needs them.
    pub fn types(&self, version: ODataVersion) -> Vec<&'static str> {
        let formats = self.properties.iter().filter_map(|property| property.format.as_ref());
        let mut types: Vec<&str> = match version {
            ODataVersion::V2 => formats.map(|format| format.ui5_type).collect(),
            ODataVersion::V4 => Vec::new(),
        };
        types.sort_unstable();
        types.dedup();
        types
    }
}

/// The columns, and notes for the answer about them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnPlan {
    /// `None` without an entity set.
    pub columns: Option<Columns>,
    /// The notes.
    pub notes: Vec<String>,
}

/// Chooses the columns. Fails if the service has no such entity set.
pub fn plan(
    set: Option<&str>,
    wanted: &[String],
    metadata: Result<Metadata, String>,
    version: ODataVersion,
) -> Result<ColumnPlan, String> {
    let mut planned = ColumnPlan::default();
    let metadata = match metadata {
        Ok(metadata) => Some(metadata),
        Err(why) => {
            planned.notes.push(format!(
                "The metadata of the OData service could not be read, so the given entity set and \
                 properties have not been verified, and none were chosen automatically. {why}"
            ));
            None
        }
    };
    let Some(set) = set else {
        planned.notes.extend(metadata.and_then(|metadata| name_sets(&metadata)));
        return Ok(planned);
    };
    let mut properties: Vec<Property> = Vec::new();
    for name in wanted {
        if !properties.iter().any(|known| known.name == *name) {
            properties.push(Property::named(name));
        }
    }
    if let Some(metadata) = metadata {
        let Some(entity_set) = metadata.set(set) else {
            return Err(format!(
                "The provided OData {} entity set '{set}' does not exist in the service metadata. \
                 Please check the entity set name and ensure it is correct or omit it to generate \
                 the app without data in the UI.",
                version.name()
            ));
        };
        let mut unknown = Vec::new();
        properties.retain_mut(|property| {
            let known = entity_set.properties.iter().find(|known| known.name == property.name);
            match known {
                Some(known) => property.clone_from(known),
                None => unknown.push(property.name.clone()),
            }
            known.is_some()
        });
        if !unknown.is_empty() {
            planned.notes.push(format!(
                "Left out, since '{set}' has no properties of these names that a table can show: {}.",
                unknown.join(", ")
            ));
        }
        if properties.is_empty() {
            properties = entity_set.properties.iter().take(MAX_COLUMNS).cloned().collect();
        }
    }
    planned.columns = Some(Columns { set: set.to_owned(), properties });
    Ok(planned)
}

fn name_sets(metadata: &Metadata) -> Option<String> {
    let names: Vec<&str> = metadata.set_names().take(MAX_SETS).collect();
    (!names.is_empty()).then(|| format!("The service has the entity sets {}.", names.join(", ")))
}
