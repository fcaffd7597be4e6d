//! The documentation of OpenUI5 from the network: the list of its contents, and single pages.

use crate::{
    markdown,
    pack::{
        About,
        write::{Page, pack},
    },
    sources::OPENUI5,
};
use portcullis_plugin::prelude::*;
use std::time::Duration;

/// The address of the folder with the pages, which are Markdown files.
const PAGES: &str = "https://raw.githubusercontent.com/UI5/docs/main/docs/";

/// The file with the table of contents.
const CONTENTS: &str = "index.md";

/// Time limit for the server. It is short, since the tools can answer without these pages.
const TIMEOUT: Duration = Duration::from_secs(3);

/// How long a list of contents or a page is kept.
const CACHE_TIME: Duration = Duration::from_secs(24 * 60 * 60);

/// Time for which no requests are sent to a server that did not answer.
const RESPITE: Duration = Duration::from_secs(10 * 60);

/// Maximum number of pages in a list of contents.
const MAX_PAGES: usize = 5_000;

/// A pack with the titles of all pages, each with the titles above it in the table of contents. Fails with
/// the reason.
pub fn contents() -> Result<Vec<u8>, String> {
    cache::get_or_make("contents", Some(CACHE_TIME), || {
        let pages = parse_contents(&fetch(CONTENTS)?);
        if pages.is_empty() {
            return Err(format!("{PAGES}{CONTENTS} has no table of contents"));
        }
        let about = About {
            name: OPENUI5.to_owned(),
            title: "OpenUI5 documentation (only titles are searched; a page is fetched when it is read)"
                .to_owned(),
            state: "fetched in the last 24 hours".to_owned(),
            licence: "SAP SE or an SAP affiliate company and OpenUI5 contributors, \
                      github.com/UI5/docs, CC-BY-SA-4.0"
                .to_owned(),
            left_out: String::new(),
            address: "https://github.com/UI5/docs/blob/main/docs/{key}".to_owned(),
        };
        Ok(pack(&about, &pages))
    })
}

/// The text of a page, by its path. Fails with the reason.
pub fn page(path: &str) -> Result<String, String> {
    let text = cache::get_or_make(path, Some(CACHE_TIME), || fetch(path).map(String::into_bytes))?;
    Ok(markdown::compact(&String::from_utf8_lossy(&text)))
}

fn fetch(path: &str) -> Result<String, String> {
    let url = format!("{PAGES}{path}");
    if let Some(why) = cache::get("silent") {
        return Err(format!("{url} was not requested again: {}", String::from_utf8_lossy(&why)));
    }
    let response = http::Request::get(&url).timeout(TIMEOUT).send().map_err(|error| {
        let why = error.reason.to_string();
        cache::set("silent", &why, RESPITE);
        format!("{url} cannot be reached: {why}")
    })?;
    if response.status != 200 {
        return Err(format!("{url} answers with status {}", response.status));
    }
    String::from_utf8(response.body).map_err(|_| format!("{url} is not UTF-8"))
}

/// The pages of a table of contents: nested lists with links.
fn parse_contents(contents: &str) -> Vec<Page> {
    let mut pages: Vec<Page> = Vec::new();
    let mut above: Vec<(usize, String)> = Vec::new();
    for line in contents.lines() {
        let bare = line.trim_start();
        let depth = line.len() - bare.len();
        let Some((title, rest)) = bare
            .strip_prefix("-   [")
            .or_else(|| bare.strip_prefix("- ["))
            .and_then(|link| link.split_once("]("))
        else {
            continue;
        };
        let path = rest.split([')', '#']).next().unwrap_or_default();
        let title = title.replace(['\\', '`'], "");
        above.retain(|(known, _)| *known < depth);
        let id = path.rsplit('/').next().and_then(|file| file.strip_suffix(".md"));
        if let Some(id) = id.filter(|id| is_path(path) && !pages.iter().any(|page| page.id == **id))
        {
            let titles: Vec<&str> = above.iter().map(|(_, title)| title.as_str()).collect();
            pages.push(Page {
                id: id.to_owned(),
                title: title.clone(),
                key: path.to_owned(),
                text: format!("# {title}\n\n{}", titles.join(" › ")),
            });
        }
        above.push((depth, title));
        if pages.len() >= MAX_PAGES {
            break;
        }
    }
    pages
}

/// Whether a path is safe to append to the address of the folder with the pages: it stays below this folder.
fn is_path(path: &str) -> bool {
    let is_plain = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && part.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
    };
    path.len() < 200 && path.split('/').all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_contents_has_pages_with_their_parents() {
        let pages = parse_contents(
            "# x\n-   [A \\(b\\)](a-1.md)\n    -   [B](x/b-2.md#loio1)\n    -   [B part](x/b-2.md#loio2)\n\
             -   [C](../c.md)\n-   [D](https://example.com/d.md)\n-   [E](x/.hidden.md)\nno list [F](f.md)\n",
        );
        let all: Vec<_> = pages.iter().map(|page| (&*page.id, &*page.key, &*page.text)).collect();
        assert_eq!(all, [("a-1", "a-1.md", "# A (b)\n\n"), ("b-2", "x/b-2.md", "# B\n\nA (b)")]);
    }
}
