//! Turns reports of the UI5 linter into results: bounded findings, and context for the fix.
//!
//! [`read`] the report, take a part with [`within_budget`], and collect its [`context`].

mod budget;
mod context;
mod guides;
mod report;
pub mod rules;
mod topics;
mod type_info;

pub use budget::{Details, MIN_BUDGET, Part, within_budget};
pub use context::{Context, RuleDescription, api_names, context};
pub use guides::{all_guides, guides};
pub use report::{FileFindings, Finding, Severity, read};
pub use topics::{Page, page, page_ids};
pub use type_info::{Kind, TypeInfo};

#[cfg(test)]
mod tests;
