//! Tasks with recorded turns of a model (`turns/tasks.json`), played twice: with plain calls and with programs. Counts what
//! the model writes and reads.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::client::{Client, Era, text_of};
use crate::support::home::Home;
use crate::support::workspace;

/// The share of the bytes of plain calls that programs may have, in the median of the tasks.
const MAX_SHARE: f64 = 0.10;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Task {
    task: String,
    plain: Plain,
    code: Vec<Turn>,
    expected: Value,
}

/// How many calls of each tool the task takes without a program.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Plain {
    pages: u32,
    customers: u32,
    fixes: u32,
}

/// One turn of the model.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Turn {
    tool: String,
    arguments: Value,
}

/// Makes a call. Returns the reply, and the bytes that the model writes and reads for it.
fn turn(client: &mut Client, tool: &str, arguments: &Value) -> (Value, usize) {
    let reply = client.call(tool, arguments.clone());
    assert_ne!(reply["result"]["isError"], true, "{tool}: {reply}");
    let bytes = tool.len() + arguments.to_string().len() + text_of(&reply).len();
    (reply, bytes)
}

/// The bytes of a task without a program.
fn plain(client: &mut Client, task: &Plain) -> usize {
    let pages = (0..task.pages).map(|page| ("list_orders", json!({ "page": page })));
    let customers = (0..task.customers).map(|id| ("get_customer", json!({ "id": id })));
    let fixes = (0..task.fixes).map(|id| ("set_status", json!({ "id": id, "status": "lost" })));
    let calls: Vec<_> = pages.chain(customers).chain(fixes).collect();
    calls.iter().map(|(tool, arguments)| turn(client, tool, arguments).1).sum()
}

#[test]
fn programs_take_a_tenth_of_the_tokens() {
    let text = std::fs::read_to_string(workspace().join("tests/turns/tasks.json"));
    let tasks: Vec<Task> =
        serde_json::from_str(&text.expect("there are tasks")).expect("they are tasks");
    let home = Home::with(&["warehouse"], "[plugins.warehouse]\n");
    let mut plain_client = Client::start_with(&home, &["serve"], Era::Modern, json!({}));
    let serve = ["serve", "--tools", "code"];
    let mut client = Client::start_with(&home, &serve, Era::Modern, json!({}));
    let mut shares = Vec::new();
    for task in &tasks {
        let without = plain(&mut plain_client, &task.plain);
        let mut with = 0;
        let mut last = Value::Null;
        for Turn { tool, arguments } in &task.code {
            let (reply, bytes) = turn(&mut client, tool, arguments);
            with += bytes;
            last = reply["result"]["structuredContent"]["result"].clone();
        }
        assert_eq!(last, task.expected, "{}", task.task);
        #[expect(clippy::cast_precision_loss, reason = "these are small numbers")]
        let share = with as f64 / without as f64;
        println!("{:>7} bytes, {without:>7} plain, {:>5.1} %: {}", with, share * 100.0, task.task);
        shares.push(share);
    }
    shares.sort_by(f64::total_cmp);
    let median = shares[shares.len() / 2];
    assert!(median <= MAX_SHARE, "the median is {:.1} %", median * 100.0);
}
