//! Writes Portcullis into the configuration files of MCP clients, and takes it out again.
//!
//! [`CLIENTS`] is the table of clients: where each keeps its file, in which format, and how an entry looks. A [`Plan`]
//! is one change of one file. The plan changes the entry of Portcullis alone: comments, order and formats stay. The
//! change is checked by parsing the file before and after; a file that cannot be parsed is not changed.

mod clients;
mod document;
mod entry;
mod json;
mod machine;
mod plan;
mod servers;
mod text;
mod toml;
mod yaml;

pub use clients::{CLIENTS, Client, Roots, Scope};
pub use entry::{PortcullisEntry, Server};
pub use machine::{Machine, NoHome, Os};
pub use plan::{BACKUP, Change, Plan, Refusal, Written};
pub use servers::{is_portcullis, servers};
pub use text::Unparsable;

#[cfg(test)]
mod samples;
#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests look at the files")]
mod tests;
