//! The facts of a report: about plugins, upstream servers, the audit and the configuration.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// All facts of a report.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Facts {
    /// Version of the report's format.
    pub format: u32,
    /// Version of the host.
    pub host: String,
    /// When the report was made: RFC 3339, UTC.
    pub time: String,
    /// The configuration file. `null`: there is none, and the defaults apply.
    pub configuration: Option<String>,
    /// The operator's roots: folders that tools may access. A client may narrow them. Empty: the roots are the folders
    /// that the client names.
    pub roots: Vec<String>,
    /// The plugins that the host loaded or refused. In a report on components that are not installed: these components.
    pub plugins: Vec<PluginFacts>,
    /// The upstream servers: other MCP servers, outside the sandbox.
    pub upstreams: Vec<UpstreamFacts>,
    /// The state of the audit.
    pub audit: AuditFacts,
    /// Warnings about the operator's files: other users of the machine can read or change them.
    pub warnings: Vec<String>,
}

/// Whether a plugin is loaded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// The host loaded the plugin: its tools can be called.
    #[default]
    Loaded,
    /// The host refused the plugin, or a component that is not installed.
    Refused,
    /// The component is not installed: nothing is granted to it.
    Uninstalled,
}

/// One plugin.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginFacts {
    /// The operator's name for the plugin.
    pub name: String,
    /// The version in the plugin's manifest.
    pub version: String,
    /// `bundled`, or the path of the component's file.
    pub origin: String,
    /// SHA-256 of the component. `null`: the file cannot be read.
    pub digest: Option<String>,
    /// Whether the plugin is loaded.
    pub state: State,
    /// Why the plugin is refused, or why a component that is not installed cannot be a plugin. `null`: there is no such
    /// reason.
    pub refusal: Option<String>,
    /// Whether the component was made for other hosts: it has no manifest, and its imports say what it wants.
    pub is_foreign: bool,
    /// The last approval. `null`: there is none, or the plugin is part of the binary.
    pub approval: Option<Approval>,
    /// The capabilities that the plugin imports, wants, was granted or used.
    pub capabilities: Vec<CapabilityFacts>,
    /// What the plugin cannot do, whatever is granted.
    pub cannot: Vec<CapabilityLimit>,
    /// Its tools.
    pub tools: Vec<ToolFacts>,
    /// The names of the settings that the operator wrote. For a component that is not installed: the names of the
    /// settings that it wants.
    pub settings: Vec<String>,
    /// The limits of one call.
    pub limits: Vec<String>,
    /// What the audit records of the plugin.
    pub used: UseFacts,
    /// Remarks of the host, such as corrected hints.
    pub remarks: Vec<String>,
}

/// An approval.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    /// What was approved: the SHA-256 digest of the component, or of the tools.
    pub digest: String,
    /// When it was approved: RFC 3339, UTC.
    pub time: String,
    /// The user of the operating system who approved it.
    pub user: String,
    /// Why it was approved. `first use`: the host approved it at its first use, without a question.
    pub reason: String,
}

/// One capability of one plugin: imported, wanted, granted and used side by side.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CapabilityFacts {
    /// The capability's name.
    pub name: String,
    /// The imported interfaces that need it.
    pub imports: Vec<ImportFacts>,
    /// The wants of the manifest.
    pub wants: Vec<WantFacts>,
    /// The grant, as a text. `null`: it is not granted.
    pub granted: Option<String>,
    /// The targets of the grant, such as hosts with their methods, or commands.
    pub targets: Vec<String>,
    /// Whether the grant lets the plugin change something outside the host, such as files or the state of a server.
    pub can_change: bool,
    /// Values of the grant that the plugin never used. Also empty if the plugin was never called, or if records of its
    /// asks were deleted.
    pub unused: Vec<String>,
    /// Values of the grant that the plugin does not want: they have no effect.
    pub unwanted: Vec<String>,
    /// The use that the audit records.
    pub used: UseFacts,
}

/// One imported interface.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportFacts {
    /// Its full name, with the version.
    pub interface: String,
    /// The imported functions.
    pub functions: Vec<String>,
}

/// One want of a manifest.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WantFacts {
    /// The target and the access.
    pub target: String,
    /// The plugin's own reason.
    pub reason: String,
    /// Whether the plugin also works without it.
    pub optional: bool,
}

/// What the audit records of a plugin, a server or a capability. An ask is one request of a plugin to the host, such as
/// to open a file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UseFacts {
    /// The number of calls that ended. For a capability: 0.
    pub calls: u64,
    /// The number of asks that were allowed.
    pub allowed: u64,
    /// The number of asks that were denied, including effects that were refused after the ask was allowed.
    pub denied: u64,
    /// When a call last ended. For a capability: when the plugin last asked for it. RFC 3339, UTC.
    pub last: Option<String>,
    /// For a capability: the latest of the allowed asks, each once. For a plugin or a server: empty.
    pub subjects: Vec<String>,
    /// The latest of the denied asks, each once.
    pub denials: Vec<String>,
}

/// Something that a plugin cannot do.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CapabilityLimit {
    /// What the plugin cannot do, as words that fit after "cannot".
    pub what: String,
    /// Why the plugin cannot do this.
    pub why: String,
}

/// One tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolFacts {
    /// Its name.
    pub name: String,
    /// What it does, in the words of its author.
    pub description: String,
    /// Its hints, as clients see them.
    pub hints: Hints,
    /// JSON Schema of its arguments.
    pub input_schema: Value,
    /// JSON Schema of its structured content.
    pub output_schema: Option<Value>,
}

/// The hints of a tool. `null`: not given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hints {
    /// The tool changes nothing.
    pub read_only: Option<bool>,
    /// The tool may destroy something.
    pub destructive: Option<bool>,
    /// A second call with the same arguments changes nothing more.
    pub idempotent: Option<bool>,
    /// The tool reaches beyond this machine.
    pub open_world: Option<bool>,
}

/// One upstream server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpstreamFacts {
    /// The operator's name for the server.
    pub name: String,
    /// The program or the address of the server, and what a program may reach.
    pub reach: String,
    /// Whether the server is a program that can reach only what `confine` in its configuration names.
    pub confined: bool,
    /// `connected` or `unreachable`.
    pub state: String,
    /// The tools that clients see.
    pub tools: Vec<String>,
    /// The tools that are held back, because they are new or have changed since the approval.
    pub held: Vec<String>,
    /// The last approval of the server's tools.
    pub approval: Option<Approval>,
    /// What the audit records of the server.
    pub used: UseFacts,
}

/// The state of the audit.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditFacts {
    /// The folder of the audit.
    pub folder: String,
    /// The time of the earliest record that was not deleted: RFC 3339, UTC. `null`: there is no record.
    pub since: Option<String>,
    /// The number of segments.
    pub segments: u64,
    /// The number of lines in the segments.
    pub lines: u64,
    /// The digest of the last line of the index. A copy of the digest that is kept elsewhere can show later that the
    /// folder was replaced.
    pub digest: Option<String>,
    /// Signs of tampering.
    pub faults: Vec<String>,
    /// Unusual findings that are no signs of tampering: running and killed processes cause them.
    pub remarks: Vec<String>,
    /// The records that were deleted for space or age.
    pub deleted: DeletedFacts,
}

/// Deleted records.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeletedFacts {
    /// The number of deleted records.
    pub records: u64,
    /// The time of the earliest deleted record.
    pub from: Option<String>,
    /// The time of the latest deleted record.
    pub until: Option<String>,
}
