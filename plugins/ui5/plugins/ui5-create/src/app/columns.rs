//! What the table of an app shows: the properties that were asked for, as far as the service has them.

use crate::service::metadata::Metadata;

/// How many properties are shown when none is named.
const AT_MOST: usize = 5;

/// How many entity sets are named to somebody who named none.
const SETS_NAMED: usize = 20;

/// An entity set and what is shown of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    /// The entity set.
    pub set: String,
    /// Its properties, each once.
    pub properties: Vec<String>,
}

/// The columns, and what to tell about them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Planned {
    /// Without an entity set there are none.
    pub columns: Option<Columns>,
    /// What was found out.
    pub notes: Vec<String>,
}

/// Fails when the service has no such entity set.
pub fn plan(
    set: Option<&str>,
    wanted: &[String],
    metadata: Result<Metadata, String>,
) -> Result<Planned, String> {
    let mut planned = Planned::default();
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
    let mut properties: Vec<String> = Vec::new();
    for name in wanted {
        if !properties.contains(name) {
            properties.push(name.clone());
        }
    }
    if let Some(metadata) = metadata {
        let Some(found) = metadata.set(set) else {
            return Err(format!(
                "The provided OData V4 entity set '{set}' does not exist in the service metadata. \
                 Please check the entity set name and ensure it is correct or omit it to generate \
                 the app without data in the UI."
            ));
        };
        let (known, unknown): (Vec<_>, Vec<_>) =
            properties.into_iter().partition(|name| found.properties.contains(name));
        if !unknown.is_empty() {
            planned.notes.push(format!(
                "Left out, since '{set}' has no such properties that a table can show: {}.",
                unknown.join(", ")
            ));
        }
        properties = known;
        if properties.is_empty() {
            properties = found.properties.iter().take(AT_MOST).cloned().collect();
        }
    }
    planned.columns = Some(Columns { set: set.to_owned(), properties });
    Ok(planned)
}

fn name_sets(metadata: &Metadata) -> Option<String> {
    let names: Vec<&str> = metadata.set_names().take(SETS_NAMED).collect();
    (!names.is_empty()).then(|| format!("The service has the entity sets {}.", names.join(", ")))
}
