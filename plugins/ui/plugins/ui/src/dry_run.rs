//! Checks a view specification against a tool: follows its JSON pointers through the tool's schemas
//! and through the tool's last result.

use crate::{shape::Place, spec::Problem};
use portcullis_plugin::{catalog::Entry, serde_json::Value};
use regex_lite::Regex;

/// Most problems that are reported.
const PROBLEMS: usize = 20;

/// The pointers without a target, in a [valid](crate::spec::check) specification.
pub fn check(specification: &Value, tool: &Entry, last: Option<&Value>) -> Vec<Problem> {
    let mut run = Run {
        input: Place::of(Some(&tool.input_schema), None),
        result: Place::of(tool.output_schema.as_ref(), last),
        template: Regex::new(r"\{((?:@|/(?:input|result|content))[^{}]*)\}").expect("it is one"),
        problems: Vec::new(),
    };
    run.component(&specification["root"], "/root", None);
    run.problems.truncate(PROBLEMS);
    run.problems
}

struct Run<'a> {
    input: Place<'a>,
    result: Place<'a>,
    template: Regex,
    problems: Vec<Problem>,
}

impl<'a> Run<'a> {
    fn wrong(&mut self, at: String, what: impl Into<String>) {
        self.problems.push(Problem { at, what: what.into() });
    }

    /// The target of a pointer; `None` if there is none, which is then reported.
    fn follow(&mut self, path: &Value, at: String, item: Option<&Place<'a>>) -> Option<Place<'a>> {
        let path = path.as_str()?;
        let (start, rest) = match path.strip_prefix('@') {
            Some(rest) => match item {
                Some(item) => (item.clone(), rest),
                None => {
                    self.wrong(at, format!("`{path}` leads into an item, and there is none: it stands in no List, Table or Chart"));
                    return None;
                }
            },
            None => {
                let end = path[1..].find('/').map_or(path.len(), |end| end + 1);
                let (root, rest) = path.split_at(end);
                let start = match root {
                    "/input" => self.input.clone(),
                    "/result" => self.result.clone(),
                    _ => Place::anything(),
                };
                (start, rest)
            }
        };
        let mut place = start;
        for token in rest.split('/').skip(1) {
            let token = token.replace("~1", "/").replace("~0", "~");
            match place.step(&token) {
                Ok(next) => place = next,
                Err(names) => {
                    let there =
                        if names.is_empty() { "nothing is".to_owned() } else { names.join(", ") };
                    self.wrong(
                        at,
                        format!("`{path}` leads nowhere: there is no `{token}`; there: {there}"),
                    );
                    return None;
                }
            }
        }
        Some(place)
    }

    /// Checks a text with templates, or a binding.
    fn text(&mut self, value: &Value, at: String, item: Option<&Place<'a>>) {
        match value {
            Value::String(text) => {
                let paths: Vec<Value> =
                    self.template.captures_iter(text).map(|found| found[1].into()).collect();
                for path in paths {
                    self.follow(&path, at.clone(), item);
                }
            }
            Value::Object(binding) => {
                if let Some(path) = binding.get("path") {
                    self.follow(path, format!("{at}/path"), item);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {}
        }
    }

    /// Follows the pointer to a list and returns the place of its items.
    fn rows(&mut self, path: &Value, at: String, item: Option<&Place<'a>>) -> Option<Place<'a>> {
        let place = self.follow(path, at.clone(), item)?;
        match place.items() {
            Ok(items) => Some(items),
            Err(kind) => {
                self.wrong(at, format!("{path} leads to a {kind}, not to a list"));
                None
            }
        }
    }

    fn children(&mut self, value: &Value, at: &str, item: Option<&Place<'a>>) {
        for (index, child) in value.as_array().into_iter().flatten().enumerate() {
            self.component(child, &format!("{at}/{index}"), item);
        }
    }

    fn component(&mut self, component: &Value, at: &str, item: Option<&Place<'a>>) {
        if self.problems.len() >= PROBLEMS {
            return;
        }
        let place = |name: &str| format!("{at}/{name}");
        if let Some(path) = component["when"].get("path") {
            self.follow(path, place("when/path"), item);
        }
        for name in ["text", "title", "label", "value", "unit", "alt"] {
            if let Some(text) = component.get(name) {
                self.text(text, place(name), item);
            }
        }
        match component["component"].as_str() {
            Some("Tabs") => {
                for (index, tab) in component["tabs"].as_array().into_iter().flatten().enumerate() {
                    self.text(&tab["title"], place(&format!("tabs/{index}/title")), item);
                    self.component(&tab["child"], &place(&format!("tabs/{index}/child")), item);
                }
            }
            Some("Details") => {
                for (index, row) in component["rows"].as_array().into_iter().flatten().enumerate() {
                    self.text(&row["label"], place(&format!("rows/{index}/label")), item);
                    self.text(&row["value"], place(&format!("rows/{index}/value")), item);
                }
                if let Some(path) = component.get("path") {
                    self.follow(path, place("path"), item);
                }
            }
            Some("Table") => {
                let Some(row) = self.rows(&component["rows"], place("rows"), item) else { return };
                for (index, column) in
                    component["columns"].as_array().into_iter().flatten().enumerate()
                {
                    self.follow(
                        &column["path"],
                        place(&format!("columns/{index}/path")),
                        Some(&row),
                    );
                }
            }
            Some("Chart") => self.chart(component, at, item),
            Some("List") => {
                let Some(row) = self.rows(&component["items"], place("items"), item) else {
                    return;
                };
                self.component(&component["child"], &place("child"), Some(&row));
            }
            Some("Image" | "Field") => {
                self.follow(&component["path"], place("path"), item);
            }
            Some("Button") => self.button(component, at, item),
            _ => self.children(&component["children"], &place("children"), item),
        }
    }

    fn chart(&mut self, chart: &Value, at: &str, item: Option<&Place<'a>>) {
        let Some(row) = self.rows(&chart["rows"], format!("{at}/rows"), item) else { return };
        self.follow(&chart["x"]["path"], format!("{at}/x/path"), Some(&row));
        for (index, axis) in chart["y"].as_array().into_iter().flatten().enumerate() {
            let at = format!("{at}/y/{index}/path");
            let Some(place) = self.follow(&axis["path"], at.clone(), Some(&row)) else { continue };
            if !place.may_be(&["number", "integer"]) {
                self.wrong(at, format!("{} does not lead to a number", axis["path"]));
            }
        }
    }

    fn button(&mut self, button: &Value, at: &str, item: Option<&Place<'a>>) {
        for (name, value) in button["arguments"].as_object().into_iter().flatten() {
            let at = format!("{at}/arguments/{name}");
            if let Err(names) = self.input.step(name) {
                let names = names.join(", ");
                self.wrong(at, format!("the tool takes no `{name}`; it takes {names}"));
            } else if let Some(path) = value.get("path") {
                self.follow(path, format!("{at}/path"), item);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec;
    use portcullis_plugin::serde_json::json;

    fn weather() -> Entry {
        let day = json!({ "type": "object", "properties": {
            "sky": { "type": "string" }, "high": { "type": "number" }, "rain": { "type": ["number", "null"] } } });
        Entry {
            output_schema: Some(json!({
                "type": "object",
                "properties": {
                    "city": { "type": "string" }, "updated": { "type": "string" }, "storm": { "type": "boolean" },
                    "days": { "type": "array", "items": { "$ref": "#/$defs/day" } },
                    "next": { "anyOf": [{ "type": "string" }, { "type": "null" }] },
                    "extra": { "type": "object", "additionalProperties": { "type": "number" } }
                },
                "$defs": { "day": day }
            })),
            ..Entry::new(
                "forecast",
                "weather",
                json!({ "type": "object", "properties": {
                "city": { "type": "string" }, "days": { "type": "integer" }, "cursor": { "type": "string" } } }),
            )
        }
    }

    fn said(root: Value, tool: &Entry, last: Option<&Value>) -> String {
        let specification = json!({ "version": 1, "root": root });
        assert_eq!(spec::check(&specification), [], "{specification}");
        check(&specification, tool, last)
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("\n")
    }

    #[test]
    fn everything_finds_what_it_wants() {
        assert_eq!(check(&spec::tests::everything(), &weather(), None), []);
    }

    #[test]
    fn what_leads_nowhere_is_said() {
        let table = [
            (
                json!({ "component": "Text", "text": "{/result/town}" }),
                "/root/text: `/result/town` leads nowhere: there is no `town`; there: city, updated",
            ),
            (
                json!({ "component": "Text", "text": { "path": "/result/days/0/wind" } }),
                "/root/text/path: `/result/days/0/wind` leads nowhere",
            ),
            (
                json!({ "component": "Text", "text": "{@/sky}" }),
                "/root/text: `@/sky` leads into an item, and there is none",
            ),
            (
                json!({ "component": "List", "items": "/result/city", "child": { "component": "Form" } }),
                "/root/items: \"/result/city\" leads to a string, not to a list",
            ),
            (
                json!({ "component": "Table", "rows": "/result/days", "columns": [{ "label": "a", "path": "@/wind" }] }),
                "/root/columns/0/path: `@/wind` leads nowhere",
            ),
            (
                json!({ "component": "Chart", "kind": "line", "rows": "/result/days", "x": { "path": "@/sky", "label": "" }, "y": [{ "path": "@/sky", "label": "" }] }),
                "/root/y/0/path: \"@/sky\" does not lead to a number",
            ),
            (
                json!({ "component": "Field", "path": "/input/town" }),
                "/root/path: `/input/town` leads nowhere",
            ),
            (
                json!({ "component": "Button", "label": "a", "arguments": { "page": 1 } }),
                "/root/arguments/page: the tool takes no `page`; it takes city, days, cursor",
            ),
            (
                json!({ "component": "Button", "label": "a", "arguments": { "cursor": { "path": "/result/after" } } }),
                "/root/arguments/cursor/path: `/result/after`",
            ),
            (
                json!({ "component": "Form", "when": { "path": "/result/city/0" } }),
                "/root/when/path: `/result/city/0` leads nowhere",
            ),
        ];
        for (root, expected) in table {
            let said = said(root.clone(), &weather(), None);
            assert!(said.starts_with(expected), "{root}: {said}");
        }
    }

    #[test]
    fn what_a_tool_answered_counts_beside_its_schema() {
        let undeclared = json!({ "component": "Text", "text": "{/result/wind}" });
        assert!(!said(undeclared.clone(), &weather(), None).is_empty());
        assert_eq!(said(undeclared.clone(), &weather(), Some(&json!({ "wind": 3 }))), "");
        let silent = Entry::new("t", "s", json!({ "type": "object" }));
        assert_eq!(said(undeclared.clone(), &silent, None), "");
        let other = said(undeclared, &silent, Some(&json!({ "rain": 3 })));
        assert!(other.contains("there is no `wind`; there: rain"), "{other}");
        let list = json!({ "component": "List", "items": "/result", "child": { "component": "Text", "text": "{@/a}" } });
        assert_eq!(said(list.clone(), &silent, Some(&json!([{ "b": 1 }, { "a": 1 }]))), "");
        assert!(said(list, &silent, Some(&json!([{ "b": 1 }]))).contains("there is no `a`"));
        assert_eq!(
            said(
                json!({ "component": "Text", "text": "{/result/extra/anything} {/content/7/text}" }),
                &weather(),
                None
            ),
            ""
        );
    }
}
