//! Runs twenty tasks with recorded turns of a model (`turns/tasks.json`), and counts the bytes that the model writes
//! and reads. Each task runs twice: with plain calls and with a program. The servers are stand-ins. Each stand-in names
//! the sources that it follows.

use std::fs;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::support::client::{Client, Era, text_of};
use crate::support::editor::{Asset, Editor, Server};
use crate::support::home::Home;
use crate::support::{stand_in, workspace};
use crate::unreal::{UPROJECT, with_editor};

/// Maximum of the median share. The share of a task: its bytes with a program, divided by its bytes with plain calls.
const MAX_SHARE: f64 = 0.10;

/// The stand-ins of `host/mcp-client/examples/stand-in/office`, by the operator's names for them. Each file names
/// its source. The linter follows the input and output schema of `run_ui5_linter` of the UI5 MCP server
/// (`src/tools/run_ui5_linter` of `UI5/mcp-server`); its findings are made up.
const SERVERS: [(&str, &str); 6] = [
    ("fetch", "fetch"),
    ("filesystem", "filesystem"),
    ("git", "commits"),
    ("github", "github"),
    ("linter", "linter"),
    ("memory", "memory"),
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Task {
    task: String,
    /// The calls of the task without a program.
    plain: Vec<PlainCalls>,
    /// The turns with a program.
    code: Vec<Turn>,
    /// The value that the program must return.
    expected: Value,
}

/// Calls of one tool. With `argument`, there is one call for each of its values.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlainCalls {
    tool: String,
    #[serde(default)]
    arguments: Map<String, Value>,
    argument: Option<String>,
    values: Option<Values>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Values {
    List(Vec<Value>),
    /// The numbers from `from` up to `to`, without `to`. With `text`, each number replaces `{}` in the text.
    Range {
        from: u32,
        to: u32,
        text: Option<String>,
    },
}

impl Values {
    fn all(&self) -> Vec<Value> {
        match self {
            Self::List(values) => values.clone(),
            Self::Range { from, to, text } => (*from..*to)
                .map(|number| match text {
                    Some(text) => json!(text.replace("{}", &number.to_string())),
                    None => json!(number),
                })
                .collect(),
        }
    }
}

/// One turn of the model.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Turn {
    tool: String,
    arguments: Value,
}

/// The cost of a task: the bytes that the model writes and reads, the number of calls, and their time.
#[derive(Default)]
struct Cost {
    bytes: usize,
    calls: u32,
    time: Duration,
}

impl Cost {
    /// Makes a call, adds its cost, and returns the reply.
    fn call(&mut self, client: &mut Client, tool: &str, arguments: &Value) -> Value {
        let began = Instant::now();
        let reply = client.call(tool, arguments.clone());
        self.time += began.elapsed();
        assert!(reply["error"].is_null() && reply["result"]["isError"] != true, "{tool}: {reply}");
        self.calls += 1;
        self.bytes += tool.len() + arguments.to_string().len() + text_of(&reply).len();
        reply
    }
}

/// The cost of a task without a program.
fn plain(client: &mut Client, calls: &[PlainCalls]) -> Cost {
    let mut cost = Cost::default();
    for PlainCalls { tool, arguments, argument, values } in calls {
        let Some((argument, values)) = argument.as_ref().zip(values.as_ref()) else {
            cost.call(client, tool, &Value::Object(arguments.clone()));
            continue;
        };
        for value in values.all() {
            let mut arguments = arguments.clone();
            arguments.insert(argument.clone(), value);
            cost.call(client, tool, &Value::Object(arguments));
        }
    }
    cost
}

/// The cost of a task with a program. Panics unless the program returns the expected value.
fn with_program(client: &mut Client, task: &Task) -> Cost {
    let mut cost = Cost::default();
    let mut last = Value::Null;
    for Turn { tool, arguments } in &task.code {
        let reply = cost.call(client, tool, arguments);
        last = reply["result"]["structuredContent"]["result"].clone();
    }
    assert_eq!(last, task.expected, "{}", task.task);
    cost
}

/// A project with 30 materials and 20 maps, open in an editor. Each map uses every fifth material, but none whose
/// number is a multiple of 7.
fn editor(home: &Home) -> Editor {
    let asset = |folder: &str, name: String, class: &str, hard: Vec<String>| Asset {
        package: format!("/Game/{folder}/{name}"),
        name,
        class: format!("/Script/Engine.{class}"),
        hard,
        ..Asset::default()
    };
    let material = |n: u32| asset("Materials", format!("M_{n}"), "Material", Vec::new());
    let map = |map: u32| {
        let used = (0..30).filter(|n| (n + map).is_multiple_of(5) && !n.is_multiple_of(7));
        let used = used.map(|n| format!("/Game/Materials/M_{n}")).collect();
        asset("Maps", format!("Map_{map}"), "World", used)
    };
    let assets = (0..30).map(material).chain((0..20).map(map)).collect();
    let project = home.files().join("MyGame");
    fs::create_dir_all(project.join("Content")).expect("a home can be written");
    fs::write(project.join("MyGame.uproject"), UPROJECT).expect("a home can be written");
    Editor::start(Server::NewerPlugin, &project.display().to_string(), assets)
}

#[test]
fn programs_take_a_tenth_of_the_tokens() {
    let text = fs::read_to_string(workspace().join("tests/turns/tasks.json"));
    let tasks: Vec<Task> =
        serde_json::from_str(&text.expect("there are tasks")).expect("they are tasks");
    assert_eq!(tasks.len(), 20);
    let home = Home::with(&["warehouse"], "");
    let editor = editor(&home);
    let mut config = with_editor(&editor, Server::NewerPlugin);
    config += "[plugins.warehouse]\n";
    for (name, shop) in SERVERS {
        let program = stand_in();
        config +=
            &format!("[upstreams.{name}]\ncommand = {program:?}\nargs = [\"stdio\", {shop:?}]\n");
    }
    home.configure(&config);
    let mut plain_client = Client::start_with(&home, &["serve"], Era::Modern, json!({}));
    let serve = ["serve", "--tools", "code"];
    let mut client = Client::start_with(&home, &serve, Era::Modern, json!({}));
    let mut shares = Vec::new();
    let (mut time_without, mut time_with) = (Duration::ZERO, Duration::ZERO);
    println!("| task | calls | bytes, plain | bytes, program | share | s, plain | s, program |");
    for task in &tasks {
        let without = plain(&mut plain_client, &task.plain);
        let with = with_program(&mut client, task);
        #[expect(clippy::cast_precision_loss, reason = "these are small numbers")]
        let share = with.bytes as f64 / without.bytes as f64;
        println!(
            "| {} | {} | {} | {} | {:.1} % | {:.2} | {:.2} |",
            task.task,
            without.calls,
            without.bytes,
            with.bytes,
            share * 100.0,
            without.time.as_secs_f64(),
            with.time.as_secs_f64()
        );
        time_without += without.time;
        time_with += with.time;
        shares.push(share);
    }
    shares.sort_by(f64::total_cmp);
    let median = (shares[9] + shares[10]) / 2.0;
    println!(
        "median {:.1} %; {time_without:.1?} plain, {time_with:.1?} with programs",
        median * 100.0
    );
    assert!(median <= MAX_SHARE, "the median is {:.1} %", median * 100.0);
}
