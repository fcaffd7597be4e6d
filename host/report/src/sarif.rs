//! The findings as SARIF 2.1.0, the OASIS standard that code scanning tools read.
//!
//! The property names are those of the standard: section 3.13 is `sarifLog`, section 3.27 is `result`.

use serde_json::{Value, json};

use crate::Report;
use crate::findings::{Finding, RULES};

/// The findings as a SARIF log. The location of each is the configuration file.
pub fn sarif(report: &Report) -> Value {
    let rules: Vec<_> = RULES
        .iter()
        .map(|rule| {
            json!({
                "id": rule.id,
                "shortDescription": { "text": rule.about },
                "defaultConfiguration": { "level": rule.level },
            })
        })
        .collect();
    let file = report.facts.configuration.as_deref().unwrap_or("portcullis.toml");
    let results: Vec<_> = report.findings.iter().map(|finding| result(finding, file)).collect();
    json!({
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "portcullis",
                "version": report.facts.host,
                "rules": rules,
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn result(finding: &Finding, file: &str) -> Value {
    let Finding { rule, level, source, message, mend } = finding;
    let index = RULES.iter().position(|one| one.id == rule);
    let text = match mend.as_str() {
        "" => message.clone(),
        mend => format!("{message}\nTo mend it: {mend}"),
    };
    json!({
        "ruleId": rule,
        "ruleIndex": index,
        "level": level,
        "message": { "text": text },
        "locations": [{
            "physicalLocation": { "artifactLocation": { "uri": uri(file) } },
            "logicalLocations": [{ "name": source, "kind": "module" }],
        }],
        "partialFingerprints": { "sourceAndRule/v1": format!("{source}/{rule}/{}", digest(message)) },
    })
}

/// A path as a URI reference: bytes that are not allowed in one are percent-encoded.
fn uri(path: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    let encode = |byte: u8| {
        if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    let path: String = path.replace('\\', "/").bytes().map(encode).collect();
    if path.starts_with('/') { format!("file://{path}") } else { path }
}

/// A short, stable number of a message without its digits, which change from day to day: FNV-1a.
fn digest(message: &str) -> String {
    let bytes = message.bytes().filter(|byte| !byte.is_ascii_digit());
    let sum = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{sum:016x}")
}
