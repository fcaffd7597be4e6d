//! Stand-ins for servers that people use at work, with much data. Each module except `linter` names the existing server
//! that it follows. `tests/turns.rs` names the server that `linter` follows. The data are computed from numbers, so
//! that they are always the same.

mod commits;
mod files;
mod graph;
mod linter;
mod pages;
mod repository;

pub use commits::Commits;
pub use files::Files;
pub use graph::Graph;
pub use linter::Linter;
pub use pages::Pages;
pub use repository::Repository;

/// People who work together.
const PEOPLE: [&str; 8] =
    ["ada", "barbara", "edsger", "frances", "grace", "ken", "margaret", "niklaus"];

/// A text argument. Empty: it is missing.
fn text_of<'a>(arguments: &'a serde_json::Value, name: &str) -> &'a str {
    arguments[name].as_str().unwrap_or_default()
}

/// A number argument, or `other`.
fn number_of(arguments: &serde_json::Value, name: &str, other: usize) -> usize {
    arguments[name].as_u64().and_then(|number| usize::try_from(number).ok()).unwrap_or(other)
}
