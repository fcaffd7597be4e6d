//! Gets the schemas that the pack lacks, from a web server or a directory.

use crate::{manifest::in_words_of_node, schema::without_annotations};
use portcullis_plugin::prelude::*;
use serde_json::Value;
use std::{fs, path::Path, time::Duration};
use ui5::fetched;

/// The setting with a directory of schemas for offline use.
const DIRECTORY_SETTING: &str = "schema-dir";

/// The setting with a URL or a directory that replaces the repository.
const SETTING: &str = "schema-source";

/// The URL of the repository with the released schemas.
const DEFAULT_SOURCE: &str = "https://raw.githubusercontent.com/UI5/manifest";

/// Time limit for a server. It is short, since a similar packed schema can be used instead.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Time for which no requests are sent to a server that did not respond.
const RESPITE: Duration = Duration::from_secs(60);

/// Gets the schema of a version. Fails with the reason.
pub fn fetch(version: &str) -> Result<Value, String> {
    let source = settings::get(SETTING).unwrap_or_else(|| DEFAULT_SOURCE.to_owned());
    let source = source.trim_end_matches('/');
    let place = format!("{source}/v{version}/schema.json");
    if Path::new(source).is_absolute() {
        let text = fs::read(&place).map_err(|error| {
            format!("Failed to read the schema: {}", in_words_of_node(&error, &place))
        })?;
        return parse(&text, &place);
    }
    if let Some(schema) = from_directory(version) {
        return Ok(schema);
    }
    let schema = cache::get_or_make(&place, None, || download(source, &place))?;
    parse(&schema, &place)
}

/// A schema from the directory for offline use.
fn from_directory(version: &str) -> Option<Value> {
    let directory = settings::get(DIRECTORY_SETTING).filter(|path| !path.is_empty())?;
    let path = Path::new(&directory).join(ui5_data::schema_name(version));
    let text = fs::read(&path).ok()?;
    parse(&text, &path.display().to_string()).ok()
}

/// Downloads a schema and removes annotations.
fn download(source: &str, place: &str) -> Result<Vec<u8>, String> {
    let failed = |why: &str| fetched::failed(why, place);
    let silent_key = format!("silent {source}");
    if let Some(why) = cache::get(&silent_key) {
        return Err(failed(&String::from_utf8_lossy(&why)) + &advice());
    }
    let response = match http::Request::get(place).timeout(TIMEOUT).send() {
        Ok(response) => response,
        Err(error) => {
            let why = error.reason.to_string();
            cache::set(&silent_key, &why, RESPITE);
            return Err(failed(&why) + &advice());
        }
    };
    fetched::check(response.status, place)?;
    let schema = parse(&response.body, place)?;
    Ok(without_annotations(schema).to_string().into_bytes())
}

fn advice() -> String {
    format!(
        ". If that address cannot be reached, ask the operator to set `{SETTING}` of this plugin to a \
         mirror, or to a directory that holds v<version>/schema.json"
    )
}

fn parse(text: &[u8], place: &str) -> Result<Value, String> {
    let text =
        std::str::from_utf8(text).map_err(|error| format!("{place} is not UTF-8: {error}"))?;
    ajv_report::parse(text).map_err(|error| format!("{place} is not JSON: {error}"))
}
