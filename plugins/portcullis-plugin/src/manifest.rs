//! The plugin's manifest: its tools, prompts, resources and further features, and the capabilities it wants.

use crate::{
    bindings::{
        exports::portcullis::plugin::manifest::{self as wit, Manifest},
        portcullis::plugin::types::Error,
        prompts::PromptOutcome,
        tools::ToolOutcome,
    },
    dispatch,
    job::Jobs,
    prompt::{self, Prompt},
    request::Request,
    resource::{Resource, Resources, Template},
    schema,
    tool::{PathAccess, PathArgument, Tool},
    view::Views,
};

/// The values given to [`plugin!`](crate::plugin), without the tools, prompts, resources, views and jobs.
#[derive(Clone, Debug, PartialEq)]
pub struct About {
    /// The plugin's own name. The operator's name for the plugin may differ: it is the name of the component's file.
    pub name: &'static str,
    /// The version of the plugin's crate.
    pub version: &'static str,
    /// The name people see.
    pub title: Option<String>,
    /// The purpose of the plugin.
    pub description: Option<String>,
    /// URL of more information.
    pub website: Option<String>,
    /// Instructions for the model.
    pub instructions: Option<String>,
    /// The capabilities that the plugin wants, besides the files named in arguments.
    pub wants: Vec<Want>,
}

/// A crate that is a plugin. Implemented by [`plugin!`](crate::plugin).
pub trait Plugin {
    /// The tools.
    const TOOLS: &'static [Entry];
    /// The prompts.
    const PROMPTS: &'static [PromptEntry];
    /// The resources.
    type Resources: Resources;
    /// The views for tools of the catalog.
    type Views: Views;
    /// The background jobs.
    type Jobs: Jobs;
    /// The rest of the manifest.
    fn about() -> About;
}

/// A tool of the plugin.
pub struct Entry {
    /// The name the model uses.
    pub name: &'static str,
    /// The arguments that are paths.
    pub paths: &'static [PathArgument],
    /// Describes the tool to the client.
    pub describe: fn() -> wit::Tool,
    /// Calls the tool.
    pub call: fn(&Request<'_>, &str) -> Result<ToolOutcome, Error>,
}

impl Entry {
    /// The entry for the tool `T`.
    pub const fn of<T: Tool>() -> Self {
        Self {
            name: T::NAME,
            paths: T::PATHS,
            describe: describe_tool::<T>,
            call: dispatch::call::<T>,
        }
    }
}

/// A prompt of the plugin.
pub struct PromptEntry {
    /// The name clients use.
    pub name: &'static str,
    /// Describes the prompt to the client.
    pub describe: fn() -> wit::Prompt,
    /// Gets the prompt.
    pub get: Get,
    /// Completes an argument of the prompt.
    pub complete: Complete,
}

/// Gets a prompt with its arguments.
type Get = fn(&Request<'_>, Vec<(String, String)>) -> Result<PromptOutcome, Error>;

/// Completes an argument: takes its name, the typed text, and the earlier arguments.
type Complete = fn(&Request<'_>, &str, &str, &[(String, String)]) -> Vec<String>;

impl PromptEntry {
    /// The entry for the prompt `P`.
    pub const fn of<P: Prompt>() -> Self {
        Self {
            name: P::NAME,
            describe: prompt::describe::<P>,
            get: dispatch::get::<P>,
            complete: P::complete,
        }
    }
}

/// A capability that the plugin wants, with the reason shown to the operator who grants it.
///
/// The [`plugin!`](crate::plugin) macro adds the want for the files that path arguments need. A target `"$NAME"` stands
/// for the value of the operator's setting `NAME`, so that a plugin can want "the configured mirror".
///
/// A want is not a grant: only what is both wanted and granted is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Want {
    capability: &'static str,
    target: String,
    access: String,
    reason: String,
    optional: bool,
}

impl Want {
    /// HTTP requests to a host with these methods (`"GET"`, `"GET,POST"`). A host without a scheme means
    /// `https` on port 443; otherwise write the scheme and port, as in `"http://localhost:8080"`.
    pub fn http(host: impl Into<String>, methods: &str, reason: impl Into<String>) -> Self {
        Self::new("http", host, methods, reason)
    }

    /// HTTP requests with these methods to the host that a call names. `pointer` is a JSON Pointer to the
    /// argument with the URL, such as `"/serviceUrl"`. The operator sets the hosts that calls may name.
    pub fn http_argument(pointer: &str, methods: &str, reason: impl Into<String>) -> Self {
        Self::new("http", format!("arguments{pointer}"), methods, reason)
    }

    /// Durable storage of that many bytes.
    pub fn store(bytes: u64, reason: impl Into<String>) -> Self {
        Self::new("store", bytes.to_string(), "", reason)
    }

    /// A cache of that many bytes.
    pub fn cache(bytes: u64, reason: impl Into<String>) -> Self {
        Self::new("cache", bytes.to_string(), "", reason)
    }

    /// A setting of the operator.
    pub fn settings(name: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::new("settings", name, "", reason)
    }

    /// Requests to the connected client: `"elicitation"`, `"sampling"`, `"roots"` or `"consent"`.
    pub fn client(feature: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::new("client", feature, "", reason)
    }

    /// Access to all roots of the session, not only to the paths in arguments. `access` is `"read"` or
    /// `"write"`.
    pub fn roots(access: &str, reason: impl Into<String>) -> Self {
        Self::new("files", "roots", access, reason)
    }

    /// A directory outside the session's roots, by its absolute path, to read.
    pub fn directory(path: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::new("files", path, "read", reason)
    }

    /// A directory outside the session's roots, by its absolute path, to read and to write. The
    /// host creates a missing directory.
    pub fn writable_directory(path: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::new("files", path, "write", reason)
    }

    /// A process, by the operator's name for the command.
    pub fn process(command: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::new("process", command, "", reason)
    }

    /// Permission for an action. Tools that list the action in [`Tool::NEEDS`] are absent without
    /// the grant.
    pub fn action(name: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::new("actions", name, "", reason)
    }

    /// A part of the catalog: the tools of all plugins and upstream servers (`"tools"`), the last results of
    /// these tools (`"results"`), or only whether paths lead to something in these results (`"pointers"`).
    pub fn catalog(part: &str, reason: impl Into<String>) -> Self {
        Self::new("catalog", part, "", reason)
    }

    /// Calls of the tools whose names match a pattern; `*` stands for any characters. See
    /// [`tool_calls`](crate::tool_calls).
    pub fn tools(pattern: &str, reason: impl Into<String>) -> Self {
        Self::new("tools", pattern, "", reason)
    }

    /// Makes the want optional: the plugin works without the grant.
    ///
    /// If all wants for a capability are optional and the operator grants nothing of it, the plugin is
    /// loaded, and the capability refuses everything. If one of these wants is not optional, a plugin that
    /// imports the capability is loaded only with a grant.
    pub fn optional(mut self) -> Self {
        self.optional = true;
        self
    }

    fn new(
        capability: &'static str,
        target: impl Into<String>,
        access: &str,
        reason: impl Into<String>,
    ) -> Self {
        let (target, reason) = (target.into(), reason.into());
        Self { capability, target, access: access.to_owned(), reason, optional: false }
    }
}

impl From<Want> for wit::Want {
    fn from(want: Want) -> Self {
        let Want { capability, target, access, reason, optional } = want;
        Self { capability: capability.to_owned(), target, access, reason, optional }
    }
}

impl<P: Plugin> wit::Guest for P {
    fn describe() -> Manifest {
        describe::<P>()
    }
}

/// Builds the manifest of a plugin.
pub fn describe<P: Plugin>() -> Manifest {
    let About { name, version, title, description, website, instructions, wants } = P::about();
    let wants = files_wanted(P::TOOLS).into_iter().chain(wants);
    Manifest {
        name: name.to_owned(),
        title,
        version: version.to_owned(),
        description,
        website,
        instructions,
        icons: Vec::new(),
        tools: P::TOOLS.iter().map(|tool| (tool.describe)()).collect(),
        prompts: P::PROMPTS.iter().map(|prompt| (prompt.describe)()).collect(),
        resources: P::Resources::fixed().into_iter().map(|Resource(info)| info).collect(),
        templates: P::Resources::templates().into_iter().map(|Template(one)| one).collect(),
        wants: wants.map(Into::into).collect(),
        extra: None,
    }
}

fn describe_tool<T: Tool>() -> wit::Tool {
    let mut input = schema::of_input::<T>();
    let description = schema::take_description(&mut input);
    schema::require_object(&mut input, T::NAME);
    wit::Tool {
        name: T::NAME.to_owned(),
        title: T::TITLE.map(str::to_owned),
        description,
        input_schema: input.to_string(),
        output_schema: T::output_schema().map(|schema| schema.to_string()),
        paths: T::PATHS.iter().map(Into::into).collect(),
        needs: T::NEEDS.iter().map(|&action| action.to_owned()).collect(),
        hints: T::HINTS.into(),
        icons: T::icons(),
        extra: T::extra().map(|extra| extra.to_string()),
    }
}

impl From<&PathArgument> for wit::PathArgument {
    fn from(path: &PathArgument) -> Self {
        Self {
            pointer: path.pointer.to_owned(),
            kind: path.kind,
            access: path.access,
            when: path.when.map(str::to_owned),
            nearest: path.nearest.iter().map(|name| (*name).to_owned()).collect(),
        }
    }
}

/// The file access that the tools' path arguments need.
fn files_wanted(tools: &[Entry]) -> Option<Want> {
    let mut paths = tools.iter().flat_map(|tool| tool.paths).peekable();
    paths.peek()?;
    Some(if paths.any(|path| path.access != PathAccess::Read) {
        Want::new(
            "files",
            "arguments",
            "write",
            "to read and write the paths in the arguments of its tools",
        )
    } else {
        Want::new("files", "arguments", "read", "to read the paths in the arguments of its tools")
    })
}

/// Refuses, at compile time, a name that clients cannot use.
pub const fn check_name(name: &str) {
    let name = name.as_bytes();
    let mut fits = !name.is_empty() && name.len() <= 64;
    let mut i = 0;
    while i < name.len() {
        fits &= name[i].is_ascii_alphanumeric() || matches!(name[i], b'_' | b'-' | b'.');
        i += 1;
    }
    assert!(fits, "a tool's NAME is 1 to 64 letters, digits, `_`, `-` and `.`");
}

/// Refuses, at compile time, two tools with one name.
pub const fn check_distinct(tools: &[Entry]) {
    let mut i = 0;
    while i < tools.len() {
        let mut j = 0;
        while j < i {
            let is_same = are_equal(tools[i].name.as_bytes(), tools[j].name.as_bytes());
            assert!(!is_same, "two tools have the same NAME");
            j += 1;
        }
        i += 1;
    }
}

const fn are_equal(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}

/// The value of a key in Cargo.toml. Cargo passes the empty string for a missing key.
pub fn unless_empty(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;
    use serde_json::Value;

    /// Checks a project.
    ///
    /// And repairs it.
    #[arguments]
    struct Check {
        #[path(directory, read)]
        #[path(directory, write, when = "repair_it")]
        project_dir: String,
        #[serde(default, rename = "repair")]
        repair_it: bool,
        #[path(file, read)]
        r#type: Option<Vec<std::path::PathBuf>>,
    }

    #[data]
    struct Found {
        faults: u32,
    }

    impl Tool for Check {
        const NAME: &'static str = "check";
        const TITLE: Option<&'static str> = Some("Check");
        const HINTS: Hints = Hints::new().destructive(false);
        type Output = Json<Found>;

        fn call(self, _request: &Request) -> Result<Json<Found>, Failure> {
            let _ = (self.project_dir, self.repair_it, self.r#type);
            Ok(Json(Found { faults: 0 }))
        }
    }

    /// Does nothing.
    #[arguments]
    struct Nothing {}

    impl Tool for Nothing {
        const NAME: &'static str = "nothing";
        type Output = &'static str;

        fn call(self, _request: &Request) -> Result<&'static str, Failure> {
            Ok("done")
        }
    }

    struct Example;

    impl Plugin for Example {
        const TOOLS: &'static [Entry] = &[Entry::of::<Check>(), Entry::of::<Nothing>()];
        const PROMPTS: &'static [PromptEntry] = &[];
        type Resources = ();
        type Views = ();
        type Jobs = ();

        fn about() -> About {
            About {
                name: "example",
                version: "1.2.3",
                title: None,
                description: unless_empty(""),
                website: None,
                instructions: None,
                wants: vec![Want::http("example.org", "GET", "to look it up").optional()],
            }
        }
    }

    const _: () = check_distinct(Example::TOOLS);

    #[test]
    fn a_tool_is_described_by_its_type() {
        let tool = &describe::<Example>().tools[0];
        assert_eq!(tool.name, "check");
        assert_eq!(tool.title.as_deref(), Some("Check"));
        assert_eq!(tool.description.as_deref(), Some("Checks a project.\n\nAnd repairs it."));
        assert_eq!(tool.hints.destructive, Some(false));
        assert_eq!(tool.hints.read_only, None);
        let input: Value = serde_json::from_str(&tool.input_schema).expect("it is JSON");
        assert_eq!(input["type"], "object");
        assert_eq!(input["additionalProperties"], false);
        assert_eq!(input["required"], json!(["projectDir"]));
        for noise in ["title", "description", "$schema", "$defs"] {
            assert_eq!(input.get(noise), None);
        }
        let output = tool.output_schema.as_deref().expect("there is one");
        let output: Value = serde_json::from_str(output).expect("it is JSON");
        assert_eq!(output["properties"]["faults"]["type"], "integer");
    }

    #[test]
    fn pointers_to_paths_use_the_names_in_the_schema() {
        let paths = &describe::<Example>().tools[0].paths;
        let told: Vec<_> = paths
            .iter()
            .map(|path| (path.pointer.as_str(), path.kind, path.access, path.when.as_deref()))
            .collect();
        let expected = [
            ("/projectDir", wit::PathKind::Directory, PathAccess::Read, None),
            ("/projectDir", wit::PathKind::Directory, PathAccess::Write, Some("/repair")),
            ("/type/-", wit::PathKind::File, PathAccess::Read, None),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn no_arguments_are_an_empty_object() {
        let tool = &describe::<Example>().tools[1];
        let input: Value = serde_json::from_str(&tool.input_schema).expect("it is JSON");
        assert_eq!(input, json!({ "type": "object", "additionalProperties": false }));
        assert_eq!(tool.output_schema, None);
    }

    #[test]
    fn the_access_of_path_arguments_is_wanted() {
        let wants = describe::<Example>().wants;
        assert_eq!(wants.len(), 2);
        assert_eq!(wants[0].capability, "files");
        assert_eq!(wants[0].target, "arguments");
        assert_eq!(wants[0].access, "write");
        assert_eq!(wants[1].target, "example.org");
        assert!(wants[1].optional);
        assert_eq!(files_wanted(&[Entry::of::<Nothing>()]), None);
        let only_read = Entry { paths: &Check::PATHS[2..], ..Entry::of::<Check>() };
        assert_eq!(files_wanted(&[only_read]).expect("it reads").access, "read");
    }

    #[test]
    #[should_panic(expected = "two tools have the same NAME")]
    fn two_tools_with_one_name_are_refused() {
        check_distinct(&[Entry::of::<Nothing>(), Entry::of::<Nothing>()]);
    }

    #[test]
    fn a_name_that_clients_cannot_use_is_refused() {
        check_name("a_B-3.c");
        for name in ["", "a b", "ä", &"x".repeat(65)] {
            std::panic::catch_unwind(|| check_name(name)).expect_err(name);
        }
    }
}
