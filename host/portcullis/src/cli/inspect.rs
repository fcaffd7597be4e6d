//! Shows what a component could do: its wants, imports and tools, and what it cannot do. Used by `portcullis audit`,
//! and by the commands that ask before they install or grant.

use std::fmt::Write as _;

use portcullis_core::bindings::{ToolHints, Want};
use portcullis_core::plugins::PluginTool;
use portcullis_core::plugins::inspect::{
    ImportUse, Inspection, UnusableCapability, granted_imports, import_use,
};
use portcullis_core::sandbox::{Feature, Import, Origin};
use portcullis_sanitize::visible_line;
use serde_json::{Value, json};

use super::style::{faint, green, red};

/// What no component can do, independent of grants.
pub const NEVER: &str = "open sockets; read the host's environment variables or arguments; run native code of its own; \
                     reach the memory or the state of other plugins";

/// An inspection as text.
pub fn as_text(inspection: &Inspection) -> String {
    let Inspection { name, origin, digest, bytes, info, tools, defect, remarks } = inspection;
    let version = info.manifest.as_ref().map_or("", |manifest| &manifest.version);
    let version = visible_line(version, 40);
    let mut text =
        format!("{} {version} ({})\n", green(&visible_line(name, 200)), origin_text(origin));
    text += &format!("  digest   sha256:{digest}\n  size     {bytes} bytes\n");
    if let Some(manifest) = &info.manifest
        && let Some(description) = &manifest.description
    {
        text += &format!("  says     {}\n", visible_line(description, 500));
    }
    match defect {
        Some(defect) => {
            let defect = portcullis_sanitize::visible(defect).replace('\n', "\n           ");
            text += &format!("  {}  {defect}\n", red("defect "));
        }
        None => text += "  defect   none: it can be a plugin of this host\n",
    }
    text += &wants_of(&info.features, inspection.wants());
    text += &imports_text(&info.imports, &info.features);
    text += &cannot_text(&inspection.cannot());
    text += &tools_text(tools);
    for remark in remarks {
        text += &format!("  remark   {}\n", visible_line(remark, 300));
    }
    text + "\n"
}

/// An inspection as JSON.
pub fn as_json(inspection: &Inspection) -> Value {
    let Inspection { name, origin, digest, bytes, info, tools, defect, remarks } = inspection;
    let manifest = info.manifest.as_ref();
    json!({
        "name": name,
        "state": "inspected",
        "version": manifest.map(|manifest| &manifest.version),
        "description": manifest.and_then(|manifest| manifest.description.as_ref()),
        "origin": origin.to_string(),
        "digest": digest,
        "bytes": bytes,
        "defect": defect,
        "wants": inspection.wants(),
        "settings": settings(inspection.wants()),
        "imports": info.imports,
        "cannot": cannot_json(&inspection.cannot()),
        "tools": tools.iter().map(|tool| &tool.definition.name).collect::<Vec<_>>(),
        "definitions": definitions(tools),
        "remarks": remarks,
    })
}

fn origin_text(origin: &Origin) -> String {
    visible_line(&origin.to_string(), 500)
}

/// The target of a want, as text. `$NAME` and `arguments/NAME` are replaced by words. `want` in
/// `wit/manifest.wit` says what they mean.
pub fn want_target(target: &str) -> String {
    match (target.strip_prefix('$'), target.strip_prefix("arguments/")) {
        (Some(setting), _) => format!("(the setting `{setting}`)"),
        (None, Some(argument)) => format!("(the host in the argument `{argument}`)"),
        (None, None) => target.to_owned(),
    }
}

/// The wants of a component with these features. A component without a manifest says nothing about its wants.
pub fn wants_of(features: &[Feature], wants: &[Want]) -> String {
    if features.contains(&Feature::Manifest) {
        return wants_text(wants);
    }
    format!("  wants    {}\n", faint("not known: it has no manifest that says it"))
}

/// The wants with their reasons, one line each.
pub fn wants_text(wants: &[Want]) -> String {
    let mut text = String::new();
    for (index, Want { capability, target, access, reason, optional }) in wants.iter().enumerate() {
        let target = want_target(target);
        let [capability, target, access] =
            [capability, &target, access].map(|part| visible_line(part, 100));
        let what = format!("{capability} {target} {access}");
        let optional = if *optional { " (optional)" } else { "" };
        let reason = match visible_line(reason, 200) {
            reason if reason.is_empty() => red("without a reason"),
            reason => faint(&format!("{reason:?}")),
        };
        let label = if index == 0 { "wants" } else { "" };
        let _ = writeln!(text, "  {label:<8} {}{optional}: {reason}", what.trim_end());
    }
    if wants.is_empty() {
        text += "  wants    nothing\n";
    }
    text
}

/// The imports that need a grant, or that this host denies or does not offer, with their functions. `features`: those of
/// the same component.
pub fn imports_text(imports: &[Import], features: &[Feature]) -> String {
    let mut text = String::new();
    for import in granted_imports(imports) {
        let needs = match import_use(import, features) {
            ImportUse::Granted(capability) => faint(&format!("needs `{capability}`")),
            ImportUse::Denied => faint("each use is denied, and no grant changes that"),
            ImportUse::Unknown => red("this host does not offer it"),
        };
        let _ = writeln!(text, "  imports  {}: {needs}", visible_line(&import.interface, 200));
        let functions = visible_line(&import.functions.join(" "), 2000);
        let _ = writeln!(text, "           {}", faint(&functions));
    }
    if text.is_empty() {
        text += "  imports  nothing that reaches beyond the sandbox\n";
    }
    text
}

/// What the component cannot do.
pub fn cannot_text(cannot: &[UnusableCapability]) -> String {
    let mut text = String::new();
    for UnusableCapability { capability, why } in cannot {
        let _ = writeln!(text, "  cannot   use `{capability}`: {}", faint(why));
    }
    text + &format!("  cannot   {NEVER}: {}\n", faint("no component can"))
}

/// What the component cannot do, as JSON.
pub fn cannot_json(cannot: &[UnusableCapability]) -> Value {
    let capabilities =
        cannot.iter().map(|one| json!({ "capability": one.capability.as_str(), "why": one.why }));
    json!({ "capabilities": capabilities.collect::<Vec<_>>(), "never": NEVER })
}

/// The tools with their hints and arguments.
pub fn tools_text(tools: &[PluginTool]) -> String {
    let mut text = String::new();
    for PluginTool { definition, .. } in tools {
        let _ = writeln!(
            text,
            "  tool     {} {}",
            green(&definition.name),
            faint(&hints(&definition.hints))
        );
        let description = definition.description.as_deref().unwrap_or_default();
        if !description.is_empty() {
            let _ = writeln!(text, "           {}", visible_line(description, 500));
        }
        for argument in arguments(&definition.input_schema) {
            let _ = writeln!(text, "           {}", faint(&argument));
        }
    }
    if text.is_empty() {
        text += "  tools    none\n";
    }
    text
}

/// The tools with their schemas, hints and declared paths, by name.
pub fn definitions(tools: &[PluginTool]) -> Value {
    let schema = |text: &str| serde_json::from_str::<Value>(text).unwrap_or(Value::Null);
    let definition = |tool: &PluginTool| {
        let one = &tool.definition;
        let about = json!({
            "title": one.title,
            "description": one.description,
            "inputSchema": schema(&one.input_schema),
            "outputSchema": one.output_schema.as_deref().map(schema),
            "hints": one.hints,
            "paths": one.paths,
            "needs": one.needs,
        });
        (one.name.clone(), about)
    };
    Value::Object(tools.iter().map(definition).collect())
}

/// The names of the settings that a manifest wants.
pub fn settings(wants: &[Want]) -> Vec<&str> {
    let named = wants.iter().filter_map(|want| match want.capability.as_str() {
        "settings" => Some(want.target.as_str()),
        _ => want.target.strip_prefix('$'),
    });
    let mut names: Vec<_> = named.collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn hints(hints: &ToolHints) -> String {
    let ToolHints { read_only, destructive, idempotent, open_world } = hints;
    let named = [
        ("read-only", read_only),
        ("destructive", destructive),
        ("idempotent", idempotent),
        ("open-world", open_world),
    ];
    let given = named.iter().filter_map(|(name, hint)| {
        hint.map(|hint| if hint { (*name).to_owned() } else { format!("not {name}") })
    });
    let given: Vec<_> = given.collect();
    if given.is_empty() { "(no hints)".to_owned() } else { format!("({})", given.join(", ")) }
}

/// The arguments in a JSON Schema, one line each.
fn arguments(schema: &str) -> Vec<String> {
    let schema: Value = serde_json::from_str(schema).unwrap_or_default();
    let required: Vec<_> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let Some(properties) = schema["properties"].as_object() else { return Vec::new() };
    let argument = |(name, property): (&String, &Value)| {
        let kind = match &property["type"] {
            Value::String(kind) => kind.clone(),
            Value::Null => "any".to_owned(),
            several @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
                several.to_string()
            }
        };
        let needed = if required.contains(&name.as_str()) { ", required" } else { "" };
        let about = property["description"].as_str().unwrap_or_default();
        let line = format!("{name} ({kind}{needed}) {about}");
        visible_line(line.trim_end(), 300)
    };
    properties.iter().map(argument).collect()
}
