//! Tests of runs: programs that call tools of other plugins, also with questions during the run and a killed host.

use std::fs;

use serde_json::{Value, json};

use crate::support::client::{Client, Era, text_of};
use crate::support::home::Home;

const CONFIG: &str = "[plugins.echo]\n\
                      [plugins.deeds.grants.actions]\nallow = [\"erase\"]\n\
                      [plugins.deeds.grants.client]\nfeatures = [\"consent\"]\n\
                      [plugins.code-mode.grants.tools]\ncall = [\"*\"]\nkeep-programs = true\n";

fn home() -> Home {
    Home::with(&["echo", "deeds"], CONFIG)
}

fn client(home: &Home, era: Era) -> Client {
    Client::start_with(home, &["serve"], era, json!({"elicitation": {"form": {}}}))
}

fn run(client: &mut Client, code: &str) -> Value {
    let reply = client.call("run_code", json!({ "code": code }));
    let result = reply["result"]["structuredContent"].clone();
    assert!(result.is_object(), "{code}: {}", text_of(&reply));
    result
}

/// The outcomes of the calls of a tool in the audit.
fn calls(home: &Home, tool: &str) -> Vec<String> {
    let records = home.audit().into_iter();
    let of_tool = records.filter(|one| one["event"] == "call" && one["tool"] == tool);
    of_tool.map(|one| one["outcome"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn a_program_calls_tools_and_its_value_is_the_answer() {
    for era in Era::BOTH {
        let home = home();
        let mut client = client(&home, era);
        assert_eq!(run(&mut client, "return 1 + 1"), json!({ "result": 2 }));
        let program = "const sums: number[] = (await Promise.all([1, 2, 3].map((a) => tools.echo.add({ a, b: 1 })))).map((one) => one.sum);\n\
                       const said = await tools.echo.echo({ text: 'hello' });\n\
                       try { await tools.echo.fail({ way: 'told' }) } catch (error) { console.log(error.name, error.kind, error.message) }\n\
                       return { sums, said };";
        let ran = run(&mut client, program);
        assert_eq!(ran["result"], json!({ "sums": [2, 3, 4], "said": "hello" }));
        assert_eq!(ran["logs"], json!(["ToolError tool-error fail: it cannot be done"]));
        assert_eq!(ran["calls"].as_array().map(Vec::len), Some(5), "{ran}");
        assert_eq!(calls(&home, "add"), ["done"; 3]);
    }
}

#[test]
fn a_failed_program_says_where_and_which_calls_were_made() {
    let home = home();
    let mut client = client(&home, Era::Modern);
    let mut fails = |code: &str| {
        let reply = client.call("run_code", json!({ "code": code }));
        assert_eq!(reply["result"]["isError"], true, "{code}: {reply}");
        text_of(&reply)
    };
    let text = fails("await tools.echo.echo({ text: 'a' });\nundefined.b;");
    assert!(text.contains("TypeError: ") && text.contains("(line 2, column "), "{text}");
    assert!(text.contains("Calls made before, whose effects remain: echo (done)"), "{text}");
    let text = fails("await tools.echo.add({ a: 'x' })");
    assert!(text.contains("ToolError: add: invalid arguments for `add`"), "{text}");
    let text = fails("await tools['code-mode'].run_code({ code: '1' })");
    assert!(text.contains("tools has no \"code-mode\""), "{text}");
    let text = fails("await tools.echo.count();\nfor (;;) {}");
    assert!(text.contains("was stopped") && text.contains("count (done)"), "{text}");
    let text = fails("const all = []; for (;;) { all.push('x'.repeat(100000) + all.length) }");
    assert!(text.contains("stopped") || text.contains("failed"), "{text}");
    let text = fails("function f() { return f() + 1 }\nreturn f()");
    assert!(text.contains("error: ") && !text.contains("panicked"), "{text}");
    assert_eq!(run(&mut client, "return 1")["result"], 1, "nothing is left of those runs");
}

#[test]
fn a_run_continues_after_questions_and_no_call_is_made_twice() {
    for era in Era::BOTH {
        let home = home();
        let mut client = client(&home, era);
        let agree = json!({ "action": "accept", "content": {} });
        client.answers.insert("elicitation/create".into(), agree);
        let program = "const before = [await tools.echo.count(), Math.random(), Date.now()];\n\
                       const erased = await Promise.all(['a', 'b', 'c'].map((what) => tools.deeds.erase({ what })));\n\
                       const after = await tools.deeds.erase({ what: 'd' });\n\
                       return { erased, after, before };";
        let ran = run(&mut client, program);
        assert_eq!(ran["result"]["erased"], json!(["erased a", "erased b", "erased c"]), "{era:?}");
        assert_eq!(ran["result"]["after"], "erased d");
        assert_eq!(
            calls(&home, "count"),
            ["done"],
            "{era:?}: a call that has ended is not made again"
        );
        let erased = calls(&home, "erase");
        assert_eq!(erased.iter().filter(|outcome| *outcome == "done").count(), 4, "{erased:?}");
        assert_eq!(
            erased.iter().filter(|outcome| *outcome == "need-input").count(),
            4,
            "{erased:?}"
        );
    }
}

/// Runs a program up to its questions, and kills the server. Returns the result with the questions and the state.
fn asked_and_killed(home: &Home, arguments: &Value) -> Value {
    let mut client = client(home, Era::Modern);
    let id = client.begin("run_code", arguments.clone());
    let reply = client.reply(id);
    assert_eq!(reply["result"]["resultType"], "input_required", "{reply}");
    client.into_process().kill();
    reply["result"].clone()
}

/// Starts another server, and sends the answers to the questions to it.
fn answered(home: &Home, arguments: &Value, asked: &Value) -> Value {
    let mut client = client(home, Era::Modern);
    let asks = asked["inputRequests"].as_object().expect("there are questions");
    let agree = json!({ "action": "accept", "content": {} });
    let responses: serde_json::Map<_, _> =
        asks.keys().map(|key| (key.clone(), agree.clone())).collect();
    let id = client.request(
        "tools/call",
        json!({
            "name": "run_code", "arguments": arguments,
            "requestState": asked["requestState"], "inputResponses": responses,
        }),
    );
    client.reply(id)
}

#[test]
fn a_host_that_is_killed_between_two_rounds_loses_nothing() {
    for bytes in [10, 200_000] {
        let home = home();
        let code = format!(
            "const filled = await tools.echo.fill({{ bytes: {bytes} }});\n\
             const erased = await tools.deeds.erase({{ what: 'a' }});\n\
             return [filled.length, erased];"
        );
        let arguments = json!({ "code": code });
        let asked = asked_and_killed(&home, &arguments);
        let state = asked["requestState"].as_str().map_or(0, str::len);
        assert!((1..80_000).contains(&state), "a large journal is not carried: {state} bytes");
        let reply = answered(&home, &arguments, &asked);
        let result = &reply["result"]["structuredContent"]["result"];
        assert_eq!(*result, json!([bytes, "erased a"]), "{}", text_of(&reply));
        assert_eq!(calls(&home, "fill"), ["done"]);
        let other = json!({ "code": "return 1" });
        let refused = answered(&home, &other, &asked);
        assert!(refused.get("error").is_some(), "the state is of one program: {refused}");
    }
}

#[test]
fn the_trail_shows_a_run_with_its_program_and_its_calls() {
    let home = home();
    let mut client = client(&home, Era::Modern);
    let program = "return await tools.echo.echo({ text: 'x' })";
    run(&mut client, program);
    client.end();
    let records = home.audit();
    let ask = records.iter().find(|one| {
        one["subject"]
            .as_str()
            .is_some_and(|subject| subject.starts_with("run the program sha256:"))
    });
    let ask = ask.unwrap_or_else(|| panic!("the program is recorded: {records:#?}"));
    let request = ask["request"].as_str().expect("a request has an id");
    let inner = records.iter().find(|one| one["plugin"] == "echo").expect("the call is recorded");
    assert_eq!(inner["request"], format!("{request}.0"));
    let shown = home.run(&["trail", "--request", request]).stdout;
    let lines: Vec<_> = shown.lines().collect();
    let asked = lines.iter().position(|line| line.contains("call the tool echo as call 0"));
    let below = asked.and_then(|at| lines.get(at + 1)).unwrap_or_else(|| panic!("{shown}"));
    assert!(below.starts_with("  └ ") && below.contains("call echo: done"), "{shown}");
    let digest =
        ask["subject"].as_str().and_then(|subject| subject.split(':').nth(1)).expect("a digest");
    let kept = home.audit_folder().join("programs").join(format!("{digest}.txt"));
    assert_eq!(fs::read_to_string(kept).expect("the program is kept"), program);
    assert_eq!(home.run(&["trail", "verify"]).code, Some(0), "the programs are beside the audit");
}

#[test]
fn the_definitions_of_code_mode_are_short() {
    let home = home();
    let mut client =
        Client::start_with(&home, &["serve", "--tools", "code"], Era::Legacy, json!({}));
    let id = client.request("tools/list", json!({}));
    let reply = client.reply(id);
    let tools = reply["result"]["tools"].as_array().expect("tools");
    let names: Vec<_> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names, ["search_tools", "describe_tools", "run_code"], "these and no others");
    // A token of such JSON is 3.5 to 4 bytes long.
    let bytes = reply["result"].to_string().len();
    assert!(bytes < 5_250, "{bytes} bytes are over 1,500 tokens");
    let found = client.text("search_tools", json!({ "query": "add numbers" }));
    assert!(found.contains("- add (echo): Adds two numbers."), "{found}");
    let declared = client.text("describe_tools", json!({ "names": ["add"] }));
    assert!(declared.contains("tools.echo.add(args: { /** The first. */ a: number"), "{declared}");
}

#[test]
fn programs_do_not_see_tools_that_their_client_may_not_call() {
    let home = home();
    let serve = ["serve", "--tools", "code,deeds"];
    let mut client = Client::start_with(&home, &serve, Era::Modern, json!({}));
    let sources = run(&mut client, "try { tools.echo } catch (error) { return error.message }");
    let said = sources["result"].as_str().expect("an error");
    assert!(said.starts_with("tools has no \"echo\"; it has deeds"), "{said}");
    let found = client.text("search_tools", json!({ "query": "add numbers" }));
    assert!(!found.contains("echo"), "{found}");
}

#[test]
fn the_command_line_runs_programs() {
    let home = home();
    let ran = home.run(&[
        "call",
        "run_code",
        r#"{"code":"return (await tools.echo.add({ a: 1, b: 2 })).sum"}"#,
    ]);
    assert!(ran.stdout.contains(r#""result":3"#), "{ran:?}");
    let asks =
        home.run(&["call", "run_code", r#"{"code":"await tools.deeds.erase({ what: 'a' })"}"#]);
    assert!(asks.code == Some(2) && asks.stderr.contains("erase"), "{asks:?}");
}
