//! Tests of the plugin's tools and resources, without a model and with the client's model.

mod applying;
mod generating;
mod speaking;

use crate::{
    page,
    spec::tests::everything,
    tools::Ui,
    view_assignment::{Pages, ViewAssignment},
};
use portcullis_plugin::{
    catalog::Entry,
    content::ResourceData,
    prelude::*,
    rehearsal::Rehearsal,
    serde_json::{self, Value},
};

/// A tool with data for every component of a specification.
pub fn weather() -> Entry {
    Entry {
        title: Some("Get forecast".to_owned()),
        description: Some("Tells the weather.".to_owned()),
        hints: Hints::new().read_only(true),
        output_schema: Some(json!({ "type": "object", "properties": {
            "city": { "type": "string" }, "updated": { "type": "string" }, "storm": { "type": "boolean" }, "next": {},
            "days": { "type": "array", "items": { "type": "object", "properties": {
                "sky": { "type": "string" }, "high": { "type": "number" }, "rain": { "type": "number" } } } }
        } })),
        ..Entry::new(
            "get_forecast",
            "weather",
            json!({ "type": "object", "properties": {
            "city": { "type": "string" }, "days": { "type": "integer" }, "cursor": { "type": "string" } } }),
        )
    }
}

fn delete() -> Entry {
    let hints = Hints::new().destructive(true);
    Entry { hints, ..Entry::new("delete_everything", "files", json!({ "type": "object" })) }
}

fn own() -> Entry {
    Entry { of_this_plugin: true, ..Entry::new("_ui", "ui", json!({ "type": "object" })) }
}

fn with_view() -> Entry {
    let view = Some("ui://upstream/map.html".to_owned());
    Entry { view, ..Entry::new("map", "upstream", json!({ "type": "object" })) }
}

pub fn house() -> Rehearsal {
    [weather(), delete(), own(), with_view()]
        .into_iter()
        .fold(Rehearsal::new(), Rehearsal::catalog_tool)
}

/// The URI of a tool's view.
pub fn address(house: &Rehearsal, tool: &str) -> String {
    let all = house.assign::<ViewAssignment>().expect("views are assigned");
    let found = all.into_iter().find(|one| one.tool == tool).expect("it has a view");
    found.view.expect("it has a view")
}

/// The page at a URI.
pub fn page_at(house: &Rehearsal, address: &str) -> String {
    let mut contents = Pages::read(&house.request(), address).expect("it is there");
    let one = contents.all.remove(0);
    assert_eq!(one.mime_type.as_deref(), Some("text/html;profile=mcp-app"));
    let extra: Value =
        serde_json::from_str(&one.extra.expect("it has a `_meta`")).expect("it is JSON");
    assert_eq!(extra, json!({ "_meta": { "ui": { "csp": {}, "prefersBorder": true } } }));
    match one.data {
        ResourceData::Text(text) => text,
        ResourceData::Bytes(_) => panic!("a page is text"),
    }
}

/// The arguments of an action.
fn acting(action: &str, mut arguments: Value) -> Value {
    arguments["action"] = action.into();
    arguments
}

/// The structured content of an action's result.
fn told(house: &Rehearsal, action: &str, arguments: Value) -> Value {
    let reply = house.call::<Ui>(acting(action, arguments)).expect("it answers");
    reply.structured.expect("it is structured")
}

fn refusal(house: &Rehearsal, action: &str, arguments: Value) -> String {
    house.call::<Ui>(acting(action, arguments)).expect_err("it is refused").to_string()
}

#[test]
fn tools_get_the_right_views() {
    let house = house();
    let all = house.assign::<ViewAssignment>().expect("views are assigned");
    let said: Vec<_> = all
        .iter()
        .map(|one| (one.tool.as_str(), one.view.is_some(), one.for_model, one.for_views))
        .collect();
    let expected = [
        ("get_forecast", true, true, true),
        ("delete_everything", true, true, false),
        ("_ui", false, false, false),
    ];
    assert_eq!(said, expected);
    assert_eq!(
        house.assign::<ViewAssignment>().expect("views are assigned"),
        all,
        "the same tools, the same addresses"
    );
}

#[test]
fn the_operator_decides_which_tools_get_views() {
    let house = house()
        .setting("tools", "delete_*")
        .setting("destructive", "true")
        .setting("model-tool", "true");
    let all = house.assign::<ViewAssignment>().expect("views are assigned");
    let said: Vec<_> = all
        .iter()
        .map(|one| (one.tool.as_str(), one.view.is_some(), one.for_model, one.for_views))
        .collect();
    let expected = [
        ("get_forecast", false, true, false),
        ("delete_everything", true, true, true),
        ("_ui", false, true, false),
    ];
    assert_eq!(said, expected);
    let forecast = "ui://portcullis/get_forecast/0.html";
    Pages::read(&house.request(), forecast).expect_err("it gets none");
    assert!(
        refusal(&house, "inspect", json!({ "toolName": "get_forecast" }))
            .contains("setting `tools`")
    );
}

#[test]
fn the_model_sees_the_ui_tool_if_there_is_a_provider() {
    let seen = |house: Rehearsal| {
        let all = house.assign::<ViewAssignment>().expect("views are assigned");
        all.iter().any(|one| one.tool == "_ui" && one.for_model)
    };
    let with_provider = || house().setting("provider", "ollama").setting("model", "m");
    assert!(seen(with_provider()));
    assert!(!seen(with_provider().setting("model-tool", "false")));
    assert!(!seen(house().setting("provider", "ollama")), "without a model there is none");
}

#[test]
fn an_action_refuses_arguments_of_other_actions() {
    let house = house();
    let forecast = json!({ "toolName": "get_forecast" });
    for (action, arguments, expected) in [
        ("apply", json!({}), "the action `apply` needs `toolName`"),
        ("inspect", json!({}), "the action `inspect` needs `toolName`"),
        ("list", json!({ "feedback": "larger" }), "the action `list` takes no `feedback`"),
        ("refine", json!({ "toolName": "get_forecast", "spec": {} }), "takes no `spec`"),
        (
            "apply",
            json!({ "toolName": "get_forecast", "clearRefinements": true }),
            "takes no `clear",
        ),
        ("refine", forecast, "`feedback` must say what to change"),
        ("delete", json!({}), "unknown variant `delete`"),
    ] {
        let said = refusal(&house, action, arguments.clone());
        assert!(said.contains(expected), "{action} {arguments}: {said}");
    }
}

#[test]
fn wrong_settings_are_reported_and_the_safe_default_holds() {
    let house = house().setting("destructive", "perhaps");
    assert!(!house.assign::<ViewAssignment>().expect("views are assigned")[1].for_views);
    assert!(
        house.logged()[0].1["wrong"][0].as_str().expect("it is told").contains("`destructive`")
    );
    assert!(told(&house, "list", json!({}))["problems"][0].is_string());
}

#[test]
fn a_page_is_read_at_its_uri_and_at_older_uris() {
    let house = house();
    let address = address(&house, "get_forecast");
    let page = page_at(&house, &address);
    assert_eq!(page::tests::data(&page), json!({ "tool": page::definition(&weather()) }));
    assert_eq!(page_at(&house, "ui://portcullis/get_forecast/0123abc.html"), page);
    assert_eq!(
        Pages::version(&house.request(), "ui://portcullis/get_forecast/0.html")
            .expect("it is there"),
        Some(address)
    );
    assert!(house.jobs().is_empty(), "there is no provider");
    for nowhere in [
        "ui://portcullis/gone/0.html",
        "ui://portcullis/map/0.html",
        "ui://portcullis/_ui/0.html",
        "ui://other/get_forecast/0.html",
    ] {
        let failure = Pages::read(&house.request(), nowhere).expect_err("there is none");
        assert!(failure.to_string().contains("there is no resource"), "{failure}");
    }
}

#[test]
fn the_uri_changes_with_the_page() {
    let with = |tool: Entry, runtime: &str| {
        let name = tool.name.clone();
        address(&Rehearsal::new().setting("runtime", runtime).catalog_tool(tool), &name)
    };
    let first = with(weather(), "packed");
    assert_eq!(with(weather(), "packed"), first);
    assert_ne!(with(weather(), "plain"), first);
    let deeper = Entry {
        input_schema: json!({ "type": "object", "properties": { "city": { "type": "string", "minLength": 2 } } }),
        ..weather()
    };
    assert_ne!(with(deeper, "packed"), first);
    assert_ne!(with(Entry { description: None, ..weather() }, "packed"), first);
    let reordered = Entry {
        input_schema: json!({ "properties": weather().input_schema["properties"], "type": "object" }),
        ..weather()
    };
    assert_eq!(with(reordered, "packed"), first);
}

#[test]
fn pages_are_listed_with_the_same_meta() {
    let house = house();
    let listing = Pages::list(&house.request(), None).expect("they are listed");
    let said: Vec<_> =
        listing.resources.iter().map(|one| (one.0.uri.clone(), one.0.name.as_str())).collect();
    let expected = [
        (address(&house, "get_forecast"), "get_forecast.html"),
        (address(&house, "delete_everything"), "delete_everything.html"),
    ];
    assert_eq!(said, expected);
    let meta: Value =
        serde_json::from_str(listing.resources[0].0.extra.as_ref().expect("it is there"))
            .expect("it is JSON");
    assert_eq!(meta, page::meta());
    assert_eq!(listing.fresh.map(|(time, _)| time), Some(std::time::Duration::ZERO));
}

#[test]
fn refresh_reports_changes_of_tools_once() {
    let house = house();
    let first = told(&house, "refresh", json!({}));
    assert_eq!(
        first,
        json!({ "added": ["delete_everything", "get_forecast", "map"], "removed": [], "changed": [], "unchanged": 0 })
    );
    assert_eq!(house.changed(), [ListKind::Tools, ListKind::Resources]);
    house
        .call::<Ui>(acting("refine", json!({ "toolName": "get_forecast", "feedback": "larger" })))
        .expect("it works");
    let house = house
        .catalog_tool(Entry { description: None, ..delete() })
        .catalog_tool(Entry { title: None, ..weather() });
    let second = told(&house, "refresh", json!({}));
    assert_eq!(
        second,
        json!({ "added": [], "removed": [], "changed": ["get_forecast"], "unchanged": 2 })
    );
    let house = house.without_tool("get_forecast");
    assert_eq!(told(&house, "refresh", json!({}))["removed"], json!(["get_forecast"]));
    let house = house.catalog_tool(weather());
    assert_eq!(told(&house, "list", json!({}))["tools"][2]["refinements"], 0, "it was forgotten");
}

#[test]
fn tools_are_listed_with_their_views() {
    let house = house().setting("tools", "get_*");
    house
        .call::<Ui>(acting("refine", json!({ "toolName": "get_forecast", "feedback": "larger" })))
        .expect("it works");
    house
        .call::<Ui>(acting("apply", json!({ "toolName": "get_forecast", "spec": everything() })))
        .expect("it is right");
    let all = told(&house, "list", json!({}));
    let address = address(&house, "get_forecast");
    assert_eq!(
        all,
        json!({ "tools": [
        { "name": "get_forecast", "source": "weather", "uiType": "rich", "cached": true, "refinements": 1, "enabled": true, "address": address },
        { "name": "delete_everything", "source": "files", "uiType": "none", "cached": false, "refinements": 0, "enabled": false },
        { "name": "map", "source": "upstream", "uiType": "own", "cached": false, "refinements": 0, "enabled": false }
    ] })
    );
}

#[test]
fn hostile_names_stay_within_uris_and_pages() {
    for name in
        ["</script><script>alert(1)</script>", "a/b", "..", "ui://x", "köln \u{202e}", "%00", ""]
    {
        let tool = Entry {
            title: Some(name.to_owned()),
            description: Some(name.to_owned()),
            ..Entry::new(name, name, json!({ "type": "object" }))
        };
        let house = Rehearsal::new().catalog_tool(tool);
        let address = address(&house, name);
        let page = page_at(&house, &address);
        assert_eq!(page::tests::data(&page)["tool"]["name"], name);
        // The data and the runtime.
        assert_eq!(page.matches("<script").count(), 2, "{name}");
        assert_eq!(page.matches("<h1").count(), 1, "{name}");
    }
}

#[test]
fn fifty_tools_get_fifty_uris() {
    let schema =
        json!({ "type": "object", "properties": { "a": { "description": "x".repeat(3000) } } });
    let house = (0..50).fold(Rehearsal::new(), |house, number| {
        house.catalog_tool(Entry::new(format!("tool_{number}"), "s", schema.clone()))
    });
    let all = house.assign::<ViewAssignment>().expect("views are assigned");
    let addresses: std::collections::BTreeSet<_> =
        all.into_iter().filter_map(|one| one.view).collect();
    assert_eq!(addresses.len(), 50);
}

#[test]
fn a_difficult_schema_arrives_unchanged() {
    let deep = (0..60).fold(
        json!({ "type": "string" }),
        |inner, _| json!({ "type": "object", "properties": { "a": inner } }),
    );
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "__proto__": { "type": "string", "default": "" },
            "constructor": { "const": { "a": [1, null, false, "</script>"] } },
            "zero": { "type": "integer", "default": 0, "maximum": 9_007_199_254_740_993_u64 },
            "off": { "type": "boolean", "default": false },
            "tree": { "$ref": "#/$defs/node" },
            "either": { "oneOf": [{ "$ref": "#/$defs/node" }, { "type": ["null", "array"], "prefixItems": [true, false], "items": { "anyOf": [{}, { "not": {} }] } }] },
            "all": { "allOf": [{ "properties": { "\u{1f600} {{data}} \u{2028}": { "enum": [1, "1", null, { "a": 1 }, [1.5, -0.0]] } } }, { "required": ["x"] }] },
            "map": { "patternProperties": { "^<!--": { "type": "number", "multipleOf": 0.01 } }, "additionalProperties": false },
            "when": { "if": { "required": ["a"] }, "then": { "minProperties": 2 }, "else": false },
            "deep": deep
        },
        "$defs": { "node": { "type": "object", "properties": { "children": { "type": "array", "items": { "$ref": "#/$defs/node" }, "uniqueItems": true } } } },
        "unevaluatedProperties": false
    });
    let tool = Entry { output_schema: Some(schema.clone()), ..Entry::new("hard", "s", schema) };
    let house = Rehearsal::new().catalog_tool(tool.clone());
    let page = page_at(&house, &address(&house, "hard"));
    assert_eq!(page::tests::data(&page), json!({ "tool": page::definition(&tool) }));
    let specification = json!({ "version": 1, "root": { "component": "List", "items": "/result/tree/children/0/children", "child": {
        "component": "Details", "path": "@/children/7" } } });
    house
        .call::<Ui>(acting("apply", json!({ "toolName": "hard", "spec": specification })))
        .expect("it is right");
}
