//! Fetches the lists of tools, prompts and resources of an upstream, page by page.

use std::collections::HashSet;
use std::time::Duration;

use serde_json::Value;

use crate::connection::{ClientSettings, ConnectFailure, Connection};
use crate::fault::FaultCause;
use crate::items::{self, UpstreamPrompt, UpstreamTool};
use crate::message::{Object, RpcError};
use crate::peer::Peer;
use crate::raw_lists::RawLists;
use crate::text;

/// Maximum number of pages of one list, and maximum number of items of each kind.
const PAGES: usize = 100;
const TOOLS: usize = 1000;
const PROMPTS: usize = 1000;
const RESOURCES: usize = 10_000;

/// Maximum number of warnings about one listing.
const WARNINGS: usize = 100;

/// Maximum length of a cursor, in bytes.
const CURSOR_BYTES: usize = 16 * 1024;

/// The tools, prompts and resources of an upstream.
#[derive(Debug, Clone, PartialEq)]
pub struct Listing {
    /// The upstream's description of itself.
    pub peer: Peer,
    /// The tools, in the order of the upstream.
    pub tools: Vec<UpstreamTool>,
    /// The prompts.
    pub prompts: Vec<UpstreamPrompt>,
    /// The resources, with sanitised texts, otherwise unchanged.
    pub resources: Vec<Object>,
    /// The resource templates, with sanitised texts, otherwise unchanged.
    pub templates: Vec<Object>,
    /// What was left out, such as invalid items and further pages, with the reasons.
    pub warnings: Vec<String>,
}

/// The differences between two listings, as names of tools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// New tools.
    pub added: Vec<String>,
    /// Tools that were removed.
    pub removed: Vec<String>,
    /// Tools with another definition.
    pub changed: Vec<String>,
}

impl Listing {
    /// The tool of this name.
    pub fn tool(&self, name: &str) -> Option<&UpstreamTool> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    /// The differences from an earlier listing.
    pub fn changes_since(&self, earlier: &Self) -> Changes {
        let mut changes = Changes::default();
        for tool in &self.tools {
            match earlier.tool(&tool.name) {
                None => changes.added.push(tool.name.clone()),
                Some(old) if old.digest != tool.digest => changes.changed.push(tool.name.clone()),
                Some(_) => {}
            }
        }
        let gone = earlier.tools.iter().filter(|old| self.tool(&old.name).is_none());
        changes.removed.extend(gone.map(|old| old.name.clone()));
        changes
    }
}

impl RawLists {
    /// Checks and sanitises the lists. `warnings`: the warnings of the fetch. The checks add further ones.
    pub(crate) fn checked(self, peer: Peer, mut warnings: Vec<String>) -> Listing {
        let tools = items::tools(self.tools, self.has_headers, &mut warnings);
        let prompts = items::prompts(self.prompts, &mut warnings);
        let resources = items::resources(self.resources, "uri", &mut warnings);
        let templates = items::resources(self.templates, "uriTemplate", &mut warnings);
        if warnings.len() > WARNINGS {
            let more = warnings.len() - WARNINGS;
            warnings.truncate(WARNINGS);
            warnings.push(format!("and {more} more warnings"));
        }
        Listing { peer, tools, prompts, resources, templates, warnings }
    }
}

/// A listing that was just fetched.
pub(crate) struct Fetched {
    pub(crate) listing: Listing,
    /// The lists from which the listing was made.
    pub(crate) raw: RawLists,
    /// How long the listing is current. `None`: the upstream does not say how long.
    pub(crate) fresh_for: Option<Duration>,
}

/// Fetches all lists of an upstream. One list has at most `most` bytes in all, and one page takes at most `time`.
pub(crate) async fn fetch(
    connection: &Connection,
    client: &ClientSettings,
    most: usize,
    time: Duration,
) -> Result<Fetched, FaultCause> {
    let mut pages = Pages { connection, client, most, time, fresh_for: None, warnings: Vec::new() };
    let peer = &connection.peer;
    let mut raw = RawLists { has_headers: connection.has_headers(), ..RawLists::default() };
    if peer.offers("tools") {
        raw.tools = pages.all("tools/list", "tools", TOOLS).await?;
    }
    if peer.offers("prompts") {
        raw.prompts = pages.all("prompts/list", "prompts", PROMPTS).await?;
    }
    if peer.offers("resources") {
        raw.resources = pages.all("resources/list", "resources", RESOURCES).await?;
        let method = "resources/templates/list";
        raw.templates = pages.all(method, "resourceTemplates", RESOURCES).await?;
    }
    let listing = raw.clone().checked(peer.clone(), pages.warnings);
    Ok(Fetched { listing, raw, fresh_for: pages.fresh_for })
}

struct Pages<'a> {
    connection: &'a Connection,
    client: &'a ClientSettings,
    most: usize,
    time: Duration,
    /// The shortest time for which one of the pages is current.
    fresh_for: Option<Duration>,
    warnings: Vec<String>,
}

impl Pages<'_> {
    /// All items of one list, but no more than `most` items.
    async fn all(
        &mut self,
        method: &str,
        key: &str,
        most: usize,
    ) -> Result<Vec<Value>, FaultCause> {
        let mut things = Vec::new();
        let mut cursors = HashSet::new();
        let mut cursor: Option<String> = None;
        let mut bytes = 0;
        for _ in 0..PAGES {
            let mut params = Object::new();
            if let Some(cursor) = cursor.take() {
                params.insert("cursor".to_owned(), cursor.into());
            }
            let asked = self.connection.ask(self.client, method, params, self.time).await;
            let (mut page, size) = match asked {
                Ok((Value::Object(page), size)) => (page, size),
                Ok(_) => {
                    let because = format!("its answer to {method} is not an object");
                    return Err(FaultCause::protocol(because));
                }
                Err(ConnectFailure::Refused(error)) if error.code == RpcError::METHOD_NOT_FOUND => {
                    self.warnings.push(format!("{method} is not supported"));
                    return Ok(things);
                }
                Err(failure) => return Err(failure.into()),
            };
            bytes += size;
            if bytes > self.most {
                return Err(FaultCause::ListTooLarge { method: method.into(), most: self.most });
            }
            self.note_freshness(&page);
            let Some(Value::Array(more)) = page.remove(key) else {
                return Err(FaultCause::protocol(format!(
                    "its answer to {method} has no list `{key}`"
                )));
            };
            things.extend(more);
            if things.len() > most {
                self.warnings.push(format!("{method}: only the first {most} are listed"));
                things.truncate(most);
                return Ok(things);
            }
            match page.get("nextCursor").and_then(Value::as_str) {
                None | Some("") => return Ok(things),
                Some(next) if next.len() > CURSOR_BYTES || !cursors.insert(next.to_owned()) => {
                    let shown = text::line(next, 40);
                    self.warnings.push(format!(
                        "{method}: further pages are left out: the cursor {shown:?} was returned twice, or is too long"
                    ));
                    return Ok(things);
                }
                Some(next) => cursor = Some(next.to_owned()),
            }
        }
        self.warnings.push(format!("{method}: only the first {PAGES} pages are listed"));
        Ok(things)
    }

    fn note_freshness(&mut self, page: &Object) {
        if let Some(ttl) = page.get("ttlMs").and_then(Value::as_u64) {
            let ttl = Duration::from_millis(ttl);
            self.fresh_for = Some(self.fresh_for.map_or(ttl, |other| other.min(ttl)));
        }
    }
}
