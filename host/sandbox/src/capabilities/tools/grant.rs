//! The grant of calls of tools, and the check whether it covers an ask.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::capabilities::short_form::{self, Form, InvalidValue, ShortForms, Table};
use crate::capabilities::{Capability, Grants, InvalidWant, Named, listed};
use crate::gate::Ask;
use crate::pattern;

/// Maximum length of the name of a tool in a record, in characters.
const MAX_NAME: usize = 128;

/// `*` stands for any characters.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Pattern(String);

impl Pattern {
    /// Whether a name matches.
    pub fn matches(&self, name: &str) -> bool {
        pattern::matches(&self.0, name)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The tools that a plugin may call, by the names that clients use.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ToolsGrant {
    /// The names of the tools, as clients know them.
    call: Named<Pattern>,
    /// Whether the text of each program that calls tools is kept beside the audit. The digest of each program is always
    /// recorded.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    keep_programs: bool,
}

impl ToolsGrant {
    /// The names and patterns.
    pub(super) fn patterns(&self) -> impl Iterator<Item = &Pattern> {
        self.call.iter()
    }

    /// Whether a tool of this name may be called.
    pub fn has(&self, name: &str) -> bool {
        self.patterns().any(|pattern| pattern.matches(name))
    }

    /// Whether the text of each program that makes calls is kept beside the audit.
    pub fn keeps_programs(&self) -> bool {
        self.keep_programs
    }
}

impl fmt::Display for ToolsGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "call the tools {}", self.call)?;
        f.write_str(if self.keep_programs { "; the programs that call them are kept" } else { "" })
    }
}

impl ShortForms for ToolsGrant {
    const FORMS: &'static [Form] =
        &[("github_*,read_file", "call the tools of these names; * stands for any characters")];

    fn parse(text: &str) -> Result<Vec<String>, InvalidValue> {
        short_form::separated(text)
    }

    fn values(&self) -> Vec<String> {
        self.patterns().map(ToString::to_string).collect()
    }

    fn words(value: &str) -> String {
        match value {
            "*" => "call every tool".into(),
            name if name.contains('*') => format!("call the tools {name}"),
            name => format!("call the tool {name}"),
        }
    }

    fn add(table: &mut Table, values: &[String]) {
        short_form::add_texts(table, "call", values);
    }

    fn remove(table: &mut Table, values: &[String]) {
        short_form::remove_texts(table, "call", values);
        // Without a tool to call, nothing is left of the grant.
        if !table.contains_key("call") {
            table.clear();
        }
    }

    fn may_be_used_by(value: &str, subject: &str) -> bool {
        let name = subject.strip_prefix(CALLS).and_then(|rest| rest.split(' ').next());
        name.is_none_or(|name| Pattern(value.to_owned()).matches(name))
    }

    /// A pattern of the wants that matches the text of the value also matches every name that the value stands for: a
    /// `*` in the value can only be matched by a `*` in the want.
    fn is_wanted(value: &str, wants: &Self) -> bool {
        wants.has(value)
    }
}

/// Adds a want of the manifest to the plugin's wants.
pub(super) fn want(wants: &mut Option<ToolsGrant>, target: &str) -> Result<(), InvalidWant> {
    if target.is_empty() {
        return Err(InvalidWant::Unexpected(
            "the target must be the name of a tool, in which `*` stands for any characters",
        ));
    }
    let call = Named::add(wants.take().map(|wants| wants.call), Pattern(target.to_owned()));
    *wants = Some(ToolsGrant { call, keep_programs: false });
    Ok(())
}

/// The beginning of the subject of a call.
const CALLS: &str = "call the tool ";

/// A use of the capability `tools`.
#[derive(Debug)]
pub enum ToolUse {
    /// Begins a run of a program with this SHA-256 digest. `None`: the plugin itself decides about the calls.
    Begin(Option<String>),
    /// Calls a tool.
    Call {
        /// The number of the call in its run, from 0.
        call: u32,
        /// The tool's name, as clients know it.
        tool: String,
    },
}

/// An ask to begin a run or to call a tool.
#[derive(Debug)]
pub struct ToolAsk(pub ToolUse);

impl Ask for ToolAsk {
    type Grant = ToolsGrant;
    const CAPABILITY: Capability = Capability::Tools;

    fn grant(grants: &Grants) -> Option<&ToolsGrant> {
        grants.tools.as_ref()
    }

    fn is_within(&self, grant: &ToolsGrant) -> bool {
        match &self.0 {
            ToolUse::Begin(_) => true,
            ToolUse::Call { tool, .. } => grant.has(tool),
        }
    }

    fn subject(&self) -> String {
        match &self.0 {
            ToolUse::Begin(None) => "begin to call tools".into(),
            ToolUse::Begin(Some(digest)) => format!("run the program sha256:{digest}"),
            ToolUse::Call { call, tool } => {
                format!("{CALLS}{} as call {call}", portcullis_sanitize::line(tool, MAX_NAME))
            }
        }
    }

    fn remedy(&self, granted: Option<&ToolsGrant>) -> String {
        let there = granted.into_iter().flat_map(ToolsGrant::patterns);
        let more = match &self.0 {
            ToolUse::Begin(_) => "*".into(),
            ToolUse::Call { tool, .. } => portcullis_sanitize::line(tool, MAX_NAME),
        };
        let keeps = granted.is_some_and(ToolsGrant::keeps_programs);
        let keeps = if keeps { "\nkeep-programs = true" } else { "" };
        format!("call = {}{keeps}", listed(there, &more))
    }
}
