//! A security report about plugins and upstream servers.
//!
//! [`Facts`] holds the facts, such as what each plugin imports, wants, was granted and used. [`findings()`] derives
//! from them what a reviewer should look at. [`page`] shows facts and findings as one HTML page, and [`sarif`]
//! exports the findings for code scanning. This crate reads no files and uses no network: the host gathers the
//! facts.

mod escape;
mod facts;
mod findings;
mod html;
mod picture;
mod sarif;

pub use facts::{
    Approval, AuditFacts, CapabilityFacts, CapabilityLimit, DeletedFacts, Facts, Hints,
    ImportFacts, PluginFacts, State, ToolFacts, UpstreamFacts, UseFacts, WantFacts,
};
pub use findings::{Finding, Level, RULES, Rule, UnknownRule, findings, selected};
pub use html::page;
pub use sarif::sarif;

use schemars::JsonSchema;
use serde::Serialize;

/// The report: all facts, and the findings about them.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// What is known.
    #[serde(flatten)]
    pub facts: Facts,
    /// What a reviewer should look at, the gravest first.
    pub findings: Vec<Finding>,
}

impl Report {
    /// The report on these facts.
    pub fn of(facts: Facts) -> Self {
        let findings = findings(&facts);
        Self { facts, findings }
    }
}

/// The JSON Schema of [`Report`].
pub fn schema() -> serde_json::Value {
    let schema = schemars::schema_for!(Report);
    serde_json::to_value(schema).expect("a schema is JSON")
}

#[cfg(test)]
mod tests;
