//! Tests of messages during a run: the client gets progress and log records of the tools that the program calls. If the
//! client cancels the run, these tools are cancelled.

use std::time::Instant;

use serde_json::{Value, json};

use crate::support::client::{Client, Era, Event};
use crate::support::home::Home;
use crate::support::{PATIENCE, stand_in};

/// The default grants of code mode. A section of the plugin must repeat them, because the section replaces all
/// defaults.
const GRANT: &str = "[plugins.code-mode.grants.tools]\ncall = [\"*\"]\n";

/// A home with plugins, and the server `odd`. The limits are so high that they end no run within a test.
fn home(grants: &str) -> Home {
    let home = Home::with(&["echo", "greedy"], "");
    let program = stand_in();
    home.configure(&format!(
        "[plugins.echo]\n[plugins.greedy]\n\
         [upstreams.odd]\nprefix = \"odd\"\ncommand = {program:?}\nargs = [\"stdio\", \"all\"]\n\
         [limits]\nwall-ms = 1_000_000\ncpu-ms = 1_000_000\n\
         [plugins.code-mode.limits]\nwall-ms = 1_000_000\n{grants}"
    ));
    home
}

/// Starts a run whose client asks for progress, and for log records of level `info` and above.
fn begin(client: &mut Client, era: Era, code: &str) -> i64 {
    let mut params = json!({
        "name": "run_code", "arguments": { "code": code }, "_meta": { "progressToken": "mine" },
    });
    match era {
        Era::Legacy => {
            let id = client.request("logging/setLevel", json!({ "level": "info" }));
            assert!(client.reply(id).get("result").is_some());
        }
        Era::Modern => params["_meta"]["io.modelcontextprotocol/logLevel"] = json!("info"),
    }
    client.request("tools/call", params)
}

/// The parameters of the notifications with this method, in their order.
fn told(client: &Client, method: &str) -> Vec<Value> {
    let of_method = |event: &Event| match event {
        Event::Told(told) => (told["method"] == method).then(|| told["params"].clone()),
        Event::Asked(..) => None,
    };
    client.events.iter().filter_map(of_method).collect()
}

/// Waits until `is_done`. Sends a request between checks, so that the loop does not keep the machine busy.
fn wait_until(client: &mut Client, what: &str, mut is_done: impl FnMut(&mut Client) -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_done(client) {
        assert!(Instant::now() < deadline, "{what}");
        let id = client.request("tools/list", json!({}));
        client.reply(id);
    }
}

#[test]
fn progress_and_log_records_of_called_tools_reach_the_client() {
    for era in Era::BOTH {
        let home = home(GRANT);
        let mut client = Client::start(&home, era);
        let code = "await tools.echo.report({});\nawait tools.odd.progress({ steps: 3 });\n\
                    console.warn('from the program');\nreturn 1";
        let id = begin(&mut client, era, code);
        let reply = client.finish(id);
        assert_eq!(reply["result"]["structuredContent"]["result"], 1, "{reply}");
        // All notifications came before the answer.
        let progress = told(&client, "notifications/progress");
        assert!(progress.iter().all(|one| one["progressToken"] == "mine"), "{era:?}: {progress:?}");
        let steps: Vec<f64> = progress.iter().filter_map(|one| one["progress"].as_f64()).collect();
        assert!(steps.is_sorted_by(|a, b| a < b), "progress increases: {progress:?}");
        let messages: Vec<&str> =
            progress.iter().filter_map(|one| one["message"].as_str()).collect();
        assert_eq!(
            messages[..3],
            ["report: half of it", "report: all of it", "report: done"],
            "{era:?}"
        );
        let of_server = messages.iter().filter(|message| message.starts_with("odd_progress: "));
        assert!(of_server.count() > 1, "{era:?}: the server's own progress: {messages:?}");
        let logs = told(&client, "notifications/message");
        let data: Vec<&Value> = logs.iter().map(|one| &one["data"]).collect();
        let expected =
            [&json!({ "step": 1 }), &json!("something went wrong"), &json!("from the program")];
        assert_eq!(data, expected, "{era:?}: and no record below `info`");
    }
}

#[test]
fn a_run_that_is_cancelled_cancels_the_calls_of_its_tools() {
    for era in Era::BOTH {
        let home = home(GRANT);
        let mut client = Client::start(&home, era);
        client.text("odd_seen", json!({}));
        // When the client gets the report, the other calls have begun.
        let code = "const never = [tools.greedy.spin({ how: 'sleep' }), tools.odd.hang({})];\n\
                    await tools.odd.seen({});\nawait tools.echo.report({});\nawait Promise.all(never)";
        let id = begin(&mut client, era, code);
        client.hear_before(id, |told| told["params"]["message"] == "report: done");
        client.cancel(id);
        wait_until(&mut client, "the plugin's call goes on", |_| {
            let outcomes = home.outcomes();
            let is_cancelled = |tool: &str| outcomes.contains(&(tool.into(), "cancelled".into()));
            is_cancelled("spin") && is_cancelled("run_code")
        });
        wait_until(&mut client, "the server is not told", |client| {
            client.text("odd_seen", json!({})).contains("notifications/cancelled")
        });
        assert!(!client.has_reply(id), "a cancelled request has no answer");
        assert_eq!(client.text("echo", json!({ "text": "still here" })), "still here");
    }
}

#[test]
#[should_panic(expected = "the reply came first: -32602 unknown tool: run_code")]
fn waiting_for_progress_of_a_refused_run_fails_at_once() {
    let home = home("");
    let mut client = Client::start(&home, Era::Modern);
    let id = begin(&mut client, Era::Modern, "return await tools.echo.report({})");
    client.hear_before(id, |told| told["params"]["message"] == "report: done");
}
