//! Reads a manifest as an app of SAP Fiori elements: its pages and its services.

use portcullis_plugin::prelude::*;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::{fs, io::Read, path::Path};

/// Maximum size of a manifest, in bytes; far above real ones.
const MAX_MANIFEST_BYTES: u64 = 1024 * 1024;

/// The start of the names of templates of SAP Fiori elements for OData V4.
const TEMPLATES: &str = "sap.fe.templates.";

/// A manifest as it is on disk.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// The text, without a byte order mark.
    pub text: String,
    /// Whether there is a byte order mark.
    pub has_mark: bool,
    /// The content.
    pub content: Value,
}

/// The kind of an app.
#[data]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[schemars(inline)]
#[expect(missing_docs, reason = "with docs, the schema would be a list of lengthy alternatives")]
pub enum Kind {
    #[serde(rename = "Fiori elements for OData V4")]
    V4,
    #[serde(rename = "Fiori elements for OData V2")]
    V2,
}

/// A page of an app.
#[data]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The name, by which other pages and routes refer to it
    pub name: String,
    /// The template, such as 'sap.fe.templates.ListReport'
    pub template: String,
    /// What the page shows: a context path such as '/Books', or an entity set
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shows: Option<String>,
    /// The pattern of the route to the page
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
}

/// An OData service of an app.
#[data]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// The name of the data source
    pub name: String,
    /// The URL, as the manifest has it
    pub uri: String,
    /// The version of OData, such as '4.0'
    pub odata_version: String,
    /// The copy of the metadata, relative to the manifest
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local_metadata: Option<String>,
}

impl Manifest {
    /// Reads a file. Fails with the reason.
    pub fn read(path: &Path) -> Result<Self, String> {
        let shown = path.display();
        let mut bytes = Vec::new();
        fs::File::open(path)
            .and_then(|file| file.take(MAX_MANIFEST_BYTES + 1).read_to_end(&mut bytes))
            .map_err(|error| format!("The manifest {shown} cannot be read: {error}"))?;
        if bytes.len() as u64 > MAX_MANIFEST_BYTES {
            return Err(format!("The manifest {shown} is longer than {MAX_MANIFEST_BYTES} bytes."));
        }
        let text = String::from_utf8(bytes)
            .map_err(|_| format!("The manifest {shown} is not text in UTF-8."))?;
        let (text, has_mark) = match text.strip_prefix('\u{feff}') {
            Some(rest) => (rest.to_owned(), true),
            None => (text, false),
        };
        let content = serde_json::from_str(&text)
            .map_err(|error| format!("The manifest {shown} is not JSON: {error}"))?;
        Ok(Self { text, has_mark, content })
    }

    /// The SHA-256 of the file as it was read, in hexadecimal.
    pub fn sha256(&self) -> String {
        let mark = if self.has_mark { "\u{feff}" } else { "" };
        let digest = Sha256::new().chain_update(mark).chain_update(&self.text).finalize();
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The id of the app.
    pub fn id(&self) -> Option<&str> {
        self.content.pointer("/sap.app/id")?.as_str()
    }

    /// The kind of app; `None` if it is not one of SAP Fiori elements.
    pub fn kind(&self) -> Option<Kind> {
        let libraries =
            self.content.pointer("/sap.ui5/dependencies/libs").and_then(Value::as_object);
        let has_library = libraries
            .is_some_and(|libraries| libraries.keys().any(|name| name.starts_with("sap.fe")));
        let has_page = self.targets().any(|(_, target)| is_template(target));
        if has_library || has_page {
            return Some(Kind::V4);
        }
        self.content.get("sap.ui.generic.app").map(|_| Kind::V2)
    }

    /// The targets of the routing, by name.
    pub fn targets(&self) -> impl Iterator<Item = (&String, &Value)> {
        let targets = self.content.pointer("/sap.ui5/routing/targets").and_then(Value::as_object);
        targets.into_iter().flatten()
    }

    /// The routes of the routing. A manifest has them as a list, or as an object with their names as keys.
    pub fn routes(&self) -> Vec<&Value> {
        match self.content.pointer("/sap.ui5/routing/routes") {
            Some(Value::Array(routes)) => routes.iter().collect(),
            Some(Value::Object(routes)) => routes.values().collect(),
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) | None => {
                Vec::new()
            }
        }
    }

    /// The pages.
    pub fn pages(&self) -> Vec<Page> {
        let mut pages = Vec::new();
        for (name, target) in self.targets().filter(|(_, target)| is_template(target)) {
            let settings = target.pointer("/options/settings");
            let text =
                |key| settings.and_then(|settings| settings.get(key)).and_then(Value::as_str);
            let shows = text("contextPath").map(str::to_owned);
            pages.push(Page {
                name: name.clone(),
                template: target["name"].as_str().unwrap_or_default().to_owned(),
                shows: shows.or_else(|| text("entitySet").map(|set| format!("/{set}"))),
                pattern: self.pattern_of(name),
            });
        }
        if let Some(generic) = self.content.pointer("/sap.ui.generic.app/pages") {
            generic_pages(generic, &mut pages, 0);
        }
        pages
    }

    /// The pattern of the route whose last target is that page.
    pub fn pattern_of(&self, page: &str) -> Option<String> {
        let route = self.routes().into_iter().find(|route| last_target(route) == Some(page))?;
        Some(route["pattern"].as_str()?.to_owned())
    }

    /// The OData services.
    pub fn services(&self) -> Vec<Service> {
        let sources = self.content.pointer("/sap.app/dataSources").and_then(Value::as_object);
        let read = |(name, source): (&String, &Value)| {
            let kind = source.get("type").and_then(Value::as_str).unwrap_or("OData");
            let text = |pointer| source.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
            (kind == "OData").then(|| Service {
                name: name.clone(),
                uri: text("/uri").unwrap_or_default(),
                // UI5's default.
                odata_version: text("/settings/odataVersion").unwrap_or_else(|| "2.0".to_owned()),
                local_metadata: text("/settings/localUri"),
            })
        };
        sources.into_iter().flatten().filter_map(read).collect()
    }
}

/// Whether a target of the routing is a page of SAP Fiori elements for OData V4.
pub fn is_template(target: &Value) -> bool {
    let name = target.get("name").and_then(Value::as_str);
    name.is_some_and(|name| name.starts_with(TEMPLATES) || name == "sap.fe.core.fpm")
}

/// The target that a route shows, the last one if it shows several in columns.
pub fn last_target(route: &Value) -> Option<&str> {
    targets_of(route).pop()
}

/// The targets that a route shows.
pub fn targets_of(route: &Value) -> Vec<&str> {
    match route.get("target") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(name_of).collect(),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => {
            Vec::new()
        }
    }
}

fn name_of(target: &Value) -> Option<&str> {
    target.as_str().or_else(|| target.get("name").and_then(Value::as_str))
}

/// Maximum depth of nested pages in apps for OData V2.
const MAX_DEPTH: usize = 16;

/// Collects the pages of an app for OData V2. Pages are nested, in lists or in objects with their names as keys.
fn generic_pages(pages: &Value, found: &mut Vec<Page>, depth: usize) {
    if depth > MAX_DEPTH {
        return;
    }
    let named: Vec<(Option<&str>, &Value)> = match pages {
        Value::Array(pages) => pages.iter().map(|page| (None, page)).collect(),
        Value::Object(pages) => {
            pages.iter().map(|(name, page)| (Some(name.as_str()), page)).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    for (name, page) in named {
        let text = |pointer| page.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        if let Some(template) = text("/component/name") {
            let set = text("/entitySet");
            let name = name.map(str::to_owned).or_else(|| set.clone()).unwrap_or_default();
            found.push(Page { name, template, shows: set, pattern: None });
        }
        if let Some(inner) = page.get("pages") {
            generic_pages(inner, found, depth + 1);
        }
    }
}

/// The object at a path of keys. Missing objects are added. Fails if a value on the path is not an object.
pub fn object_at<'v>(
    value: &'v mut Value,
    keys: &[&str],
) -> Result<&'v mut Map<String, Value>, String> {
    let mut inner = value;
    for key in keys {
        let Value::Object(map) = inner else {
            return Err(format!(
                "In the manifest, the value that should contain '{key}' is not an object."
            ));
        };
        inner = map.entry(*key).or_insert_with(|| Value::Object(Map::new()));
    }
    inner.as_object_mut().ok_or_else(|| {
        format!("'{}' of the manifest is not an object.", keys.last().unwrap_or(&"the root"))
    })
}
