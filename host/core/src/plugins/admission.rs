//! Decides whether a component can be loaded as a plugin, and under which policy. The errors are the texts of
//! [`RejectedComponent::reason`](super::RejectedComponent::reason): they are displayed, and no code depends on them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{Definition, PluginTool};
use crate::bindings::Manifest;
use crate::capabilities::actions::{ActionAsk, ActionsGrant, ToolInput};
use crate::capabilities::{Capability, Grants, UnusableWant};
use crate::gate::{Ask as _, Policy};
use crate::sandbox::{Import, Missing, dispensable, imports_sockets, missing};

/// The policy of a component, its manifest, and remarks for the operator.
///
/// # Errors
///
/// The reason, for display, why the component cannot be a plugin.
pub(super) fn judge(
    name: &str,
    is_foreign: bool,
    imports: &[Import],
    manifest: Option<Manifest>,
    grants: Grants,
    settings: &BTreeMap<String, String>,
) -> Result<(Policy, Manifest, Vec<String>), String> {
    let dispensable = manifest.as_ref().map(dispensable).unwrap_or_default();
    let mut policy = Policy { grants, dispensable, is_foreign, ..Policy::default() };
    let missing = missing(imports, &policy);
    let is_lacking = |missing: &Missing| match missing {
        Missing::Grant(_) => !is_foreign,
        Missing::Unknown(_) | Missing::Version(_) => true,
    };
    let lacked: Vec<_> = missing.iter().filter(|one| is_lacking(one)).collect();
    // A capability that the manifest does not want is not allowed, even if it is granted.
    let is_wanted = |capability: Capability| {
        is_foreign
            || manifest.as_ref().is_none_or(|manifest| {
                manifest.wants.iter().any(|want| want.capability == capability.as_str())
            })
    };
    let why = (!lacked.is_empty()).then(|| lacking_text(name, &lacked, is_wanted));
    let Some(manifest) = manifest.filter(|_| why.is_none()) else {
        return Err(why.unwrap_or_default());
    };
    if !is_foreign {
        let (wants, unusable) = Grants::wanted(&manifest.wants, settings);
        policy.wants = wants;
        let remark = |one: UnusableWant| format!("`{name}` wants `{}`: {}", one.want, one.reason);
        return Ok((policy, manifest, unusable.into_iter().map(remark).collect()));
    }
    if manifest.tools.is_empty() {
        return Err("it exports no function that could be a tool".into());
    }
    // A foreign component has no wants, and its language's runtime may import interfaces that its functions never use.
    // Therefore only the grants decide. Interfaces that are not granted are linked, and each use of them is refused.
    policy.wants = policy.grants.clone();
    policy.dispensable = Capability::ALL.to_vec();
    let refusing = missing.iter().filter_map(|missing| match missing {
        Missing::Grant(capability) => {
            let (form, lines) = foreign_remedy(name, *capability);
            Some(format!(
                "`{name}` imports `{capability}`, which it is not granted: calls that need it fail; to grant it, run a \
                 command such as `portcullis plugin grant {name} {capability}={form}`, or add to portcullis.toml:\n{lines}"
            ))
        }
        Missing::Unknown(_) | Missing::Version(_) => None,
    });
    let mut remarks: Vec<_> = refusing.collect();
    if imports_sockets(imports) {
        remarks.push(format!(
            "`{name}` imports sockets, and their use is denied: no plugin can be granted sockets"
        ));
    }
    Ok((policy, manifest, remarks))
}

/// A short form of a grant, and lines of the configuration, which grant a capability to a foreign component.
fn foreign_remedy(name: &str, capability: Capability) -> (String, String) {
    let form = capability.short_forms().forms[0].0;
    let lines = capability.remedy(name);
    if capability == Capability::Files {
        // No argument of a foreign component is known to be a path, so the grant has to name directories.
        return (format!("{form}:roots"), format!("{lines}\nscope = \"roots\""));
    }
    (form.to_owned(), lines)
}

fn lacking_text(
    name: &str,
    missing: &[&Missing],
    is_wanted: impl Fn(Capability) -> bool,
) -> String {
    let lines: Vec<_> = missing
        .iter()
        .map(|missing| match missing {
            Missing::Grant(capability) if !is_wanted(*capability) => format!(
                "it imports the capability `{capability}`, which its own manifest does not want: no grant \
                 can allow it, and only the plugin's author can correct it"
            ),
            Missing::Grant(capability) => format!(
                "it needs the capability `{capability}`; to grant what it wants, run `portcullis plugin grant {name} \
                 {capability}=wanted`, or add to portcullis.toml:\n{}",
                capability.remedy(name)
            ),
            Missing::Unknown(interface) => {
                format!("it imports {interface}, which this host does not offer")
            }
            Missing::Version(version) => format!(
                "it imports WASI {version}: this host offers WASI 0.2 and 0.3, and no release candidates; only the \
                 plugin's author can correct it, with tools for one of these versions"
            ),
        })
        .collect();
    lines.join("\n")
}

/// The parts of a schema that are checked when the plugin is loaded.
#[derive(Deserialize)]
struct SchemaOutline<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    properties: BTreeMap<Cow<'a, str>, IgnoredAny>,
}

/// Checks the definitions of tools: their names, their input schemas and their declared paths.
pub(super) fn tools(definitions: Vec<Definition>) -> Result<Vec<PluginTool>, String> {
    let mut tools: Vec<PluginTool> = Vec::with_capacity(definitions.len());
    for definition in definitions {
        let name = &definition.name;
        if !is_tool_name(name) {
            let name = portcullis_sanitize::line(name, 80);
            return Err(format!(
                "the name of its tool `{name}` is invalid: MCP clients accept 1 to 64 letters, digits, `_`, `.` and `-`"
            ));
        }
        if tools.iter().any(|tool| tool.definition.name == *name) {
            return Err(format!("it has two tools called `{name}`"));
        }
        let schema: SchemaOutline<'_> = serde_json::from_str(&definition.input_schema)
            .map_err(|error| format!("the input schema of `{name}`: {error}"))?;
        if schema.kind.as_deref() != Some("object") {
            return Err(format!("the input schema of `{name}` is not `\"type\": \"object\"`"));
        }
        for path in &definition.paths {
            let first = path.pointer.strip_prefix('/').and_then(|rest| rest.split('/').next());
            let is_known = first.is_some_and(|first| {
                let first = first.replace("~1", "/").replace("~0", "~");
                schema.properties.contains_key(first.as_str())
            });
            if !is_known {
                return Err(format!(
                    "the tool `{name}` declares a path at `{}`, where its schema has no argument",
                    path.pointer
                ));
            }
        }
        tools.push(PluginTool {
            definition,
            is_on: true,
            text_only: false,
            input: OnceLock::new(),
            output: OnceLock::new(),
        });
    }
    Ok(tools)
}

fn is_tool_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    (1..=64).contains(&name.len()) && name.bytes().all(fits)
}

/// Removes the tools that need an action that is not granted, and returns them.
///
/// # Errors
///
/// A tool needs an action that the plugin's manifest does not want.
pub(super) fn keep_granted(
    tools: &mut Vec<PluginTool>,
    policy: &Policy,
) -> Result<Vec<PluginTool>, String> {
    let Policy { grants, wants, .. } = policy;
    for tool in tools.iter() {
        let unwanted = |action: &&String| !has_action(wants.actions.as_ref(), action);
        if let Some(action) = tool.definition.needs.iter().find(unwanted) {
            let (tool, action) = (&tool.definition.name, portcullis_sanitize::line(action, 80));
            return Err(format!(
                "its tool `{tool}` needs the action `{action}`, which its manifest does not want"
            ));
        }
    }
    let is_withheld = |tool: &mut PluginTool| {
        !tool.definition.needs.iter().all(|action| has_action(grants.actions.as_ref(), action))
    };
    Ok(tools.extract_if(.., is_withheld).collect())
}

fn has_action(actions: Option<&ActionsGrant>, action: &str) -> bool {
    actions.is_some_and(|granted| {
        ActionAsk::of(action, &ToolInput::new("", Arc::default())).is_within(granted)
    })
}
