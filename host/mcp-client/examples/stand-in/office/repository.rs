//! GitHub's MCP server (`pkg/github` of `github/github-mcp-server`), with three of its tools: issues and commits as
//! JSON in a text, in pages.

use serde_json::{Value, json};

use super::{PEOPLE, number_of, text_of};
use crate::shop::{Shop, failed, text, tool};

const ISSUES: usize = 600;
const COMMITS: usize = 500;

/// A repository with 600 issues and 500 commits.
pub struct Repository;

/// The issue with this number, from 1. Every third issue is closed, and every fourth is a bug.
fn issue(number: usize) -> Value {
    let state = if number.is_multiple_of(3) { "CLOSED" } else { "OPEN" };
    let labels = if number.is_multiple_of(4) { json!(["bug"]) } else { json!(["enhancement"]) };
    let month = number % 9 + 1;
    json!({
        "number": number,
        "title": format!("The report of customer {} is wrong in line {}", number % 200, number * 7 % 91),
        "body": format!(
            "When I open report {number}, the total is not the sum of its lines. Steps: open the report, sort it by date, \
             look at the last line. I expected {}, and it says {}. This is with version 2.{}.", number * 13, number * 11, number % 7),
        "state": state,
        "html_url": format!("https://github.example/acme/shop/issues/{number}"),
        "user": {"login": PEOPLE[number * 5 % 8]},
        "labels": labels,
        "assignees": [PEOPLE[number * 3 % 7]],
        "comments": number % 5,
        "created_at": format!("2025-0{month}-11T10:00:00Z"),
        "updated_at": format!("2026-0{month}-12T10:00:00Z"),
    })
}

/// The commit in this place, from 0. Every fifth commit says which issue it fixes.
fn commit(place: usize) -> Value {
    let what = if place.is_multiple_of(5) {
        format!("Fix the total of a report\n\nFixes #{}", place + 1)
    } else {
        format!("Tidy module {}", place % 23)
    };
    let sha = format!("{:040x}", place * 7_919 + 1);
    let name = PEOPLE[place * place % 8];
    let author = json!({"name": name, "email": format!("{name}@acme.example"), "date": "2026-09-01T08:00:00Z"});
    json!({
        "sha": sha,
        "html_url": format!("https://github.example/acme/shop/commit/{sha}"),
        "commit": {"message": what, "author": author, "committer": author},
        "author": {"login": name},
        "committer": {"login": name},
    })
}

impl Shop for Repository {
    fn tools(&self) -> Vec<Value> {
        let word = || json!({"type": "string"});
        let of_repository = |more: Value| {
            let mut all = json!({
                "owner": {"type": "string", "description": "Repository owner"},
                "repo": {"type": "string", "description": "Repository name"},
            });
            all.as_object_mut()
                .into_iter()
                .for_each(|all| all.extend(more.as_object().cloned().unwrap_or_default()));
            all
        };
        let per_page = || json!({"type": "number", "minimum": 1, "maximum": 100, "description": "Results per page for pagination (min 1, max 100)"});
        vec![
            tool(
                "list_issues",
                "List issues in a GitHub repository. For pagination, use the 'endCursor' from the previous response's \
                 'pageInfo' in the 'after' parameter.",
                of_repository(json!({
                    "state": {"type": "string", "enum": ["OPEN", "CLOSED"], "description": "Filter by state, by default both open and closed issues are returned"},
                    "after": {"type": "string", "description": "Cursor for pagination"},
                    "perPage": per_page(),
                })),
                &["owner", "repo"],
            ),
            tool(
                "list_commits",
                "Get list of commits of a branch in a GitHub repository. Returns at least 30 results per page by default.",
                of_repository(json!({
                    "sha": word(),
                    "page": {"type": "number", "minimum": 1, "description": "Page number for pagination (min 1)"},
                    "perPage": per_page(),
                })),
                &["owner", "repo"],
            ),
            tool(
                "add_issue_comment",
                "Add a comment to a specific issue in a GitHub repository.",
                of_repository(json!({
                    "issue_number": {"type": "number", "description": "Issue number to comment on"},
                    "body": {"type": "string", "description": "Comment content"},
                })),
                &["owner", "repo", "issue_number", "body"],
            ),
        ]
    }

    fn call(&self, tool: &str, arguments: &Value) -> Option<Value> {
        let per_page = number_of(arguments, "perPage", 30);
        Some(match tool {
            "list_issues" => {
                let state = text_of(arguments, "state");
                let first =
                    text_of(arguments, "after").trim_start_matches("cursor:").parse().unwrap_or(0);
                let all: Vec<Value> = (1..=ISSUES)
                    .map(issue)
                    .filter(|one| state.is_empty() || one["state"] == state)
                    .collect();
                let page: Vec<&Value> = all.iter().skip(first).take(per_page).collect();
                let last = first + page.len();
                let info = json!({
                    "hasNextPage": last < all.len(), "hasPreviousPage": first > 0,
                    "startCursor": format!("cursor:{first}"), "endCursor": format!("cursor:{last}"),
                });
                text(
                    &json!({"issues": page, "pageInfo": info, "totalCount": all.len()}).to_string(),
                )
            }
            "list_commits" => {
                let first = (number_of(arguments, "page", 1).max(1) - 1) * per_page;
                let page: Vec<_> = (first..COMMITS.min(first + per_page)).map(commit).collect();
                text(&json!(page).to_string())
            }
            "add_issue_comment" => {
                let number = number_of(arguments, "issue_number", 0);
                if !(1..=ISSUES).contains(&number) {
                    return Some(failed("failed to create comment: 404 Not Found []"));
                }
                let url = format!(
                    "https://github.example/acme/shop/issues/{number}#issuecomment-{}",
                    number + 9_000
                );
                text(&json!({"id": (number + 9_000).to_string(), "url": url}).to_string())
            }
            _ => return None,
        })
    }
}
