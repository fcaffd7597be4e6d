//! Cases of plugins. A case is a TOML file with a call of a tool, what the plugin is granted, and what is expected.
//!
//! This crate reads cases and compares; it calls nothing.

mod case;
mod compare;
mod file;

pub use case::{Case, CaseError, read_cases};
pub use compare::{Difference, Observed, differences};
pub use file::Expectation;

/// The placeholder for the folder with the files of a case, in texts of the case and in what is observed.
pub const ROOT: &str = "{root}";
