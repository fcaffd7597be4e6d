//! Checks a view specification against a tool: follows its JSON pointers through the tool's schemas
//! and through the tool's last result.

use crate::{shape::Place, spec::Problem};
use portcullis_plugin::{
    catalog::{self, Entry, Finding},
    serde_json::Value,
};
use regex_lite::Regex;

/// Maximum number of problems that are reported.
const PROBLEMS: usize = 20;
/// Maximum number of pointers that the host is asked about.
const POINTERS: usize = 200;

/// The result of a dry run.
#[derive(Debug, PartialEq)]
pub struct DryRunResult {
    /// The pointers that lead to nothing or to a value of the wrong type, and arguments that the tool does not take.
    pub problems: Vec<Problem>,
    /// The pointers that could not be verified: no schema declares the target, and no result shows whether it exists.
    pub unverified: Vec<String>,
}

/// Follows all pointers of a [valid](crate::spec::check) specification through the tool's schemas and, if the plugin
/// may read it, through the tool's last result (`last`). For pointers to undeclared places, asks the host whether the
/// last result has the target.
pub fn check(specification: &Value, tool: &Entry, last: Option<&Value>) -> DryRunResult {
    let mut run = Run {
        input: Place::of(Some(&tool.input_schema), None),
        result: Place::of(tool.output_schema.as_ref(), last),
        template: Regex::new(r"\{((?:@|/(?:input|result|content))[^{}]*)\}").expect("it is valid"),
        problems: Vec::new(),
        undeclared: Vec::new(),
        guards: 0,
    };
    run.component(&specification["root"], "/root", None);
    let unverified = run.ask_host(&tool.name);
    run.problems.truncate(PROBLEMS);
    DryRunResult { problems: run.problems, unverified }
}

/// A pointer to a place that no schema declares and no sample has.
struct Undeclared {
    /// JSON Pointer to the place in the specification.
    at: String,
    /// The pointer as the specification has it.
    path: String,
    /// The path from the whole result to the target, in the form that [`catalog::find`] takes.
    chain: Vec<String>,
    /// Whether the component is shown only under a condition.
    is_guarded: bool,
}

/// The target of a pointer, and the path to the target in the result. `None`: the target is not in the result.
#[derive(Clone)]
struct Target<'a> {
    place: Place<'a>,
    chain: Option<Vec<String>>,
}

struct Run<'a> {
    input: Place<'a>,
    result: Place<'a>,
    template: Regex,
    problems: Vec<Problem>,
    undeclared: Vec<Undeclared>,
    /// How many of the components down to the current one have a condition.
    guards: usize,
}

impl<'a> Run<'a> {
    fn wrong(&mut self, at: String, what: impl Into<String>) {
        self.problems.push(Problem { at, what: what.into() });
    }

    /// Asks the host to follow the first [`POINTERS`] pointers to undeclared places. Returns the pointers that stay
    /// unverified, and all pointers that the host was not asked about.
    fn ask_host(&mut self, tool: &str) -> Vec<String> {
        let mut undeclared = std::mem::take(&mut self.undeclared);
        let rest = undeclared.split_off(undeclared.len().min(POINTERS));
        let paths: Vec<_> = undeclared.iter().map(|one| one.chain.clone()).collect();
        let findings = if paths.is_empty() { Vec::new() } else { catalog::find(tool, &paths) };
        let mut unverified: Vec<String> = Vec::new();
        let findings =
            findings.into_iter().chain(std::iter::repeat_n(Finding::Unknown, rest.len()));
        for (one, finding) in undeclared.into_iter().chain(rest).zip(findings) {
            match finding {
                Finding::Missing if !one.is_guarded => self.wrong(
                    one.at,
                    format!(
                        "`{}` leads to nothing in the last answer of the tool; if the value is only sometimes there, give \
                         the component a `when`",
                        one.path
                    ),
                ),
                Finding::Unknown if !unverified.contains(&one.path) => unverified.push(one.path),
                Finding::Found | Finding::Missing | Finding::Unknown => {}
            }
        }
        unverified
    }

    /// The target of a pointer. `None`: there is no target, and a problem was added.
    fn follow(
        &mut self,
        path: &Value,
        at: String,
        item: Option<&Target<'a>>,
    ) -> Option<Target<'a>> {
        let path = path.as_str()?;
        let (start, chain, rest) = match path.strip_prefix('@') {
            Some(rest) => match item {
                Some(item) => (item.place.clone(), item.chain.clone(), rest),
                None => {
                    self.wrong(at, format!("`{path}` is a path within an item, but this component is not inside a List, Table, Chart, Timeline or Map"));
                    return None;
                }
            },
            None => {
                let end = path[1..].find('/').map_or(path.len(), |end| end + 1);
                let (root, rest) = path.split_at(end);
                match root {
                    "/input" => (self.input.clone(), None, rest),
                    "/result" => (self.result.clone(), Some(Vec::new()), rest),
                    _ => (Place::anything(), None, rest),
                }
            }
        };
        let mut place = start;
        for token in rest.split('/').skip(1) {
            let token = token.replace("~1", "/").replace("~0", "~");
            match place.step(&token) {
                Ok(next) => place = next,
                Err(names) => {
                    let there =
                        if names.is_empty() { "no names".to_owned() } else { names.join(", ") };
                    self.wrong(
                        at,
                        format!(
                            "`{path}` leads nowhere: there is no `{token}`; known there: {there}"
                        ),
                    );
                    return None;
                }
            }
        }
        let chain = chain.map(|mut chain| {
            chain.push(rest.to_owned());
            chain
        });
        if let Some(chain) = chain.clone().filter(|_| !place.is_known()) {
            let is_guarded = self.guards > 0;
            self.undeclared.push(Undeclared { at, path: path.to_owned(), chain, is_guarded });
        }
        Some(Target { place, chain })
    }

    /// Checks a text with templates, or a binding.
    fn text(&mut self, value: &Value, at: String, item: Option<&Target<'a>>) {
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
    fn rows(&mut self, path: &Value, at: String, item: Option<&Target<'a>>) -> Option<Target<'a>> {
        let Target { place, chain } = self.follow(path, at.clone(), item)?;
        match place.items() {
            Ok(place) => Some(Target { place, chain }),
            Err(kind) => {
                self.wrong(
                    at,
                    format!("{path} leads to a value of the type {kind}, not to a list"),
                );
                None
            }
        }
    }

    fn children(&mut self, value: &Value, at: &str, item: Option<&Target<'a>>) {
        for (index, child) in list(value) {
            self.component(child, &format!("{at}/{index}"), item);
        }
    }

    fn component(&mut self, component: &Value, at: &str, item: Option<&Target<'a>>) {
        if self.problems.len() >= PROBLEMS {
            return;
        }
        // The target of a condition may be missing. So may the targets in components that are shown only under this
        // condition.
        let is_guard = component.get("when").is_some();
        self.guards += usize::from(is_guard);
        if let Some(path) = component["when"].get("path") {
            self.follow(path, format!("{at}/when/path"), item);
        }
        for name in ["text", "title", "label", "value", "unit", "alt", "before", "after"] {
            if let Some(text) = component.get(name).filter(|_| !is_of_items(component, name)) {
                self.text(text, format!("{at}/{name}"), item);
            }
        }
        self.parts(component, at, item);
        self.guards -= usize::from(is_guard);
    }

    /// Checks the parts that only components of one kind have.
    fn parts(&mut self, component: &Value, at: &str, item: Option<&Target<'a>>) {
        let place = |name: &str| format!("{at}/{name}");
        match component["component"].as_str() {
            Some("Tabs") => {
                for (index, tab) in list(&component["tabs"]) {
                    self.text(&tab["title"], place(&format!("tabs/{index}/title")), item);
                    self.component(&tab["child"], &place(&format!("tabs/{index}/child")), item);
                }
            }
            Some("Details") => {
                for (index, row) in list(&component["rows"]) {
                    self.text(&row["label"], place(&format!("rows/{index}/label")), item);
                    self.text(&row["value"], place(&format!("rows/{index}/value")), item);
                }
                if let Some(path) = component.get("path") {
                    self.follow(path, place("path"), item);
                }
            }
            Some("Table") => {
                let Some(row) = self.rows(&component["rows"], place("rows"), item) else { return };
                for (index, column) in list(&component["columns"]) {
                    let at = place(&format!("columns/{index}/path"));
                    self.follow(&column["path"], at, Some(&row));
                }
            }
            Some("Chart") => self.chart(component, at, item),
            Some("List") => {
                let Some(row) = self.rows(&component["items"], place("items"), item) else {
                    return;
                };
                self.component(&component["child"], &place("child"), Some(&row));
            }
            Some("Timeline") => {
                let Some(row) = self.rows(&component["items"], place("items"), item) else {
                    return;
                };
                self.follow(&component["time"]["path"], place("time/path"), Some(&row));
                self.text(&component["title"], place("title"), Some(&row));
                self.text(&component["text"], place("text"), Some(&row));
            }
            Some("Map") => {
                let Some(row) = self.rows(&component["points"], place("points"), item) else {
                    return;
                };
                for name in ["latitude", "longitude"] {
                    self.number(&component[name], place(name), &row);
                }
                self.text(&component["label"], place("label"), Some(&row));
            }
            Some("Image" | "Field" | "Slider") => {
                let found = self.follow(&component["path"], place("path"), item);
                let is_slider = component["component"] == "Slider";
                if found.is_some_and(|to| is_slider && !to.place.may_be(&["number", "integer"])) {
                    let path = &component["path"];
                    self.wrong(place("path"), format!("{path} does not lead to a number"));
                }
            }
            Some("Button") => self.button(component, at, item),
            _ => self.children(&component["children"], &place("children"), item),
        }
    }

    /// Follows a pointer that has to lead to a number within a row.
    fn number(&mut self, path: &Value, at: String, row: &Target<'a>) {
        let Some(found) = self.follow(path, at.clone(), Some(row)) else { return };
        if !found.place.may_be(&["number", "integer"]) {
            self.wrong(at, format!("{path} does not lead to a number"));
        }
    }

    fn chart(&mut self, chart: &Value, at: &str, item: Option<&Target<'a>>) {
        let Some(row) = self.rows(&chart["rows"], format!("{at}/rows"), item) else { return };
        self.follow(&chart["x"]["path"], format!("{at}/x/path"), Some(&row));
        for (index, axis) in list(&chart["y"]) {
            self.number(&axis["path"], format!("{at}/y/{index}/path"), &row);
        }
    }

    fn button(&mut self, button: &Value, at: &str, item: Option<&Target<'a>>) {
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

/// The items of a list, with their indices.
fn list(value: &Value) -> impl Iterator<Item = (usize, &Value)> {
    value.as_array().into_iter().flatten().enumerate()
}

/// Whether the component shows the text with this name for each item of its list, instead of once.
fn is_of_items(component: &Value, name: &str) -> bool {
    match component["component"].as_str() {
        Some("Timeline") => matches!(name, "title" | "text"),
        Some("Map") => name == "label",
        _ => false,
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
            .problems
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("\n")
    }

    #[test]
    fn pointers_that_all_have_targets_have_no_problems() {
        let nothing = DryRunResult { problems: Vec::new(), unverified: Vec::new() };
        assert_eq!(check(&spec::tests::everything(), &weather(), None), nothing);
    }

    /// Asserts that the problems of each specification begin with the expected text.
    fn assert_said(table: &[(Value, &str)]) {
        for (root, expected) in table {
            let said = said(root.clone(), &weather(), None);
            assert!(said.starts_with(expected), "{root}: {said}");
        }
    }

    #[test]
    fn pointers_without_a_target_are_reported() {
        let table = [
            (
                json!({ "component": "Text", "text": "{/result/town}" }),
                "/root/text: `/result/town` leads nowhere: there is no `town`; known there: city, updated",
            ),
            (
                json!({ "component": "Text", "text": { "path": "/result/days/0/wind" } }),
                "/root/text/path: `/result/days/0/wind` leads nowhere",
            ),
            (
                json!({ "component": "Text", "text": "{@/sky}" }),
                "/root/text: `@/sky` is a path within an item, but",
            ),
            (
                json!({ "component": "List", "items": "/result/city", "child": { "component": "Form" } }),
                "/root/items: \"/result/city\" leads to a value of the type string, not to a list",
            ),
            (
                json!({ "component": "Table", "rows": "/result/days", "columns": [{ "label": "a", "path": "@/wind" }] }),
                "/root/columns/0/path: `@/wind` leads nowhere",
            ),
            (
                json!({ "component": "Chart", "kind": "line", "rows": "/result/days", "x": { "path": "@/sky", "label": "" }, "y": [{ "path": "@/sky", "label": "" }] }),
                "/root/y/0/path: \"@/sky\" does not lead to a number",
            ),
        ];
        assert_said(&table);
    }

    #[test]
    fn pointers_without_a_target_in_charts_maps_and_actions_are_reported() {
        let table = [
            (
                json!({ "component": "Map", "points": "/result/days", "latitude": "@/high", "longitude": "@/sky" }),
                "/root/longitude: \"@/sky\" does not lead to a number",
            ),
            (
                json!({ "component": "Map", "points": "/result/days", "latitude": "@/high", "longitude": "@/rain", "label": "{@/wind}" }),
                "/root/label: `@/wind` leads nowhere",
            ),
            (
                json!({ "component": "Timeline", "items": "/result/days", "time": { "path": "@/when" }, "title": "a" }),
                "/root/time/path: `@/when` leads nowhere",
            ),
            (
                json!({ "component": "Timeline", "items": "/result/days", "time": { "path": "@/sky" }, "title": "{@/wind}" }),
                "/root/title: `@/wind` leads nowhere",
            ),
            (
                json!({ "component": "Slider", "path": "/input/city", "label": "a" }),
                "/root/path: \"/input/city\" does not lead to a number",
            ),
            (
                json!({ "component": "Modal", "label": "a", "children": [{ "component": "Code", "text": "{/result/wind}" }] }),
                "/root/children/0/text: `/result/wind` leads nowhere",
            ),
            (
                json!({ "component": "Diff", "before": "a", "after": { "path": "/result/wind" } }),
                "/root/after/path: `/result/wind` leads nowhere",
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
        assert_said(&table);
    }

    #[test]
    fn the_last_answer_declares_members_that_the_schema_lacks() {
        let undeclared = json!({ "component": "Text", "text": "{/result/wind}" });
        assert!(!said(undeclared.clone(), &weather(), None).is_empty());
        assert_eq!(said(undeclared.clone(), &weather(), Some(&json!({ "wind": 3 }))), "");
        let silent = Entry::new("t", "s", json!({ "type": "object" }));
        assert_eq!(said(undeclared.clone(), &silent, None), "");
        let other = said(undeclared, &silent, Some(&json!({ "rain": 3 })));
        assert!(other.contains("there is no `wind`; known there: rain"), "{other}");
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
