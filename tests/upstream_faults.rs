//! Tests of misbehaving upstream servers: calls end with clear errors, and other sources are not affected.

use std::fs;
use std::io::Write;
use std::time::Instant;

use serde_json::{Value, json};

use crate::support::client::{Client, Era, Event, text_of};
use crate::support::home::{Home, make_fifo};
use crate::support::process::{memory, peak_memory};
use crate::support::{PATIENCE, stand_in};

/// A home with a plugin, and the server `odd`, started with these options.
fn home(options: &[&str], more: &str) -> Home {
    let home = Home::with(&["echo"], "");
    let arguments = [&["stdio"], options, &["all"]].concat();
    configure(&home, &stand_in(), &arguments, more);
    home
}

fn configure(home: &Home, command: &str, arguments: &[&str], more: &str) {
    home.configure(&format!(
        "[host]\nbundled = false\n[plugins.echo]\n[upstreams.odd]\nprefix = \"odd\"\n\
         command = {command:?}\nargs = {arguments:?}\n{more}\n"
    ));
}

/// Both eras of clients, each with an upstream server of the other era.
fn pairs() -> [(Era, &'static str); 2] {
    [(Era::Legacy, "modern"), (Era::Modern, "legacy")]
}

fn is_served(client: &mut Client) {
    assert_eq!(client.text("echo", json!({"text": "still here"})), "still here");
}

/// The child processes that a process has started, from any of its threads.
fn children(process: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).expect("it runs");
    let all = threads.filter_map(|thread| {
        let children = thread.expect("a thread").path().join("children");
        // A thread may have ended since it was listed.
        fs::read_to_string(children).ok()
    });
    let all: Vec<_> = all.collect();
    let ids = all.iter().flat_map(|text| text.split_whitespace());
    let ids: Vec<u32> = ids.map(|id| id.parse().expect("a number")).collect();
    assert!(!ids.is_empty(), "it has started the other server");
    ids
}

#[test]
fn a_server_that_is_killed_during_a_call_is_started_again() {
    for (era, options) in pairs() {
        let home = home(&[options], "");
        let mut client = Client::start(&home, era);
        for kill in [true, false] {
            let hanging = client.begin("odd_hang", json!({}));
            while !client.text("odd_seen", json!({})).contains("tools/call\ntools/call") {}
            let dying = if kill {
                let process = client.process().id();
                for child in children(process) {
                    let child = i32::try_from(child).ok().and_then(rustix::process::Pid::from_raw);
                    let killed = rustix::process::Signal::KILL;
                    rustix::process::kill_process(child.expect("above 0"), killed)
                        .expect("it runs");
                }
                None
            } else {
                Some(client.begin("odd_die", json!({})))
            };
            for id in [Some(hanging), dying].into_iter().flatten() {
                let text = text_of(&client.finish(id));
                assert!(text.starts_with("error: "), "{text}");
                assert!(text.contains("`odd`: the connection was lost"), "{text}");
                let why = if kill { "signal: 9" } else { "exit status: 7" };
                assert!(text.contains(why), "{text}");
            }
            is_served(&mut client);
            let again = client.text("odd_echo", json!({"number": 1}));
            assert!(again.contains("{\"number\":1}"), "{again}");
        }
        let outcomes = home.outcomes();
        let failed = ("hang".to_owned(), "upstream-failed".to_owned());
        assert_eq!(outcomes.iter().filter(|one| **one == failed).count(), 2, "{outcomes:?}");
    }
}

#[test]
fn a_server_that_hangs_times_out() {
    for (era, options) in pairs() {
        let home = home(&[options], "timeout-seconds = 5");
        let mut client = Client::start(&home, era);
        let hanging = client.begin("odd_hang", json!({}));
        is_served(&mut client);
        let text = text_of(&client.finish(hanging));
        assert!(text.contains("did not answer within 5 s"), "{text}");
        assert!(text.contains("timeout-seconds"), "{text}");
        while !client.text("odd_seen", json!({})).contains("notifications/cancelled") {}
    }
}

#[test]
fn a_server_that_starts_slowly_delays_nothing_and_is_listed_later() {
    let home = Home::with(&["echo"], "");
    let fifo = home.path().join("start");
    make_fifo(&fifo);
    let script = "read -r go < \"$0\"; exec \"$1\" stdio legacy all";
    let arguments = ["-c", script, fifo.to_str().expect("a path is UTF-8"), &stand_in()];
    configure(&home, "/bin/sh", &arguments, "start-seconds = 100");
    let mut client = Client::start(&home, Era::Legacy);
    is_served(&mut client);
    let listed = client.request("tools/list", json!({}));
    let listed = client.reply(listed).to_string();
    assert!(listed.contains("\"echo\"") && !listed.contains("odd_"), "{listed}");
    // Opening a FIFO waits until its other end is open.
    fs::File::options()
        .write(true)
        .open(&fifo)
        .and_then(|mut f| f.write_all(b"go\n"))
        .expect("a FIFO");
    has_changed(&mut client);
    let text = client.text("odd_echo", json!({"number": 2}));
    assert!(text.contains("{\"number\":2}"), "{text}");
}

/// Waits for the notification that the list of tools has changed.
fn has_changed(client: &mut Client) {
    let deadline = Instant::now() + PATIENCE;
    let is_told = |event: &Event| matches!(event, Event::Told(told) if told["method"] == "notifications/tools/list_changed");
    while !client.events.iter().any(is_told) {
        assert!(Instant::now() < deadline, "nobody said so: {:?}", client.events);
        is_served(client);
    }
    client.events.clear();
}

#[test]
fn invalid_answers_are_reported_as_protocol_errors() {
    for (era, options) in pairs() {
        let home = home(&[options], "");
        let mut client = Client::start(&home, era);
        assert_eq!(client.text("odd_garbage", json!({})), "clean");
        let text = client.text("odd_deep", json!({}));
        assert!(text.contains("violates the protocol"), "{text}");
        assert!(text.contains("report this to its authors"), "{text}");
        is_served(&mut client);
        assert_eq!(client.text("odd_log", json!({})), "logged");
        // The server's invalid output is in the log, without control characters.
        let said = client.process().stderr();
        assert!(said.contains("upstream `odd`") && !said.contains('\u{1b}'), "{said}");
    }
}

#[test]
fn answers_of_fifty_megabytes_are_refused_or_passed_on_and_not_kept() {
    const BIG: u64 = 50_000_000;
    let home_that_refuses = home(&["legacy"], "");
    let mut client = Client::start(&home_that_refuses, Era::Modern);
    is_served(&mut client);
    assert_eq!(client.text("odd_log", json!({})), "logged");
    let before = peak_memory(client.process().id());
    for _ in 0..3 {
        let text = client.text("odd_big", json!({"bytes": BIG}));
        assert!(text.contains("more than 16777216 bytes"), "{text}");
        assert!(text.contains("answer-bytes"), "{text}");
        is_served(&mut client);
    }
    let grown = peak_memory(client.process().id()) - before;
    assert!(grown < 64_000_000, "it held {grown} bytes more to refuse an answer");
    client.end();

    let home_that_allows = home(&["modern"], "answer-bytes = 100_000_000");
    let mut client = Client::start(&home_that_allows, Era::Legacy);
    let mut first = None;
    for _ in 0..4 {
        assert_eq!(client.text("odd_big", json!({"bytes": BIG})).len() as u64, BIG);
        first.get_or_insert_with(|| memory(client.process().id()));
    }
    let (first, last) = (first.expect("there was one"), memory(client.process().id()));
    assert!(last < first + BIG * 3, "it kept answers: {first} bytes, and later {last}");
    is_served(&mut client);
}

#[test]
fn changed_tools_are_notified_and_held_back() {
    for options in ["legacy", "modern"] {
        let home = home(&[options], "");
        let mut client = Client::start(&home, Era::Legacy);
        assert_eq!(client.text("odd_log", json!({})), "logged");
        client.text("odd_change", json!({}));
        has_changed(&mut client);
        let id = client.request("tools/list", json!({}));
        let listed = client.reply(id);
        let names: Vec<_> = listed["result"]["tools"].as_array().into_iter().flatten().collect();
        let has = |name: &str| names.iter().any(|tool| tool["name"] == name);
        assert!(has("odd_log"), "{names:?}");
        // One tool has changed, one is gone, and one has a name that was never approved.
        assert!(!has("odd_echo") && !has("odd_hang") && !has("odd_added"), "{names:?}");
        for held in ["odd_echo", "odd_added"] {
            let text = client.text(held, json!({}));
            assert!(text.contains("portcullis plugin approve odd"), "{text}");
        }
        let text = client.text("odd_hang", json!({}));
        assert!(text.contains("unknown tool: odd_hang"), "{text}");
    }
}

#[test]
fn a_locked_lock_file_delays_no_other_request() {
    let upstream = "[host]\nbundled = false\n[upstreams.odd]\nprefix = \"odd\"\n";
    let upstream = format!("{upstream}command = {:?}\nargs = [\"stdio\"]\n", stand_in());
    let plugin = "[host]\nbundled = false\n[plugins.echo]\n";
    // Three operations wait for the file: the approval of a plugin, the approval of an upstream server, and new claims of
    // names.
    for (config, known) in [(plugin, false), (upstream.as_str(), false), (upstream.as_str(), true)]
    {
        let home = if config == plugin { Home::with(&["echo"], "") } else { Home::new() };
        home.configure(config);
        let state = home.path().join(".local/state/portcullis");
        if known {
            home.run(&["tools"]);
            let lock = state.join("portcullis.lock");
            let text = fs::read_to_string(&lock).expect("it was approved");
            let approved = text.split("[[claims]]").next().unwrap_or_default();
            assert!(approved.contains("odd") && approved != text, "{text}");
            fs::write(&lock, approved).expect("a home");
        }
        fs::create_dir_all(&state).expect("a home");
        let file = fs::File::create(state.join("portcullis.lock.held")).expect("a home");
        file.lock().expect("nobody else has it");
        let mut client = Client::start(&home, Era::Legacy);
        let listing = client.request("tools/list", json!({}));
        // The list waits for the lock. Requests that arrive meanwhile do not.
        let until = Instant::now() + std::time::Duration::from_millis(1500);
        while Instant::now() < until {
            let ping = client.request("ping", json!({}));
            let _answer = client.reply(ping);
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        assert!(!client.has_reply(listing), "the list waits for the lock");
        file.unlock().expect("it is locked");
        let listed = client.reply(listing);
        assert!(!listed["result"]["tools"][0].is_null(), "{listed}");
    }
}

#[test]
fn notifications_of_resources_and_logs_reach_the_right_clients() {
    for options in ["legacy", "modern"] {
        let home = home(&[options], "");
        let mut client = Client::start(&home, Era::Legacy);
        let told = |client: &Client, method: &str| -> Vec<Value> {
            let told = client.events.iter().filter_map(|event| match event {
                Event::Told(told) if told["method"] == method => Some(told["params"].clone()),
                Event::Told(_) | Event::Asked(..) => None,
            });
            told.collect()
        };
        assert_eq!(client.text("odd_log", json!({})), "logged");
        let logs = told(&client, "notifications/message");
        assert_eq!((logs.len(), &logs[0]["data"]), (1, &json!("said")), "{logs:?}");
        // From now on, the client gets only log records of the level `error` and above.
        let id = client.request("logging/setLevel", json!({"level": "error"}));
        assert_eq!(client.reply(id)["result"], json!({}));
        if options == "legacy" {
            while !client.text("odd_seen", json!({})).contains("logging/setLevel \"error\"") {}
        }
        assert_eq!(client.text("odd_log", json!({})), "logged");
        assert_eq!(told(&client, "notifications/message").len(), 1);
        let id = client.request("resources/subscribe", json!({"uri": "test://one"}));
        assert_eq!(client.reply(id)["result"], json!({}));
        let updated = "notifications/resources/updated";
        let deadline = Instant::now() + PATIENCE;
        while told(&client, updated).is_empty() {
            assert!(Instant::now() < deadline, "nobody said so: {:?}", client.events);
            client.text("odd_touch", json!({}));
        }
        assert_eq!(told(&client, updated)[0]["uri"], "test://one");
        let id = client.request("resources/unsubscribe", json!({"uri": "test://one"}));
        assert_eq!(client.reply(id)["result"], json!({}));
        if options == "legacy" {
            let gone = "resources/unsubscribe \"test://one\"";
            while !client.text("odd_seen", json!({})).contains(gone) {}
            client.notify("notifications/roots/list_changed", json!({}));
            let roots = "notifications/roots/list_changed";
            while !client.text("odd_seen", json!({})).contains(roots) {}
        }
    }
}

#[test]
fn commands_show_upstream_servers_and_record_calls() {
    let home = home(&["legacy"], "");
    let listed = home.run(&["plugin", "list"]);
    assert!(listed.stdout.contains("odd stand-in 1.0.0, MCP 2025-11-25"), "{listed:?}");
    let called = home.run(&["call", "odd_log", "--trail"]);
    assert_eq!(
        (called.code, called.stdout.lines().next()),
        (Some(0), Some("logged")),
        "{called:?}"
    );
    assert!(called.stdout.contains("\"tool\":\"log\""), "{called:?}");
    assert_eq!(home.outcomes(), [("log".to_owned(), "done".to_owned())]);
    let audit = home.run(&["audit", "odd"]);
    assert!(audit.stdout.contains("nothing confines it"), "{audit:?}");
    assert!(audit.stdout.contains("calls: 1"), "{audit:?}");
    let audit = home.run(&["audit", "--json"]);
    let audit: Value = serde_json::from_str(&audit.stdout).expect("JSON");
    assert_eq!(audit["upstreams"][0]["state"], "connected", "{audit}");
    let checked = home.run(&["check"]);
    assert!(checked.stdout.contains("upstream `odd`, tools: 13"), "{checked:?}");
    configure(&home, "/no/such/program", &[], "");
    let listed = home.run(&["plugin", "list", "--json"]);
    let listed: Value = serde_json::from_str(&listed.stdout).expect("JSON");
    let odd = &listed["upstreams"][0];
    assert_eq!(odd["state"], "unreachable", "{odd}");
    assert!(odd["reason"].as_str().is_some_and(|why| why.contains("/no/such/program")), "{odd}");
}
