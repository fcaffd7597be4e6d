//! Tests that a running server reads its configuration and plugins again, and that a configuration or plugin that
//! cannot be used changes nothing.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::PATIENCE;
use crate::support::client::{Client, Era, text_of};
use crate::support::guests::guests;
use crate::support::home::Home;
use crate::support::stand_in;

const ECHO: &str = "[host]\nbundled = false\n[plugins.echo]\n";

/// The names of the listed tools.
fn tools(client: &mut Client) -> Vec<String> {
    let id = client.request("tools/list", json!({}));
    let reply = client.reply(id);
    let tools = reply["result"]["tools"].as_array().expect("a list");
    let name = |tool: &Value| tool["name"].as_str().unwrap_or_default().to_owned();
    tools.iter().map(name).collect()
}

/// Lists the tools until `is_right` is true of their names.
fn await_tools(client: &mut Client, is_right: impl Fn(&[String]) -> bool) -> Vec<String> {
    let began = Instant::now();
    loop {
        let listed = tools(client);
        if is_right(&listed) {
            return listed;
        }
        assert!(began.elapsed() < PATIENCE, "{listed:?}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn has(name: &'static str) -> impl Fn(&[String]) -> bool {
    move |listed| listed.iter().any(|tool| tool == name)
}

#[test]
fn a_plugin_that_is_dropped_in_appears_with_a_notification_and_one_that_is_removed_goes() {
    let home = Home::with(&["echo"], ECHO);
    let mut client = Client::start(&home, Era::Legacy);
    let before = tools(&mut client);
    assert!(has("echo")(&before) && !has("spin")(&before), "{before:?}");
    home.install("greedy");
    client.hear(|message| message["method"] == "notifications/tools/list_changed");
    let both = await_tools(&mut client, has("spin"));
    assert!(has("echo")(&both), "{both:?}");
    fs::remove_file(home.plugins().join("greedy.wasm")).expect("it was installed");
    await_tools(&mut client, |listed| !has("spin")(listed));
    assert_eq!(client.text("echo", json!({"text": "still here"})), "still here");
}

#[test]
fn a_configuration_that_cannot_be_used_changes_nothing_and_is_said() {
    let home = Home::with(&["echo", "greedy"], ECHO);
    let mut client = Client::start(&home, Era::Legacy);
    assert!(has("spin")(&tools(&mut client)));
    home.configure(&format!("{ECHO}[plugins.greedy]\nenabld = false\n"));
    let said = client.process().hear("goes on with the one that it has");
    assert!(said.contains("enabld") && said.contains("enabled"), "{said}");
    assert!(has("spin")(&tools(&mut client)));
    home.configure(&format!("{ECHO}[plugins.greedy]\nenabled = false\n"));
    await_tools(&mut client, |listed| !has("spin")(listed));
    let code = client.end();
    assert_eq!(code.code, Some(0), "{code:?}");
}

#[test]
fn a_changed_file_is_held_back_until_it_is_approved_and_the_old_code_goes_on() {
    let home = Home::with(&["echo"], ECHO);
    let mut client = Client::start(&home, Era::Legacy);
    assert_eq!(client.text("echo", json!({"text": "a"})), "a");
    // Another component replaces the approved one.
    fs::copy(guests().component("greedy"), home.plugins().join("echo.wasm")).expect("it was built");
    let said = client.process().hear("goes on with the code");
    assert!(said.contains("its file has changed since it was approved"), "{said}");
    assert_eq!(client.text("echo", json!({"text": "b"})), "b");
    let approved = home.run(&["plugin", "approve", "echo", "--yes"]);
    assert_eq!(approved.code, Some(0), "{approved:?}");
    let listed = await_tools(&mut client, has("spin"));
    assert!(!has("echo")(&listed), "{listed:?}");
}

#[test]
fn a_change_of_a_plugins_section_takes_effect_even_while_its_new_file_is_held_back() {
    let home = Home::with(&["echo"], ECHO);
    let mut client = Client::start(&home, Era::Legacy);
    assert!(has("echo")(&tools(&mut client)));
    fs::copy(guests().component("greedy"), home.plugins().join("echo.wasm")).expect("it was built");
    home.configure("[host]\nbundled = false\n[plugins.echo]\ntools-off = [\"echo\"]\n");
    await_tools(&mut client, |listed| !has("echo")(listed));
    let id = client.request("tools/call", json!({"name": "echo", "arguments": {"text": "a"}}));
    assert!(client.reply(id)["error"].is_object());
}

#[test]
fn a_call_in_flight_ends_as_it_began() {
    let home = Home::with(&["greedy"], "[host]\nbundled = false\n[limits]\nwall-ms = 6_000\n");
    let mut client = Client::start(&home, Era::Legacy);
    let call = client.begin("spin", json!({"how": "sleep"}));
    home.configure("[host]\nbundled = false\n[plugins.greedy]\nenabled = false\n");
    await_tools(&mut client, |listed| !has("spin")(listed));
    let text = text_of(&client.reply(call));
    assert!(text.contains("was stopped after 6000 ms"), "{text}");
}

#[test]
fn a_server_whose_section_is_the_same_keeps_its_connection() {
    let section = |name: &str| {
        let command = stand_in();
        format!(
            "[upstreams.{name}]\ncommand = {command:?}\nargs = [\"stdio\", \"all\"]\nprefix = {name:?}\n"
        )
    };
    let home = Home::with(&[], &format!("[host]\nbundled = false\n{}", section("kept")));
    let mut client = Client::start(&home, Era::Legacy);
    // The process of the server now lists `echo` with another definition, which is held back.
    assert_eq!(client.text("kept_change", json!({})), "changed");
    await_tools(&mut client, |listed| !has("kept_echo")(listed));
    home.configure(&format!("[host]\nbundled = false\n{}{}", section("kept"), section("new")));
    let listed = await_tools(&mut client, has("new_echo"));
    assert!(!has("kept_echo")(&listed), "{listed:?}");
    // With another section, another process is started at the next use.
    home.configure(&format!("[host]\nbundled = false\n{}start-seconds = 77\n", section("kept")));
    await_tools(&mut client, |listed| !has("new_echo")(listed));
    client.text("kept_seen", json!({}));
    await_tools(&mut client, has("kept_echo"));
}

#[cfg(unix)]
mod over_http {
    use rustix::process::{Pid, Signal, kill_process};

    use super::*;
    use crate::support::http;
    use crate::support::process::Process;
    use crate::support::wire::serve;

    const OLD: &str = "0123456789abcdef-old";
    const NEW: &str = "0123456789abcdef-new";

    /// The status of a request to `/metrics` with this token.
    fn status(address: std::net::SocketAddr, token: &str) -> u16 {
        let (host, bearer) = (address.to_string(), format!("Bearer {token}"));
        let headers = [("host", host.as_str()), ("authorization", bearer.as_str())];
        http::request(address, "GET /metrics", &headers, b"").expect("a response").status()
    }

    /// A server over HTTP whose token is in a file, in a home with the plugin `echo`.
    fn served() -> (Home, Process, std::net::SocketAddr) {
        let home = Home::with(&["echo"], "");
        fs::write(home.path().join("token"), OLD).expect("a home can be written");
        home.configure(&format!("{ECHO}[http]\ntoken-file = \"$HOME/token\"\n"));
        let (process, address) = serve(&home, &[]);
        (home, process, address)
    }

    #[test]
    fn a_new_token_is_required_from_the_next_request_on() {
        let (home, process, address) = served();
        assert_eq!((status(address, OLD), status(address, NEW)), (200, 401));
        fs::write(home.path().join("token"), NEW).expect("a home can be written");
        process.hear("were read again");
        assert_eq!((status(address, OLD), status(address, NEW)), (401, 200));
        // A token that could be guessed is refused, and the last valid token stays.
        fs::write(home.path().join("token"), "short").expect("a home can be written");
        process.hear("goes on with the one that it has");
        assert_eq!(status(address, NEW), 200);
        assert_eq!(status(address, "short"), 401);
    }

    #[test]
    fn hangup_reloads_a_service_and_what_is_fixed_at_the_start_is_named() {
        let (home, process, address) = served();
        home.configure(&format!(
            "{ECHO}[http]\ntoken-file = \"$HOME/token\"\nbody-bytes = 1000\nlisten = \"127.0.0.1:1\"\n"
        ));
        let id = Pid::from_raw(process.id().cast_signed()).expect("a process has an id");
        kill_process(id, Signal::HUP).expect("it is ours");
        let said = process.hear("SIGHUP: the configuration and plugins were read again");
        for key in ["`http.body-bytes`", "`http.listen`"] {
            assert!(said.contains(key) && said.contains("at the next start"), "{said}");
        }
        assert_eq!(status(address, OLD), 200);
    }
}
