//! The libraries of a release, and the URLs of their API on a CDN.

use crate::is_file_name;
use serde::Deserialize;
use std::collections::HashSet;

/// A library that every release has.
pub const CORE: &str = "sap.ui.core";

/// Maximum number of libraries of a release; far above real ones.
const MAX_LIBRARIES: usize = 1000;

#[derive(Deserialize)]
struct List {
    libraries: Vec<Library>,
}

#[derive(Deserialize)]
struct Library {
    name: String,
    #[serde(default, rename = "npmPackageName")]
    npm_package_name: Option<String>,
}

/// URL of the list of a release's libraries; `base` is the URL of the release.
pub fn list_address(base: &str) -> String {
    format!("{base}/resources/sap-ui-version.json")
}

/// URL of the `api.json` of a library, if it has one.
pub fn api_address(base: &str, library: &str) -> String {
    format!("{base}/test-resources/{}/designtime/api.json", library.replace('.', "/"))
}

/// The libraries of a release that may have an API, from its list. Each name is safe as part of a
/// path. Fails if the list is invalid, and says why.
pub fn libraries(list: &[u8]) -> Result<Vec<String>, String> {
    let list = list.strip_prefix(b"\xef\xbb\xbf").unwrap_or(list);
    let list: List = serde_json::from_slice(list)
        .map_err(|error| format!("it is not the expected JSON: {error}"))?;
    let mut known = HashSet::new();
    let names: Vec<String> = list
        .libraries
        .into_iter()
        .filter(|library| library.npm_package_name.as_ref().is_some_and(|name| !name.is_empty()))
        .map(|library| library.name)
        .filter(|name| !name.starts_with("themelib_") && known.insert(name.clone()))
        .collect();
    if let Some(odd) = names.iter().find(|name| !is_file_name(name)) {
        return Err(format!("there cannot be a library named '{odd}'"));
    }
    if names.len() > MAX_LIBRARIES {
        return Err(format!("it lists more than {MAX_LIBRARIES} libraries"));
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn names(libraries: serde_json::Value) -> Result<Vec<String>, String> {
        super::libraries(json!({ "libraries": libraries }).to_string().as_bytes())
    }

    #[test]
    fn libraries_have_a_package_and_are_not_themes() {
        let list = json!([
            { "name": "sap.m", "npmPackageName": "@openui5/sap.m" },
            { "name": "sap.m", "npmPackageName": "@openui5/sap.m" },
            { "name": "themelib_sap_horizon", "npmPackageName": "@openui5/themelib_sap_horizon" },
            { "name": "sap.internal" },
            { "name": "sap.other", "npmPackageName": "" },
        ]);
        assert_eq!(names(list.clone()), Ok(vec!["sap.m".to_owned()]));
        let marked = format!("\u{feff}{}", json!({ "libraries": list }));
        assert_eq!(libraries(marked.as_bytes()), Ok(vec!["sap.m".to_owned()]));
    }

    #[test]
    fn unsafe_names_are_refused() {
        let odd = names(json!([{ "name": "../x", "npmPackageName": "x" }])).expect_err("a path");
        assert!(odd.contains("'../x'"), "{odd}");
        assert!(libraries(b"{}").is_err() && libraries(b"<html>").is_err());
        let many: Vec<_> = (0..=MAX_LIBRARIES)
            .map(|number| json!({ "name": format!("l{number}"), "npmPackageName": "x" }))
            .collect();
        assert!(names(json!(many)).expect_err("too many").contains("more than 1000"));
    }
}
