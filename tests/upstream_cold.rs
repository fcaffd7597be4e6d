//! Tests of upstream servers that are not running: their known tools are listed, and they are started when they are
//! used.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use serde_json::json;

use crate::support::client::{Client, Era, text_of};
use crate::support::home::Home;
use crate::support::stand_in;

/// The section of a server that writes a line to the file `starts` at each start, and reads its options from the file
/// `options`.
fn section(name: &str, more: &str) -> String {
    let script = format!("echo {name} >> $HOME/starts; exec \"$0\" stdio $(cat $HOME/options)");
    format!(
        "[upstreams.{name}]\ncommand = \"/bin/sh\"\nargs = [\"-c\", '{script}', {:?}]\n{more}\n",
        stand_in()
    )
}

fn home(sections: &[String]) -> Home {
    let home = Home::new();
    fs::write(home.path().join("options"), "").expect("a home");
    home.configure(&format!("[host]\nbundled = false\n{}", sections.concat()));
    home
}

/// The servers that were started, in order.
fn starts(home: &Home) -> Vec<String> {
    let text = fs::read_to_string(home.path().join("starts")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn known_servers_are_listed_without_a_start_and_a_call_starts_only_its_server() {
    let home = home(&[section("one", ""), section("two", "prefix = \"two\"")]);
    let cold = home.run(&["tools"]);
    assert!(cold.stdout.contains("two_echo (two)"), "{cold:?}");
    let mut first = starts(&home);
    first.sort();
    assert_eq!(first, ["one", "two"], "a list starts those that were never seen");
    let warm = home.run(&["tools"]);
    assert_eq!(warm.stdout, cold.stdout);
    assert_eq!(starts(&home).len(), 2, "what is known is listed without a start");
    let called = home.run(&["call", "two_echo", "{}"]);
    assert_eq!(called.code, Some(0), "{called:?}");
    assert_eq!(starts(&home)[2..], ["two"], "a call starts its own server alone");
    for era in Era::BOTH {
        let before = starts(&home).len();
        let mut client = Client::start(&home, era);
        let asked = client.request("tools/list", json!({}));
        let listed = client.reply(asked)["result"]["tools"].as_array().expect("a list").len();
        assert!(listed > 2, "{listed} tools");
        assert_eq!(starts(&home).len(), before, "{era:?}");
        client.call("echo", json!({}));
        assert_eq!(starts(&home)[before..], ["one"], "{era:?}");
    }
}

#[test]
fn a_server_of_both_eras_is_used_in_the_era_of_the_client() {
    for era in Era::BOTH {
        let home = home(&[section("one", "")]);
        fs::write(home.path().join("options"), "all").expect("a home");
        for expected_starts in [1..=2, 1..=1] {
            let before = starts(&home).len();
            let mut client = Client::start(&home, era);
            let seen = text_of(&client.call("seen", json!({})));
            let is_legacy = seen.contains("initialize");
            assert_eq!(is_legacy, era == Era::Legacy, "{era:?}: {seen}");
            // A server of which nothing is known is listed before a client has said which era it speaks.
            let started = starts(&home).len() - before;
            assert!(expected_starts.contains(&started), "{era:?}: {started} starts");
        }
    }
}

#[test]
fn a_tool_that_changed_since_the_last_run_is_not_called() {
    let home = home(&[section("one", "")]);
    fs::write(home.path().join("options"), "weather").expect("a home");
    let listed = home.run(&["tools", "--json"]);
    let tools: serde_json::Value = serde_json::from_str(&listed.stdout).expect("JSON");
    let name = tools["tools"][0]["name"].as_str().expect("a tool").to_owned();
    fs::write(home.path().join("options"), "database").expect("a home");
    let called = home.run(&["call", &name, "{}"]);
    assert_eq!(called.code, Some(2), "{called:?}");
    assert!(called.stderr.contains("has changed since it was listed"), "{called:?}");
    let listed = home.run(&["tools"]);
    assert!(!listed.stdout.contains(&format!("{name} (one)")), "{listed:?}");
}

#[test]
fn a_forged_cache_entry_is_not_used() {
    let home = home(&[section("one", "")]);
    let listed = home.run(&["tools"]);
    let folder = home.path().join(".cache/portcullis/upstreams");
    for entry in fs::read_dir(folder).expect("it is remembered") {
        let path = entry.expect("an entry").path();
        let text = fs::read_to_string(&path).expect("text");
        fs::write(&path, text.replace("echo", "evil")).expect("a home");
    }
    assert_eq!(home.run(&["tools"]).stdout, listed.stdout);
    assert_eq!(starts(&home).len(), 2, "it was asked again");
}

#[test]
fn an_idle_server_is_stopped_and_started_again() {
    let home = home(&[section("brief", "idle-seconds = 1"), section("long", "prefix = \"long\"")]);
    let mut client = Client::start(&home, Era::Legacy);
    let call = |client: &mut Client, tool: &str| {
        let reply = client.call(tool, json!({}));
        assert!(text_of(&reply).contains("{}"), "{reply}");
    };
    call(&mut client, "echo");
    call(&mut client, "long_echo");
    let before = starts(&home).len();
    sleep(Duration::from_millis(2500));
    assert_eq!(starts(&home).len(), before, "its end is no reason to start it");
    call(&mut client, "echo");
    call(&mut client, "long_echo");
    assert_eq!(starts(&home)[before..], ["brief"]);
}

#[test]
fn the_client_is_told_about_a_server_that_cannot_start() {
    let home = home(&["[upstreams.none]\ncommand = \"/no/such/program\"\n".to_owned()]);
    let mut client = Client::start(&home, Era::Modern);
    let asked = client.request("tools/list", json!({}));
    client.reply(asked);
    let asked = client.request("server/discover", json!({}));
    let reply = client.reply(asked);
    let said = reply["result"]["instructions"].as_str().unwrap_or_default();
    assert!(said.contains("`none` could not be started"), "{reply}");
    assert!(!said.contains("/no/such"), "paths of this machine are not for models: {said}");
    client.end();
    let doctor = home.run(&["doctor"]);
    assert!(doctor.stdout.contains("`none`") && doctor.stdout.contains("/no/such"), "{doctor:?}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_confined_server_can_access_only_granted_files() {
    let home = Home::new();
    for name in ["granted/a", "read-only/a", "other"] {
        let path = home.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a home");
        fs::write(path, name).expect("a home");
    }
    let script = "cd $HOME/granted; cat a ../read-only/a ../other > seen 2> refused; \
                  { echo no > ../read-only/b; } 2>> refused; exec \"$0\" stdio";
    home.configure(&format!(
        "[host]\nbundled = false\n[upstreams.one]\ncommand = \"/bin/sh\"\nargs = [\"-c\", '{script}', {:?}]\n\
         [upstreams.one.confine]\nreads = [\"$HOME/read-only\"]\nwrites = [\"$HOME/granted\"]\n",
        stand_in()
    ));
    let called = home.run(&["call", "echo", "{}"]);
    assert_eq!(called.code, Some(0), "{called:?}");
    let text = |name: &str| fs::read_to_string(home.path().join("granted").join(name)).expect(name);
    assert_eq!(text("seen"), "granted/aread-only/a");
    assert_eq!(text("refused").matches("Permission denied").count(), 2, "{}", text("refused"));
    assert!(!home.path().join("read-only/b").exists());
    let listed = home.run(&["plugin", "list"]);
    assert!(listed.stdout.contains("confined; reads"), "{listed:?}");
    assert!(listed.stdout.contains("; no network"), "{listed:?}");
    let audit = home.run(&["audit", "one"]);
    assert!(audit.stdout.contains("confined; reads"), "{audit:?}");
    assert!(!audit.stdout.contains("nothing confines it"), "{audit:?}");
}

/// A service on this machine that greets each connection. Returns its port.
#[cfg(target_os = "linux")]
fn greeting(text: &'static str) -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("it is bound").port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            // The other side may have closed the connection.
            let _sent =
                std::io::Write::write_all(&mut stream.expect("a connection"), text.as_bytes());
        }
    });
    port
}

#[test]
#[cfg(target_os = "linux")]
fn a_confined_server_can_access_only_granted_hosts() {
    let home = Home::new();
    fs::create_dir_all(home.path().join("granted")).expect("a home");
    let (granted, closed, other) = (greeting("hello"), greeting("secret"), greeting("secret"));
    // Each line is a host and what is read from it. Bash looks names up as all programs do.
    let script = format!(
        "cd $HOME/granted; for to in api.localhost/{granted} 127.0.0.1/{granted} closed.localhost/{closed} \
         localhost/{other} 127.0.0.1/{other} none.example/{granted}; do \
         echo \"$to $({{ timeout 10 cat < /dev/tcp/$to; }} 2>> refused)\"; done > seen; \
         {{ echo no > /etc/hosts; }} 2>> refused; mapfile -t status < /proc/self/status; \
         printf \"%s\\n\" \"${{status[@]}}\" > status; exec \"$0\" stdio"
    );
    home.configure(&format!(
        "[host]\nbundled = false\n[upstreams.one]\ncommand = \"/bin/bash\"\nargs = [\"-c\", '{script}', {:?}]\n\
         [upstreams.one.confine]\nwrites = [\"$HOME/granted\"]\naddresses = [\"127.0.0.0/8\"]\n\
         hosts = [\"api.localhost:{granted}\", \"127.0.0.1:{granted}\"]\n\
         [upstreams.two]\ncommand = \"/bin/bash\"\nargs = [\"-c\", '{}', {:?}]\n\
         [upstreams.two.confine]\nwrites = [\"$HOME/granted\"]\nhosts = [\"closed.localhost:{closed}\"]\n",
        stand_in(),
        script.replace("> seen", "> seen-by-two"),
        stand_in(),
    ));
    let ran = home.run(&["plugin", "list"]);
    assert!(ran.stdout.contains(&format!("hosts api.localhost:{granted}")), "{ran:?}");
    let text = |name: &str| fs::read_to_string(home.path().join("granted").join(name)).expect(name);
    let seen = text("seen");
    assert!(
        seen.contains(&format!("api.localhost/{granted} hello\n")),
        "{seen} {}",
        text("refused")
    );
    assert!(seen.contains(&format!("127.0.0.1/{granted} hello\n")), "{seen}");
    assert_eq!(seen.matches("hello").count(), 2, "{seen}");
    assert!(!seen.contains("secret"), "{seen}");
    assert_eq!(seen.lines().count(), 6, "{seen}");
    assert!(
        !text("seen-by-two").contains("secret"),
        "its address is not public: {}",
        text("seen-by-two")
    );
    for sets in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        let line = format!("{sets}:\t0000000000000000\n");
        assert!(text("status").contains(&line), "{sets}: {}", text("status"));
    }
    let hosts = fs::read_to_string("/etc/hosts").unwrap_or_default();
    assert!(!hosts.contains("api.localhost"), "the file of this machine stays as it is: {hosts}");
}
