//! The findings as SARIF 2.1.0, the OASIS standard that code scanning tools read.
//!
//! The property names are those of the standard: section 3.13 is `sarifLog`, section 3.27 is `result`.

use serde_json::{Value, json};

use crate::Report;
use crate::findings::{Finding, RULES};

/// The findings as a SARIF log. The location of each finding is the configuration file.
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
        mend => format!("{message}\nNext step: {mend}"),
    };
    json!({
        "ruleId": rule,
        "ruleIndex": index,
        "level": level,
        "message": { "text": text },
        "locations": [{
            "physicalLocation": { "artifactLocation": { "uri": uri(file, cfg!(windows)) } },
            "logicalLocations": [{ "name": source, "kind": "module" }],
        }],
        "partialFingerprints": { "sourceAndRule/v1": format!("{source}/{rule}/{}", digest(message)) },
    })
}

/// A path as a URI reference (RFC 8089). Bytes that are not allowed in a URI reference are percent-encoded.
/// `is_windows`: the path has the form of Windows, with drives and shares.
fn uri(path: &str, is_windows: bool) -> String {
    if !is_windows {
        let path = encoded(path);
        return if path.starts_with('/') { format!("file://{path}") } else { path };
    }
    let path = path.replace('\\', "/");
    let (path, is_verbatim) = match path.strip_prefix("//?/") {
        Some(rest) => (rest, true),
        None => (path.as_str(), false),
    };
    let share = if is_verbatim { path.strip_prefix("UNC/") } else { path.strip_prefix("//") };
    if let Some(share) = share {
        return format!("file://{}", encoded(share));
    }
    match path.split_once(":/") {
        Some((drive, rest)) if drive.len() == 1 => format!("file:///{drive}:/{}", encoded(rest)),
        Some(_) | None => encoded(path),
    }
}

/// Percent-encodes a path whose names are separated by `/`.
fn encoded(path: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    let encode = |byte: u8| {
        if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    path.bytes().map(encode).collect()
}

/// The FNV-1a hash of a message without its digits, in hexadecimal. Digits are left out because counts in messages
/// change from day to day.
fn digest(message: &str) -> String {
    let bytes = message.bytes().filter(|byte| !byte.is_ascii_digit());
    let sum = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{sum:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_each_system_are_uris() {
        let unix = |path| uri(path, false);
        let windows = |path| uri(path, true);
        assert_eq!(unix("/home/me/a b.toml"), "file:///home/me/a%20b.toml");
        assert_eq!(unix("/home/me/a\\b.toml"), "file:///home/me/a%5Cb.toml");
        assert_eq!(unix("portcullis.toml"), "portcullis.toml");
        assert_eq!(windows(r"C:\Users\me\ö.toml"), "file:///C:/Users/me/%C3%B6.toml");
        assert_eq!(windows(r"\\?\c:\a.toml"), "file:///c:/a.toml");
        assert_eq!(windows(r"\\server\share\a.toml"), "file://server/share/a.toml");
        assert_eq!(windows(r"\\?\UNC\server\share\a.toml"), "file://server/share/a.toml");
        assert_eq!(windows(r"config\a.toml"), "config/a.toml");
    }
}
