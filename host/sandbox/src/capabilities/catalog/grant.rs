//! The grant of the catalog, and the check whether it covers an ask.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::capabilities::short_form::{self, Form, InvalidValue, ShortForms, Table};
use crate::capabilities::{Capability, Grants, InvalidWant, Named, listed};
use crate::gate::Ask;

/// A part of the catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// The names, descriptions and schemas of the tools.
    Tools,
    /// The last answers of the tools to the caller.
    Results,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tools => "tools",
            Self::Results => "results",
        })
    }
}

/// The granted parts of the catalog.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CatalogGrant {
    /// The parts of the catalog that the plugin may read.
    read: Named<Part>,
}

impl CatalogGrant {
    /// Whether the last answers of tools are granted.
    pub fn has_results(&self) -> bool {
        self.read.contains(&Part::Results)
    }
}

impl fmt::Display for CatalogGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "see of all plugins: {}", self.read)
    }
}

impl ShortForms for CatalogGrant {
    const FORMS: &'static [Form] =
        &[("tools,results", "see the tools of all plugins, and their last answers")];

    fn parse(text: &str) -> Result<Vec<String>, InvalidValue> {
        short_form::separated_of(text, &["tools", "results"])
    }

    fn values(&self) -> Vec<String> {
        self.read.iter().map(Part::to_string).collect()
    }

    fn words(value: &str) -> String {
        format!("see the {value} of all plugins")
    }

    fn add(table: &mut Table, values: &[String]) {
        short_form::add_texts(table, "read", values);
    }

    fn remove(table: &mut Table, values: &[String]) {
        short_form::remove_texts(table, "read", values);
    }

    fn may_be_used_by(value: &str, subject: &str) -> bool {
        let asks = [Part::Tools, Part::Results].map(CatalogAsk);
        let known = asks.iter().find(|ask| ask.subject() == subject);
        known.is_none_or(|ask| ask.0.to_string() == value)
    }
}

/// Adds a want of the manifest to the plugin's wants.
pub(super) fn want(wants: &mut Option<CatalogGrant>, target: &str) -> Result<(), InvalidWant> {
    let part = [Part::Tools, Part::Results].into_iter().find(|part| part.to_string() == target);
    let part = part.ok_or(InvalidWant::Unexpected("of the catalog there are tools and results"))?;
    let read = Named::add(wants.take().map(|wants| wants.read), part);
    *wants = Some(CatalogGrant { read });
    Ok(())
}

/// An ask to read a part of the catalog.
#[derive(Debug)]
pub struct CatalogAsk(pub Part);

impl Ask for CatalogAsk {
    type Grant = CatalogGrant;
    const CAPABILITY: Capability = Capability::Catalog;

    fn grant(grants: &Grants) -> Option<&CatalogGrant> {
        grants.catalog.as_ref()
    }

    fn is_within(&self, grant: &CatalogGrant) -> bool {
        grant.read.contains(&self.0)
    }

    fn subject(&self) -> String {
        match self.0 {
            Part::Tools => "see the tools of all plugins".into(),
            Part::Results => "see the last answers of all tools".into(),
        }
    }

    fn remedy(&self, granted: Option<&CatalogGrant>) -> String {
        let there = granted.into_iter().flat_map(|granted| granted.read.iter());
        format!("read = {}", listed(there, &self.0.to_string()))
    }
}
