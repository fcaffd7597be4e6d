//! Resources about findings: migration guides and summaries of documentation pages.

use portcullis_plugin::prelude::*;
use ui5_lint_context::{Page, all_guides, page, page_ids};

/// The prefix of the URIs of summaries.
const DOCUMENTATION: &str = "ui5://documentation/";

/// The resources.
pub struct Pages;

impl Resources for Pages {
    fn fixed() -> Vec<Resource> {
        let guides = all_guides().map(|guide| {
            described(&guide.uri, &guide)
                .description("How to fix findings of one kind that the UI5 linter cannot fix.")
        });
        let pages = page_ids().filter_map(|id| Some((id, page(id)?))).map(|(id, page)| {
            described(&format!("{DOCUMENTATION}{id}"), &page)
                .description(format!("Summary of the documentation at {}.", page.uri))
        });
        guides.chain(pages).collect()
    }

    fn read(_request: &Request, uri: &str) -> Result<Contents, Failure> {
        let found = match uri.strip_prefix(DOCUMENTATION) {
            Some(id) => page(id),
            None => all_guides().find(|guide| guide.uri == uri),
        };
        let page = found.ok_or_else(|| Failure::not_found(uri))?;
        Ok(Contents::text(uri, "text/markdown", page.text))
    }
}

fn described(uri: &str, page: &Page) -> Resource {
    let name = page.title.to_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    Resource::new(uri, name)
        .title(&page.title)
        .mime_type("text/markdown")
        .size(page.text.len() as u64)
}
