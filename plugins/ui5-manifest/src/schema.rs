//! The schema that judges a manifest: which one, and from where.

use crate::pack::Pack;
use ajv_report::Dialect;
use semver::Version;
use serde_json::Value;
use ui5::fetched::NO_SUCH_RESOURCE;

/// A schema and how it came to be the one.
pub struct Schema {
    /// Which class of Ajv it is for.
    pub dialect: Dialect,
    /// The schema itself.
    pub document: Value,
    /// Set when it is that of another version.
    pub stand_in: Option<StandIn>,
}

/// A schema in place of one that cannot be had.
pub struct StandIn {
    /// Of which version it is.
    pub version: String,
    /// Whether that is a newer one. Otherwise it is the newest there is.
    pub newer: bool,
    /// Why not the right one.
    pub why: String,
}

impl StandIn {
    /// What to know about a verdict on a manifest of that version.
    pub fn note(&self, version: &str) -> String {
        let Self { version: name, newer, why } = self;
        let kind = if *newer {
            "the nearest newer one at hand: what has been added since then counts as valid"
        } else {
            "the newest at hand: what the later version added counts as wrong, and what it removed as \
             valid"
        };
        format!(
            "Validated with the schema of manifest version {name}, {kind}. The schema of {version} itself \
             could not be had. {why}"
        )
    }
}

/// Finds the schema for manifests of that version: packed, from the source, or, where neither has
/// it, the nearest newer packed one that knows the version. Where the source does not answer, one that
/// does not know it will do as well: real manifests declare versions that were never listed, such as
/// 1.67.0 and 1.70.0.
///
/// Whoever asks has checked that the version is one. Fails with why the source does not have it.
pub fn find(
    pack: &Pack<'_>,
    version: &str,
    source: impl FnOnce(&str) -> Result<Value, String>,
) -> Result<Schema, String> {
    if let Some(document) = pack.document(version) {
        return Schema::new(document, None);
    }
    let why = match source(version) {
        Ok(document) => return Schema::new(document, None),
        Err(why) => why,
    };
    let failed = format!("Failed to fetch schema for manifest version '{version}': {why}");
    let (name, document, newer) = match stand_in(pack, version) {
        Some((name, document)) => (name, document, true),
        // What does not exist at all is no version that somebody could have meant.
        None if why.contains(NO_SUCH_RESOURCE) => return Err(failed),
        None => nearest(pack, version).ok_or(failed)?,
    };
    Schema::new(document, Some(StandIn { version: name.to_owned(), newer, why }))
}

/// Finds the schema for manifests that are too old for one of their own: the oldest packed one that
/// knows the version. Fails where none does.
pub fn find_for_older(pack: &Pack<'_>, version: &str) -> Result<Schema, String> {
    let Some((name, document)) = stand_in(pack, version) else {
        return Err(format!(
            "Manifest version '{version}' is not supported. Please upgrade to a newer one."
        ));
    };
    let why = "Manifests as old have none that could be used.".to_owned();
    Schema::new(document, Some(StandIn { version: name.to_owned(), newer: true, why }))
}

impl Schema {
    fn new(mut document: Value, stand_in: Option<StandIn>) -> Result<Self, String> {
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
        Ok(Self { dialect, document, stand_in })
    }
}

/// The schemas of 1.67.2 to 1.68.0 say they are 2020-12, but still list `items` by position.
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

/// Every schema lists the versions it knows, its own and all before. The nearest newer packed one
/// that lists this one differs least.
fn stand_in<'p>(pack: &Pack<'p>, version: &str) -> Option<(&'p str, Value)> {
    let wanted = Version::parse(version).ok()?;
    newer(pack, &wanted).find_map(|name| {
        let document = pack.document(name)?;
        let known = document.pointer("/properties/_version/enum")?.as_array()?;
        known.iter().any(|known| known == version).then_some((name, document))
    })
}

/// The nearest newer packed schema, or else the newest, made to know this version too; and whether it
/// is a newer one.
fn nearest<'p>(pack: &Pack<'p>, version: &str) -> Option<(&'p str, Value, bool)> {
    let wanted = Version::parse(version).ok()?;
    let nearest = newer(pack, &wanted).next();
    let newest = || packed(pack).max().map(|(_, name)| name);
    let name = nearest.or_else(newest)?;
    let mut document = pack.document(name)?;
    let known = document.pointer_mut("/properties/_version/enum")?.as_array_mut()?;
    known.push(version.into());
    Some((name, document, nearest.is_some()))
}

/// The packed schemas of the same major version that are newer, the nearest first.
fn newer<'p>(pack: &Pack<'p>, wanted: &Version) -> impl Iterator<Item = &'p str> {
    let is_newer = |version: &Version| version.major == wanted.major && version > wanted;
    let mut newer: Vec<_> = packed(pack).filter(|(version, _)| is_newer(version)).collect();
    newer.sort();
    newer.into_iter().map(|(_, name)| name)
}

/// The versions whose schemas are packed.
fn packed<'p>(pack: &Pack<'p>) -> impl Iterator<Item = (Version, &'p str)> {
    pack.names().filter_map(|name| Some((Version::parse(name).ok()?, name)))
}

/// Leaves out of a schema what decides nothing, which is most of it.
pub fn without_annotations(mut schema: Value) -> Value {
    drop_keywords(&mut schema, &|name| !is_annotation(name));
    schema
}

/// Leaves out `format` as well: Ajv does not check formats in the schemas it calls meta-schemas.
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
            // Ajv looks for references even in what decides nothing.
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
