//! The tool `create_ui5_app`: a new application, in TypeScript or JavaScript.

mod answer;
mod columns;
mod files;
mod namespace;
#[cfg(test)]
mod tests;

use crate::{
    domains::Domains,
    finish::{Step, finish},
    is_author,
    render::File,
    service::{
        Service,
        metadata::is_plain,
        version::{ODataVersion, settle},
    },
    versions::{self, ChosenVersion},
    write_files::{Base, is_there},
};
use answer::Answer;
use columns::Columns;
use namespace::Namespace;
use portcullis_plugin::prelude::*;
use std::path::PathBuf;
use ui5::Framework;

/// The setting with the author of apps, for calls that name no author.
pub const AUTHOR_SETTING: &str = "author";

/// Creates a SAPUI5 or OpenUI5 app in TypeScript or JavaScript, with a first view. Lists the written files.
#[arguments]
pub struct CreateApp {
    /// Namespace of the app, such as com.myorg.myapp: lower-case letters, digits, `_` and dots.
    #[schemars(regex(pattern = r"^[a-z0-9][a-z0-9_.]*$"))]
    app_namespace: String,
    /// Absolute path of an existing folder. The app gets a new subfolder named after the namespace, unless `createAppDirectory` is `false`.
    #[path(directory, write)]
    base_path: String,
    /// `false`: create the app in `basePath` itself. Existing files are never overwritten. In SAP CAP projects keep `true`, with the folder `app` as `basePath`.
    #[serde(default = "yes")]
    create_app_directory: bool,
    /// The framework.
    #[serde(default = "sapui5")]
    #[schemars(with = "String", extend("enum" = ["OpenUI5", "SAPUI5"]))]
    framework: Framework,
    /// Such as 1.136.0, at least 1.96.0. Default: the latest.
    #[schemars(regex(pattern = r"^\d+\.\d+\.\d+$"))]
    framework_version: Option<String>,
    /// Author of the app. Default: the operator's setting.
    #[schemars(regex(pattern = r"^[a-zA-Z0-9 .,'@_-]+$"))]
    author: Option<String>,
    /// URL of an OData service, V4 or V2, or a path such as /odata/v4/serviceName for a service at localhost:4004. Without it the app has no OData model. This tool reads the service's metadata. The app gets the URL without `http://localhost:PORT`. In a SAP CAP project, find services, entities and properties with CAP's tools first, if there are any.
    #[serde(rename = "oDataV4Url")]
    odata_v4_url: Option<String>,
    /// Needed only if the service cannot be reached now: its metadata name the version.
    #[serde(rename = "oDataVersion")]
    odata_version: Option<ODataVersion>,
    /// Entity set of the service that the app shows in a table.
    #[serde(rename = "oDataEntitySet")]
    #[schemars(regex(pattern = r"^[a-zA-Z0-9_]+$"))]
    odata_entity_set: Option<String>,
    /// Properties of the entity set to show. Default: the first five in the metadata.
    #[schemars(inner(regex(pattern = r"^[a-zA-Z0-9_]+$")))]
    entity_properties: Option<Vec<String>>,
    /// Whether to make a git repository of the app.
    #[serde(default = "yes")]
    initialize_git_repository: bool,
    /// Whether to run npm install.
    #[serde(default = "yes")]
    run_npm_install: bool,
    /// `false`: JavaScript instead of TypeScript. Tell the user about this choice first. In an existing project use its language.
    #[serde(default = "yes")]
    typescript: bool,
    /// Only check everything and list the files that would be written.
    #[serde(default)]
    dry_run: bool,
}

fn yes() -> bool {
    true
}

fn sapui5() -> Framework {
    Framework::SapUi5
}

/// The app to create, after all arguments have been checked.
pub struct App {
    namespace: Namespace,
    framework: Framework,
    version: ChosenVersion,
    author: String,
    service: Option<Service>,
    /// The version of the service.
    odata_version: ODataVersion,
    /// The entity set and the columns to show.
    columns: Option<Columns>,
    typescript: bool,
    /// Notes for the answer about the version of UI5, the version of OData and the columns.
    notes: Vec<String>,
}

impl Tool for CreateApp {
    const NAME: &'static str = "create_ui5_app";
    const TITLE: Option<&'static str> = Some("Create SAPUI5 App");
    const HINTS: Hints = Hints::new().read_only(false).destructive(false);
    type Output = String;

    fn call(self, request: &Request) -> Result<String, Failure> {
        self.create(request).map_err(Failure::new)
    }
}

impl CreateApp {
    fn create(self, request: &Request) -> Result<String, String> {
        let base = Base::open(&self.base_path)?;
        let app = App::plan(&self, request)?;
        let location = self.location(&base, &app)?;
        let files = files::of(&app);
        let mut answer = Answer::new(&app, base.path(), &location, &files);
        if self.dry_run {
            if !self.create_app_directory {
                base.check_free(&files)?;
            }
            return Ok(answer.of_dry_run());
        }
        self.write(&base, &location, &files, request)?;
        let steps = self.steps();
        answer.finished(finish(&steps, &location, request));
        Ok(answer.of_success())
    }

    fn location(&self, base: &Base, app: &App) -> Result<PathBuf, String> {
        if !self.create_app_directory {
            return Ok(base.path().to_owned());
        }
        let location = base.path().join(app.namespace.as_str());
        if is_there(&location)? {
            return Err(format!(
                "Target directory '{}' already exists. Please choose a different namespace or base \
                 path or remove the existing directory.",
                location.display()
            ));
        }
        Ok(location)
    }

    fn write(
        &self,
        base: &Base,
        location: &std::path::Path,
        files: &[File],
        request: &Request,
    ) -> Result<(), String> {
        request.progress(2.0, 3.0, "writing the files");
        if request.cancelled() {
            return Err("The call was cancelled. Nothing was written.".to_owned());
        }
        if self.create_app_directory { base.create(location, files) } else { base.add(files) }
    }

    fn steps(&self) -> Vec<Step> {
        let wanted = [
            (self.run_npm_install, Step::NpmInstall),
            (self.initialize_git_repository, Step::GitRepository),
        ];
        wanted.into_iter().filter_map(|(is_wanted, step)| is_wanted.then_some(step)).collect()
    }
}

impl App {
    /// Checks the arguments, in the same order as the UI5 MCP server, and asks the service.
    fn plan(wanted: &CreateApp, request: &Request) -> Result<Self, String> {
        let namespace = Namespace::parse(&wanted.app_namespace)?;
        let author = author(wanted.author.as_deref())?;
        request.progress(0.0, 3.0, "choosing the version");
        let version = versions::choose(wanted.framework, wanted.framework_version.as_deref())?;
        let mut notes: Vec<String> = version.note.iter().cloned().collect();
        let service = match &wanted.odata_v4_url {
            Some(url) => Some(Service::parse(url, &Domains::from_settings()?)?),
            None => None,
        };
        let mut columns = None;
        let mut odata_version = ODataVersion::V4;
        if let Some(service) = &service {
            request.progress(1.0, 3.0, "asking the OData service");
            let metadata = service.metadata();
            let set = wanted.odata_entity_set.as_deref();
            let properties = wanted.entity_properties.as_deref().unwrap_or_default();
            for name in set.into_iter().chain(properties.iter().map(String::as_str)) {
                if !is_plain(name) {
                    return Err(format!(
                        "'{name}' cannot be the name of an entity set or a property here. Only \
                         alphanumeric characters and underscores are allowed."
                    ));
                }
            }
            let spoken = metadata.as_ref().ok().map(|metadata| &metadata.spoken);
            let settled = settle(spoken, wanted.odata_version, service.path())?;
            odata_version = settled.version;
            notes.push(settled.note);
            let planned = columns::plan(set, properties, metadata, odata_version)?;
            columns = planned.columns;
            notes.extend(planned.notes);
        }
        let (framework, typescript) = (wanted.framework, wanted.typescript);
        Ok(Self {
            namespace,
            framework,
            version,
            author,
            service,
            odata_version,
            columns,
            typescript,
            notes,
        })
    }
}

/// The author from the call, or else from the operator's setting, if any.
fn author(named: Option<&str>) -> Result<String, String> {
    match named {
        Some(author) if is_author(author) => Ok(author.to_owned()),
        Some(_) => Err(
            "The author is not valid. Only alphanumeric characters, space, and .,'-@_ are allowed."
                .to_owned(),
        ),
        None => Ok(settings::get(AUTHOR_SETTING).unwrap_or_default().trim().to_owned()),
    }
}
