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
    place::{Base, is_there},
    render::File,
    service::{
        Service,
        metadata::is_plain,
        version::{ODataVersion, settle},
    },
    versions::{self, Chosen},
};
use answer::Answer;
use columns::Columns;
use namespace::Namespace;
use portcullis_plugin::prelude::*;
use std::path::PathBuf;
use ui5::Framework;

/// The setting with the author of apps, where the call names none.
pub const AUTHOR_SETTING: &str = "author";

/// Create a new basic SAPUI5 or OpenUI5 application implemented in TypeScript or JavaScript
#[arguments]
pub struct CreateApp {
    /// The namespace for the application, e.g. com.myorg.myapp. Only lowercase alpha-numeric characters, underscores and dots are allowed.
    #[schemars(regex(pattern = r"^[a-z0-9][a-z0-9_.]*$"))]
    app_namespace: String,
    /// Absolute base path for the creation. It must exist. The application is created either immediately inside this path or in a subdirectory (its name equals the application namespace), depending on the 'createAppDirectory' parameter. It must be absolute, not just 'app' or '.' or './something'!
    #[path(directory, write)]
    base_path: String,
    /// Whether to create a new directory (name equals the application namespace) inside the base path. Set this to 'false' to place the app directly in the given base path; files that are there are never overwritten. In SAP CAP applications, typically give the path to the 'app' folder as basePath and set this to 'true' to create an application folder. Default: true.
    #[serde(default = "yes")]
    create_app_directory: bool,
    /// Framework to use (OpenUI5 or SAPUI5), defaults to SAPUI5
    #[serde(default = "sapui5")]
    #[schemars(with = "String", extend("enum" = ["OpenUI5", "SAPUI5"]))]
    framework: Framework,
    /// Framework version, defaults to latest version. Omit this when in doubt. When provided, it must be a concrete semantic version, like e.g. 1.136.0. Versions older than 1.96.0 are not supported.
    #[schemars(regex(pattern = r"^\d+\.\d+\.\d+$"))]
    framework_version: Option<String>,
    /// Author of the application (if not provided, the one that the operator has set, if any)
    #[schemars(regex(pattern = r"^[a-zA-Z0-9 .,'@_-]+$"))]
    author: Option<String>,
    /// URL of an OData service, V4 or V2, if applicable. Entirely optional, but without it the generated app has no OData model configured. The version is found in the metadata of the service, and the app has the model for that version. The URL must be either a complete URL starting with http:// or https:// or a server-root-relative URL like '/odata/v4/serviceName' when the OData service runs on the same server. In this case, the prefix 'http://localhost:4004/' is assumed and used by this tool for inquiries about the service. When the port is not 4004, a complete 'http://localhost:4711/...' URL must be provided. In the generated application, any 'http://localhost:PORT' prefix is removed. HINT: when the project is a SAP CAP project and CAP/CDS tools are available, you **MUST** use them to search for OData services and entities and properties **BEFORE** calling this tool. This will help you find the correct service URL.
    #[serde(rename = "oDataV4Url")]
    odata_v4_url: Option<String>,
    /// OData version of the service. Only needed when the service is not reachable while this tool runs; otherwise the metadata of the service decide.
    #[serde(rename = "oDataVersion")]
    odata_version: Option<ODataVersion>,
    /// Entity set of the OData service to display. Only has an effect when 'oDataV4Url' is set as well. Optional, but setting an entity set is beneficial, as it configures a basic UI in the application which displays the entity set.
    #[serde(rename = "oDataEntitySet")]
    #[schemars(regex(pattern = r"^[a-zA-Z0-9_]+$"))]
    odata_entity_set: Option<String>,
    /// Properties of the OData entity set to display. Only has an effect when 'oDataV4Url' and 'oDataEntitySet' are set. Optional, but useful to display initial data, when the names of existing properties are known. If not provided and the service is active and reachable at tool execution time, its first properties are displayed.
    #[schemars(inner(regex(pattern = r"^[a-zA-Z0-9_]+$")))]
    entity_properties: Option<Vec<String>>,
    /// Initialize a local git repository for the application, default is 'true'
    #[serde(default = "yes")]
    initialize_git_repository: bool,
    /// Execute npm install after creating the application, default is 'true'
    #[serde(default = "yes")]
    run_npm_install: bool,
    /// Whether to create a TypeScript application (true) or JavaScript application (false), default is 'true'. Although the default is preferred, the user MUST know about this option before generation, but you should not require an active decision. Also, if an overall project already exists, this should influence the language choice to keep things consistent.
    #[serde(default = "yes")]
    typescript: bool,
    /// Only check everything and list the files that would be created, without writing anything. Default: false
    #[serde(default)]
    dry_run: bool,
}

fn yes() -> bool {
    true
}

fn sapui5() -> Framework {
    Framework::SapUi5
}

/// The app to create, after all arguments were checked.
pub struct App {
    namespace: Namespace,
    framework: Framework,
    version: Chosen,
    author: String,
    service: Option<Service>,
    /// The version of the service.
    odata_version: ODataVersion,
    /// The entity set and the columns to show.
    columns: Option<Columns>,
    typescript: bool,
    /// Messages to the caller about defaults that were chosen.
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
