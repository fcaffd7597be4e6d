//! Tests of the tools with small packs; the ranking of real pages is in `tests/questions.rs`.

use super::{
    pack::{
        About,
        write::{Page, pack},
    },
    read::ReadDocs,
    *,
};
use portcullis_plugin::{content::ResourceData, rehearsal::Rehearsal};
use serde_json::Value;
use std::fs;

const INDEX: &str = "https://raw.githubusercontent.com/UI5/docs/main/docs/index.md";

fn made(name: &str, pages: &[(&str, &str, &str)]) -> Vec<u8> {
    let about = About {
        name: name.to_owned(),
        title: format!("Documentation of {name}"),
        state: "1.0".to_owned(),
        licence: "somebody, CC-BY-4.0".to_owned(),
        left_out: "pictures".to_owned(),
        address: "https://example.com/{key}".to_owned(),
    };
    let pages: Vec<Page> = pages
        .iter()
        .map(|(id, title, text)| Page {
            id: (*id).to_owned(),
            title: (*title).to_owned(),
            key: format!("key-{id}"),
            text: (*text).to_owned(),
        })
        .collect();
    pack(&about, &pages)
}

const ROUTES: &str =
    "# Routes\n\nA router shows views.\n\n## Parameters of routes\n\nCall navTo with the zebra.\n";

/// A folder with a pack that stands for OpenUI5's documentation, and a host that knows it.
fn prepared() -> (tempfile::TempDir, Rehearsal) {
    let folder = tempfile::tempdir().expect("there is room");
    let pages =
        [("routes-1", "Routes", ROUTES), ("other-2", "Other", "# Other\n\nNothing of it.\n")];
    fs::write(folder.path().join("a.pack"), made("openui5", &pages)).expect("it is writable");
    let path = folder.path().to_str().expect("it is UTF-8").to_owned();
    let rehearsal = Rehearsal::new().setting(sources::SETTING, &path);
    (folder, rehearsal)
}

fn search(rehearsal: &Rehearsal, arguments: Value) -> String {
    rehearsal.call::<SearchDocs>(arguments).expect("it can be searched").as_text().to_owned()
}

fn refused<T: Tool>(rehearsal: &Rehearsal, arguments: Value) -> String {
    rehearsal.call::<T>(arguments).expect_err("it is refused").to_string()
}

#[test]
fn a_page_is_found_with_its_section_and_read() {
    let (_folder, rehearsal) = prepared();
    let answer = search(&rehearsal, json!({ "query": "parameters of a route zebra" }));
    let first = "1. **Routes** › Parameters of routes\n   ui5://docs/openui5/routes-1\n   \
                 Call navTo with the zebra.";
    assert!(answer.contains(first), "{answer}");
    assert!(answer.contains(
        "Source: Documentation of openui5, 1.0, by somebody, CC-BY-4.0. Left out: pictures."
    ));
    for page in ["ui5://docs/openui5/routes-1", "openui5/routes-1", "routes-1.md#x", " routes-1"] {
        let reply = rehearsal.call::<ReadDocs>(json!({ "page": page })).expect(page);
        let text = reply.as_text();
        assert!(text.starts_with(ROUTES.trim()), "{text}");
        assert!(text.contains("https://example.com/key-routes-1") && text.contains("CC-BY-4.0"));
    }
    let part = json!({ "page": "routes-1", "section": "parameters" });
    let part = rehearsal.call::<ReadDocs>(part).expect("there is such a section");
    assert!(part.as_text().starts_with("## Parameters of routes"));
    assert_eq!(rehearsal.sent(), [], "nothing is fetched");
}

#[test]
fn a_page_is_a_resource() {
    let (_folder, rehearsal) = prepared();
    let read = |uri: &str| pages::Pages::read(&rehearsal.request(), uri);
    let contents = read("ui5://docs/openui5/routes%2D1").expect("it is there");
    let ResourceData::Text(text) = &contents.all[0].data else { panic!("it is text") };
    assert!(text.starts_with(ROUTES) && text.contains("CC-BY-4.0"));
    for uri in ["ui5://docs/openui5/none", "ui5://docs/", "ui5://documentation/routes-1", "x"] {
        assert!(read(uri).is_err(), "{uri}");
    }
    let complete = |variable: &str, value: &str| {
        let context = [("source".to_owned(), "openui5".to_owned())];
        let request = rehearsal.request();
        let template = "ui5://docs/{source}/{page}";
        pages::Pages::complete(&request, template, variable, value, &context)
    };
    assert_eq!(complete("page", "rou"), ["routes-1"]);
    assert_eq!(complete("page", "zebra"), ["routes-1"], "by words of the page");
    assert_eq!(complete("source", "open"), ["openui5"]);
}

#[test]
fn answers_are_short_and_continue_at_an_offset() {
    let (_folder, rehearsal) = prepared();
    let first = search(&rehearsal, json!({ "query": "table" }));
    assert!(first.starts_with("Pages 1 to 5 of ") && first.contains("More pages: `offset` 5."));
    assert!(first.len() < 6_000, "less than 2,000 tokens: {} bytes", first.len());
    let second = search(&rehearsal, json!({ "query": "table", "offset": 5, "limit": 2 }));
    assert!(second.starts_with("Pages 6 to 7 of "), "{second}");
    let address = |text: &str| {
        let lines = text.lines().filter(|line| line.trim().starts_with(pages::PREFIX));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!((address(&first).len(), address(&second).len()), (5, 2));
    assert!(address(&second).iter().all(|one| !address(&first).contains(one)));
    let behind = search(&rehearsal, json!({ "query": "table", "offset": 9_999 }));
    assert!(behind.contains("is after the last one"), "{behind}");
    let none = search(&rehearsal, json!({ "query": "qwrtzpsdfg" }));
    assert!(none.starts_with("No page has a word of the query."), "{none}");
}

#[test]
fn one_source_can_be_searched_alone() {
    let (_folder, rehearsal) = prepared();
    let only = search(&rehearsal, json!({ "query": "table", "source": "portcullis" }));
    assert!(
        only.lines()
            .filter(|line| line.contains("ui5://docs/"))
            .all(|l| l.contains("/portcullis/"))
    );
    let message = refused::<SearchDocs>(&rehearsal, json!({ "query": "table", "source": "react" }));
    assert_eq!(
        message,
        "There is no documentation 'react'. Known: openui5, portcullis, fiori-elements."
    );
}

#[test]
fn a_question_without_words_is_refused() {
    let (_folder, rehearsal) = prepared();
    for query in ["", "   ", "how do I", "***"] {
        let message = refused::<SearchDocs>(&rehearsal, json!({ "query": query }));
        assert!(message.contains("no word"), "{message}");
    }
    let message = refused::<SearchDocs>(&rehearsal, json!({ "query": "ä".repeat(600) }));
    assert!(message.contains("1200 bytes"), "{message}");
}

#[test]
fn a_missing_page_has_similar_names() {
    let (_folder, rehearsal) = prepared();
    let message = refused::<ReadDocs>(&rehearsal, json!({ "page": "parameters-of-routes-zebra" }));
    assert!(message.contains("Similar: ui5://docs/openui5/routes-1"), "{message}");
    let message =
        refused::<ReadDocs>(&rehearsal, json!({ "page": "routes-1", "section": "colours" }));
    assert!(message.contains("Its sections: Routes; Parameters of routes."), "{message}");
    let message = refused::<ReadDocs>(&rehearsal, json!({ "page": "routes-1", "offset": 5_000 }));
    assert!(message.contains("after the end"), "{message}");
    refused::<ReadDocs>(&rehearsal, json!({ "page": "" }));
}

#[test]
fn the_parts_of_a_long_page_are_the_whole_page() {
    let (folder, rehearsal) = prepared();
    let section =
        |number: usize| format!("## Part {number}\n\n{}\n", "wörter und Wörter. ".repeat(40));
    let text = format!("# Long\n\n{}", (0..20).map(section).collect::<String>());
    fs::write(folder.path().join("b.pack"), made("long", &[("long", "Long", &text)])).expect("ok");
    let mut shown = String::new();
    let mut offset = 0;
    loop {
        let arguments = json!({ "page": "long/long", "offset": offset });
        let reply = rehearsal.call::<ReadDocs>(arguments).expect("it is a part");
        let answer = reply.as_text().to_owned();
        assert!(answer.len() < 8_000, "{}", answer.len());
        let (part, rest) = answer.rsplit_once("\n\n---").expect("it has an end");
        shown.push_str(part);
        let next = rest.split_once("`offset` ").and_then(|(_, next)| next.split(' ').next());
        let Some(next) = next.and_then(|next| next.parse::<usize>().ok()) else { break };
        assert!(next > offset);
        offset = next;
    }
    let squeezed = |text: &str| text.split_whitespace().collect::<String>();
    assert_eq!(squeezed(&shown), squeezed(&text));
    let first = rehearsal.call::<ReadDocs>(json!({ "page": "long" })).expect("it is there");
    assert!(first.as_text().contains(" Sections there: Part "), "{}", first.as_text());
}

#[test]
fn a_damaged_pack_is_named_and_the_others_are_searched() {
    let (folder, rehearsal) = prepared();
    fs::write(folder.path().join("broken.pack"), b"something else").expect("it is writable");
    fs::write(folder.path().join("notes.txt"), b"no pack").expect("it is writable");
    let answer = search(&rehearsal, json!({ "query": "zebra" }));
    assert!(answer.contains("ui5://docs/openui5/routes-1"));
    assert!(
        answer
            .contains("The pack broken.pack in the documentation folder is not used: it is not a")
    );
    assert!(!answer.contains("notes.txt"));
}

#[test]
fn a_pack_of_the_folder_replaces_the_embedded_one() {
    let (folder, rehearsal) = prepared();
    let pages = [("new", "New", "# New\n\nA giraffe.\n")];
    fs::write(folder.path().join("f.pack"), made("fiori-elements", &pages)).expect("ok");
    let answer = search(&rehearsal, json!({ "query": "giraffe", "source": "fiori-elements" }));
    assert!(answer.starts_with("Pages 1 to 1 of 1"), "{answer}");
    assert!(answer.contains("ui5://docs/fiori-elements/new"));
}

#[test]
fn reading_a_damaged_pack_ends() {
    let bytes = made("openui5", &[("routes-1", "Routes", ROUTES), ("b", "B", "# B\n\nrouter\n")]);
    let words = question_words("router zebra parameters");
    let try_all = |bytes: &[u8]| {
        let Ok(pack) = Pack::open(bytes) else { return };
        let packs = [pack];
        for hit in rank(&packs, &words).iter().take(50) {
            let _ =
                (packs[0].entry(hit.page), packs[0].text(hit.page), packs[0].place(hit.section));
        }
        let _ = packs[0].find("routes-1");
    };
    try_all(&bytes);
    for end in 0..bytes.len() {
        try_all(&bytes[..end]);
    }
    for at in 0..bytes.len() {
        for value in [0, 0x7f, 0xff] {
            let mut broken = bytes.clone();
            broken[at] = value;
            try_all(&broken);
        }
    }
}

#[test]
fn without_a_pack_the_contents_come_from_the_network_once() {
    let index = "-   [Essentials](essentials-1.md)\n    -   [Routing and Zebras](04/zebras-2.md)\n";
    let page = "https://raw.githubusercontent.com/UI5/docs/main/docs/04/zebras-2.md";
    let rehearsal = Rehearsal::new().page(INDEX, 200, index).page(
        page,
        200,
        "<!-- loio1 -->\n# Routing and Zebras\n\n![](x.png)See [E](../essentials-1.md).\n",
    );
    for _ in 0..2 {
        let answer = search(&rehearsal, json!({ "query": "zebras", "source": "openui5" }));
        assert!(answer.contains("ui5://docs/openui5/zebras-2\n   Essentials"), "{answer}");
        assert!(answer.contains("CC-BY-SA-4.0"));
        let reply = rehearsal.call::<ReadDocs>(json!({ "page": "openui5/zebras-2" })).expect("ok");
        assert!(reply.as_text().contains("# Routing and Zebras\n\nSee [E](essentials-1)."));
        assert!(
            reply.as_text().contains("https://github.com/UI5/docs/blob/main/docs/04/zebras-2.md")
        );
    }
    assert_eq!(rehearsal.sent().len(), 2, "each is fetched once");
}

#[test]
fn without_a_network_other_packs_are_searched_with_a_note() {
    let rehearsal = Rehearsal::new().page(INDEX, 404, "");
    let answer = search(&rehearsal, json!({ "query": "table" }));
    assert!(answer.starts_with("Pages 1 to 5 of "));
    let note = "The pages of OpenUI5's documentation are not searched: ";
    assert!(answer.contains(note) && answer.contains("status 404"), "{answer}");
    let strange = Rehearsal::new().page(INDEX, 200, "<html>login</html>");
    assert!(search(&strange, json!({ "query": "table" })).contains("has no table of contents"));
}

#[test]
fn the_tools_are_read_only_and_idempotent() {
    for hints in [SearchDocs::HINTS, ReadDocs::HINTS] {
        assert_eq!((hints.read_only, hints.idempotent), (Some(true), Some(true)));
    }
}
