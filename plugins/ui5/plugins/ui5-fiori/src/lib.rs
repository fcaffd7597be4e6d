//! The tools for SAP Fiori elements: they find the apps of a folder, and add pages to one.

pub mod add;
pub mod app;
mod edit;
mod find;
pub mod list;
mod metadata;
#[cfg(test)]
#[path = "../../ui5-create/src/test_support.rs"]
#[expect(dead_code, reason = "these tests use fewer of its functions than those of ui5-create")]
mod test_support;

use add::AddPage;
use list::ListApps;
use portcullis_plugin::prelude::*;

plugin! {
    name: "ui5-fiori",
    title: "SAP Fiori elements",
    description: "Finds SAP Fiori elements apps, and adds list reports and object pages to their manifests.",
    tools: [ListApps, AddPage],
    wants: [],
}
