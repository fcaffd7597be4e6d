//! Compares the input schema of `create_ui5_app` with the original's, and validates manifests:
//! `cargo run -p ui5-create --example check-original -- DIR`.
//!
//! `DIR` holds `tools-list.json`, the UI5 MCP server's answer to `tools/list`, and `schemas/` with
//! the manifest schemas `1.89.0.json` and `2.8.0.json` and with `adaptive-card-1.5.0.json`.

use ajv_report::{Dialect, Schema};
use portcullis_plugin::{
    rehearsal::Rehearsal,
    schemars::{JsonSchema, schema_for},
    serde_json::{Value, json},
};
use std::{env, error::Error, fs, path::Path};
use ui5_create::{
    app::CreateApp,
    card::{CardType, CreateCard},
};

fn main() -> Result<(), Box<dyn Error>> {
    let directory = env::args().nth(1).ok_or("which directory?")?;
    let directory = Path::new(&directory);
    let tools = read(&directory.join("tools-list.json"))?;
    let tools = tools.pointer("/result/tools").or_else(|| tools.get("tools")).unwrap_or(&tools);
    let original = tools.as_array().ok_or("there is no list of tools")?;
    let original = original.iter().find(|tool| tool["name"] == "create_ui5_app");
    let original = original.ok_or("the original has no such tool")?;
    let mut faults = differences(&original["inputSchema"], &schema_of::<CreateApp>());
    let base = tempfile::tempdir()?;
    faults.extend(manifests(base.path(), &directory.join("schemas"))?);
    faults.iter().for_each(|fault| println!("{fault}"));
    if faults.is_empty() { Ok(()) } else { Err(format!("{} faults", faults.len()).into()) }
}

fn read(path: &Path) -> Result<Value, Box<dyn Error>> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(text.parse()?)
}

fn schema_of<T: JsonSchema>() -> Value {
    schema_for!(T).to_value()
}

/// The differences to the original's schema, apart from descriptions and additional properties.
fn differences(original: &Value, ours: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut compare = |what: String, original: &Value, ours: &Value| {
        if original != ours {
            found.push(format!("{what}: {original} is {ours} here"));
        }
    };
    compare("required".to_owned(), &original["required"], &ours["required"]);
    for (name, property) in original["properties"].as_object().into_iter().flatten() {
        let ours = &ours["properties"][name];
        for keyword in ["type", "pattern", "default", "enum"] {
            compare(format!("{name}/{keyword}"), &property[keyword], &ours[keyword]);
        }
        let items =
            |property: &Value| json!([property["items"]["type"], property["items"]["pattern"]]);
        compare(format!("{name}/items"), &items(property), &items(ours));
    }
    found
}

/// Writes apps and cards, and returns the errors of their manifests by the schemas.
fn manifests(base: &Path, schemas: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let mut found = Vec::new();
    let judge = |manifest: &Path, version: &str| -> Result<Vec<String>, Box<dyn Error>> {
        let (document, card) = (
            read(&schemas.join(format!("{version}.json")))?,
            read(&schemas.join("adaptive-card-1.5.0.json"))?,
        );
        let schema = Schema::new(Dialect::Draft202012, &document, |uri| {
            (uri == "https://adaptivecards.io/schemas/adaptive-card.json").then_some(&card)
        });
        let errors = schema.errors(&read(manifest)?)?;
        let describe = |error: &ajv_report::ErrorObject| {
            format!("{}: {} {}", manifest.display(), error.instance_path, error.message)
        };
        Ok(errors.iter().map(describe).collect())
    };
    for (version, number) in [("1.136.0", 0), ("1.141.0", 1), ("1.152.0", 2)] {
        for typescript in [true, false] {
            let namespace = format!("app{number}.{}", if typescript { "ts" } else { "js" });
            let arguments = json!({
                "appNamespace": namespace, "basePath": base, "frameworkVersion": version,
                "typescript": typescript, "oDataV4Url": "/a", "oDataEntitySet": "B",
                "entityProperties": ["c"],
            });
            let reply = Rehearsal::new().call::<CreateApp>(arguments);
            reply.map_err(|failure| failure.to_string())?;
            found.extend(judge(&base.join(&namespace).join("webapp/manifest.json"), "2.8.0")?);
        }
    }
    for card_type in CardType::ALL.map(CardType::name) {
        let arguments =
            json!({ "basePath": base, "cardFolderName": card_type, "cardType": card_type });
        let reply = Rehearsal::new().call::<CreateCard>(arguments);
        reply.map_err(|failure| failure.to_string())?;
        found.extend(judge(&base.join(card_type).join("card/manifest.json"), "1.89.0")?);
    }
    Ok(found)
}
