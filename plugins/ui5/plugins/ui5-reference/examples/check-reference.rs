//! Compares answers with recorded ones of another server:
//! `cargo run -p ui5-reference --example check-reference -- DIR`.
//!
//! `DIR` holds `api-reference-results.json` (or `.json.xz`), a list of objects with `query` and `response`, and
//! `openui5-1.120.30-api.tar.xz` with the `api.json` files of these answers. `DIR` also holds `errors.json`, whose
//! entries about other tools and without an error message are skipped. Suggestions after a refusal are our own, so
//! they are not compared.

use portcullis_plugin::{
    Reply,
    content::{ContentBody, ResourceData},
    rehearsal::Rehearsal,
    serde_json::{self, Value, json},
};
use regex_lite::Regex;
use std::{env, error::Error, fs, path::Path, process::Command, time::Instant};
use ui5_reference::GetApiReference;

fn main() -> Result<(), Box<dyn Error>> {
    let directory = env::args().nth(1).ok_or("which directory?")?;
    let directory = Path::new(&directory);
    let work = tempfile::tempdir()?;
    let project = prepare(directory, work.path())?;
    let setting = work.path().to_str().ok_or("not text")?;
    // The other server always answers in full.
    let rehearsal = Rehearsal::new().setting("data-dir", setting).setting("detail", "full");
    let cases: Value =
        serde_json::from_slice(&read(&directory.join("api-reference-results.json"))?)?;
    let (mut equal, mut total) = (0, 0);
    for case in cases.as_array().into_iter().flatten() {
        total += 1;
        let query = case["query"].as_str().ok_or("a case has no query")?;
        let begun = Instant::now();
        let ours = answer(&rehearsal, &project, query);
        let time = begun.elapsed();
        let theirs = theirs(&case["response"]["result"])?;
        let is_equal = ours == theirs;
        equal += usize::from(is_equal);
        println!("{} {query} ({time:?})", if is_equal { "equal" } else { "DIFFERENT" });
        if !is_equal {
            println!("  ours   {}\n  theirs {}", Value::Array(ours), Value::Array(theirs));
        }
    }
    for Refusal { what, ours, theirs } in refusals(directory, &rehearsal)? {
        total += 1;
        let is_equal = theirs.ends_with(&ours);
        equal += usize::from(is_equal);
        println!("{} {what}", if is_equal { "equal" } else { "DIFFERENT" });
        if !is_equal {
            println!("  ours   {ours}\n  theirs {theirs}");
        }
    }
    println!("{equal}/{total} equal");
    if equal == total && total > 0 { Ok(()) } else { Err("some answers differ".into()) }
}

/// The messages of both servers for arguments that are not a query.
struct Refusal {
    /// The label of the case.
    what: String,
    /// The message itself, without the schema validation around it.
    ours: String,
    theirs: String,
}

fn refusals(directory: &Path, rehearsal: &Rehearsal) -> Result<Vec<Refusal>, Box<dyn Error>> {
    let cases: Value = serde_json::from_slice(&read(&directory.join("errors.json"))?)?;
    let mut result = Vec::new();
    for case in cases.as_array().into_iter().flatten() {
        let theirs = case["response"]["error"]["message"].as_str().unwrap_or_default();
        if case["tool"] != "get_api_reference" || theirs.is_empty() {
            continue;
        }
        let message_pattern = Regex::new("\"message\": \"((?:[^\"\\\\]|\\\\.)*)\"")?;
        let theirs = message_pattern
            .captures(theirs)
            .map_or(theirs, |found| found.get(1).map_or("", |it| it.as_str()));
        let failure = rehearsal.call::<GetApiReference>(case["args"].clone());
        let ours = failure.err().map_or_else(|| "no failure".to_owned(), |it| it.to_string());
        let what = case["label"].as_str().unwrap_or_default().to_owned();
        result.push(Refusal { what, ours, theirs: theirs.replace("\\\"", "\"") });
    }
    Ok(result)
}

/// Creates a project with OpenUI5 1.120.30, and a data directory for it.
fn prepare(directory: &Path, work: &Path) -> Result<String, Box<dyn Error>> {
    let data = work.join("mcp-server/api_json_files/openui5-1.120.30");
    fs::create_dir_all(&data)?;
    let archive = directory.join("openui5-1.120.30-api.tar.xz");
    let status = Command::new("tar").arg("xf").arg(&archive).arg("-C").arg(&data).status()?;
    if !status.success() {
        return Err(format!("cannot unpack {}", archive.display()).into());
    }
    ui5::reference::index_directory(&data)?;
    let project = work.join("project");
    fs::create_dir_all(project.join("webapp"))?;
    fs::write(project.join("webapp/manifest.json"), r#"{"sap.app": {"id": "my.app"}}"#)?;
    let yaml = "specVersion: '4.0'\ntype: application\nmetadata:\n  name: my.app\n\
                framework:\n  name: OpenUI5\n  version: 1.120.30\n";
    fs::write(project.join("ui5.yaml"), yaml)?;
    Ok(project.to_str().ok_or("not text")?.to_owned())
}

/// Reads a file, which may be compressed.
fn read(path: &Path) -> Result<Vec<u8>, Box<dyn Error>> {
    if path.exists() {
        return Ok(fs::read(path)?);
    }
    let compressed = format!("{}.xz", path.display());
    let output = Command::new("xz").args(["--decompress", "--stdout", &compressed]).output()?;
    if output.status.success() { Ok(output.stdout) } else { Err(compressed.into()) }
}

/// The compared parts of an answer: URI, type and content of each resource, or the refusal.
fn answer(rehearsal: &Rehearsal, project: &str, query: &str) -> Vec<Value> {
    let arguments = json!({ "projectDir": project, "query": query });
    match rehearsal.call::<GetApiReference>(arguments) {
        Ok(reply) => resources(&reply),
        Err(failure) => {
            let text = failure.to_string();
            vec![json!({ "refused": text.lines().next() })]
        }
    }
}

fn resources(reply: &Reply) -> Vec<Value> {
    let blocks = reply.content.iter().map(|content| {
        if let ContentBody::Resource(resource) = &content.body
            && let ResourceData::Text(text) = &resource.data
        {
            json!([resource.uri, resource.mime_type, compact(text)])
        } else {
            json!(format!("{:?}", content.body))
        }
    });
    blocks.collect()
}

fn theirs(result: &Value) -> Result<Vec<Value>, Box<dyn Error>> {
    let blocks = result["content"].as_array().ok_or("an answer has no content")?;
    if result["isError"] == true {
        return Ok(vec![json!({ "refused": blocks[0]["text"] })]);
    }
    let blocks = blocks.iter().map(|block| {
        let resource = &block["resource"];
        let text = resource["text"].as_str().unwrap_or_default();
        json!([resource["uri"], resource["mimeType"], compact(text)])
    });
    Ok(blocks.collect())
}

/// The same JSON without white space, with members in the same order.
fn compact(text: &str) -> String {
    serde_json::from_str::<Value>(text)
        .map_or_else(|error| error.to_string(), |value| value.to_string())
}
