//! Writes prompts, answers and pages to the operator's folders. Texts that look like secrets are removed from files in
//! the debug folder.

use crate::{address, settings::Settings};
use portcullis_plugin::prelude::*;
use regex_lite::Regex;
use std::{fs, path::Path};

/// Writes the page of a tool to the export folder, if one is set and the page has changed.
pub fn export(request: &Request<'_>, settings: &Settings, tool: &str, html: &str) {
    if let Some(folder) = &settings.export_dir {
        let file = format!("{}.html", address::encoded(tool));
        write(request, "export", folder, &file, html);
    }
}

/// Writes a file to the debug folder, if one is set.
pub fn debug(request: &Request<'_>, settings: &Settings, tool: &str, what: &str, text: &str) {
    if let Some(folder) = &settings.debug_dir {
        let file = format!("{}-{}-{what}", address::encoded(tool), address::encoded(&request.id()));
        write(request, "debug", folder, &file, &redacted(text));
    }
}

/// Writes a file, unless it has this text. A failure is logged with `step`.
fn write(request: &Request<'_>, step: &str, folder: &str, file: &str, text: &str) {
    let path = Path::new(folder).join(file);
    if fs::read(&path).is_ok_and(|there| there == text.as_bytes()) {
        return;
    }
    if let Err(error) = changes::new().put(&path, text).apply() {
        let why = format!("cannot write {}: {error}", path.display());
        request.log(Level::Warning, json!({ "step": step, "why": why }));
    }
}

/// Replaces texts that look like a key, a token or a password.
pub fn redacted(text: &str) -> String {
    const SECRETS: &[&str] = &[
        r"(?i)\b(?:sk|pk|rk|ghp|gho|ghs|xox[abps]|glpat|AKIA)[-_]?[A-Za-z0-9_-]{12,}",
        r"(?i)\bbearer\s+[A-Za-z0-9._~+/-]{8,}=*",
        r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
        r#"(?i)\b(?:api[-_ ]?key|secret|password|passwd|token)\b["']?\s*[:=]\s*["']?[^\s"',;]{6,}"#,
    ];
    SECRETS.iter().fold(text.to_owned(), |text, secret| {
        let secret = Regex::new(secret).expect("it is valid");
        secret.replace_all(&text, "[redacted]").into_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_look_like_secrets_are_redacted() {
        for secret in [
            "sk-ant-REDACTED",
            "Bearer abcdef.ghijkl",
            "eyJhbGciOiJI.eyJzdWIiOiIx.sig_nature",
            "password: hunter2hunter2",
            "\"api_key\": \"0123456789\"",
        ] {
            let told = redacted(&format!("before {secret} after"));
            let (begins, ends) = (told.starts_with("before "), told.ends_with(" after"));
            assert!(begins && ends && told.contains("[redacted]"), "{told}");
            assert!(told.len() < "before \"[redacted]\" after ".len(), "{told}");
        }
        let plain = "The token count is 12; pass the city's name.";
        assert_eq!(redacted(plain), plain);
    }
}
