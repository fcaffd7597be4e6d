//! The memory server (`src/memory` of `modelcontextprotocol/servers`), with two of its tools: a graph of entities with
//! observations, as indented JSON in a text and as structured content.

use serde_json::{Value, json};

use super::{PEOPLE, text_of};
use crate::shop::{Shop, tool};

/// A graph of 160 people and 12 teams. The first people have the names in [`PEOPLE`].
pub struct Graph;

const CITIES: [&str; 4] = ["Berlin", "Lyon", "Pune", "Austin"];

fn name(number: usize) -> String {
    PEOPLE.get(number).map_or_else(|| format!("colleague-{number}"), |name| (*name).to_owned())
}

fn person(number: usize) -> Value {
    json!({
        "name": name(number),
        "entityType": "person",
        "observations": [
            format!("lives in {}", CITIES[number * 3 % 4]),
            format!("joined in {}", 2010 + number % 15),
            format!("prefers to be asked in the {}", ["morning", "afternoon"][number % 2]),
            format!("knows the module {} well and has written most of its tests", number % 23),
        ],
    })
}

fn graph() -> (Vec<Value>, Vec<Value>) {
    let team = |number: usize| json!({"name": format!("team-{number}"), "entityType": "team", "observations": [format!("owns area {number}")]});
    let entities = (0..160).map(person).chain((0..12).map(team)).collect();
    let member = |number: usize| json!({"from": name(number), "to": format!("team-{}", number % 12), "relationType": "is a member of"});
    (entities, (0..160).map(member).collect())
}

/// The result that this server returns for a graph.
fn answer(entities: &[Value], relations: &[Value]) -> Value {
    let graph = json!({"entities": entities, "relations": relations});
    json!({"content": [{"type": "text", "text": format!("{graph:#}")}], "structuredContent": graph})
}

impl Shop for Graph {
    fn tools(&self) -> Vec<Value> {
        let texts = json!({"type": "array", "items": {"type": "string"}});
        let entity = json!({"type": "object", "properties": {"name": {"type": "string"}, "entityType": {"type": "string"}, "observations": texts}});
        let relation = json!({"type": "object", "properties": {"from": {"type": "string"}, "to": {"type": "string"}, "relationType": {"type": "string"}}});
        let output = json!({"type": "object", "required": ["entities", "relations"], "properties": {
            "entities": {"type": "array", "items": entity}, "relations": {"type": "array", "items": relation}}});
        let mut tools = vec![
            tool("read_graph", "Read the entire knowledge graph", json!({}), &[]),
            tool(
                "search_nodes",
                "Search for nodes in the knowledge graph based on a query",
                json!({"query": {"type": "string", "description": "The search query to match against entity names, types, and observation content"}}),
                &["query"],
            ),
        ];
        for tool in &mut tools {
            tool["outputSchema"] = output.clone();
        }
        tools
    }

    fn call(&self, tool: &str, arguments: &Value) -> Option<Value> {
        let (entities, relations) = graph();
        Some(match tool {
            "read_graph" => answer(&entities, &relations),
            "search_nodes" => {
                let query = text_of(arguments, "query").to_lowercase();
                let found: Vec<_> = entities
                    .into_iter()
                    .filter(|one| one.to_string().to_lowercase().contains(&query))
                    .collect();
                let names: Vec<_> = found.iter().map(|one| &one["name"]).collect();
                let linked: Vec<_> = relations
                    .into_iter()
                    .filter(|one| names.contains(&&one["from"]) || names.contains(&&one["to"]))
                    .collect();
                answer(&found, &linked)
            }
            _ => return None,
        })
    }
}
