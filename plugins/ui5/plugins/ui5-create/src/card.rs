//! The tool `create_integration_card`: a new UI integration card of one of nine types.

mod files;
#[cfg(test)]
mod tests;

use crate::{
    domains::{Domains, web_url},
    is_author,
    order::by_name,
    render::File,
    write_files::{Base, OutsideBase, is_there},
};
use portcullis_plugin::prelude::*;
use std::path::{Path, PathBuf};

/// Creates a UI5 Integration Card (UI Integration Card) in a new folder, from a template for its type. Lists the written files.
#[arguments]
pub struct CreateCard {
    /// Absolute path of an existing folder.
    #[path(directory, write)]
    base_path: String,
    /// Name of the folder to create the card in, inside the base path.
    #[serde(default = "card_folder")]
    card_folder_name: String,
    /// Type of the card.
    #[serde(default)]
    card_type: CardType,
    /// Servers that the card gets data from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<Destination>")]
    destinations: Option<Vec<Destination>>,
    /// Only check everything and list the files that would be written.
    #[serde(default)]
    dry_run: bool,
}

fn card_folder() -> String {
    "card".to_owned()
}

/// The type of a card.
#[data]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "PascalCase")]
#[schemars(inline)]
#[expect(missing_docs, reason = "with docs, the schema would be a list of lengthy alternatives")]
pub enum CardType {
    Adaptive,
    Analytical,
    Calendar,
    Component,
    #[default]
    List,
    Object,
    Table,
    Timeline,
    WebPage,
}

impl CardType {
    /// All types.
    pub const ALL: [Self; 9] = [
        Self::Adaptive,
        Self::Analytical,
        Self::Calendar,
        Self::Component,
        Self::List,
        Self::Object,
        Self::Table,
        Self::Timeline,
        Self::WebPage,
    ];

    /// The name in the argument.
    pub fn name(self) -> &'static str {
        match self {
            Self::Adaptive => "Adaptive",
            Self::Analytical => "Analytical",
            Self::Calendar => "Calendar",
            Self::Component => "Component",
            Self::List => "List",
            Self::Object => "Object",
            Self::Table => "Table",
            Self::Timeline => "Timeline",
            Self::WebPage => "WebPage",
        }
    }
}

/// A server that the card gets data from. Each host of the card maps the name to a URL.
#[data]
#[derive(Clone, Debug)]
#[schemars(inline)]
pub struct Destination {
    /// Name of the destination.
    #[schemars(regex(pattern = r"^[a-zA-Z0-9 .,'@_-]+$"))]
    name: String,
    /// Default URL of the destination.
    #[schemars(extend("format" = "uri"))]
    default_url: String,
}

impl Tool for CreateCard {
    const NAME: &'static str = "create_integration_card";
    const TITLE: Option<&'static str> = Some("Create Integration Card");
    const HINTS: Hints = Hints::new().read_only(false).destructive(false);
    type Output = String;

    fn call(self, request: &Request) -> Result<String, Failure> {
        self.create(request).map_err(Failure::new)
    }
}

impl CreateCard {
    fn create(self, request: &Request) -> Result<String, String> {
        let base = Base::open(&self.base_path)?;
        let folder = self.folder(&base)?;
        let destinations = self.destinations.as_deref().unwrap_or_default();
        let destinations = checked(destinations)?;
        let files = files::of(self.card_type, &destinations);
        if self.dry_run {
            let name = self.card_type.name();
            return Ok(format!(
                "Dry run: nothing was written. The {name} card would be created at {}\nThe files \
                 would be:\n{}",
                folder.display(),
                list(&files)
            ));
        }
        request.progress(0.0, 1.0, "writing the files");
        if request.cancelled() {
            return Err("The call was cancelled. Nothing was written.".to_owned());
        }
        base.create(&folder, &files)?;
        Ok(self.told(&base, &folder, &files))
    }

    fn folder(&self, base: &Base) -> Result<PathBuf, String> {
        let folder = base.beneath(&self.card_folder_name).map_err(|OutsideBase(path)| {
            format!(
                "Card folder path {} is not within base path {}, or has a backslash or an invisible \
                 character",
                path.to_string_lossy().escape_debug(),
                base.path().display()
            )
        })?;
        if is_there(&folder)? {
            return Err(format!(
                "The target directory '{}' already exists. Please choose a different path or remove \
                 the existing directory.",
                folder.display()
            ));
        }
        Ok(folder)
    }

    fn told(&self, base: &Base, folder: &Path, files: &[File]) -> String {
        format!(
            "Successfully created Integration Card {} at {}\nThe generated files inside {} are:\n{}",
            self.card_folder_name,
            base.path().display(),
            folder.display(),
            list(files)
        )
    }
}

fn list(files: &[File]) -> String {
    let mut paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    paths.sort_by(|a, b| by_name(a, b));
    paths.join("\n")
}

/// The destinations with normalised URLs. Fails with the reason.
fn checked(destinations: &[Destination]) -> Result<Vec<Destination>, String> {
    let mut checked: Vec<Destination> = Vec::with_capacity(destinations.len());
    if destinations.is_empty() {
        return Ok(checked);
    }
    let domains = Domains::from_settings()?;
    for Destination { name, default_url } in destinations {
        if !is_author(name) {
            return Err(format!(
                "The destination name '{}' is not valid. Only alphanumeric characters, space, and \
                 .,'-@_ are allowed.",
                name.escape_debug()
            ));
        }
        if checked.iter().any(|known| known.name == *name) {
            return Err(format!("There are two destinations with the name '{name}'."));
        }
        let url = web_url(default_url).ok_or_else(|| {
            format!(
                "The default URL '{}' of the destination '{name}' is not valid. It must start with \
                 http:// or https://, and must not contain a user name or password. {}",
                default_url.escape_debug(),
                domains.note()
            )
            .trim_end()
            .to_owned()
        })?;
        domains.check(&url)?;
        // Cards append paths that begin with a slash, so the URL must not end with a slash.
        let default_url = url.as_str().trim_end_matches('/').to_owned();
        checked.push(Destination { name: name.clone(), default_url });
    }
    Ok(checked)
}
