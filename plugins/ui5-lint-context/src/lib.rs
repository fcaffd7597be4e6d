//! From the report of the UI5 linter to answers: bounded results, and what helps to repair the findings.
//!
//! [`read`] the report, take what fits with [`within_budget`], and gather its [`context`].

mod budget;
mod context;
mod guides;
mod report;
pub mod rules;
mod topics;
mod type_info;

pub use budget::{LEAST_BUDGET, Part, within_budget};
pub use context::{Context, RuleDescription, context};
pub use guides::{all_guides, guides};
pub use report::{FileFindings, Finding, Severity, read};
pub use topics::{Page, page, page_ids};
pub use type_info::{Kind, TypeInfo};

#[cfg(test)]
mod tests;
