//! Tests that bring data from a CDN into a pack, then into a data directory, and then read it as plugins do.

use super::{
    Pack, Unpack,
    collect::{PackOrder, Packed, SCHEMAS, Version, pack},
    contents::Part,
    unpack::unpack,
};
use flate2::{Compression, write::GzEncoder};
use portcullis_plugin::rehearsal::Rehearsal;
use serde_json::{Value, json};
use std::{collections::BTreeMap, fs, path::Path};
use ui5::{
    Cdn, Framework,
    reference::{Found, Reference, Release},
    versions::{self, DIRECTORY_SETTING, Source},
};

const CDN: &str = "https://sdk.openui5.org";
const BASE: &str = "https://sdk.openui5.org/1.136.5";

/// The pages of a fake web, by URL.
type Web = BTreeMap<String, String>;

fn web() -> Web {
    let library = |name: &str| json!({ "name": name, "npmPackageName": name });
    let libraries = json!({ "libraries": [
        library("sap.ui.core"), library("sap.m"), library("sap.without"), { "name": "internal" },
    ]});
    let api = |library: &str| {
        let symbol =
            json!({ "kind": "class", "name": format!("{library}.Thing"), "visibility": "public" });
        json!({ "library": library, "symbols": [symbol] })
    };
    let list = json!({
        "latest": { "version": "1.140.1", "support": "Maintenance", "lts": false },
        "1.136": { "version": "1.136.5", "support": "Maintenance", "lts": true },
    });
    let schema = json!({ "$schema": "https://json-schema.org/draft/2020-12/schema" });
    let mapping = json!({ "latest": "1.99.0", "1.99": "1.99.0", "1.98": "1.98.0", "1.71": "1.12.0", "x": "../1" });
    [
        (format!("{CDN}/version.json"), list),
        (format!("{CDN}/versionoverview.json"), json!({ "versions": [] })),
        (format!("{BASE}/resources/sap-ui-version.json"), libraries),
        (format!("{BASE}/test-resources/sap/ui/core/designtime/api.json"), api("sap.ui.core")),
        (format!("{BASE}/test-resources/sap/m/designtime/api.json"), api("sap.m")),
        (format!("{SCHEMAS}/main/mapping.json"), mapping),
        (
            format!("{SCHEMAS}/v2/mapping.json"),
            json!({ "latest": "2.9.0", "1.98": "1.98.0", "1.99": "1.99.0" }),
        ),
        (format!("{SCHEMAS}/v1.99.0/schema.json"), schema.clone()),
        (format!("{SCHEMAS}/v2.9.0/schema.json"), schema),
    ]
    .into_iter()
    .map(|(url, text)| (url, text.to_string()))
    .collect()
}

/// A host that reaches these pages. All other addresses that a pack asks for answer 404.
fn online(web: &Web) -> Rehearsal {
    let missing = [
        format!("{CDN}/version.json"),
        format!("{BASE}/resources/sap-ui-version.json"),
        format!("{BASE}/test-resources/sap/ui/core/designtime/api.json"),
        format!("{SCHEMAS}/main/mapping.json"),
        format!("{SCHEMAS}/v2/mapping.json"),
        format!("{SCHEMAS}/v1.98.0/schema.json"),
    ];
    // A library without an API, in all versions.
    let without = web.keys().map(|url| url.replace("/sap/m/", "/sap/without/"));
    let missing: Vec<_> = missing.into_iter().chain(without).collect();
    let missing = missing.iter().filter(|url| !web.contains_key(*url));
    let rehearsal = missing.fold(Rehearsal::new(), |host, url| host.page(url, 404, ""));
    web.iter().fold(rehearsal, |host, (url, text)| host.page(url, 200, text.as_str()))
}

fn order(version: Version) -> PackOrder {
    let schemas = Some(SCHEMAS.to_owned());
    PackOrder { framework: Framework::OpenUi5, version, cdn: Cdn::default(), schemas }
}

fn packed(web: &Web, order: &PackOrder) -> Result<Packed, String> {
    pack(order, 1, &online(web).request())
}

fn unpacked(archive: &[u8], data: &Path) -> Result<super::unpack::Unpacked, String> {
    unpack(&mut { archive }, data, &Rehearsal::new().request())
}

fn minor() -> Version {
    "1.136".parse().expect("it is a version")
}

/// Every file beneath a folder, by its path in it.
fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).into_iter().flatten() {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).expect("it is beneath").to_str();
                found.push(name.expect("its name is text").replace('\\', "/"));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn the_plugins_find_unpacked_data() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let made = packed(&web(), &order(minor())).expect("it is all there");
    assert_eq!(made.contents.version, "1.136.5");
    assert_eq!(made.contents.counts(), (2, 2, 2));
    let done = unpacked(&made.archive, &data).expect("it is whole");
    assert_eq!(done.contents, made.contents);
    assert!(done.api_is_new && done.new_lists == 2);
    let api = "mcp-server/api_json_files/openui5-1.136.5";
    assert_eq!(
        files(&data),
        [
            format!("{api}/index.json"),
            format!("{api}/portcullis.index"),
            format!("{api}/sap.m.api.json"),
            format!("{api}/sap.ui.core.api.json"),
            "mcp-server/manifest_schemas/v1.99.0/schema.json".to_owned(),
            "mcp-server/manifest_schemas/v2.9.0/schema.json".to_owned(),
            "mcp-server/versions/openui5-version.json".to_owned(),
            "mcp-server/versions/openui5-versionoverview.json".to_owned(),
        ]
    );

    let lists = ui5_data_versions(&data);
    let rehearsal = Rehearsal::new().setting(DIRECTORY_SETTING, &lists);
    let release = Release { framework: Framework::OpenUi5, version: "1.136.5".to_owned() };
    let mut reference = Reference::open_in(&data, &release, &Cdn::default(), &rehearsal.request())
        .expect("it is there");
    let Ok(Found::One(hit)) = reference.find("sap.m.thing") else { panic!("it is in the pack") };
    assert_eq!((hit.library.as_str(), &reference.note), ("sap.m", &None));
    assert_eq!(rehearsal.sent(), [], "nobody is asked for what is at hand");
    let known = versions::of(Framework::OpenUi5, &Cdn::default());
    assert!(matches!(known.source, Source::Remembered { .. }), "{:?}", known.source);
    assert_eq!(known.latest().version, "1.140.1");
}

fn ui5_data_versions(data: &Path) -> String {
    data.join("mcp-server/versions").to_str().expect("its path is text").to_owned()
}

#[test]
fn existing_references_and_newer_lists_stay() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let made = packed(&web(), &order(minor())).expect("it is all there");
    let list = data.join("mcp-server/versions/openui5-version.json");
    fs::create_dir_all(list.parent().expect("it has one")).expect("it is writable");
    let newer = json!({ "fetched": u64::MAX, "body": "{}" }).to_string();
    fs::write(&list, &newer).expect("it is writable");
    let half = data.join("mcp-server/api_json_files/openui5-1.136.5");
    fs::create_dir_all(&half).expect("it is writable");
    fs::write(half.join("sap.old.api.json"), "{}").expect("it is writable");

    let first = unpacked(&made.archive, &data).expect("it is whole");
    assert!(first.api_is_new && first.new_lists == 1, "{first:?}");
    assert!(!half.join("sap.old.api.json").exists(), "what had no index was no API");
    assert_eq!(fs::read_to_string(&list).expect("it is there"), newer);
    let before = files(&data);
    let second = unpacked(&made.archive, &data).expect("it is whole");
    assert!(!second.api_is_new && second.new_lists == 0, "{second:?}");
    assert_eq!(files(&data), before);
}

#[test]
fn the_remains_of_a_killed_process_are_removed() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let made = packed(&web(), &order(minor())).expect("it is all there");
    let left = data.join("mcp-server/unpacking/api");
    fs::create_dir_all(&left).expect("it is writable");
    fs::write(left.join("half.api.json"), "{").expect("it is writable");
    unpacked(&made.archive, &data).expect("it is whole");
    assert!(!files(&data).iter().any(|name| name.contains("half")), "{:?}", files(&data));
    assert!(!data.join("mcp-server/unpacking").exists());
}

#[test]
fn a_version_has_three_forms() {
    for (text, expected) in [
        ("latest", Some("1.140.1")),
        ("1.136", Some("1.136.5")),
        ("1.120.30", Some("1.120.30")),
        ("1.99", None),
    ] {
        let version: Version = text.parse().expect("it is one");
        let web: Web = web()
            .into_iter()
            .map(|(url, body)| match expected {
                Some(version) => (url.replace("1.136.5", version), body),
                None => (url, body),
            })
            .collect();
        let made = packed(&web, &order(version));
        assert_eq!(
            made.as_ref().ok().map(|made| made.contents.version.as_str()),
            expected,
            "{text}"
        );
    }
    for text in ["", "1", "1.x", "../1.2.3", "1.2.3/..", "v1.2.3"] {
        assert!(text.parse::<Version>().is_err(), "{text}");
    }
}

#[test]
fn missing_data_make_no_pack() {
    let without = |url: &str| {
        let mut web = web();
        web.remove(url).expect("it was there");
        web
    };
    let with = |url: &str, text: &str| {
        let mut web = web();
        web.insert(url.to_owned(), text.to_owned()).expect("it was there");
        web
    };
    let core = format!("{BASE}/test-resources/sap/ui/core/designtime/api.json");
    let list = format!("{BASE}/resources/sap-ui-version.json");
    for (web, expected) in [
        (without(&core), "There is nothing at"),
        (without(&list), "There is nothing at"),
        (without(&format!("{CDN}/version.json")), "There is nothing at"),
        (with(&core, "<html>Please log in</html>"), "not a JSON object"),
        (with(&list, r#"{"libraries":[{"name":"../x","npmPackageName":"x"}]}"#), "'../x'"),
        (
            with(&format!("{CDN}/version.json"), r#"{"1.136":{"version":"../x"}}"#),
            "lists no version",
        ),
    ] {
        let failure = packed(&web, &order(minor())).expect_err(expected);
        assert!(failure.contains(expected), "{failure}");
    }
    let blocked = without(&format!("{SCHEMAS}/main/mapping.json"));
    let made = packed(&blocked, &order(minor())).expect("the rest is there");
    assert_eq!(made.contents.counts(), (2, 2, 2));
    assert!(made.missing.len() == 1 && made.missing[0].contains("main"), "{:?}", made.missing);
    let exact: Version = "1.136.5".parse().expect("it is a version");
    let made = packed(&without(&format!("{CDN}/version.json")), &order(exact.clone()));
    let made = made.expect("the version is known without the list");
    assert!(made.missing.len() == 1 && made.missing[0].contains("lists"), "{:?}", made.missing);
    assert_eq!(made.contents.counts(), (2, 2, 0));
    assert_eq!(packed(&web(), &order(exact)).expect("all is there").missing, [""; 0]);
    let unreachable = PackOrder { schemas: None, ..order(minor()) };
    let web = without(&format!("{SCHEMAS}/main/mapping.json"));
    let made = packed(&web, &unreachable).expect("schemas are left out");
    assert_eq!(made.contents.counts(), (2, 0, 2));
}

/// The name, the kind and the text of an entry.
type Entry<'a> = (&'a str, tar::EntryType, &'a [u8]);

fn first(text: &[u8]) -> Entry<'_> {
    ("contents.json", tar::EntryType::Regular, text)
}

/// An archive of these entries, gzipped.
fn archive(entries: &[Entry<'_>]) -> Vec<u8> {
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (name, kind, text) in entries {
        let mut header = tar::Header::new_ustar();
        // Writes the name as a hostile program would, without the checks of this crate.
        header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(*kind);
        header.set_size(text.len() as u64);
        header.set_cksum();
        archive.append(&header, *text).expect("memory is writable");
    }
    archive.into_inner().and_then(GzEncoder::finish).expect("memory is writable")
}

fn contents(items: Value) -> Vec<u8> {
    let made = json!({
        "format": "portcullis ui5 pack 1", "made": 1, "framework": "OpenUI5", "version": "1.2.3",
        "items": items,
    });
    made.to_string().into_bytes()
}

#[test]
fn a_hostile_pack_writes_nothing() {
    use tar::EntryType::{GNULongName, Link, Regular, Symlink};
    // SHA-256 of `{}`.
    let sum = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
    let api = "api/a.api.json";
    let item = |name: &str, bytes: u64| json!({ "name": name, "bytes": bytes, "sha256": sum });
    let good = contents(json!([item(api, 2)]));
    let long = contents(json!([item(api, 3)]));
    let two = contents(json!([item(api, 2), item("schemas/1.99.0.json", 2)]));
    let outside = contents(json!([item("../../outside", 2)]));
    let bomb = contents(json!([item(api, 1 << 40)]));
    let table: &[(&[Entry<'_>], &str)] = &[
        (&[], "contents.json is missing"),
        (&[(api, Regular, b"{}")], "contents.json is not at its place"),
        (&[first(b"[]")], "cannot be read"),
        (&[first(&good)], "a.api.json is missing"),
        (&[first(&good), (api, Regular, b"[]")], "has changed since the pack was made"),
        (&[first(&good), (api, Symlink, b"{}")], "is not at its place"),
        (&[first(&good), (api, Link, b"{}")], "is not at its place"),
        (&[first(&good), ("api/b.api.json", Regular, b"{}")], "is not at its place"),
        (
            &[first(&good), ("x", GNULongName, b"../../outside"), (api, Regular, b"{}")],
            "is not at its place",
        ),
        (&[first(&good), (api, Regular, b"{}"), ("../x", Regular, b"{}")], "more in it"),
        (&[first(&long), (api, Regular, b"{}")], "is not at its place"),
        (&[first(&two), (api, Regular, b"{}"), (api, Regular, b"{}")], "is not at its place"),
        (&[first(&outside), ("../../outside", Regular, b"{}")], "does not belong"),
        (&[first(&bomb), (api, Regular, b"{}")], "larger than 64 MiB"),
    ];
    for (entries, expected) in table {
        refused(&archive(entries), expected);
    }
    let whole = archive(&[first(&good), (api, Regular, b"{}")]);
    refused(&whole[..whole.len() / 2], "incomplete");
    refused(b"", "not a pack");
    refused(b"PK\x03\x04 something else", "not a pack");
}

fn refused(archive: &[u8], expected: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("beneath/data");
    let failure = unpacked(archive, &data).expect_err(expected);
    assert!(failure.contains(expected), "{expected}: {failure}");
    assert_eq!(files(folder.path()), <[String; 0]>::default(), "{expected}");
}

#[test]
fn an_archive_of_another_program_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let made = packed(&web(), &order(minor())).expect("it is all there");
    let text = serde_json::to_vec(&made.contents).expect("it is plain data");
    let web = web();
    let text_of = |part: Part| match part {
        Part::Api(library) => web
            [&format!("{BASE}/test-resources/{}/designtime/api.json", library.replace('.', "/"))]
            .clone(),
        Part::Schema(version) => web[&format!("{SCHEMAS}/v{version}/schema.json")].clone(),
        Part::Versions(_, document) => {
            let body = &web[&format!("{CDN}/{}", document.name())];
            json!({ "fetched": made.contents.made, "body": body }).to_string()
        }
    };
    let bodies: Vec<(String, String)> = made
        .contents
        .items
        .iter()
        .map(|item| (item.name.clone(), text_of(Part::parse(&item.name).expect("it is listed"))))
        .collect();
    let mut entries = vec![first(&text)];
    entries.extend(
        bodies.iter().map(|(name, body)| (name.as_str(), tar::EntryType::Regular, body.as_bytes())),
    );
    let done = unpacked(&archive(&entries), &folder.path().join("data"));
    assert_eq!(done.expect("it is as it should be").contents.items, made.contents.items);
}

#[test]
fn other_programs_can_read_a_pack() {
    let made = packed(&web(), &order(minor())).expect("it is all there");
    let decoder = flate2::read::MultiGzDecoder::new(made.archive.as_slice());
    let mut archive = tar::Archive::new(decoder);
    let entries = archive.entries().expect("it is an archive");
    let names: Vec<String> = entries
        .map(|entry| entry.expect("an entry").path().expect("a path").display().to_string())
        .collect();
    let listed = made.contents.items.iter().map(|item| item.name.clone());
    assert_eq!(names, ["contents.json".to_owned()].into_iter().chain(listed).collect::<Vec<_>>());
}

#[test]
fn the_tools_use_only_the_configured_mirrors() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let (out, data, mirror) = (path("ui5.pack"), path("data"), "https://mirror.example");
    let libraries = json!({ "libraries": [{ "name": "sap.ui.core", "npmPackageName": "x" }] });
    let version = json!({ "1.136": { "version": "1.136.5" } });
    let api = json!({ "library": "sap.ui.core", "symbols": [] });
    let base = format!("{mirror}/ui5/1.136.5");
    let host = Rehearsal::new()
        .setting("cdn-url", &format!("{mirror}/ui5/"))
        .setting("schemas-url", &format!("{mirror}/schemas/"))
        .setting("data-dir", &data)
        .page(&format!("{mirror}/ui5/version.json"), 200, version.to_string())
        .page(&format!("{mirror}/ui5/versionoverview.json"), 404, "")
        .page(&format!("{base}/resources/sap-ui-version.json"), 200, libraries.to_string())
        .page(
            &format!("{base}/test-resources/sap/ui/core/designtime/api.json"),
            200,
            api.to_string(),
        )
        .page(&format!("{mirror}/schemas/main/mapping.json"), 200, r#"{"latest": "1.99.0"}"#)
        .page(&format!("{mirror}/schemas/v2/mapping.json"), 404, "")
        .page(&format!("{mirror}/schemas/v1.99.0/schema.json"), 200, "{}");
    let order = json!({ "framework": "OpenUI5", "version": "1.136", "out": out });
    let made = host.call::<Pack>(order.clone()).expect("it is all there").as_text();
    let counts = "OpenUI5 1.136.5, libraries: 1, manifest schemas: 1, lists of versions: 1";
    assert!(made.contains(counts), "{made}");
    let lacks = "INCOMPLETE: the pack lacks manifest schemas of the branch v2 (There is nothing at";
    assert!(made.starts_with(lacks), "{made}");
    let done = host.call::<Unpack>(json!({ "file": out })).expect("it is whole").as_text();
    assert!(done.contains("API reference added, newer lists of versions: 1"), "{done}");
    let digest = made.split("SHA-256 ").nth(1).expect("it has a digest");
    assert!(done.ends_with(digest), "{done}: {digest}");
    assert!(Path::new(&data).join("mcp-server/manifest_schemas/v1.99.0/schema.json").is_file());
    let mut without = order;
    without["withoutSchemas"] = true.into();
    let again = host.call::<Pack>(without).expect("the file is replaced").as_text();
    assert!(again.contains("manifest schemas: 0") && !again.contains("INCOMPLETE"), "{again}");
    let sent = host.sent();
    assert!(sent.iter().all(|sent| sent.url.starts_with(mirror)), "{sent:?}");
}

#[test]
fn a_failure_names_the_file_or_the_setting() {
    let folder = tempfile::tempdir().expect("a folder");
    let gone = folder.path().join("gone.pack");
    let unpack = json!({ "file": gone.to_str().expect("UTF-8") });
    let failure = Rehearsal::new().call::<Unpack>(unpack.clone()).expect_err("no directory");
    assert!(failure.to_string().contains("`data-dir`"), "{failure}");
    let data = folder.path().join("data");
    let host = Rehearsal::new().setting("data-dir", data.to_str().expect("UTF-8"));
    let failure = host.call::<Unpack>(unpack).expect_err("there is no such file").to_string();
    assert!(failure.starts_with("Failed to read ") && failure.contains("gone.pack"), "{failure}");
    assert!(!data.exists(), "nothing is made for a pack that is not there");
}
