//! The `[profiles.NAME]` sections of `portcullis.toml`: which tools clients see, and how.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::Deserialize;

/// Which tools a client sees, and how. Without `families` and `tools-on`, the projects in the session's roots decide
/// which tools are listed.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ProfileConfig {
    /// Sources whose tools are listed, by name: upstream servers, plugins, or whole families of bundled plugins. Tools
    /// of other sources cannot be called, except those of `tools-on`. Default: none if `tools-on` is set; otherwise,
    /// the projects in the session's roots decide.
    pub families: Option<Vec<String>>,
    /// Tools that are listed in addition to those of `families`, by their names or by patterns with `*`. Default: none.
    pub tools_on: Option<Vec<String>>,
    /// Tools that are not listed and cannot be called, by their names or by patterns with `*`.
    #[serde(default)]
    pub tools_off: Vec<String>,
    /// How the tools are offered.
    #[schemars(extend("default" = "auto"))]
    pub offer: Option<ToolOffer>,
    /// Tools that are listed even if the other tools are offered by search or to programs only, by their names or by
    /// patterns with `*`.
    #[serde(default)]
    pub pinned: Vec<String>,
    /// Clients that get this profile, by the `clientInfo.name` that they send, such as `claude-code`. Has no effect if
    /// `principals` is set.
    #[serde(default)]
    pub clients: Vec<String>,
    /// Authenticated callers that get this profile and no other: `token`, or the issuer, a space and the subject. If
    /// this list names any caller, nobody else can use the profile.
    #[serde(default)]
    pub principals: Vec<String>,
    /// Whether the tools of plugins are listed with their output schemas.
    #[schemars(extend("default" = false))]
    pub output_schemas: Option<bool>,
    /// Whether the client reads structured content, its text, or both.
    #[schemars(extend("default" = "with-text"))]
    pub structured_content: Option<StructuredContent>,
    /// The largest answer that the client gets in one piece, in tokens of four bytes, with the structured content unless
    /// a text repeats it. The client gets a larger answer in pages. Default: no bound.
    pub result_tokens: Option<NonZeroU32>,
    /// The values of `result-tokens` for single tools. Key: the name of a tool, or a pattern with `*`.
    #[serde(default)]
    pub result_tokens_of: BTreeMap<String, NonZeroU32>,
}

/// How a client gets the structured content of results.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StructuredContent {
    /// As structured content and as text, as MCP recommends for clients of which neither is known.
    #[default]
    WithText,
    /// As structured content alone: a text with the same data is left out.
    Alone,
    /// As text alone. The tools are then listed without output schemas. Views need structured content.
    AsText,
}

/// How tools are offered to clients.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ToolOffer {
    /// As a list, or by search if the list is larger than 64 KiB and the client has no search of its own.
    #[default]
    Auto,
    /// As a list of all tools.
    List,
    /// By two tools: one searches for tools, and the other one calls a tool that was found.
    Search,
    /// By three tools: one searches for tools, one returns their declarations, and one runs a program that calls the
    /// tools.
    Code,
}
