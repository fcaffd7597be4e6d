//! Tests that a misbehaving plugin affects only its own call, and can be stopped.

use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};

use crate::support::PATIENCE;
use crate::support::client::{Client, Era, text_of};
use crate::support::home::Home;
use crate::support::process::Process;
use crate::support::web::Web;

/// Limits so high that only cancelling ends a call within a test.
const CONFIG: &str = "[host]\nbundled = false\n[plugins.echo]\n[plugins.greedy]\n\
                      [limits]\nwall-ms = 1_000_000\ncpu-ms = 1_000_000\n";

const WAYS: [&str; 4] = ["code", "calls", "sleep", "naps"];

fn home() -> Home {
    Home::with(&["echo", "greedy"], CONFIG)
}

/// Begins four calls of each kind that never ends.
fn keep_busy(client: &mut Client) -> Vec<i64> {
    let ways = WAYS.into_iter().cycle().take(16);
    ways.map(|how| client.begin("spin", json!({"how": how}))).collect()
}

#[test]
fn guests_that_never_end_delay_no_other_request() {
    let home = home();
    for era in Era::BOTH {
        let mut client = Client::start(&home, era);
        assert_eq!(client.text("echo", json!({"text": "warm"})), "warm");
        let busy = keep_busy(&mut client);
        let began = Instant::now();
        for n in 0..20 {
            let id = client.request("tools/list", json!({}));
            assert!(client.reply(id).get("result").is_some());
            let text = n.to_string();
            assert_eq!(client.text("echo", json!({"text": text})), text);
            if era == Era::Legacy {
                let id = client.request("ping", json!({}));
                assert!(client.reply(id).get("result").is_some());
            }
        }
        assert!(!busy.iter().any(|id| client.has_reply(*id)), "they never end by themselves");
        // At most sixty answers: they take milliseconds if guests do not delay them, and would never come otherwise.
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    }
}

/// Waits until the audit has this many calls, and returns their outcomes.
fn outcomes(client: &mut Client, home: &Home, count: usize) -> Vec<(String, String)> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let outcomes = home.outcomes();
        if outcomes.len() >= count {
            return outcomes;
        }
        assert!(Instant::now() < deadline, "{count} calls should have ended: {outcomes:?}");
        // A request, so that this loop does not keep the machine busy.
        let id = client.request("tools/list", json!({}));
        client.reply(id);
    }
}

#[test]
fn a_call_that_is_cancelled_ends_and_is_recorded() {
    for era in Era::BOTH {
        for how in WAYS {
            let home = home();
            let mut client = Client::start(&home, era);
            let id = client.begin("spin", json!({"how": how}));
            // When a call that was sent later has been answered, the first call is running.
            assert_eq!(client.text("echo", json!({"text": "a"})), "a");
            client.cancel(id);
            let cancelled = SystemTime::now();
            let outcomes = outcomes(&mut client, &home, 2);
            assert!(outcomes.contains(&("spin".into(), "cancelled".into())), "{how}: {outcomes:?}");
            // The host stops the guest within 50 ms. The test allows more time, because the machine may be busy.
            let late = cancelled.elapsed().unwrap_or_default();
            assert!(late < Duration::from_secs(10), "{era:?} {how}: {late:?}");
            assert!(!client.has_reply(id), "a cancelled request has no answer");
            assert_eq!(client.end().code, Some(0));
        }
    }
}

#[test]
fn a_guest_that_checks_for_cancellation_can_clean_up() {
    let home = home();
    let mut client = Client::start(&home, Era::Legacy);
    let id = client.begin("tidy", json!({}));
    assert_eq!(client.text("echo", json!({"text": "a"})), "a");
    client.cancel(id);
    let outcomes = outcomes(&mut client, &home, 2);
    let tidy = outcomes.iter().find(|(tool, _)| tool == "tidy").expect("it ended");
    // The guest has 25 ms to notice that it is cancelled, which may be too short on a busy machine.
    assert!(matches!(tidy.1.as_str(), "done" | "cancelled"), "{tidy:?}");
}

#[test]
fn a_guest_that_gives_up_at_its_time_limit_has_timed_out() {
    let config = CONFIG.replace("wall-ms = 1_000_000", "wall-ms = 5_000");
    let home = Home::with(&["echo", "greedy"], &config);
    let mut client = Client::start(&home, Era::Legacy);
    let failing = client.begin("tidy", json!({"fails": true}));
    let tidying = client.begin("tidy", json!({}));
    let failed = text_of(&client.reply(failing));
    assert_eq!(
        failed,
        "error: `greedy` was stopped after 5000 ms (`wall-ms`); its message: it is half done"
    );
    assert_eq!(text_of(&client.reply(tidying)), "tidied up", "an answer is an answer");
    let mut outcomes = outcomes(&mut client, &home, 2);
    outcomes.sort_unstable();
    let tidy = |outcome: &str| ("tidy".to_owned(), outcome.to_owned());
    assert_eq!(outcomes, [tidy("done"), tidy("timed-out")]);
}

#[test]
fn the_end_of_stdin_ends_the_server_whatever_guests_do() {
    for era in Era::BOTH {
        let home = home();
        let mut client = Client::start(&home, era);
        let busy = keep_busy(&mut client);
        assert_eq!(client.text("echo", json!({"text": "a"})), "a");
        let (ran, time) = client.into_process().end_timed();
        assert_eq!(ran.code, Some(0), "{ran:?}");
        // The host promises to end within five seconds. The rest allows for a busy machine.
        assert!(time < Duration::from_secs(8), "{era:?}: {time:?}");
        let cancelled = home.outcomes().iter().filter(|(_, how)| how == "cancelled").count();
        assert_eq!(cancelled, busy.len(), "each is recorded: {:?}", home.outcomes());
    }
}

#[test]
fn calls_that_end_by_themselves_are_answered_after_the_end_of_stdin() {
    let home = home();
    let mut client = Client::start(&home, Era::Legacy);
    for n in 0..50 {
        client.begin("echo", json!({"text": n.to_string()}));
    }
    let ran = client.end();
    assert_eq!(ran.stdout.lines().count(), 50, "{}", ran.stderr);
}

#[cfg(unix)]
#[test]
fn a_signal_ends_the_server_in_an_orderly_way() {
    use rustix::process::{Pid, Signal, kill_process};
    for signal in [Signal::TERM, Signal::INT] {
        let home = home();
        let mut client = Client::start(&home, Era::Legacy);
        keep_busy(&mut client);
        assert_eq!(client.text("echo", json!({"text": "a"})), "a");
        let process: Process = client.into_process();
        let id = Pid::from_raw(process.id().cast_signed()).expect("a process has an id");
        let began = Instant::now();
        kill_process(id, signal).expect("it is ours");
        let ran = process.end();
        assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
}

#[test]
fn one_plugins_waiting_calls_leave_room_for_another_plugin() {
    // All slots of one plugin are taken, and more calls wait for a slot.
    let config =
        format!("{CONFIG}[plugins.greedy.limits]\ncalls = 2\n").replace("[plugins.greedy]\n", "");
    let home = Home::with(&["echo", "greedy"], &config);
    let mut client = Client::start(&home, Era::Legacy);
    let busy: Vec<_> = (0..20).map(|_| client.begin("spin", json!({"how": "code"}))).collect();
    assert_eq!(client.text("echo", json!({"text": "my turn"})), "my turn");
    for id in &busy {
        client.cancel(*id);
    }
    // The waiting calls are gone too, so the next call gets a slot.
    let done = client.call("forge", json!({"line": "x"}));
    assert_eq!(text_of(&done), "written");
}

#[test]
fn a_connection_of_one_call_is_not_used_by_another() {
    let web = Web::start(None);
    web.answer("/page", json!({"body": "public"}));
    let base = format!("http://{}", web.address);
    let home = Home::with(&["fetcher"], "");
    home.configure(&format!(
        "[host]\nbundled = false\n[plugins.fetcher.settings]\nbase = \"{base}\"\n\
         other = \"{base}\"\n[plugins.fetcher.grants.http]\nhosts = [\"{base}\"]\n"
    ));
    let mut client = Client::start(&home, Era::Legacy);
    for calls in 1..=3 {
        let page = client.text("fetch", json!({"url": format!("{base}/page")}));
        assert!(page.starts_with("200"), "{page}");
        assert_eq!((web.asked().len(), web.connections()), (calls, calls));
    }
    // Two requests of one call share a connection, so the server would also let calls share one.
    web.answer("/away", json!({"status": 302, "headers": {"location": format!("{base}/page")}}));
    client.text("fetch", json!({"url": format!("{base}/away"), "follow": 3}));
    assert_eq!((web.asked().len(), web.connections()), (5, 4));
}

#[test]
fn a_wait_is_given_up_also_while_a_body_is_sent() {
    // A server that accepts connections and reads nothing.
    let server = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let base = format!("http://{}", server.local_addr().expect("it has an address"));
    let home = Home::with(&["fetcher"], "");
    home.configure(&format!(
        "[host]\nbundled = false\n[plugins.fetcher.settings]\nbase = \"{base}\"\n\
         [plugins.fetcher.grants.http]\nhosts = [\"{base}\"]\nmethods = [\"POST\"]\n\
         [limits]\nwall-ms = 60_000\nhttp-ms = 55_000\n"
    ));
    let mut client = Client::start(&home, Era::Legacy);
    let begun = Instant::now();
    let post = json!({
        "url": format!("{base}/x"), "method": "POST", "bytes": 30_000_000, "giveUpMs": 500,
    });
    let said = client.text("fetch", post);
    assert!(said.contains("cancelled while waiting"), "{said}");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[test]
fn a_call_reaches_the_host_that_its_argument_names_and_only_during_this_call() {
    let (named, other) = (Web::start(None), Web::start(None));
    for web in [&named, &other] {
        web.answer("/x", json!({"body": "here"}));
    }
    let there = format!("http://127.0.0.1:{}/x", other.address.port());
    named.answer("/away", json!({"status": 302, "headers": {"location": there}}));
    let home = Home::with(
        &["fetcher"],
        "[host]\nbundled = false\n[plugins.fetcher.settings]\nbase = \"https://base.example\"\n\
         [[plugins.fetcher.grants.http.arguments]]\nhosts = [\"127.0.0.1\"]\n",
    );
    let said = |answer: Value| text_of(&answer);
    let mut client = Client::start(&home, Era::Modern);
    let url = format!("http://127.0.0.1:{}", named.address.port());
    let page = said(client.call("fetch", json!({"url": format!("{url}/x")})));
    assert_eq!(page, "200 here");
    // The other origin has the same host, but the argument does not name it.
    let away = said(client.call("fetch", json!({"url": format!("{url}/away"), "follow": 1})));
    assert!(away.contains("denied"), "{away}");
    assert_eq!(other.asked().len(), 0);
    let post = json!({"url": format!("{url}/x"), "method": "POST", "body": "x"});
    let post = said(client.call("fetch", post));
    assert!(post.contains("denied"), "{post}");
    let elsewhere = said(client.call("fetch", json!({"url": "http://localhost:1/x"})));
    assert!(elsewhere.contains("denied"), "{elsewhere}");
    assert_eq!(named.asked().len(), 2);
    let shown = home.run(&["audit", "fetcher"]).stdout;
    assert!(shown.contains("GET 127.0.0.1 (only if a call names the host)"), "{shown}");
}
