//! A linter of apps: findings in a project's files, each with its rule and severity, and context on request.
//! `tests/turns.rs` names the server whose tool is followed here, because the host's own code names no plugin family.

use serde_json::{Value, json};

use super::text_of;
use crate::shop::{Shop, structured, tool};

/// The linter of twelve apps, `/code/apps/app-0` to `app-11`.
pub struct Linter;

const RULES: [(&str, &str); 4] = [
    ("no-deprecated-api", "Use of a deprecated API"),
    ("no-globals", "Access of a global variable; use the module system"),
    ("async-component-flags", "The component is not configured for asynchronous loading"),
    ("no-pseudo-modules", "Import of a pseudo module"),
];

/// The findings in one file of an app.
fn file(app: usize, file: usize) -> Value {
    let message = |line: usize| {
        let (rule, text) = RULES[(app + file * line) % 4];
        json!({
            "ruleId": rule, "severity": if line.is_multiple_of(3) { 2 } else { 1 }, "line": line * 11 + 3, "column": 5,
            "message": format!("{text} ({app}, {line})"),
            "messageDetails": "See the documentation of the framework for what to use in its place, and since which version it is there.",
        })
    };
    let messages: Vec<_> = (1..=(app + file) % 5 + 2).map(message).collect();
    json!({"filePath": format!("webapp/controller/View{file}.controller.js"), "messages": messages})
}

impl Shop for Linter {
    fn tools(&self) -> Vec<Value> {
        let mut tool = tool(
            "run_linter",
            "Run the linter on a project to find usages of deprecated APIs and other potential issues.",
            json!({
                "projectDir": {"type": "string", "description": "Root directory of the project to analyze. Must be an absolute path."},
                "provideContextInformation": {"type": "boolean", "default": true, "description": "Whether to include supplementary information in the output."},
            }),
            &["projectDir"],
        );
        let message = json!({"type": "object", "properties": {
            "ruleId": {"type": "string"}, "severity": {"type": "number", "description": "2 = error, 1 = warning"},
            "line": {"type": "number"}, "column": {"type": "number"}, "message": {"type": "string"}, "messageDetails": {"type": "string"}}});
        let result = json!({"type": "object", "properties": {"filePath": {"type": "string"}, "messages": {"type": "array", "items": message}}});
        tool["outputSchema"] = json!({"type": "object", "required": ["projectDir", "results"], "properties": {
            "projectDir": {"type": "string"}, "results": {"type": "array", "items": result}, "contextInformation": {"type": "object"}}});
        vec![tool]
    }

    fn call(&self, tool: &str, arguments: &Value) -> Option<Value> {
        if tool != "run_linter" {
            return None;
        }
        let project = text_of(arguments, "projectDir");
        let app = project.rsplit('-').next().and_then(|number| number.parse().ok()).unwrap_or(0);
        let results: Vec<_> = (0..6).map(|number| file(app, number)).collect();
        let mut found = json!({"projectDir": project, "results": results});
        if arguments["provideContextInformation"] != false {
            let rules: Vec<_> = RULES
                .iter()
                .map(|(rule, text)| json!({"ruleId": rule, "description": text}))
                .collect();
            let guide = "Replace the API by the one that its documentation names. ".repeat(20);
            found["contextInformation"] = json!({
                "ruleDescriptions": rules, "apiReferences": [], "documentationResources": [],
                "migrationGuides": [{"title": "Migration", "text": guide, "uri": "linter://guides/migration"}],
            });
        }
        Some(structured(found))
    }
}
