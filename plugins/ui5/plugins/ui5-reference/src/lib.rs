//! The tool `get_api_reference`: the API of a UI5 symbol in the version that a project uses.

mod pages;
mod shown;

use portcullis_plugin::prelude::*;
use shown::{Shown, shown_contents};
use std::ops::Range;
use ui5::{
    Cdn, Detail, Project, detail, project,
    reference::{Found, Miss, Reference, Release},
    web_components::{self, WebComponents},
};

/// The API reference of OpenUI5, made by `plugins/ui5/resources/reference/make-reference.sh`.
const OPENUI5: &[u8] = include_bytes!("../../../resources/reference/openui5.reference");

/// The API reference of UI5 Web Components, made by the same script.
const WEB_COMPONENTS: &[u8] =
    include_bytes!("../../../resources/reference/webcomponents.reference");

/// Maximum number of symbols of a module on one page, and their maximum size together, in bytes. Sizes are
/// those in the file: they are known without reading the symbols, and close to the sizes in the result.
const PAGE: (usize, u32) = (64, 160_000);

/// Shows the API reference of a UI5 class, control, module or member (properties, events, methods), in the project's UI5 version or the nearest one.
#[arguments]
pub struct GetApiReference {
    /// Absolute path of the project, which determines the UI5 version.
    #[path(directory, read, nearest = ["ui5-local.yaml", "ui5.yaml", "package.json", "webapp", "src"])]
    project_dir: String,
    /// A module or symbol: 'sap.m.Button', 'sap/ui/core/Core', 'sap.m.Button#text'. Web components: 'ui5-button', 'ui5-button#design'.
    #[schemars(regex(pattern = r#"^[^<>"'()]+$"#))]
    query: String,
    /// Page of a long answer, from 1.
    #[schemars(range(min = 1, max = 10_000))]
    page: Option<u32>,
    /// 'brief' lists members of large classes and symbols of large modules. 'full' shows all. Default: 'brief', unless the operator set 'full'.
    detail: Option<Detail>,
}

impl Tool for GetApiReference {
    const NAME: &'static str = "get_api_reference";
    const TITLE: Option<&'static str> = Some("UI5 API Reference");
    const HINTS: Hints = Hints::new().read_only(true).idempotent(true);
    type Output = Reply;

    fn call(self, request: &Request) -> Result<Reply, Failure> {
        if self.query.is_empty() || self.query.contains(['<', '>', '"', '\'', '(', ')']) {
            return Err(Failure::new("Characters < > ( ) \" ' are not allowed."));
        }
        let project = project::find(&self.project_dir).map_err(Failure::new)?;
        let detail = Detail::of(self.detail).map_err(Failure::new)?;
        if web_components::is_meant(&self.query) {
            let found = component(&project, &self.query, detail).map_err(Failure::new)?;
            return Ok(found.map_err(refusal)?);
        }
        let cdn = Cdn::from_settings().map_err(Failure::new)?;
        let release = Release::of(&project);
        let reference = Reference::open_or_carried(&release, &cdn, request, Some(OPENUI5));
        let mut reference = reference.map_err(Failure::new)?;
        let page = self.page.unwrap_or(1).max(1);
        let found = reference.find(&self.query).and_then(|found| match found {
            Found::One(hit) => Ok(Shown::of(&hit, &reference.release, detail).embed(Reply::new())),
            Found::Module { module, symbols } => {
                listing(&mut reference, &module, &symbols, page, detail).map_err(Miss::from)
            }
        });
        match found {
            Ok(reply) => Ok(with_note(reply, &reference)),
            Err(miss) if is_bare(&self.query) => {
                match component(&project, &self.query, detail).map_err(Failure::new)? {
                    Ok(reply) => Ok(with_near(reply, &mut reference, &self.query)),
                    Err(_) => Err(with_note(refusal(miss), &reference).into()),
                }
            }
            Err(miss) => Err(with_note(refusal(miss), &reference).into()),
        }
    }
}

/// Whether a query is one name, perhaps with a member: `Button#design`.
fn is_bare(query: &str) -> bool {
    !query.contains(['.', '/', ':'])
}

/// The answer about a web component, or a [`Miss`]. Fails if the reference is damaged.
fn component(
    project: &Project,
    query: &str,
    detail: Detail,
) -> Result<Result<Reply, Miss>, String> {
    let mut components = WebComponents::open(project, WEB_COMPONENTS)?;
    let found = components.find(query);
    let version = |package: &str| format!("This is {package} {}.", components.version(package));
    let note = components.note.clone();
    Ok(match found {
        Ok(Found::One(hit)) => {
            let reply = Shown::of_component(&hit, detail).embed(Reply::new());
            Ok(reply.text(note.unwrap_or_else(|| version(&hit.library))))
        }
        // The name of a module is also a key of its component, so no query is expected to get here.
        Ok(Found::Module { module, .. }) => Err(Miss::from(format!(
            "Could not find symbol for query '{query}': name a component of {module}"
        ))),
        Err(mut miss) => {
            let version_note = note.unwrap_or_else(|| version(web_components::PACKAGES[0]));
            miss.message = format!("{}. {version_note}", miss.message);
            Err(miss)
        }
    })
}

/// Adds the names of UI5 symbols that may be meant instead.
fn with_near(reply: Reply, reference: &mut Reference, query: &str) -> Reply {
    let name = query.split('#').next().unwrap_or_default();
    let near = reference.find(name).err().map(|miss| miss.near).unwrap_or_default();
    if near.is_empty() {
        reply
    } else {
        reply.text(format!("UI5 symbols with a similar name: {}.", near.join(", ")))
    }
}

fn with_note(reply: Reply, reference: &Reference) -> Reply {
    match &reference.note {
        Some(note) => reply.text(note),
        None => reply,
    }
}

fn refusal(miss: Miss) -> Reply {
    let reply = Reply::new().text(miss.message);
    if miss.near.is_empty() {
        reply
    } else {
        reply.text(format!("Did you mean {}?", miss.near.join(", ")))
    }
}

/// A page of a module's symbols, and the number of pages; reads no symbols of other pages. Fails
/// with the reason.
fn page_of(
    reference: &mut Reference,
    module: &str,
    symbols: &[u32],
    page: u32,
) -> Result<(Vec<Shown>, u32), String> {
    let pages = pages(&reference.lengths(symbols)?);
    let count = u32::try_from(pages.len()).map_err(|_| "it has too many symbols")?;
    let wanted = page.checked_sub(1).and_then(|before| pages.get(before as usize));
    let Some(wanted) = wanted.cloned() else { return Ok((Vec::new(), count)) };
    let release = reference.release.clone();
    let hits = reference.listed(module, &symbols[wanted])?;
    let shown = hits.map(|hit| Ok(Shown::of(&hit?, &release, Detail::Full)));
    shown.collect::<Result<_, String>>().map(|shown| (shown, count))
}

/// Divides a module's symbols into pages, by their lengths in bytes.
fn pages(lengths: &[u32]) -> Vec<Range<usize>> {
    let (max_symbols, max_bytes) = PAGE;
    let mut pages: Vec<Range<usize>> = Vec::new();
    let mut size = 0_u32;
    for (number, length) in lengths.iter().enumerate() {
        match pages
            .last_mut()
            .filter(|page| page.len() < max_symbols && size.saturating_add(*length) <= max_bytes)
        {
            Some(page) => {
                page.end = number + 1;
                size += length;
            }
            None => {
                pages.push(number..number + 1);
                size = *length;
            }
        }
    }
    pages
}

/// The tool's result for a page of a module.
fn listing(
    reference: &mut Reference,
    module: &str,
    symbols: &[u32],
    page: u32,
    detail: Detail,
) -> Result<Reply, String> {
    let bytes: u64 = reference.lengths(symbols)?.into_iter().map(u64::from).sum();
    let is_short = usize::try_from(bytes).is_ok_and(|bytes| bytes <= shown::BRIEF);
    let (shown, count) = match detail {
        Detail::Brief if !is_short => shown_contents(reference, module, symbols, page)?,
        Detail::Brief | Detail::Full => page_of(reference, module, symbols, page)?,
    };
    if page > count {
        return Err(format!("There is no page {page}: the last one is {count}"));
    }
    let reply = shown.into_iter().fold(Reply::new(), |reply, symbol| symbol.embed(reply));
    if count == 1 {
        return Ok(reply);
    }
    let more = if page < count {
        format!(" Call again with `page` {} for more, or name a symbol of the module.", page + 1)
    } else {
        String::new()
    };
    Ok(reply.text(format!("Page {page} of {count}: {module} has {} symbols.{more}", symbols.len())))
}

plugin! {
    name: "ui5-reference",
    title: "UI5 API reference",
    description: "Looks up symbols of the UI5 API in the version that a project uses or, without a network, in an earlier download or a bundled version. Also looks up UI5 Web Components.",
    tools: [GetApiReference],
    resources: pages::Pages,
    wants: [
        Want::http("ui5.sap.com", "GET", "to fetch the API reference of SAPUI5"),
        Want::http("sdk.openui5.org", "GET", "to fetch the API reference of OpenUI5"),
        Want::http("$cdn-url", "GET", "to fetch the API reference from the configured mirror instead").optional(),
        Want::writable_directory("$data-dir", "to store fetched API references, in the layout of the UI5 MCP server"),
        Want::settings("data-dir", "the absolute path of the UI5 data directory, which the UI5 tools share, such as /home/me/.ui5"),
        Want::settings(ui5::embedded::SETTING, "set to any text: answers have texts instead of resources, for clients that cannot show resources"),
        Want::settings(detail::SETTING, "`full`: calls without `detail` get full answers; `brief` or unset: they get brief answers"),
        Want::settings("cdn-url", "the address of a mirror of both CDNs"),
        Want::cache(1024 * 1024, "to remember for a minute that a CDN does not answer"),
    ],
}

#[cfg(test)]
mod tests;
