//! The capability `catalog`: the tools of every plugin and other server, for plugins that dress them.

use std::fmt;

use serde::Deserialize;

use crate::bindings::portcullis::plugin::catalog::{self, Entry};
use crate::capabilities::{Capability, Grants, Named, listed};
use crate::gate::{Ask, Permit};
use crate::sandbox::{Around, State};

/// A part of the catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// What the tools are: names, descriptions, schemas.
    Tools,
    /// What they last answered to the caller.
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

/// Which parts are granted.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CatalogGrant {
    read: Named<Part>,
}

impl CatalogGrant {
    /// Whether the last answers are granted.
    pub fn has_results(&self) -> bool {
        self.read.contains(&Part::Results)
    }
}

impl fmt::Display for CatalogGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "see of all plugins: {}", self.read)
    }
}

/// Adds a want to what is wanted so far.
pub(super) fn want(sum: &mut Option<CatalogGrant>, target: &str) -> Result<(), String> {
    let part = [Part::Tools, Part::Results].into_iter().find(|part| part.to_string() == target);
    let part = part.ok_or("of the catalog there are tools and results")?;
    let read = Named::add(sum.take().map(|sum| sum.read), part);
    *sum = Some(CatalogGrant { read });
    Ok(())
}

/// To see a part of the catalog.
#[derive(Debug)]
pub struct CatalogAsk(Part);

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

/// Lists the tools of all sources, as the plugin of this name sees them.
fn list_tools(permit: Permit<CatalogAsk>, around: &Around, plugin: &str) -> Vec<Entry> {
    let own = |entry: &Entry| Entry { of_this_plugin: entry.source == plugin, ..entry.clone() };
    let tools = around.tools().iter().map(own).collect();
    permit.record_done("listed").map_or_else(|_| Vec::new(), |()| tools)
}

/// Reads the last answer of a tool to this caller.
fn last_result(
    permit: Permit<CatalogAsk>,
    around: &Around,
    principal: Option<String>,
    tool: &str,
) -> Option<String> {
    let result = around.result(principal, tool);
    permit.record_done("read").ok().and(result)
}

impl State {
    /// The tools, where they may be seen.
    fn seen(&self) -> Vec<Entry> {
        let Some(around) = &self.call.around else { return Vec::new() };
        match self.gate.pass(CatalogAsk(Part::Tools)) {
            Ok(permit) => list_tools(permit, around, &self.gate.trail().plugin()),
            Err(_) => Vec::new(),
        }
    }
}

impl catalog::Host for State {
    async fn tools(&mut self) -> wasmtime::Result<Vec<Entry>> {
        Ok(self.seen())
    }

    async fn tool(&mut self, name: String) -> wasmtime::Result<Option<Entry>> {
        Ok(self.seen().into_iter().find(|entry| entry.name == name))
    }

    async fn last_result(&mut self, name: String) -> wasmtime::Result<Option<String>> {
        let Some(around) = &self.call.around else { return Ok(None) };
        Ok(match self.gate.pass(CatalogAsk(Part::Results)) {
            Ok(permit) => last_result(permit, around, self.call.principal.clone(), &name),
            Err(_) => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_not_part_of_tools() {
        let grant: CatalogGrant = toml::from_str("read = [\"tools\"]").unwrap();
        assert!(CatalogAsk(Part::Tools).is_within(&grant));
        assert!(!CatalogAsk(Part::Results).is_within(&grant) && !grant.has_results());
    }
}
