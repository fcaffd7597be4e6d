//! The tools `pack_ui5_data` and `unpack_ui5_data`. They bring the data that UI5 plugins fetch from the
//! network to machines without a network, as one file.
//!
//! A pack is a gzipped tar archive. Its first entry, `contents.json`, lists all other entries in order, each
//! with its size and SHA-256. The name of an entry tells what it is, but not its path on the target machine:
//! see `contents::Part`, where another kind of data can be added.

mod archive;
mod collect;
mod contents;
mod unpack;

use archive::DigestingReader;
use contents::Contents;
use portcullis_plugin::prelude::*;
use std::{fs::File, path::Path, time::SystemTime};
use ui5::{Cdn, Framework};

/// The setting with the UI5 data directory.
const DATA_SETTING: &str = "data-dir";

/// The setting with the URL of the repository of manifest schemas.
const SCHEMAS_SETTING: &str = "schemas-url";

/// Makes one file with the UI5 data that the tools need on a machine without a network: the API reference of a release, the manifest schemas, and the lists of versions
#[arguments]
struct Pack {
    /// The framework to pack the API reference of
    framework: Framework,
    /// The version: `1.136` (its newest patch), `1.136.5`, or `latest`
    version: String,
    /// The file to write. An existing file is replaced.
    #[path(file, create)]
    out: String,
    /// Leave the manifest schemas out
    without_schemas: Option<bool>,
}

impl Tool for Pack {
    const NAME: &'static str = "pack_ui5_data";
    const TITLE: Option<&'static str> = Some("Pack UI5 Data");
    const HINTS: Hints = Hints::new().destructive(true).open_world(true);
    type Output = String;

    fn call(self, request: &Request) -> Result<String, Failure> {
        let order = collect::PackOrder {
            framework: self.framework,
            version: self.version.parse().map_err(Failure::new)?,
            cdn: Cdn::from_settings().map_err(Failure::new)?,
            schemas: (!self.without_schemas.unwrap_or_default())
                .then(|| setting(SCHEMAS_SETTING).unwrap_or_else(|| collect::SCHEMAS.to_owned())),
        };
        let packed = collect::pack(&order, now(), request).map_err(Failure::new)?;
        // An atomic change: the file is written completely or not at all.
        changes::new().put(&self.out, packed.archive.as_slice()).apply()?;
        let mut digested = DigestingReader::new(packed.archive.as_slice());
        std::io::copy(&mut digested, &mut std::io::sink())?;
        let missing = match packed.missing.as_slice() {
            [] => String::new(),
            missing => format!(
                "INCOMPLETE: the pack lacks {}. Unpack it as it is, or pack again where these can be \
                 fetched, or from a mirror (`schemas-url`, `cdn-url`).\n",
                missing.join(" and ")
            ),
        };
        Ok(format!("{missing}{}: {}", self.out, summary(&packed.contents, digested.finish())))
    }
}

/// Unpacks a file of `pack_ui5_data` into the UI5 data directory, where the UI5 tools look. No data is moved to its place before the whole file has been checked.
#[arguments]
struct Unpack {
    /// The file to unpack
    #[path(file, read)]
    file: String,
}

impl Tool for Unpack {
    const NAME: &'static str = "unpack_ui5_data";
    const TITLE: Option<&'static str> = Some("Unpack UI5 Data");
    const HINTS: Hints = Hints::new().destructive(true).idempotent(true);
    type Output = String;

    fn call(self, request: &Request) -> Result<String, Failure> {
        let data = setting(DATA_SETTING).ok_or_else(|| {
            Failure::new(format!(
                "There is no UI5 data directory: ask the operator to set `{DATA_SETTING}` of this plugin, \
                 such as to /home/me/.ui5"
            ))
        })?;
        let file = File::open(&self.file)
            .map_err(|error| Failure::new(format!("Failed to read {}: {error}", self.file)))?;
        let mut file = DigestingReader::new(file);
        let unpacked = unpack::unpack(&mut file, Path::new(&data), request)
            .map_err(|why| Failure::new(format!("Failed to unpack {}: {why}", self.file)))?;
        let api = match unpacked.api_is_new {
            true => "added",
            false => "already there",
        };
        Ok(format!(
            "{data}: API reference {api}, newer lists of versions: {}\n{}",
            unpacked.new_lists,
            summary(&unpacked.contents, file.finish())
        ))
    }
}

/// A pack in one line, so that people can compare what was packed with what was unpacked.
fn summary(contents: &Contents, (bytes, sha256): (u64, String)) -> String {
    let (libraries, schemas, lists) = contents.counts();
    format!(
        "{} {}, libraries: {libraries}, manifest schemas: {schemas}, lists of versions: {lists}, {bytes} bytes, \
         SHA-256 {sha256}",
        contents.framework, contents.version,
    )
}

/// A setting that is not empty.
fn setting(key: &str) -> Option<String> {
    settings::get(key).filter(|value| !value.trim().is_empty())
}

/// The current time, in seconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |elapsed| elapsed.as_secs())
}

plugin! {
    name: "ui5-pack",
    title: "UI5 data packs",
    description: "Carries UI5 data to machines without a network.",
    tools: [Pack, Unpack],
    wants: [
        Want::http("ui5.sap.com", "GET", "to fetch the API reference of SAPUI5"),
        Want::http("sdk.openui5.org", "GET", "to fetch the API reference of OpenUI5"),
        Want::http("raw.githubusercontent.com", "GET", "to fetch the manifest schemas"),
        Want::http("$cdn-url", "GET", "to fetch the API reference from the configured mirror instead").optional(),
        Want::http("$schemas-url", "GET", "to fetch the manifest schemas from the configured mirror instead").optional(),
        Want::writable_directory("$data-dir", "to unpack into the UI5 data directory"),
        Want::settings(DATA_SETTING, "the absolute path of the UI5 data directory, such as /home/me/.ui5"),
        Want::settings("cdn-url", "the URL of a mirror of both CDNs"),
        Want::settings(SCHEMAS_SETTING, "the URL of a mirror of the repository of manifest schemas"),
    ],
}

#[cfg(test)]
mod tests;
