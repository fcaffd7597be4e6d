//! Compares this crate's errors with lists that Ajv wrote: `cargo run -p ajv-report --example
//! check-ajv -- DIR`.
//!
//! `DIR` holds `ajv-VERSION.jsonl` (or `.jsonl.xz`), one line for each instance with the members
//! `manifest` and `errors`, and the schemas as `schemas/VERSION.json`. The documents that the
//! schemas refer to are `schemas/adaptive-card-1.5.0.json` and, if needed, `schemas/draft-07.json`.

use ajv_report::{Dialect, ErrorObject, Schema};
use serde_json::{Value, json};
use std::{env, error::Error, fs, path::Path, process::Command};

fn main() -> Result<(), Box<dyn Error>> {
    let directory = env::args().nth(1).ok_or("which directory?")?;
    let schemas = Path::new(&directory).join("schemas");
    let card = read(&schemas.join("adaptive-card-1.5.0.json"))?;
    let draft_07 = read(&schemas.join("draft-07.json")).ok();
    let mut different = 0;
    for entry in fs::read_dir(&directory)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let Some((version, _)) =
            name.strip_prefix("ajv-").and_then(|name| name.split_once(".jsonl"))
        else {
            continue;
        };
        let schema = read(&schemas.join(format!("{version}.json")))?;
        let dialect = match schema["$schema"].as_str() {
            Some("http://json-schema.org/draft-07/schema#") => Dialect::Draft07,
            _ => Dialect::Draft202012,
        };
        let schema = Schema::new(dialect, &schema, |uri| match uri {
            "https://adaptivecards.io/schemas/adaptive-card.json" => Some(&card),
            "http://json-schema.org/draft-07/schema" => draft_07.as_ref(),
            _ => None,
        });
        let (mut lists, mut errors) = (0, 0);
        for line in lines(&path)?.lines() {
            let case = ajv_report::parse(line)?;
            let ours =
                Value::Array(schema.errors(&case["manifest"])?.iter().map(as_json).collect());
            lists += 1;
            errors += ours.as_array().map_or(0, Vec::len);
            if ours != case["errors"] {
                different += 1;
                println!("{version}, line {lists}: {}", first_difference(&ours, &case["errors"]));
            }
        }
        println!("{version}: {lists} lists, {errors} errors");
    }
    println!("{different} lists differ");
    if different > 0 { Err("some lists differ".into()) } else { Ok(()) }
}

fn as_json(error: &ErrorObject) -> Value {
    let mut object = json!({
        "keyword": error.keyword,
        "instancePath": error.instance_path,
        "schemaPath": error.schema_path,
        "params": error.params,
    });
    if let Some(name) = &error.property_name {
        object["propertyName"] = json!(name);
    }
    object["message"] = json!(error.message);
    object
}

fn first_difference(ours: &Value, theirs: &Value) -> String {
    let (ours, theirs) = (ours.as_array(), theirs.as_array());
    let (Some(ours), Some(theirs)) = (ours, theirs) else { return "no list".to_owned() };
    let at = (0..ours.len().max(theirs.len())).find(|at| ours.get(*at) != theirs.get(*at));
    let show = |list: &Vec<Value>| {
        at.and_then(|at| list.get(at)).map_or("end".to_owned(), Value::to_string)
    };
    format!(
        "at {at:?} of {}/{}\n  ours   {}\n  theirs {}",
        ours.len(),
        theirs.len(),
        show(ours),
        show(theirs)
    )
}

fn read(path: &Path) -> Result<Value, Box<dyn Error>> {
    let text = fs::read_to_string(path)?;
    Ok(ajv_report::parse(text.trim_start_matches("\u{feff}"))?)
}

fn lines(path: &Path) -> Result<String, Box<dyn Error>> {
    if path.extension().is_some_and(|extension| extension == "xz") {
        let output = Command::new("xz").arg("-dc").arg(path).output()?;
        return Ok(String::from_utf8(output.stdout)?);
    }
    Ok(fs::read_to_string(path)?)
}
