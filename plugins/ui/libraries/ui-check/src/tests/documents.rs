//! Compiles the documents of `tests/ui/documents`, which the tests of views show in browsers.

use super::*;
use serde_json::{Map, Value, json};
use std::{fs, path::PathBuf};

/// The folder of the documents. With `UPDATE=1`, the test writes `compiled.json` again.
fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../../tests/ui/documents"))
}

/// The compiled documents of a folder, by their names.
fn compiled(kind: &str) -> Vec<(String, Value)> {
    let mut all: Vec<(String, Value)> = fs::read_dir(folder().join(kind))
        .expect("the folder is there")
        .map(|entry| {
            let entry = entry.expect("it can be read");
            let html = fs::read_to_string(entry.path()).expect("it is text");
            let judged = check(&html, MAX_BYTES);
            let outcome = match parts(&judged.html) {
                Ok(Document { markup, program }) if judged.faults.is_empty() => {
                    json!({ "markup": markup, "program": program })
                }
                Ok(_) | Err(_) => json!({ "faults": judged.faults }),
            };
            (format!("{kind}/{}", entry.file_name().to_string_lossy()), outcome)
        })
        .collect();
    all.sort_by(|(a, _), (b, _)| a.cmp(b));
    all
}

#[test]
fn documents_are_compiled_as_the_browser_tests_expect() {
    let (good, hostile) = (compiled("good"), compiled("hostile"));
    for (name, outcome) in &good {
        assert!(outcome["faults"].is_null(), "{name}: {}", outcome["faults"]);
    }
    let lines: Vec<String> = (good.iter().chain(&hostile))
        .map(|(name, outcome)| format!("{}: {outcome}", Value::from(name.as_str())))
        .collect();
    let text = format!("{{\n{}\n}}\n", lines.join(",\n"));
    let file = folder().join("compiled.json");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&file, &text).expect("it can be written");
    }
    assert!(good.len() >= 12 && hostile.len() >= 100);
    let shown = hostile.iter().filter(|(_, outcome)| outcome["faults"].is_null()).count();
    assert!(shown >= 50, "{shown} hostile documents are shown");
    let kept = fs::read_to_string(&file).unwrap_or_default();
    let kept: Map<String, Value> = serde_json::from_str(&kept).unwrap_or_default();
    for (name, outcome) in good.iter().chain(&hostile) {
        assert_eq!(kept.get(name), Some(outcome), "{name}: run the test again with UPDATE=1");
    }
    assert_eq!(kept.len(), good.len() + hostile.len(), "run the test again with UPDATE=1");
}

#[test]
fn check_and_parts_refuse_the_same_markup_scripts_and_styles() {
    let accepted = check(GOOD, MAX_BYTES);
    assert_eq!(parts(&accepted.html), parts(GOOD));
    for html in ["<iframe>", "<script>fetch()</script>", "<style>@import 'x';</style>"] {
        assert!(!check(html, MAX_BYTES).faults.is_empty() && parts(html).is_err(), "{html}");
    }
}
