//! Tests the search with questions as users ask them: for 95 % of the questions, the right tool must be among the
//! first five of over 300 tools of real servers.

use std::collections::BTreeSet;

use portcullis_tool_search::{Document, Index};
use serde::Deserialize;

/// The number of first results among which the right tool must be.
const FIRST: usize = 5;

/// Minimum share of the questions that find their tool, in percent.
const SHARE: usize = 95;

#[derive(Deserialize)]
struct Recorded {
    servers: Vec<Server>,
}

#[derive(Deserialize)]
struct Server {
    name: String,
    from: String,
    licence: String,
    tools: Vec<Tool>,
}

#[derive(Deserialize)]
struct Tool {
    name: String,
    #[serde(default)]
    title: String,
    description: String,
    parameters: Vec<String>,
}

fn recorded() -> Vec<Server> {
    let recorded: Recorded = serde_json::from_str(include_str!("questions/tools.json"))
        .expect("it is JSON of this form");
    recorded.servers
}

/// Each question with its right tools, as `SERVER/TOOL`.
fn questions() -> Vec<(&'static str, Vec<&'static str>)> {
    let lines = include_str!("questions/questions.txt").lines();
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let split = |line: &'static str| {
        let (question, tools) = line.split_once(" :: ").expect("a question, `::` and its tools");
        (question, tools.split(", ").collect())
    };
    lines.map(split).collect()
}

#[test]
fn the_right_tool_is_among_the_first_five() {
    let servers = recorded();
    let tools: Vec<(&Server, &Tool)> = servers
        .iter()
        .flat_map(|server| server.tools.iter().map(move |tool| (server, tool)))
        .collect();
    let names: Vec<String> =
        tools.iter().map(|(server, tool)| format!("{}/{}", server.name, tool.name)).collect();
    let index = Index::new(tools.iter().map(|(server, tool)| Document {
        name: &tool.name,
        title: &tool.title,
        description: &tool.description,
        parameters: tool.parameters.iter().map(String::as_str).collect(),
        source: &server.name,
    }));
    let questions = questions();
    let mut missed = Vec::new();
    let mut first = 0;
    for (question, right) in &questions {
        for tool in right {
            assert!(
                names.iter().any(|name| name == tool),
                "{question}: no tool {tool} is recorded"
            );
        }
        let found: Vec<&str> =
            index.search(question, FIRST).iter().map(|hit| names[hit.document].as_str()).collect();
        first += usize::from(found.first().is_some_and(|found| right.contains(found)));
        if !found.iter().any(|found| right.contains(found)) {
            missed.push(format!("{question}\n    wanted {right:?}\n    found  {found:?}"));
        }
    }
    let found = questions.len() - missed.len();
    println!(
        "{found} of {} questions find their tool, {first} at the first place",
        questions.len()
    );
    println!("missed:\n{}", missed.join("\n"));
    assert!(found * 100 >= questions.len() * SHARE, "missed:\n{}", missed.join("\n"));
}

#[test]
fn the_set_is_large_enough_and_says_where_it_is_from() {
    let servers = recorded();
    let tools: usize = servers.iter().map(|server| server.tools.len()).sum();
    assert!(servers.len() >= 14 && tools >= 300, "{} servers, {tools} tools", servers.len());
    let questions = questions();
    let different: BTreeSet<_> = questions.iter().map(|(question, _)| question).collect();
    assert!(different.len() >= 150 && different.len() == questions.len(), "{}", different.len());
    for server in servers {
        assert!(!server.from.is_empty() && !server.licence.is_empty(), "{}", server.name);
    }
    assert!(include_str!("questions/tools.json").len() < 400_000);
}
