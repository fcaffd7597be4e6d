//! Judges the risk of a tool of Epic's server: it only reads, it may change something, or it is
//! never called.
//!
//! The server does not say which of its tools only read. This module knows the names of the
//! toolsets that come with Unreal Engine 5.8, and the verbs with which the names of reading tools
//! begin: `GetNodeInfo`, `list_properties`. A tool of any other toolset, or with any other verb,
//! counts as a change, unless it is one of those that are never called.

use portcullis_plugin::{prelude::*, settings};

/// What a tool may do.
#[data]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Risk {
    /// It only reads.
    Read,
    /// It may change something: the user is asked before each call.
    Change,
    /// It is never called.
    Denied,
}

/// Prefixes of the names of the engine's own toolsets.
const ENGINE_TOOLSETS: &[&str] = &[
    "AutomationTestToolset.",
    "ConfigSettingsToolset.",
    "DataRegistryToolset.",
    "DataflowAgent.",
    "EditorToolset.",
    "GASToolsets.",
    "GameFeaturesToolset.",
    "GameplayTagsToolset.",
    "MVVMToolset.",
    "NiagaraToolsets.",
    "PCGToolset.",
    "PhysicsToolsets.",
    "PluginToolset.",
    "SemanticSearchToolset.",
    "UMGToolSet.",
    "WorldConditionsToolset.",
    "animation_toolset.toolsets.",
    "editor_toolset.toolsets.",
];

/// The first words of the names of tools that only read.
const READING_VERBS: &[&str] = &["can", "exists", "find", "get", "has", "is", "list", "search"];

/// Toolsets that run scripts or console commands, or click in the editor's windows.
const DENIED_SETS: &[&str] = &["ConsoleToolset", "ProgrammaticToolset", "SlateInspectorToolset"];

/// Words in the names of tools that run code. `write_file` writes Python files, which the editor may
/// run when it starts.
const DENIED_WORDS: &[&[&str]] = &[&["script"], &["python"], &["console"], &["write", "file"]];

impl Risk {
    /// The risk of a tool, by the full name of its toolset and its own name.
    pub fn of(toolset: &str, tool: &str) -> Self {
        let words = words(tool);
        let has = |wanted: &&[&str]| wanted.iter().all(|word| words.iter().any(|it| it == word));
        let is_in = |set: &&str| toolset.split('.').any(|part| part.eq_ignore_ascii_case(set));
        if DENIED_SETS.iter().any(is_in) || DENIED_WORDS.iter().any(has) {
            return Self::Denied;
        }
        let is_of_engine = ENGINE_TOOLSETS.iter().any(|start| toolset.starts_with(start));
        let first = words.first().map_or("", String::as_str);
        // A tool such as `get_or_create_…` does not only read.
        let is_single = !words.iter().any(|word| matches!(word.as_str(), "or" | "and"));
        match is_of_engine && is_single && READING_VERBS.contains(&first) {
            true => Self::Read,
            false => Self::Change,
        }
    }
}

/// The words of a name such as `GetNodeInfo` or `get_node_info`, in lower case. An acronym is a word: the words of
/// `IsPIERunning` are `is`, `pie` and `running`.
fn words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut previous = None;
    let mut chars = name.chars().peekable();
    while let Some(c) = chars.next() {
        let after_small = previous.is_some_and(|previous: char| !previous.is_uppercase());
        let before_small = chars.peek().is_some_and(|next| next.is_lowercase());
        if !c.is_alphanumeric() || (c.is_uppercase() && (after_small || before_small)) {
            words.push(std::mem::take(&mut word));
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        previous = Some(c);
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

/// Whether a pattern of the operator's setting `epic-tools` allows a tool. A pattern fits the tool's full name, or a
/// short name such as `AssetTools.delete`, which has only the last part of the toolset's name. In a pattern, `*` stands
/// for any text.
pub fn is_granted(toolset: &str, tool: &str) -> bool {
    let setting = settings::get("epic-tools").unwrap_or_default();
    let patterns = setting.split([',', ' ']).map(str::trim).filter(|pattern| !pattern.is_empty());
    let short = toolset.rsplit('.').next().unwrap_or(toolset);
    let names = [format!("{toolset}.{tool}"), format!("{short}.{tool}")];
    let mut fitting = patterns.filter(|pattern| names.iter().any(|name| fits(pattern, name)));
    fitting.next().is_some()
}

/// Whether a pattern fits a text.
fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_plugin::rehearsal::Rehearsal;

    const APP: &str = "EditorToolset.EditorAppToolset";
    const ASSETS: &str = "editor_toolset.toolsets.asset.AssetTools";

    #[test]
    fn known_reading_tools_only_read() {
        for (toolset, tool) in [
            (APP, "GetCameraTransform"),
            (APP, "SearchCVars"),
            (APP, "IsPIERunning"),
            (ASSETS, "find_assets"),
            (ASSETS, "exists"),
            (ASSETS, "can_edit_asset"),
            ("NiagaraToolsets.NiagaraToolset_System", "GetSystemSummary"),
        ] {
            assert_eq!(Risk::of(toolset, tool), Risk::Read, "{tool}");
        }
    }

    #[test]
    fn unknown_tools_count_as_changes() {
        for (toolset, tool) in [
            (APP, "StartPIE"),
            (ASSETS, "delete"),
            (ASSETS, "get_or_create_folder"),
            (ASSETS, "getaway"),
            ("MyGame.MyToolset", "GetPlayers"),
            ("NotEditorToolset.EditorAppToolset", "GetCameraTransform"),
            ("UMGToolSet.UMGToolSet", "CompileWidgetBlueprint"),
        ] {
            assert_eq!(Risk::of(toolset, tool), Risk::Change, "{tool}");
        }
    }

    #[test]
    fn scripts_consoles_and_clicks_are_denied() {
        for (toolset, tool) in [
            ("editor_toolset.toolsets.programmatic.ProgrammaticToolset", "list_things"),
            ("SlateInspectorToolset.SlateInspectorToolset", "Snapshot"),
            (APP, "ExecuteConsoleCommand"),
            ("MyGame.Tools", "run_python"),
            ("MyGame.Tools", "ExecuteToolScript"),
            // A word may follow an acronym.
            (APP, "GetHTTPScript"),
            (APP, "ListUIConsole"),
            (ASSETS, "write_file"),
            ("consoletoolset.X", "Get"),
        ] {
            assert_eq!(Risk::of(toolset, tool), Risk::Denied, "{tool}");
        }
    }

    #[test]
    fn words_of_names() {
        for (name, expected) in [
            ("GetNodeInfo", "get node info"),
            ("get_node__info", "get node info"),
            ("IsPIERunning", "is pie running"),
            ("GetHTTPScript", "get http script"),
            ("SearchCVars", "search c vars"),
            ("StartPIE", "start pie"),
            ("Get2DAsset", "get2 d asset"),
            ("get-Ärger", "get ärger"),
            ("_", ""),
            ("", ""),
        ] {
            assert_eq!(words(name).join(" "), expected, "{name}");
        }
    }

    #[test]
    fn the_operator_names_tools_by_patterns() {
        let _rehearsal =
            Rehearsal::new().setting("epic-tools", "AssetTools.*, EditorToolset.*.Get*,X.y");
        assert!(is_granted(ASSETS, "delete") && is_granted(APP, "GetOpenAssets"));
        assert!(is_granted("a.X", "y"));
        for (toolset, tool) in [(APP, "StartPIE"), ("a.X", "yz"), ("AssetToolsX", "delete")] {
            assert!(!is_granted(toolset, tool), "{tool}");
        }
        let _rehearsal = Rehearsal::new();
        assert!(!is_granted(APP, "GetOpenAssets"), "nothing is allowed without the setting");
    }

    #[test]
    fn patterns() {
        for (pattern, text) in
            [("*", "a"), ("a*", "a"), ("a*c*e", "abcde"), ("*b", "ab"), ("a", "a")]
        {
            assert!(fits(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [("a", "ab"), ("a*b", "a"), ("*a*b", "ba"), ("", "a")] {
            assert!(!fits(pattern, text), "{pattern} {text}");
        }
    }
}
