//! Corrects the hints that clients get about the effects of tools. A hint must not deny an effect that the plugin's
//! grants allow, unless the operator trusts the tool's own hints. A tool that declares changes never has the hint that
//! it only reads.

use super::PluginTool;
use crate::bindings::manifest::PathAccess;
use crate::capabilities::Grants;
use crate::capabilities::files::Scope;
use crate::gate::Policy;
use portcullis_files::Access;

/// The effects that a tool can have, by its declarations and its plugin's grants. Each value is the reason, for
/// display. `None`: the tool cannot have the effect.
#[derive(Default)]
struct ToolEffects {
    /// The tool declares that it changes something. Even with `trusted-hints`, such a tool cannot claim that it only
    /// reads.
    declared: Option<&'static str>,
    /// The plugin's grants allow changes other than those to paths in the arguments.
    granted: Option<&'static str>,
    /// The plugin's grants allow access to more than files of this machine.
    reaches: Option<&'static str>,
}

/// Corrects the hints of a plugin's tools. A hint that claims less than the tool can do is replaced, and `remarks`
/// says so. A hint that claims more stays. A missing hint is added: a tool that can change nothing only reads, and a
/// tool that can access no more than files of this machine has no open world. A cache does not count as a change.
///
/// `trusted` names the tools whose own hints the operator trusts. No hint is added to them.
pub(super) fn correct(
    plugin: &str,
    tools: &mut [PluginTool],
    policy: &Policy,
    trusted: &[String],
    remarks: &mut Vec<String>,
) {
    for name in trusted {
        if !tools.iter().any(|tool| tool.definition.name == *name) {
            remarks.push(format!(
                "`trusted-hints` of `{plugin}` names `{name}`, which is not one of its tools"
            ));
        }
    }
    for tool in tools {
        let is_trusted = trusted.contains(&tool.definition.name);
        let mut effects = effects_of(tool, policy);
        if is_trusted {
            (effects.granted, effects.reaches) = (None, None);
        }
        let wrong = apply(tool, &effects, is_trusted);
        let name = &tool.definition.name;
        for (says, because) in wrong {
            let advice = match effects.declared {
                Some(_) if says == READS => String::new(),
                _ => format!(
                    "; if you trust the plugin in this, add `trusted-hints = [\"{name}\"]` to \
                     [plugins.{plugin}]"
                ),
            };
            remarks.push(format!(
                "the tool `{name}` of `{plugin}` says that it {says}, but {because}: clients get the \
                 opposite hint{advice}"
            ));
        }
    }
}

const READS: &str = "only reads";

/// Corrects the hints of one tool. Returns the wrong claims, each with the reason why it is wrong.
fn apply(
    tool: &mut PluginTool,
    effects: &ToolEffects,
    is_trusted: bool,
) -> Vec<(&'static str, &'static str)> {
    let hints = &mut tool.definition.hints;
    let mut wrong = Vec::new();
    match effects.declared.or(effects.granted) {
        Some(because) => {
            if hints.read_only == Some(true) {
                wrong.push((READS, because));
                hints.read_only = Some(false);
            }
            if hints.destructive == Some(false) && !is_trusted {
                wrong.push(("destroys nothing", because));
                hints.destructive = Some(true);
            }
            if hints.idempotent == Some(true) && !is_trusted {
                wrong.push(("changes nothing more when it is called again", because));
                hints.idempotent = Some(false);
            }
        }
        None if hints.read_only.is_none() && hints.destructive != Some(true) && !is_trusted => {
            hints.read_only = Some(true);
        }
        None => {}
    }
    match effects.reaches {
        Some(because) if hints.open_world == Some(false) => {
            wrong.push(("reaches nothing outside of the host", because));
            hints.open_world = Some(true);
        }
        None if hints.open_world.is_none() && !is_trusted => hints.open_world = Some(false),
        Some(_) | None => {}
    }
    wrong
}

/// The effects that a tool can have, by its declarations and the policy of its plugin.
fn effects_of(tool: &PluginTool, policy: &Policy) -> ToolEffects {
    let Policy { grants, wants, .. } = policy;
    let writes = |path: &crate::bindings::manifest::PathArgument| path.access != PathAccess::Read;
    let declared = match &tool.definition {
        one if one.paths.iter().any(writes) => Some("it declares a path that it writes to"),
        one if !one.needs.is_empty() => Some("it needs actions"),
        _ => None,
    };
    ToolEffects { declared, granted: changes(grants, wants), reaches: reaches(grants, wants) }
}

/// The grant by which a plugin could change something other than the paths in the arguments, if there is one.
fn changes(grants: &Grants, wants: &Grants) -> Option<&'static str> {
    if let (Some(granted), Some(wanted)) = (&grants.files, &wants.files) {
        let all = [granted, wanted];
        if all.iter().all(|one| one.access == Access::Write && one.scope == Scope::Roots) {
            return Some("it may write in all roots");
        }
        if all.iter().all(|one| !one.writable.is_empty()) {
            return Some("it may write in directories outside the roots");
        }
    }
    if let (Some(granted), Some(wanted)) = (&grants.http, &wants.http)
        && granted.shares_unsafe_request(wanted)
    {
        return Some("it may make HTTP requests that change something");
    }
    if grants.process.is_some() && wants.process.is_some() {
        return Some("it may run commands");
    }
    if grants.store.is_some() && wants.store.is_some() {
        return Some("it may keep data in its store");
    }
    if grants.tools.is_some() && wants.tools.is_some() {
        return Some("it may call other tools");
    }
    None
}

/// The grant by which a plugin could access more than files of this machine, if there is one.
fn reaches(grants: &Grants, wants: &Grants) -> Option<&'static str> {
    if grants.http.is_some() && wants.http.is_some() {
        return Some("it may make HTTP requests");
    }
    if grants.process.is_some() && wants.process.is_some() {
        return Some("it may run commands");
    }
    if grants.tools.is_some() && wants.tools.is_some() {
        return Some("it may call other tools");
    }
    None
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;

    use super::*;
    use crate::bindings::manifest::{PathArgument, PathKind};
    use crate::bindings::{Tool as Definition, ToolHints};

    fn tool(read_only: Option<bool>, paths: &[PathAccess], needs: &[&str]) -> PluginTool {
        let path = |access: &PathAccess| PathArgument {
            pointer: "/path".into(),
            kind: PathKind::Directory,
            access: *access,
            when: None,
            nearest: Vec::new(),
        };
        let definition = Definition {
            name: "t".into(),
            title: None,
            description: None,
            input_schema: String::new(),
            output_schema: None,
            paths: paths.iter().map(path).collect(),
            needs: needs.iter().map(|&need| need.to_owned()).collect(),
            hints: ToolHints { read_only, destructive: None, idempotent: None, open_world: None },
            icons: Vec::new(),
            extra: None,
        };
        let (input, output) = (OnceLock::new(), OnceLock::new());
        PluginTool { definition, is_on: true, text_only: false, input, output }
    }

    /// The corrected hints `readOnlyHint` and `openWorldHint` of a tool, and the number of remarks.
    fn told(
        mut tool: PluginTool,
        grants: &str,
        trusted: &[&str],
    ) -> (Option<bool>, Option<bool>, usize) {
        let grants: Grants = toml::from_str(grants).unwrap();
        let policy = Policy { wants: grants.clone(), grants, ..Policy::default() };
        let mut remarks = Vec::new();
        let trusted: Vec<_> = trusted.iter().map(|&name| name.to_owned()).collect();
        correct("p", std::slice::from_mut(&mut tool), &policy, &trusted, &mut remarks);
        let hints = tool.definition.hints;
        (hints.read_only, hints.open_world, remarks.len())
    }

    #[test]
    fn a_tool_that_only_reads_gets_the_hint_that_it_does() {
        for (grants, outside) in [
            ("", Some(false)),
            ("[cache]\nbytes = 1\ndisk = true", Some(false)),
            ("[files]\naccess = \"read\"\nscope = \"roots\"", Some(false)),
            ("[files]\naccess = \"write\"", Some(false)),
            ("[http]\nhosts = [\"a.example\"]\nmethods = [\"GET\", \"HEAD\"]", None),
        ] {
            for said in [None, Some(true)] {
                let tool = tool(said, &[PathAccess::Read], &[]);
                assert_eq!(told(tool, grants, &[]), (Some(true), outside, 0), "{grants}");
            }
        }
    }

    #[test]
    fn a_tool_that_could_change_something_gets_no_read_only_hint() {
        for grants in [
            "[files]\naccess = \"write\"\nscope = \"roots\"",
            "[files]\naccess = \"read\"\nwritable = [\"/a\"]",
            "[http]\nhosts = [\"a.example\"]\nmethods = [\"POST\"]",
            "[process]\ncommands = [\"a\"]",
            "[store]\nbytes = 1",
        ] {
            let (read_only, _, remarks) = told(tool(Some(true), &[], &[]), grants, &[]);
            assert_eq!((read_only, remarks), (Some(false), 1), "{grants}");
            let (read_only, _, remarks) = told(tool(Some(true), &[], &[]), grants, &["t"]);
            assert_eq!((read_only, remarks), (Some(true), 0), "the operator vouches: {grants}");
            assert_eq!(told(tool(None, &[], &[]), grants, &[]).0, None, "{grants}");
        }
    }

    #[test]
    fn trusted_hints_do_not_overrule_a_declaration() {
        for tool in [
            || tool(Some(true), &[PathAccess::Read, PathAccess::Write], &[]),
            || tool(Some(true), &[PathAccess::Create], &[]),
            || tool(Some(true), &[], &["a"]),
        ] {
            assert_eq!(told(tool(), "", &[]).0, Some(false));
            assert_eq!(told(tool(), "", &["t"]).0, Some(false));
        }
    }

    #[test]
    fn a_hint_that_claims_more_stays_and_one_that_claims_less_is_corrected() {
        let mut strict = tool(Some(false), &[], &[]);
        strict.definition.hints.open_world = Some(true);
        assert_eq!(told(strict, "", &[]), (Some(false), Some(true), 0));
        let mut lax = tool(Some(false), &[PathAccess::Write], &[]);
        lax.definition.hints.destructive = Some(false);
        lax.definition.hints.idempotent = Some(true);
        assert_eq!(told(lax, "", &[]), (Some(false), Some(false), 2));
    }
}
