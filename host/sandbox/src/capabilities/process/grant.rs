//! Which commands can be granted, and whether a grant holds an ask.

use std::fmt;
use std::path::PathBuf;

use portcullis_files::Access;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::capabilities::{Capability, Grants, Named, listed};
use crate::gate::Ask;

/// Which commands a plugin may use.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProcessGrant {
    /// The names of the commands, each defined as `[commands.NAME]`.
    pub commands: Named<String>,
}

impl fmt::Display for ProcessGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "run {} in the directories a call names", self.commands)
    }
}

/// Adds a want to what is wanted so far.
pub(super) fn want(sum: &mut Option<ProcessGrant>, target: &str) -> Result<(), String> {
    let commands = Named::add(sum.take().map(|sum| sum.commands), target.to_owned());
    *sum = Some(ProcessGrant { commands });
    Ok(())
}

/// One use of a command.
#[derive(Debug)]
pub struct ProcessAsk {
    /// The command's name.
    pub command: String,
    /// Its arguments, beyond those of the operator.
    pub arguments: Vec<String>,
    /// Where, as the plugin spells it. `None`: in an empty directory of its own.
    pub directory: Option<PathBuf>,
    /// What it may do there.
    pub access: Access,
    /// What no grant can allow, where there is such a thing.
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
            Some(path) => format!("run {command} in {} to {}{fault}", path.display(), self.access),
            None => format!("run {command} in an empty directory{fault}"),
        }
    }

    fn remedy(&self, granted: Option<&ProcessGrant>) -> String {
        let there = granted.into_iter().flat_map(|granted| granted.commands.iter());
        format!("commands = {}", listed(there, &portcullis_sanitize::line(&self.command, 80)))
    }
}
