//! Runs every case in `cases.jsonl`: a schema, an instance, and the list that Ajv wrote.
//!
//! To add a case, add a line with an empty list and let `record.mjs` fill it in.

use ajv_report::{Dialect, ErrorObject, Schema};
use serde_json::{Value, json};

#[test]
fn errors_are_those_of_ajv() {
    let mut wrong = Vec::new();
    for line in include_str!("cases.jsonl").lines() {
        let case = ajv_report::parse(line).expect("a case is JSON");
        let dialect = match case["dialect"].as_str() {
            Some("draft-07") => Dialect::Draft07,
            Some("2020-12") => Dialect::Draft202012,
            other => panic!("unknown dialect {other:?}"),
        };
        let ours = match Schema::new(dialect, &case["schema"], |_| None).errors(&case["instance"]) {
            Ok(errors) => errors.iter().map(as_json).collect(),
            Err(unjudged) => json!(unjudged.to_string()),
        };
        if ours != case["errors"] {
            wrong.push(format!(
                "{}, {}\n  schema   {}\n  instance {}\n  ours     {ours}\n  Ajv's    {}",
                case["about"], case["dialect"], case["schema"], case["instance"], case["errors"]
            ));
        }
    }
    assert!(wrong.is_empty(), "{} lists differ:\n{}", wrong.len(), wrong.join("\n"));
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
