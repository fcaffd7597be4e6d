//! The grant of commands, and the check whether it covers the use of a command.

use std::fmt;
use std::path::PathBuf;

use portcullis_files::Access;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::capabilities::short_form::{self, Form, InvalidValue, ShortForms, Table};
use crate::capabilities::{Capability, Grants, InvalidWant, Named, listed};
use crate::gate::Ask;

/// The commands that a plugin may use.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProcessGrant {
    /// The names of the commands, each defined as `[commands.NAME]`.
    pub commands: Named<String>,
}

impl fmt::Display for ProcessGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "run {} in the directories a call names, or in an empty one", self.commands)
    }
}

impl ShortForms for ProcessGrant {
    const FORMS: &'static [Form] =
        &[("git,npm", "run these commands, each defined as [commands.NAME]")];

    fn parse(text: &str) -> Result<Vec<String>, InvalidValue> {
        short_form::separated(text)
    }

    fn values(&self) -> Vec<String> {
        self.commands.iter().cloned().collect()
    }

    fn words(value: &str) -> String {
        format!("run the command {value}")
    }

    fn add(table: &mut Table, values: &[String]) {
        short_form::add_texts(table, "commands", values);
    }

    fn remove(table: &mut Table, values: &[String]) {
        short_form::remove_texts(table, "commands", values);
    }

    fn may_be_used_by(value: &str, subject: &str) -> bool {
        subject.strip_prefix("run ").is_none_or(|rest| {
            rest.strip_prefix(value).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        })
    }
}

/// Adds a want of the manifest to the plugin's wants.
pub(super) fn want(wants: &mut Option<ProcessGrant>, target: &str) -> Result<(), InvalidWant> {
    let commands = Named::add(wants.take().map(|wants| wants.commands), target.to_owned());
    *wants = Some(ProcessGrant { commands });
    Ok(())
}

/// An ask to use a command.
#[derive(Debug)]
pub struct ProcessAsk {
    /// The command's name.
    pub command: String,
    /// The arguments after those of the operator.
    pub arguments: Vec<String>,
    /// The directory that the plugin named. `None`: an empty temporary directory.
    pub directory: Option<PathBuf>,
    /// The access of the command to the directory.
    pub access: Access,
    /// Why no grant can allow this ask. `None`: a grant can allow it.
    pub fault: Option<&'static str>,
}

impl Ask for ProcessAsk {
    type Grant = ProcessGrant;
    const CAPABILITY: Capability = Capability::Process;

    fn grant(grants: &Grants) -> Option<&ProcessGrant> {
        grants.process.as_ref()
    }

    fn is_within(&self, grant: &ProcessGrant) -> bool {
        self.fault.is_none() && grant.commands.contains(&self.command)
    }

    fn is_grantable(&self) -> bool {
        self.fault.is_none()
    }

    fn subject(&self) -> String {
        let mut command = portcullis_sanitize::line(&self.command, 80);
        if !self.arguments.is_empty() {
            let arguments = portcullis_sanitize::line(&self.arguments.join(" "), 500);
            command += &format!(" {}", portcullis_audit::without_secrets(&arguments));
        }
        let fault = self.fault.map(|fault| format!(" {fault}")).unwrap_or_default();
        match &self.directory {
            Some(path) => {
                format!("run {command} in {} (access: {}){fault}", path.display(), self.access)
            }
            None => format!("run {command} in an empty directory{fault}"),
        }
    }

    fn remedy(&self, granted: Option<&ProcessGrant>) -> String {
        let present = granted.into_iter().flat_map(|granted| granted.commands.iter());
        format!("commands = {}", listed(present, &portcullis_sanitize::line(&self.command, 80)))
    }
}
