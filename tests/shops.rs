//! Tests with realistic upstream servers, a weather service and a database: every tool gets a view, and nothing else
//! changes.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::client::{Client, Era};
use crate::support::home::Home;
use crate::support::process::Process;
use crate::support::stand_in;

/// How the host is told about an upstream server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// `portcullis wrap`.
    Wrap,
    /// `[upstreams.NAME]`.
    Configured,
}

const WEATHER: &[(&str, &str)] = &[
    ("get_current_weather", r#"{"city": "Köln \"am\" Rhein", "units": "imperial"}"#),
    ("get_current_weather", r#"{"city": "Atlantis"}"#),
    ("get_forecast", r#"{"city": "Berlin", "from": "2026-11-03", "days": 14}"#),
    ("compare_cities", r#"{"cities": ["Berlin", "Bonn"]}"#),
    ("get_alerts", r#"{"atLeast": 2, "like": null}"#),
    ("show_radar", "{}"),
];

/// Calls of the tools of the database. The order matters, since all calls use the same database.
const DATABASE: &[(&str, &str)] = &[
    ("list_tables", "{}"),
    ("query", r#"{"table": "orders", "where": "customer = ?", "parameters": [1], "limit": 1}"#),
    ("query", r#"{"table": "customers"}"#),
    ("query", r#"{"table": "customers", "where": "DROP TABLE customers"}"#),
    ("insert_row", r#"{"table": "orders", "row": {"id": 4, "total": 0.1, "shipped": null}}"#),
    ("delete_rows", r#"{"table": "orders", "where": {"shipped": null}}"#),
    ("query", r#"{"table": "orders"}"#),
];

/// The capabilities of a client that shows views.
fn shows_views() -> Value {
    json!({"extensions": {
        "io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]},
    }})
}

/// A client of a host with an upstream server called `shop`, and the server's process, if it is not a child of the
/// host.
fn behind(
    home: &Home,
    shop: &str,
    way: Way,
    over_http: bool,
    era: Era,
    capabilities: Value,
) -> (Client, Option<Process>) {
    let program = stand_in();
    let served = over_http.then(|| {
        let mut process = Process::start(Command::new(&program).args(["http", shop]));
        let address = process.line().expect("it says where it listens");
        (process, address)
    });
    let (process, address) = served.unzip();
    let client = match way {
        Way::Wrap => {
            let server: &[&str] = match &address {
                Some(address) => &[address],
                None => &[&program, "stdio", shop],
            };
            let arguments = [&["wrap", "--name", "shop", "--"], server].concat();
            Client::start_with(home, &arguments, era, capabilities)
        }
        Way::Configured => {
            let how = match &address {
                Some(address) => format!("url = {address:?}"),
                None => format!("command = {program:?}\nargs = [\"stdio\", {shop:?}]"),
            };
            home.configure(&format!("[upstreams.shop]\n{how}\n"));
            Client::start_with(home, &["serve"], era, capabilities)
        }
    };
    (client, process)
}

fn direct(shop: &str, era: Era) -> Client {
    Client::of(Command::new(stand_in()).args(["stdio", shop]), era, json!({}))
}

fn result(client: &mut Client, method: &str, params: Value) -> Value {
    let id = client.request(method, params);
    let reply = client.finish(id);
    assert!(reply["error"].is_null(), "{method}: {reply}");
    reply["result"].clone()
}

fn list(client: &mut Client) -> Vec<Value> {
    result(client, "tools/list", json!({}))["tools"].as_array().expect("a list").clone()
}

fn names(tools: &[Value]) -> BTreeSet<&str> {
    tools.iter().map(|tool| tool["name"].as_str().expect("a name")).collect()
}

/// A definition without the members that the host adds or replaces.
fn undressed(tool: &Value) -> Value {
    let mut tool = tool.as_object().expect("a tool").clone();
    if let Some(meta) = tool.get_mut("_meta").and_then(Value::as_object_mut) {
        meta.remove("ui");
        meta.remove("ui/resourceUri");
        if meta.is_empty() {
            tool.remove("_meta");
        }
    }
    tool.into()
}

/// The data in a page about its tool.
fn data(page: &str) -> Value {
    let start =
        page.find("id=\"portcullis\">").expect("there is data") + "id=\"portcullis\">".len();
    let end = page[start..].find("</script").expect("it ends");
    serde_json::from_str(&page[start..start + end]).expect("it is JSON")
}

/// Asserts that each tool has a view, and that each view that the host makes has the server's definition of its tool.
fn all_have_views(client: &mut Client, expected: &[Value]) {
    let tools = list(client);
    let shown: Vec<_> =
        tools.iter().filter(|tool| names(expected).contains(&*name(tool))).collect();
    assert_eq!(shown.len(), expected.len(), "{:?}", names(&tools));
    for (tool, theirs) in shown.into_iter().zip(expected) {
        assert_eq!(undressed(tool), undressed(theirs));
        let view = tool["_meta"]["ui"]["resourceUri"].as_str().expect("a view");
        assert_eq!(tool["_meta"]["ui/resourceUri"], view);
        let contents = result(client, "resources/read", json!({"uri": view}))["contents"].clone();
        assert_eq!(contents.as_array().map(Vec::len), Some(1));
        assert_eq!(contents[0]["uri"], view);
        assert_eq!(contents[0]["mimeType"], "text/html;profile=mcp-app");
        let page = contents[0]["text"].as_str().expect("a page");
        if theirs["_meta"].is_null() {
            assert!(view.starts_with("ui://portcullis/"), "{view}");
            let destroys = theirs["annotations"]["destructiveHint"] == true;
            let who = if destroys { json!(["model"]) } else { json!(["model", "app"]) };
            assert_eq!(tool["_meta"]["ui"]["visibility"], who, "{tool}");
            let known = data(page)["tool"].clone();
            for key in
                ["name", "title", "description", "inputSchema", "outputSchema", "annotations"]
            {
                assert_eq!(known[key], theirs[key], "{key} of {view}");
            }
        }
    }
}

fn name(tool: &Value) -> String {
    tool["name"].as_str().expect("a name").to_owned()
}

fn all_is_as_without_us(shop: &str, calls: &[(&str, &str)]) {
    for way in [Way::Wrap, Way::Configured] {
        for over_http in [false, true] {
            for era in Era::BOTH {
                for capabilities in [json!({}), shows_views()] {
                    let home = Home::new();
                    let (mut through, _process) =
                        behind(&home, shop, way, over_http, era, capabilities);
                    let mut direct = direct(shop, era);
                    let about = format!("{shop} {way:?} over HTTP {over_http} {era:?}");
                    all_have_views(&mut through, &list(&mut direct));
                    for (tool, arguments) in calls {
                        let arguments: Value = serde_json::from_str(arguments).expect("JSON");
                        let expected = direct.call(tool, arguments.clone());
                        let seen = through.call(tool, arguments);
                        assert_eq!(seen["result"], expected["result"], "{tool}: {about}");
                        assert_eq!(through.written(), direct.written(), "{tool}: {about}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_weather_service_gets_views_and_nothing_else_changes() {
    all_is_as_without_us("weather", WEATHER);
}

#[test]
fn a_database_gets_views_and_nothing_else_changes() {
    all_is_as_without_us("database", DATABASE);
}

#[test]
fn a_view_of_a_server_is_passed_on_with_another_uri() {
    for over_http in [false, true] {
        for era in Era::BOTH {
            let home = Home::new();
            let (mut through, _process) =
                behind(&home, "weather", Way::Wrap, over_http, era, shows_views());
            let mut direct = direct("weather", era);
            let tools = list(&mut through);
            let radar =
                tools.iter().find(|tool| tool["name"] == "show_radar").expect("it is there");
            let (own, ours) = ("ui://weather/radar.html", "ui://shop/weather/radar.html");
            let meta = json!({"ui": {"resourceUri": ours, "visibility": ["model", "app"]},
                "ui/resourceUri": ours, "weather/odd": [null, 1.5]});
            assert_eq!(radar["_meta"], meta);
            let read = |client: &mut Client, uri| {
                result(client, "resources/read", json!({"uri": uri}))["contents"][0].clone()
            };
            let mut expected = read(&mut direct, own);
            let seen = read(&mut through, ours);
            assert_eq!(seen["_meta"]["ui"]["csp"]["connectDomains"][0], "https://tiles.example");
            expected["uri"] = ours.into();
            assert_eq!(seen, expected);
            let listed = result(&mut through, "resources/list", json!({}));
            let mut one = result(&mut direct, "resources/list", json!({}))["resources"][0].clone();
            one["uri"] = ours.into();
            assert!(listed["resources"].as_array().expect("a list").contains(&one), "{listed}");
            // A call that the page makes, as the client passes it on.
            let call = json!({"city": "Köln"});
            let expected = direct.call("get_current_weather", call.clone());
            assert_eq!(through.call("get_current_weather", call)["result"], expected["result"]);
        }
    }
}

#[test]
fn a_view_calls_its_servers_tools_by_their_own_names() {
    // Clients know the tools by other names than the server's page uses.
    let home = Home::new();
    let program = stand_in();
    home.configure(&format!(
        "[upstreams.shop]\ncommand = {program:?}\nargs = [\"stdio\", \"weather\"]\nprefix = \"north\"\n"
    ));
    let mut client = Client::start_with(&home, &["serve"], Era::Modern, shows_views());
    let tools = list(&mut client);
    assert!(names(&tools).contains("north_get_current_weather"), "{:?}", names(&tools));
    let said = client.text("get_current_weather", json!({"city": "Köln"}));
    assert_eq!(said, client.text("north_get_current_weather", json!({"city": "Köln"})));
    assert!(said.contains("\"city\":\"Köln\""), "{said}");
}

#[test]
fn a_setting_shows_the_ui_tool() {
    let home = Home::new();
    let program = stand_in();
    for (shown, expected) in [("auto", 0), ("true", 1), ("false", 0)] {
        home.configure(&format!(
            "[plugins.ui.settings]\nmodel-tool = \"{shown}\"\n{}\
             [upstreams.shop]\ncommand = {program:?}\nargs = [\"stdio\", \"database\"]\n",
            crate::generation::GRANTS
        ));
        for era in Era::BOTH {
            let mut client = Client::start_with(&home, &["serve"], era, shows_views());
            let tools = list(&mut client);
            let own = names(&tools).into_iter().filter(|name| name.starts_with("_ui"));
            assert_eq!(own.count(), expected, "{:?}", names(&tools));
            all_have_views(&mut client, &list(&mut direct("database", era)));
        }
    }
}

#[test]
fn fifty_tools_get_fifty_views() {
    let home = Home::new();
    for era in Era::BOTH {
        let mut client = behind(&home, "fifty", Way::Wrap, false, era, shows_views()).0;
        all_have_views(&mut client, &list(&mut direct("fifty", era)));
        let first = list(&mut client);
        let calls = home.audit().len();
        assert_eq!(list(&mut client), first, "it is the same list");
        assert_eq!(home.audit().len(), calls, "nothing is run for it");
        let addresses: BTreeSet<_> =
            first.iter().filter_map(|tool| tool["_meta"]["ui/resourceUri"].as_str()).collect();
        assert_eq!(addresses.len(), 50);
    }
}
