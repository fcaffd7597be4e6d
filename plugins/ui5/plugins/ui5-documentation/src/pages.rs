//! Pages of the documentation as resources: `ui5://docs/SOURCE/PAGE`.

use crate::{
    credit,
    rank::{question_words, rank},
    read,
    sources::Sources,
};
use percent_encoding::percent_decode_str;
use portcullis_plugin::prelude::*;

/// The start of the URIs; the name of the pack and the id of the page follow.
pub const PREFIX: &str = "ui5://docs/";

const TEMPLATE: &str = "ui5://docs/{source}/{page}";

/// Maximum number of values in a completion, by MCP.
const MAX_COMPLETIONS: usize = 100;

/// The pages, by a template; they are too many to be listed.
pub struct Pages;

impl Resources for Pages {
    fn templates() -> Vec<Template> {
        vec![
            Template::new(TEMPLATE, "ui5-docs")
                .title("UI5 documentation")
                .description("A page of the UI5 documentation, as search_docs finds it.")
                .mime_type("text/markdown"),
        ]
    }

    fn read(_request: &Request, uri: &str) -> Result<Contents, Failure> {
        let address =
            uri.strip_prefix(PREFIX).map(|rest| percent_decode_str(rest).decode_utf8_lossy());
        let sources = Sources::read();
        let packs = sources.packs();
        let found = address.and_then(|address| read::find(&packs, &format!("{PREFIX}{address}")));
        let (pack, page) = found.ok_or_else(|| Failure::not_found(uri))?;
        let text = read::text(&sources, pack, page).map_err(Failure::new)?;
        Ok(Contents::text(uri, "text/markdown", format!("{text}\n\n---\n{}\n", credit(pack))))
    }

    fn complete(
        _request: &Request,
        template: &str,
        variable: &str,
        value: &str,
        context: &[(String, String)],
    ) -> Vec<String> {
        if template != TEMPLATE {
            return Vec::new();
        }
        let sources = Sources::read();
        let mut packs = sources.packs();
        if variable == "source" {
            let names = packs.iter().map(|pack| pack.about.name.clone());
            return names.filter(|name| name.starts_with(&value.to_lowercase())).collect();
        }
        if let Some((_, source)) = context.iter().find(|(name, _)| name == "source") {
            packs.retain(|pack| pack.about.name == *source);
        }
        let mut ids: Vec<String> = Vec::new();
        for pack in &packs {
            let count = u32::try_from(pack.page_count()).unwrap_or(0);
            let entries = (0..count).filter_map(|page| pack.entry(page));
            ids.extend(entries.map(|entry| entry.id.to_owned()).filter(|id| id.starts_with(value)));
        }
        if ids.is_empty() {
            let hits = rank(&packs, &question_words(value));
            let hits = hits.iter().filter_map(|hit| packs[hit.pack].entry(hit.page));
            ids.extend(hits.take(MAX_COMPLETIONS).map(|entry| entry.id.to_owned()));
        }
        ids.truncate(MAX_COMPLETIONS);
        ids
    }
}
