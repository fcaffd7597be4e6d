//! Derives findings from the facts: each rule finds something that a reviewer should look at. A finding names the
//! command or edit that comes next, if there is one. A finding has a level and no numeric score.

use schemars::JsonSchema;
use serde::Serialize;

use crate::facts::{CapabilityFacts, Facts, PluginFacts, State};

/// How grave a finding is. The words are those of SARIF.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Something is broken or was tampered with.
    Error,
    /// Something can do harm.
    Warning,
    /// Something to know.
    Note,
}

/// A finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// The id of the rule that found it.
    pub rule: String,
    /// How grave it is.
    pub level: Level,
    /// The plugin or upstream server that it is about. Empty: it is about the audit or the host.
    pub source: String,
    /// What was found.
    pub message: String,
    /// The next step: a command that shows the details, or a command or an edit that removes the cause. Empty: no step
    /// is known.
    pub mend: String,
}

/// A rule, which finds one kind of thing that a reviewer should look at.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// The id of the rule, for `--fail-on` and SARIF.
    pub id: &'static str,
    /// How grave its findings are.
    pub level: Level,
    /// A sentence about what the rule finds.
    pub about: &'static str,
    find: fn(&Facts, &mut Found<'_>),
}

/// Collects the findings of one rule.
struct Found<'a> {
    rule: &'a Rule,
    all: &'a mut Vec<Finding>,
}

impl Found<'_> {
    fn add(&mut self, source: &str, message: String, mend: String) {
        let Rule { id, level, .. } = *self.rule;
        let (rule, source) = (id.to_owned(), source.to_owned());
        self.all.push(Finding { rule, level, source, message, mend });
    }
}

/// All rules, the gravest first.
pub const RULES: &[Rule] = &[
    Rule {
        id: "audit-faults",
        level: Level::Error,
        about: "The audit shows signs of tampering.",
        find: audit_faults,
    },
    Rule {
        id: "changed",
        level: Level::Error,
        about: "A component, or a tool of an upstream server, is not the approved one.",
        find: changed,
    },
    Rule { id: "refused", level: Level::Error, about: "A plugin is refused.", find: refused },
    Rule {
        id: "write+network",
        level: Level::Warning,
        about: "A plugin can write files and reach hosts: data from these hosts can end up in your files.",
        find: write_and_network,
    },
    Rule {
        id: "read+network",
        level: Level::Warning,
        about: "A plugin can read files and reach hosts: it can send your files to these hosts.",
        find: read_and_network,
    },
    Rule {
        id: "process",
        level: Level::Warning,
        about: "A plugin can run commands of this machine.",
        find: process,
    },
    Rule {
        id: "unconfined",
        level: Level::Warning,
        about: "An upstream server runs outside the sandbox, and its configuration has no `confine`.",
        find: unconfined,
    },
    Rule {
        id: "everything",
        level: Level::Warning,
        about: "A root is the whole machine.",
        find: everything,
    },
    Rule {
        id: "denied",
        level: Level::Warning,
        about: "A plugin asked for something and was denied.",
        find: denied,
    },
    Rule {
        id: "unused-grant",
        level: Level::Warning,
        about: "A grant was never used, as far as the audit goes back.",
        find: unused_grant,
    },
    Rule {
        id: "unwanted-grant",
        level: Level::Warning,
        about: "A grant has no effect: the plugin does not want the capability.",
        find: unwanted_grant,
    },
    Rule {
        id: "host-files",
        level: Level::Warning,
        about: "Other users of the machine can change a file that decides what plugins may do, or can read a secret.",
        find: host_files,
    },
    Rule {
        id: "contradiction",
        level: Level::Note,
        about: "A remark of the host on a plugin, such as on a manifest that contradicts the imports.",
        find: contradiction,
    },
    Rule {
        id: "no-reason",
        level: Level::Note,
        about: "A plugin wants a capability and gives no reason.",
        find: no_reason,
    },
    Rule {
        id: "first-use",
        level: Level::Note,
        about: "A plugin, or the set of tools of a server, was approved at its first use, without a review.",
        find: first_use,
    },
];

/// A name that is not the id of a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no rule {name:?}; the rules are: {}", ids())]
pub struct UnknownRule {
    /// The name.
    pub name: String,
}

fn ids() -> String {
    RULES.iter().map(|rule| rule.id).collect::<Vec<_>>().join(", ")
}

/// The findings about some facts, the gravest first.
pub fn findings(facts: &Facts) -> Vec<Finding> {
    let mut all = Vec::new();
    for rule in RULES {
        (rule.find)(facts, &mut Found { rule, all: &mut all });
    }
    all.sort_by_key(|finding| finding.level);
    all
}

/// The findings of the named rules. `rules`: the ids of the rules, separated by commas.
///
/// # Errors
///
/// [`UnknownRule`]: one of the names is not the id of a rule.
pub fn selected<'a>(findings: &'a [Finding], rules: &str) -> Result<Vec<&'a Finding>, UnknownRule> {
    let names: Vec<_> = rules.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    let is_unknown = |name: &&&str| !RULES.iter().any(|rule| rule.id == **name);
    if let Some(name) = names.iter().find(is_unknown) {
        return Err(UnknownRule { name: (*name).to_owned() });
    }
    let is_selected = |finding: &&Finding| names.contains(&finding.rule.as_str());
    Ok(findings.iter().filter(is_selected).collect())
}

/// The plugins that are loaded.
fn loaded_plugins(facts: &Facts) -> impl Iterator<Item = &PluginFacts> {
    facts.plugins.iter().filter(|plugin| plugin.state == State::Loaded)
}

fn effective<'a>(plugin: &'a PluginFacts, name: &str) -> Option<&'a CapabilityFacts> {
    let mut all = plugin.capabilities.iter();
    all.find(|one| one.name == name && one.granted.is_some() && plugin.can_use(one))
}

impl PluginFacts {
    /// Whether a grant of this capability has an effect: the plugin wants the capability. A foreign component has
    /// no wants; its imports count instead.
    fn can_use(&self, capability: &CapabilityFacts) -> bool {
        !capability.wants.is_empty() || self.is_foreign && !capability.imports.is_empty()
    }
}

fn audit_faults(facts: &Facts, found: &mut Found<'_>) {
    for fault in &facts.audit.faults {
        found.add("", fault.clone(), "portcullis trail verify".into());
    }
}

fn changed(facts: &Facts, found: &mut Found<'_>) {
    for plugin in &facts.plugins {
        let differs = |approval: &&crate::Approval| {
            plugin.digest.as_ref().is_some_and(|digest| *digest != approval.digest)
        };
        if plugin.approval.as_ref().filter(differs).is_some() {
            let name = &plugin.name;
            let message = format!("the file of `{name}` has changed since it was approved");
            found.add(name, message, format!("portcullis plugin diff {name}"));
        }
    }
    for upstream in facts.upstreams.iter().filter(|upstream| !upstream.held.is_empty()) {
        let name = &upstream.name;
        let held = upstream.held.join(", ");
        let message =
            format!("tools of `{name}` are new or have changed since the last approval: {held}");
        found.add(name, message, format!("portcullis plugin diff {name}"));
    }
}

fn refused(facts: &Facts, found: &mut Found<'_>) {
    for plugin in facts.plugins.iter().filter(|plugin| plugin.state == State::Refused) {
        let reason = plugin.refusal.as_deref().unwrap_or("the reason is not known");
        let message = format!("`{}` is refused: {reason}", plugin.name);
        found.add(&plugin.name, message, String::new());
    }
}

fn write_and_network(facts: &Facts, found: &mut Found<'_>) {
    for plugin in loaded_plugins(facts) {
        let files = effective(plugin, "files").filter(|files| files.can_change);
        if let (Some(files), Some(http)) = (files, effective(plugin, "http")) {
            let (files, hosts) = (files.targets.join(", "), http.targets.join(", "));
            let message = format!(
                "`{}` can write files ({files}) and reach hosts ({hosts}): data from these hosts can end up in \
                 your files",
                plugin.name
            );
            found.add(&plugin.name, message, revoke(plugin, "http"));
        }
    }
}

fn read_and_network(facts: &Facts, found: &mut Found<'_>) {
    for plugin in loaded_plugins(facts) {
        if let (Some(files), Some(http)) = (effective(plugin, "files"), effective(plugin, "http")) {
            let (files, hosts) = (files.targets.join(", "), http.targets.join(", "));
            let message = format!(
                "`{}` can read files ({files}) and reach hosts ({hosts}): it can send your files to these hosts",
                plugin.name
            );
            found.add(&plugin.name, message, revoke(plugin, "http"));
        }
    }
}

fn process(facts: &Facts, found: &mut Found<'_>) {
    for plugin in loaded_plugins(facts) {
        if let Some(process) = effective(plugin, "process") {
            let commands = process.targets.join(", ");
            let message = format!(
                "`{}` can run commands ({commands}): each can do what its own confinement allows",
                plugin.name
            );
            found.add(&plugin.name, message, revoke(plugin, "process"));
        }
    }
}

fn unconfined(facts: &Facts, found: &mut Found<'_>) {
    for upstream in facts.upstreams.iter().filter(|upstream| !upstream.confined) {
        let message = format!(
            "`{}` runs outside the sandbox and without `confine` ({}): it can do all that its process or machine \
             can do",
            upstream.name, upstream.reach
        );
        let mend = format!(
            "add `confine` to [upstreams.{0}] in portcullis.toml (if it is a program), or remove [upstreams.{0}]",
            upstream.name
        );
        found.add(&upstream.name, message, mend);
    }
}

fn everything(facts: &Facts, found: &mut Found<'_>) {
    for root in facts.roots.iter().filter(|root| *root == "/" || root.ends_with(":\\")) {
        let message = format!("the root {root} is the whole machine");
        found.add("", message, "name a folder in `roots` or `--root` instead".into());
    }
}

fn denied(facts: &Facts, found: &mut Found<'_>) {
    for plugin in facts.plugins.iter().filter(|plugin| plugin.used.denied > 0) {
        let times = plugin.used.denied;
        let latest = plugin.used.denials.first().map_or("", String::as_str);
        let message = format!("denied asks of `{}`: {times}; the latest: {latest}", plugin.name);
        let mend = format!("portcullis trail --denied --plugin {}", plugin.name);
        found.add(&plugin.name, message, mend);
    }
}

fn unused_grant(facts: &Facts, found: &mut Found<'_>) {
    let since = facts.audit.since.as_deref().unwrap_or_default();
    each_grant(facts, found, |plugin, capability| {
        (!capability.unused.is_empty()).then(|| {
            format!(
                "`{}` never used this part of its grant of `{}`: {} (the audit begins at {since}; calls of the \
                 plugin: {})",
                plugin.name,
                capability.name,
                capability.unused.join(", "),
                plugin.used.calls
            )
        })
    });
}

fn unwanted_grant(facts: &Facts, found: &mut Found<'_>) {
    each_grant(facts, found, |plugin, capability| {
        (!capability.unwanted.is_empty()).then(|| {
            format!(
                "`{}` does not want this part of its grant of `{}`, so it has no effect: {}",
                plugin.name,
                capability.name,
                capability.unwanted.join(", ")
            )
        })
    });
}

/// Adds a finding for each capability for which `say` returns a message.
fn each_grant(
    facts: &Facts,
    found: &mut Found<'_>,
    say: impl Fn(&PluginFacts, &CapabilityFacts) -> Option<String>,
) {
    for plugin in loaded_plugins(facts) {
        let messages = plugin.capabilities.iter().filter_map(|one| say(plugin, one));
        for message in messages {
            let mend = format!("portcullis plugin revoke {} --unused", plugin.name);
            found.add(&plugin.name, message, mend);
        }
    }
}

fn host_files(facts: &Facts, found: &mut Found<'_>) {
    for warning in &facts.warnings {
        found.add("", warning.clone(), String::new());
    }
}

fn contradiction(facts: &Facts, found: &mut Found<'_>) {
    for plugin in &facts.plugins {
        for remark in &plugin.remarks {
            found.add(&plugin.name, remark.clone(), String::new());
        }
        let unwanted = plugin
            .capabilities
            .iter()
            .filter(|one| !plugin.is_foreign && !one.imports.is_empty() && one.wants.is_empty());
        for capability in unwanted {
            let message = format!(
                "`{}` imports functions of the capability `{}`, which its manifest does not want: these functions \
                 always fail",
                plugin.name, capability.name
            );
            found.add(&plugin.name, message, String::new());
        }
    }
}

fn no_reason(facts: &Facts, found: &mut Found<'_>) {
    for plugin in &facts.plugins {
        for capability in &plugin.capabilities {
            for want in capability.wants.iter().filter(|want| want.reason.trim().is_empty()) {
                let target = &want.target;
                let message = format!(
                    "`{}` wants `{}` ({target}) without a reason",
                    plugin.name, capability.name
                );
                found.add(&plugin.name, message, String::new());
            }
        }
    }
}

fn first_use(facts: &Facts, found: &mut Found<'_>) {
    let plugins = facts.plugins.iter().map(|one| (&one.name, &one.approval));
    let upstreams = facts.upstreams.iter().map(|one| (&one.name, &one.approval));
    for (name, approval) in plugins.chain(upstreams) {
        if let Some(approval) = approval.as_ref().filter(|one| one.reason == "first use") {
            let message = format!(
                "`{name}` was approved at its first use ({}), without a review",
                approval.time
            );
            found.add(name, message, format!("portcullis audit {name}"));
        }
    }
}

/// The command that takes a capability from a plugin.
fn revoke(plugin: &PluginFacts, capability: &str) -> String {
    format!("portcullis plugin revoke {} {capability}", plugin.name)
}
