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
    /// Whether JSON Pointers lead to something in the last answers of the tools to the caller.
    Pointers,
    /// The last answers of the tools to the caller.
    Results,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tools => "tools",
            Self::Pointers => "pointers",
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
    /// Whether the host has to keep the last answers of tools for this grant.
    pub fn needs_results(&self) -> bool {
        self.read.contains(&Part::Results) || self.read.contains(&Part::Pointers)
    }
}

impl Grants {
    /// Adds a grant to follow JSON Pointers into the last answers of tools.
    pub fn let_follow_pointers(&mut self) {
        let granted = self.catalog.take().map(|grant| grant.read);
        let read = match granted {
            Some(read) if read.contains(&Part::Pointers) => read,
            granted => Named::add(granted, Part::Pointers),
        };
        self.catalog = Some(CatalogGrant { read });
    }
}

impl fmt::Display for CatalogGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "read these parts of the catalog: {}", self.read)
    }
}

impl ShortForms for CatalogGrant {
    const FORMS: &'static [Form] = &[(
        "tools,pointers,results",
        "see all tools, check JSON Pointers in their last answers, read their last answers",
    )];

    fn parse(text: &str) -> Result<Vec<String>, InvalidValue> {
        short_form::separated_of(text, &["tools", "pointers", "results"])
    }

    fn values(&self) -> Vec<String> {
        self.read.iter().map(Part::to_string).collect()
    }

    fn words(value: &str) -> String {
        match value {
            "pointers" => {
                "check which JSON Pointers lead to values in the last answers of all tools"
                    .to_owned()
            }
            "results" => "read the last answers of all tools".to_owned(),
            value => format!("see all {value}"),
        }
    }

    fn add(table: &mut Table, values: &[String]) {
        short_form::add_texts(table, "read", values);
    }

    fn remove(table: &mut Table, values: &[String]) {
        short_form::remove_texts(table, "read", values);
    }

    fn may_be_used_by(value: &str, subject: &str) -> bool {
        let asks = [CatalogAsk::Tools, CatalogAsk::Results];
        let part = asks.iter().find(|ask| ask.subject() == subject).map(CatalogAsk::part);
        let part = part.or_else(|| subject.starts_with(POINTERS_SUBJECT).then_some(Part::Pointers));
        part.is_none_or(|part| part.to_string() == value)
    }
}

/// Adds a want of the manifest to the plugin's wants.
pub(super) fn want(wants: &mut Option<CatalogGrant>, target: &str) -> Result<(), InvalidWant> {
    let parts = [Part::Tools, Part::Pointers, Part::Results];
    let part = parts.into_iter().find(|part| part.to_string() == target);
    let part =
        part.ok_or(InvalidWant::Unexpected("the target must be tools, pointers or results"))?;
    let read = Named::add(wants.take().map(|wants| wants.read), part);
    *wants = Some(CatalogGrant { read });
    Ok(())
}

/// The beginning of the subject of each ask about pointers.
const POINTERS_SUBJECT: &str = "see what is in the last answer of";

/// An ask to read a part of the catalog.
#[derive(Debug)]
pub enum CatalogAsk {
    /// The tools.
    Tools,
    /// Whether pointers lead to something in the last answer of a tool.
    Pointers {
        /// The name of the tool, cleaned for display.
        tool: String,
    },
    /// The last answers of the tools.
    Results,
}

impl CatalogAsk {
    fn part(&self) -> Part {
        match self {
            Self::Tools => Part::Tools,
            Self::Pointers { .. } => Part::Pointers,
            Self::Results => Part::Results,
        }
    }
}

impl Ask for CatalogAsk {
    type Grant = CatalogGrant;
    const CAPABILITY: Capability = Capability::Catalog;

    fn grant(grants: &Grants) -> Option<&CatalogGrant> {
        grants.catalog.as_ref()
    }

    fn is_within(&self, grant: &CatalogGrant) -> bool {
        grant.read.contains(&self.part())
    }

    fn subject(&self) -> String {
        match self {
            Self::Tools => "see the tools of all plugins".into(),
            Self::Pointers { tool } => format!("{POINTERS_SUBJECT} `{tool}`"),
            Self::Results => "see the last answers of all tools".into(),
        }
    }

    fn remedy(&self, granted: Option<&CatalogGrant>) -> String {
        let present = granted.into_iter().flat_map(|granted| granted.read.iter());
        format!("read = {}", listed(present, &self.part().to_string()))
    }
}
