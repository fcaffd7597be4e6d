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
    /// The folders that tools may access. A client may narrow them.
    pub roots: Vec<String>,
    /// The plugins that the host loaded or refused. In a report on components that are not installed: these.
    pub plugins: Vec<PluginFacts>,
    /// The upstream servers: other MCP servers, outside the sandbox.
    pub upstreams: Vec<UpstreamFacts>,
    /// The state of the audit.
    pub audit: AuditFacts,
    /// Warnings about files of the operator.
    pub warnings: Vec<String>,
}

/// Whether a plugin is used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Its tools can be called.
    #[default]
    Loaded,
    /// It is refused.
    Refused,
    /// It is not installed: nothing is granted to it.
    Uninstalled,
}

/// One plugin.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginFacts {
    /// The operator's name for it.
    pub name: String,
    /// The version in its manifest.
    pub version: String,
    /// `bundled`, or the file.
    pub origin: String,
    /// SHA-256 of the component. `null`: the file cannot be read.
    pub digest: Option<String>,
    /// Whether it is used.
    pub state: State,
    /// Why it is refused.
    pub refusal: Option<String>,
    /// Whether it is a component that was not made for this host: it has no manifest, and its imports say what it
    /// wants.
    pub is_foreign: bool,
    /// The last approval. `null`: there is none, or the plugin is part of the binary.
    pub approval: Option<Approval>,
    /// Its capabilities: those that it imports, wants, was granted or used.
    pub capabilities: Vec<CapabilityFacts>,
    /// What it cannot do, whatever is granted.
    pub cannot: Vec<CapabilityLimit>,
    /// Its tools.
    pub tools: Vec<ToolFacts>,
    /// The names of the settings that the operator wrote.
    pub settings: Vec<String>,
    /// The limits of one call.
    pub limits: Vec<String>,
    /// What the audit records of it.
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
    /// When: RFC 3339, UTC.
    pub time: String,
    /// The user of the operating system.
    pub user: String,
    /// Why.
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
    /// The objects of the grant: hosts with methods, commands, kinds of access.
    pub targets: Vec<String>,
    /// Whether the grant lets the plugin change something: files, the state of a server, anything a command does.
    pub can_change: bool,
    /// Values of the grant that were never used, as far as the audit goes back. Also empty if the report does not know
    /// which values were used.
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

/// What the audit records.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UseFacts {
    /// Calls that ended. 0 for a capability, which is not called.
    pub calls: u64,
    /// Asks that were allowed.
    pub allowed: u64,
    /// Asks that were denied.
    pub denied: u64,
    /// When it was last used: RFC 3339, UTC.
    pub last: Option<String>,
    /// Some of the allowed asks: the latest, each once.
    pub subjects: Vec<String>,
    /// Some of the denied asks: the latest, each once.
    pub denials: Vec<String>,
}

/// Something that a plugin cannot do.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CapabilityLimit {
    /// The capability, or a description.
    pub what: String,
    /// Why.
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
    /// It changes nothing.
    pub read_only: Option<bool>,
    /// It may destroy something.
    pub destructive: Option<bool>,
    /// A second call with the same arguments changes nothing more.
    pub idempotent: Option<bool>,
    /// It reaches beyond this machine.
    pub open_world: Option<bool>,
}

/// One upstream server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpstreamFacts {
    /// The operator's name for it.
    pub name: String,
    /// The program or the address.
    pub reach: String,
    /// Whether its program can reach only what `confine` in its configuration names.
    pub confined: bool,
    /// `connected` or `unreachable`.
    pub state: String,
    /// The tools that clients see.
    pub tools: Vec<String>,
    /// The tools that are held back, as they are new or have changed.
    pub held: Vec<String>,
    /// The last approval of its tools.
    pub approval: Option<Approval>,
    /// What the audit records of it.
    pub used: UseFacts,
}

/// The state of the audit.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditFacts {
    /// The folder.
    pub folder: String,
    /// The time of the first record that is still there: RFC 3339, UTC.
    pub since: Option<String>,
    /// The number of segments.
    pub segments: u64,
    /// The number of lines.
    pub lines: u64,
    /// The digest of the last line of the index. Whoever keeps a copy of it elsewhere can
    /// check later that the folder was not replaced.
    pub digest: Option<String>,
    /// Signs of tampering.
    pub faults: Vec<String>,
    /// Unusual findings that are no tampering: running or killed processes leave them behind.
    pub remarks: Vec<String>,
    /// The records that were deleted for space or age.
    pub deleted: DeletedFacts,
}

/// Deleted records.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeletedFacts {
    /// Their number.
    pub records: u64,
    /// The time of the earliest one.
    pub from: Option<String>,
    /// The time of the latest one.
    pub until: Option<String>,
}
