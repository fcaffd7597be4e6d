//! What is typed about packs, with a mirror on loopback.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Write},
    net::TcpListener,
};

use portcullis_pack::{Args, Defaults};

/// What a mirror has, by path.
type Web = BTreeMap<&'static str, &'static str>;

fn web() -> Web {
    Web::from([
        ("/ui5/version.json", r#"{"1.136": {"version": "1.136.5"}}"#),
        (
            "/ui5/1.136.5/resources/sap-ui-version.json",
            r#"{"libraries": [{"name": "sap.ui.core", "npmPackageName": "@openui5/sap.ui.core"}]}"#,
        ),
        (
            "/ui5/1.136.5/test-resources/sap/ui/core/designtime/api.json",
            r#"{"library": "sap.ui.core", "symbols": []}"#,
        ),
        ("/schemas/main/mapping.json", r#"{"latest": "1.99.0"}"#),
        ("/schemas/v1.99.0/schema.json", "{}"),
    ])
}

/// Serves this on a port of its own, a request at a time, until the test ends. Returns its address.
fn serve(web: Web) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback is there");
    let address = format!("http://{}", listener.local_addr().expect("it is bound"));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.expect("a connection"));
            let mut line = String::new();
            stream.read_line(&mut line).expect("a request");
            let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
            while stream.read_line(&mut line).expect("a header") > 2 {
                line.clear();
            }
            let found = web.get(path.as_str());
            let (status, body) = found.map_or(("404 Not Found", ""), |body| ("200 OK", body));
            let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n", body.len());
            let answer = format!("{head}connection: close\r\n\r\n{body}");
            stream.get_mut().write_all(answer.as_bytes()).expect("somebody listens");
        }
    });
    address
}

#[test]
fn what_is_typed_fetches_from_the_mirror_and_from_nowhere_else() {
    #[derive(clap::Parser)]
    struct Typed {
        #[command(subcommand)]
        args: Args,
    }
    let mirror = serve(web());
    let folder = tempfile::tempdir().expect("a folder");
    let (out, data) = (folder.path().join("ui5.pack"), folder.path().join("data"));
    let (cdn, schemas) = (format!("{mirror}/ui5/"), format!("{mirror}/schemas"));
    let run = |words: &[&str], defaults: Defaults| {
        let words = ["portcullis"].iter().chain(words);
        let typed = <Typed as clap::Parser>::try_parse_from(words).expect("it can be typed");
        typed.args.run(defaults, &mut |_| {})
    };
    let path = out.to_str().expect("its path is text");
    let order = ["pack", "--framework", "OpenUI5", "--version", "1.136", "--out", path];
    let more = ["--cdn", &cdn, "--schemas", &schemas];
    let packed = run(&[&order[..], &more].concat(), Defaults::default()).expect("it is all there");
    let counts = "OpenUI5 1.136.5, libraries: 1, schemas of manifests: 1, lists of versions: 1";
    assert!(packed.contains(counts), "{packed}");
    let defaults = Defaults { cdn: Some(cdn), data_dir: Some(data.clone()) };
    let again = run(&[&order[..], &["--no-schemas"]].concat(), defaults.clone());
    assert!(again.expect("the mirror is configured").contains("schemas of manifests: 0"));
    let unpacked = run(&["unpack", path], defaults).expect("it is whole");
    assert!(unpacked.contains("its API is there now; newer lists of versions: 1"), "{unpacked}");
    let api = data.join("mcp-server/api_json_files/openui5-1.136.5/sap.ui.core.api.json");
    assert!(api.is_file());
    let nowhere = run(&["unpack", path], Defaults::default()).expect_err("there is no directory");
    assert!(nowhere.contains("--data-dir"), "{nowhere}");
}

#[test]
fn what_is_typed_wrong_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let gone = folder.path().join("gone.pack");
    let data_dir = Some(folder.path().join("data"));
    let unpack = Args::Unpack { file: gone, data_dir };
    let failure = unpack.run(Defaults::default(), &mut |_| {}).expect_err("it is not there");
    assert!(failure.starts_with("Failed to open ") && failure.contains("gone.pack"), "{failure}");
    assert!(!folder.path().join("data").exists(), "nothing is made for a pack that is not there");
}
