//! The `[profiles.NAME]` sections of `portcullis.toml`: which tools clients see, and how.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::Deserialize;

/// Which tools a client sees, and how. Without `families` and `tools-on`, the projects in the session's roots decide.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ProfileConfig {
    /// Families of bundled plugins, plugins and upstream servers whose tools are listed, by name. Tools of others cannot be
    /// called. Default: the projects in the session's roots decide.
    pub families: Option<Vec<String>>,
    /// Tools that are listed as well, by their names or by patterns with `*`. Default: none.
    pub tools_on: Option<Vec<String>>,
    /// Tools that are not listed and cannot be called, by their names or by patterns with `*`.
    #[serde(default)]
    pub tools_off: Vec<String>,
    /// How the tools are offered.
    #[schemars(extend("default" = "auto"))]
    pub offer: Option<ToolOffer>,
    /// Tools that are listed also where tools are found by search, by their names or by patterns with `*`.
    #[serde(default)]
    pub pinned: Vec<String>,
    /// Clients that get this profile, by the names by which they call themselves, such as `claude-code`.
    #[serde(default)]
    pub clients: Vec<String>,
    /// Authenticated callers that get this profile and no other: `token`, or the issuer, a space and the subject. With callers,
    /// nobody else can use the profile.
    #[serde(default)]
    pub principals: Vec<String>,
    /// Whether the tools of plugins are listed with the schemas of their answers.
    #[schemars(extend("default" = false))]
    pub output_schemas: Option<bool>,
    /// The size of an answer beyond which the client gets it in pages, in tokens of four bytes. Default: no bound.
    pub result_tokens: Option<NonZeroU32>,
    /// As `result-tokens`, by the names of tools or by patterns with `*`.
    #[serde(default)]
    pub result_tokens_of: BTreeMap<String, NonZeroU32>,
}

/// How tools are offered to clients.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ToolOffer {
    /// As a list; by search where the list is larger than 64 KiB and the client has no search of its own.
    #[default]
    Auto,
    /// As a list of all tools.
    List,
    /// By two tools: one searches, the other one calls what was found.
    Search,
    /// By three tools: one searches, one gives declarations, one runs a program that calls the tools.
    Code,
}
