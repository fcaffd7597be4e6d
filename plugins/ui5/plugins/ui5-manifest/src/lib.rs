//! The tool `run_manifest_validation`: validates a UI5 manifest.

mod manifest;
pub mod pack;
pub mod schema;
mod source;
mod summary;

use ajv_report::ErrorObject;
use pack::Pack;
use portcullis_plugin::prelude::*;
use serde_json::{Map, Value};
use std::cell::OnceCell;
use ui5::{Detail, detail};

/// Made by `plugins/ui5/resources/make-manifest-schemas.sh`.
static MANIFESTS: &[u8] = include_bytes!("../../../resources/manifest-schemas.pack");

/// Maximum number of errors in a result. Real mistakes cause some hundred at most; more would make
/// the result too large.
const MAX_ERRORS: usize = 5_000;

/// Maximum size of the summary in a brief result, in bytes.
const BRIEF_SUMMARY_BYTES: usize = 1_400;

/// Maximum size of the errors in a brief result, in bytes. A result contains all data twice, as text and as
/// structured content.
const BRIEF_ERRORS_BYTES: usize = detail::BRIEF / 2 - BRIEF_SUMMARY_BYTES - 600;

/// Validates a UI5 manifest file (manifest.json) against the schema of the manifest version it declares in `_version`, and lists what is wrong with it; `summary` names the root causes in plain words. Use it after every change to a manifest.json. Works for applications, components, libraries and integration cards.
#[arguments]
struct Validate {
    /// Absolute path of the manifest.json file to validate.
    #[path(file, read)]
    manifest_path: String,
    /// 'brief': the root causes and the first errors. 'full': up to 5,000 errors. Default: 'brief', unless the operator set 'full'.
    detail: Option<Detail>,
}

/// What the schema says about the manifest.
#[data]
#[derive(Debug, PartialEq)]
struct Report {
    /// Whether the manifest is valid by the schema of its version. `null`: that schema was not available; `note` says what was checked instead.
    #[schemars(required, extend("type" = ["boolean", "null"]))]
    is_valid: Option<bool>,
    /// What the schema finds wrong; empty when it finds nothing.
    errors: Vec<Finding>,
    /// The manifest version whose schema was used, if it is not the declared one. Then `isValid` is `null`.
    #[serde(skip_serializing_if = "Option::is_none")]
    schema_version: Option<String>,
    /// What to know about the verdict. Only there when `isValid` is `null`, or when not all errors are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// The root causes in plain words, each with its place in the manifest: what to mend first. At most 20, then how many more. Only there when there are errors.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    summary: Vec<String>,
}

/// One thing that is wrong.
#[data]
#[derive(Debug, PartialEq)]
struct Finding {
    /// The keyword of the schema that is not fulfilled.
    keyword: String,
    /// Where in the manifest, as a JSON Pointer.
    instance_path: String,
    /// Which part of the schema is not fulfilled.
    schema_path: String,
    /// Details that depend on the keyword.
    #[schemars(with = "Map<String, Value>")]
    params: Value,
    /// The property with the wrong name, if the name is the mistake.
    #[serde(skip_serializing_if = "Option::is_none")]
    property_name: Option<String>,
    /// What is wrong, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

impl Tool for Validate {
    const NAME: &'static str = "run_manifest_validation";
    const TITLE: Option<&'static str> = Some("UI5 manifest validation");
    const HINTS: Hints = Hints::new().read_only(true).idempotent(true);
    type Output = Json<Report>;

    fn call(self, _request: &Request) -> Result<Json<Report>, Failure> {
        let detail = Detail::of(self.detail).map_err(Failure::new)?;
        let pack = Pack::open(MANIFESTS);
        let report = manifest::read(&self.manifest_path)
            .and_then(|manifest| validate(&pack, &manifest, detail, source::fetch));
        report.map(Json).map_err(Failure::new)
    }
}

/// Validates a manifest. If it cannot be validated, fails with the reason.
fn validate(
    pack: &Pack<'_>,
    manifest: &Value,
    detail: Detail,
    source: impl FnOnce(&str) -> Result<Value, String>,
) -> Result<Report, String> {
    let version =
        manifest::version(manifest).map_err(|message| manifest::with_hint(message, pack))?;
    let found = if manifest::is_too_old(version) {
        schema::find_for_older(pack, version)
    } else {
        schema::find(pack, version, |version| {
            if manifest::is_plain(version) {
                source(version)
            } else {
                Err(ui5::fetched::NO_SUCH_RESOURCE.into())
            }
        })
    };
    let schema = found.map_err(|message| manifest::with_hint(&message, pack))?;
    let (card, draft_07) = (OnceCell::new(), OnceCell::new());
    let packed = |name| pack.document(name).expect("every pack has this document");
    let judge = ajv_report::Schema::new(schema.dialect, &schema.document, |uri| match uri {
        "https://adaptivecards.io/schemas/adaptive-card.json" => {
            Some(card.get_or_init(|| packed("adaptive-card")))
        }
        "http://json-schema.org/draft-07/schema" => {
            Some(draft_07.get_or_init(|| packed("draft-07")))
        }
        _ => None,
    });
    let validation = judge
        .validate(manifest)
        .map_err(|why| format!("The manifest cannot be validated: {why}"))?;
    let count = validation.errors.len();
    let mut notes = Vec::new();
    let summary = summary::lines(
        manifest,
        &validation,
        match detail {
            Detail::Brief => BRIEF_SUMMARY_BYTES,
            Detail::Full => usize::MAX,
        },
    );
    let errors = listed(validation.errors, detail)?;
    if errors.len() < count {
        let listed = errors.len();
        let more = match detail {
            Detail::Brief => " `detail` `full` lists more.",
            Detail::Full => "",
        };
        notes.push(format!("Of {count} errors, {listed} are listed.{more}"));
    }
    let mut is_valid = Some(count == 0);
    let mut schema_version = None;
    if let Some(stand_in) = schema.stand_in {
        is_valid = None;
        notes.push(stand_in.note(version, count));
        schema_version = Some(stand_in.version);
    }
    Ok(Report {
        is_valid,
        summary,
        errors,
        schema_version,
        note: (!notes.is_empty()).then(|| notes.join(" ")),
    })
}

/// The first errors, as many as a result may have. Fails with the reason.
fn listed(errors: Vec<ErrorObject>, detail: Detail) -> Result<Vec<Finding>, String> {
    let (mut bytes_left, mut listed) = (BRIEF_ERRORS_BYTES, Vec::new());
    for error in errors.into_iter().take(MAX_ERRORS).map(Finding::from) {
        if detail == Detail::Brief {
            let text = serde_json::to_string(&error)
                .map_err(|why| format!("The errors of the manifest cannot be shown: {why}"))?;
            // One byte for the comma.
            match bytes_left.checked_sub(text.len() + 1) {
                Some(rest) => bytes_left = rest,
                None => break,
            }
        }
        listed.push(error);
    }
    Ok(listed)
}

impl From<ErrorObject> for Finding {
    fn from(error: ErrorObject) -> Self {
        Self {
            keyword: error.keyword.to_owned(),
            instance_path: error.instance_path,
            schema_path: error.schema_path,
            params: error.params,
            property_name: error.property_name,
            message: Some(error.message),
        }
    }
}

plugin! {
    name: "ui5-manifest",
    title: "UI5 manifests",
    description: "Validates UI5 manifest files, without a network for the versions it carries.",
    tools: [Validate],
    wants: [
        Want::http(
            "raw.githubusercontent.com",
            "GET",
            "to fetch schemas that the plugin does not contain, from UI5/manifest",
        ),
        Want::http("$schema-source", "GET", "to fetch schemas from the configured mirror instead").optional(),
        Want::directory("$schema-source", "to read schemas from the configured directory instead").optional(),
        Want::directory("$schema-dir", "to read schemas that were brought from elsewhere").optional(),
        Want::settings(detail::SETTING, "`full`: calls without `detail` get up to 5,000 errors; `brief` or unset: they get the first errors"),
        Want::settings("schema-dir", "the absolute path of the folder with schemas that were brought from elsewhere: vVERSION/schema.json"),
        Want::settings("schema-source", "the URL of a mirror, or the absolute path of a directory, from which schemas are taken"),
        Want::cache(16 * 1024 * 1024, "to keep the schemas it has fetched"),
    ],
}

#[cfg(test)]
mod tests;
