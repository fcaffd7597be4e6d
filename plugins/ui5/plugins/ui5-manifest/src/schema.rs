//! Selects the schema for a manifest's version.

use crate::pack::Pack;
use ajv_report::Dialect;
use semver::Version;
use serde_json::Value;
use ui5::fetched::NO_SUCH_RESOURCE;

/// A schema and how it was selected.
pub struct Schema {
    /// The class of Ajv for the schema.
    pub dialect: Dialect,
    /// The schema itself.
    pub document: Value,
    /// Set if the schema belongs to another version.
    pub stand_in: Option<StandIn>,
}

/// A schema in place of an unavailable one.
pub struct StandIn {
    /// The version of the schema.
    pub version: String,
    /// Whether the schema is newer than the manifest.
    pub newer: bool,
    /// Why the right schema is unavailable.
    pub why: String,
}

impl StandIn {
    /// The note for a manifest of the version `version`, in which the schema finds `errors` errors.
    pub fn note(&self, version: &str, errors: usize) -> String {
        let Self { version: name, newer, why } = self;
        let kind = if *newer {
            format!("the nearest newer one: what {name} added counts as valid")
        } else {
            format!(
                "the nearest older one: what {version} added counts as an error, and what {version} removed \
                 counts as valid"
            )
        };
        format!(
            "Whether the manifest is valid is not known: the schema of manifest version {version} is \
             not available. {why} Checked instead with the schema of {name}, {kind}. Errors found: {errors}."
        )
    }
}

/// Finds the schema for a manifest version: the packed schema, or else the one from the source. If the source
/// fails, a packed schema that lists the version is used instead, since real manifests declare versions that
/// were never released, such as 1.74.0. If no packed schema lists the version, the nearest packed schema is
/// used.
///
/// The version has to be valid. Fails with the source's error if no packed schema lists the version
/// and the source answers that there is no such schema.
pub fn find(
    pack: &Pack<'_>,
    version: &str,
    source: impl FnOnce(&str) -> Result<Value, String>,
) -> Result<Schema, String> {
    if let Some(document) = pack.document(version) {
        return Schema::exact(document, version);
    }
    let why = match source(version) {
        Ok(document) => return Schema::exact(document, version),
        Err(why) => why,
    };
    let failure = format!("Failed to fetch schema for manifest version '{version}': {why}");
    let (name, document, newer) = match stand_in(pack, version) {
        Some((name, document)) => (name, document, true),
        // The source answered that the version does not exist.
        None if why.contains(NO_SUCH_RESOURCE) => return Err(failure),
        None => nearest(pack, version).ok_or(failure)?,
    };
    // In the note, more text follows the reason.
    let why = if why.ends_with('.') { why } else { why + "." };
    Schema::new(document, version, Some(StandIn { version: name.to_owned(), newer, why }))
}

/// Finds a schema for a manifest that is older than all schemas that can be fetched: the packed schema of its
/// version, or else the oldest packed schema that lists the version. Fails if no schema does.
pub fn find_for_older(pack: &Pack<'_>, version: &str) -> Result<Schema, String> {
    if let Some(document) = pack.document(version) {
        return Schema::exact(document, version);
    }
    let Some((name, document)) = stand_in(pack, version) else {
        return Err(format!(
            "Manifest version '{version}' is not supported. Please upgrade to a newer one."
        ));
    };
    let why = "Only few versions of that age have a schema.".to_owned();
    Schema::new(document, version, Some(StandIn { version: name.to_owned(), newer: true, why }))
}

impl Schema {
    fn exact(document: Value, version: &str) -> Result<Self, String> {
        Self::new(document, version, None)
    }

    fn new(mut document: Value, version: &str, stand_in: Option<StandIn>) -> Result<Self, String> {
        let dialect = match document.get("$schema").and_then(Value::as_str) {
            Some("https://json-schema.org/draft/2020-12/schema") => Dialect::Draft202012,
            Some("http://json-schema.org/draft-07/schema#") => Dialect::Draft07,
            other => {
                return Err(format!(
                    "Failed to create UI5 manifest validate function: {} is not a supported \
                     meta-schema. Supported meta-schemas: \
                     \"https://json-schema.org/draft/2020-12/schema\", \
                     \"http://json-schema.org/draft-07/schema#\"",
                    other.unwrap_or("undefined")
                ));
            }
        };
        if dialect == Dialect::Draft202012 {
            use_prefix_items(&mut document);
        }
        accept(version, &mut document);
        Ok(Self { dialect, document, stand_in })
    }
}

/// Adds the manifest's version to the versions that the schema accepts. Many schemas do not list their own
/// version: 1.52.0 lists versions up to 1.51.0, and 1.72.3 lists versions up to 1.72.0.
fn accept(version: &str, document: &mut Value) {
    let known = document.pointer_mut("/properties/_version/enum").and_then(Value::as_array_mut);
    if let Some(known) = known
        && !known.iter().any(|known| known == version)
    {
        known.push(version.into());
    }
}

/// Renames `items` by position to `prefixItems`: the schemas of 1.67.2 to 1.68.0 declare 2020-12, but use
/// the older name.
fn use_prefix_items(document: &mut Value) {
    let definitions = document.get_mut("$defs").and_then(Value::as_object_mut);
    for definition in definitions.into_iter().flat_map(|definitions| definitions.values_mut()) {
        let options = definition.get_mut("oneOf").and_then(Value::as_array_mut);
        for option in options.into_iter().flatten().filter_map(Value::as_object_mut) {
            if option.get("items").is_some_and(Value::is_array)
                && let Some(items) = option.shift_remove("items")
            {
                option.insert("prefixItems".to_owned(), items);
            }
        }
    }
}

/// The nearest newer packed schema that lists the version. Schemas list the earlier versions that they
/// accept, and the nearest schema differs least.
fn stand_in<'p>(pack: &Pack<'p>, version: &str) -> Option<(&'p str, Value)> {
    let wanted = Version::parse(version).ok()?;
    newer(pack, &wanted).find_map(|name| {
        let document = pack.document(name)?;
        let known = document.pointer("/properties/_version/enum")?.as_array()?;
        known.iter().any(|known| known == version).then_some((name, document))
    })
}

/// The nearest packed schema, and whether it is newer than the version. The nearest newer schema of the same
/// major version comes first, then the newest schema of this major version, then the newest of all.
fn nearest<'p>(pack: &Pack<'p>, version: &str) -> Option<(&'p str, Value, bool)> {
    let wanted = Version::parse(version).ok()?;
    let nearest = newer(pack, &wanted).next();
    let newest =
        || packed(pack).max_by_key(|(version, _)| (version.major == wanted.major, version.clone()));
    let name = nearest.or_else(|| newest().map(|(_, name)| name))?;
    Some((name, pack.document(name)?, nearest.is_some()))
}

/// Newer packed schemas of the same major version, the nearest first.
fn newer<'p>(pack: &Pack<'p>, wanted: &Version) -> impl Iterator<Item = &'p str> {
    let is_newer = |version: &Version| version.major == wanted.major && version > wanted;
    let mut newer: Vec<_> = packed(pack).filter(|(version, _)| is_newer(version)).collect();
    newer.sort();
    newer.into_iter().map(|(_, name)| name)
}

/// The versions with a packed schema.
fn packed<'p>(pack: &Pack<'p>) -> impl Iterator<Item = (Version, &'p str)> {
    pack.names().filter_map(|name| Some((Version::parse(name).ok()?, name)))
}

/// Removes annotations, which are most of a schema.
pub fn without_annotations(mut schema: Value) -> Value {
    drop_keywords(&mut schema, &|name| !is_annotation(name));
    schema
}

/// Removes annotations and `format`: Ajv does not check formats in schemas that it treats as meta-schemas.
pub fn without_formats(mut schema: Value) -> Value {
    drop_keywords(&mut schema, &|name| !is_annotation(name) && name != "format");
    schema
}

fn is_annotation(keyword: &str) -> bool {
    matches!(
        keyword,
        "$comment"
            | "default"
            | "deprecated"
            | "description"
            | "example"
            | "examples"
            | "features"
            | "i18n"
            | "title"
            | "version"
    )
}

fn drop_keywords(schema: &mut Value, keep: &dyn Fn(&str) -> bool) {
    match schema {
        Value::Array(schemas) => schemas.iter_mut().for_each(|schema| drop_keywords(schema, keep)),
        Value::Object(keywords) => {
            // Ajv resolves references even in annotations.
            keywords.retain(|name, value| keep(name) || value.to_string().contains("\"$ref\""));
            for (name, value) in keywords {
                match (name.as_str(), value) {
                    ("const" | "enum", _) => {}
                    (
                        "$defs" | "definitions" | "dependencies" | "dependentSchemas"
                        | "patternProperties" | "properties",
                        Value::Object(schemas),
                    ) => schemas.values_mut().for_each(|schema| drop_keywords(schema, keep)),
                    (_, value) => drop_keywords(value, keep),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
