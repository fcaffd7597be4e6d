//! The git server (`src/git` of `modelcontextprotocol/servers`), with two of its tools: commits as texts.

use serde_json::{Value, json};

use super::{PEOPLE, number_of, text_of};
use crate::shop::{Shop, failed, text, tool};

const COMMITS: usize = 60;

/// A repository with 60 commits, the latest first.
pub struct Commits;

fn hash(place: usize) -> String {
    format!("{:040x}", place * 104_729 + 17)
}

/// The head of a commit, as `git_log` writes it. The imitated server's `git_show` writes the date as a Python object.
/// Here, `git_show` writes the date as `git_log` does.
fn head(place: usize) -> String {
    let author = PEOPLE[place * 3 % 8];
    format!(
        "Commit: '{}'\nAuthor: <git.Actor \"{author} <{author}@acme.example>\">\nDate: 2026-09-{:02} 09:00:00+00:00\nMessage: 'Change {place}\\n'\n",
        hash(place),
        place % 28 + 1
    )
}

/// The changes of a commit: two files with some lines each.
fn changes(place: usize) -> String {
    let file = |file: usize| {
        let name = format!("src/part{}.rs", place * (file + 2) % 11);
        let lines: Vec<_> = (0..12).map(|line| format!("-    let value_{line} = old({place});\n+    let value_{line} = new({place}, {file});")).collect();
        format!("\n--- {name}\n+++ {name}\n@@ -1,12 +1,12 @@\n{}\n", lines.join("\n"))
    };
    (0..2).map(file).collect()
}

impl Shop for Commits {
    fn tools(&self) -> Vec<Value> {
        let path = || json!({"type": "string", "title": "Repo Path"});
        vec![
            tool(
                "git_log",
                "Shows the commit logs",
                json!({"repo_path": path(), "max_count": {"type": "integer", "default": 10, "title": "Max Count"}}),
                &["repo_path"],
            ),
            tool(
                "git_show",
                "Shows the contents of a commit",
                json!({"repo_path": path(), "revision": {"type": "string", "title": "Revision"}}),
                &["repo_path", "revision"],
            ),
        ]
    }

    fn call(&self, tool: &str, arguments: &Value) -> Option<Value> {
        Some(match tool {
            "git_log" => {
                let most = number_of(arguments, "max_count", 10).min(COMMITS);
                let log: Vec<_> = (0..most).map(head).collect();
                text(&format!("Commit history:\n{}", log.join("\n")))
            }
            "git_show" => {
                let revision = text_of(arguments, "revision");
                match (0..COMMITS).find(|place| hash(*place) == revision) {
                    Some(place) => text(&(head(place) + &changes(place))),
                    None => failed(&format!("Ref '{revision}' did not resolve to an object")),
                }
            }
            _ => return None,
        })
    }
}
