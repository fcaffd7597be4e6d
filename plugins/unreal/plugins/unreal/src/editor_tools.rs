//! The tools `search_editor_tools` and `call_editor_tool`: search the tools of Epic's MCP server,
//! and call those that the operator allows.

mod risk;
mod toolset_list;

use crate::{
    answer::{SourceKind, shown},
    live::{Editor, Kind},
    source::to_change,
};
use portcullis_plugin::prelude::*;
use risk::{Risk, is_granted};
use serde_json::{Map, Value};
use toolset_list::{EditorTool, ToolsetList};

/// Maximum number of tools in one answer.
const MAX_FOUND: u32 = 100;
/// Maximum length of a tool's answer, in characters; pictures and other large answers have tools of their own.
const MAX_ANSWER: usize = 60_000;
/// Maximum length of a description in a list, in characters.
const BRIEF: usize = 120;
/// If at most this many tools are found, their schemas are shown too.
const IN_FULL: usize = 2;

about_project! {
    /// Search the several hundred tools of Epic's MCP server in the editor, by words in their names and descriptions. Up to two results come with the schemas of their arguments. call_editor_tool calls them.
    pub struct SearchEditorTools {
        /// Words, each of which has to be in the tool's name, toolset or description.
        #[serde(default)]
        #[schemars(length(max = 256))]
        words: String,
        /// Only toolsets with this in their name, such as Material.
        #[serde(default)]
        #[schemars(length(max = 256))]
        toolset: String,
        /// How many results at most.
        #[serde(default = "twenty")]
        #[schemars(range(min = 1, max = 100))]
        max_results: u32,
        /// Number of results to skip.
        #[serde(default)]
        offset: u32,
    }
}

fn twenty() -> u32 {
    20
}

tool_result! {
    /// Tools of the editor.
    pub struct EditorTools {
        tools: Vec<ToolFound>,
        count: usize,
        total_count: usize,
        /// Their toolsets, each with the number of tools found in it
        toolsets: Map<String, Value>,
        offset: usize,
        has_more: bool,
    }
}

/// A tool of the editor.
#[data]
struct ToolFound {
    toolset: String,
    name: String,
    description: String,
    risk: Risk,
    /// Whether the operator allows it, by the setting `epic-tools`
    is_allowed: bool,
    /// The schema of its arguments, if at most two tools were found
    arguments: Option<Value>,
}

impl Tool for SearchEditorTools {
    const NAME: &'static str = "search_editor_tools";
    const TITLE: Option<&'static str> = Some("Search editor tools");
    const HINTS: Hints = Hints::new().read_only(true).idempotent(true).open_world(false);
    const NEEDS: &'static [&'static str] = &["editor-tools"];
    type Output = Json<EditorTools>;

    fn call(self, request: &Request) -> Result<Json<EditorTools>, Failure> {
        let editor = epics(request, self.project_dir.as_deref())?;
        let catalogue = ToolsetList::read(&editor, self.toolset.trim())?;
        let words: Vec<String> = self.words.split_whitespace().map(str::to_lowercase).collect();
        let mut found: Vec<(usize, EditorTool)> = catalogue
            .tools
            .into_iter()
            .filter_map(|tool| Some((rank(&tool, &words)?, tool)))
            .collect();
        found.sort_by(|(a, left), (b, right)| {
            (a, &left.toolset, &left.name).cmp(&(b, &right.toolset, &right.name))
        });
        let total = found.len();
        let mut toolsets = Map::new();
        for (_, tool) in &found {
            let count = toolsets.get(&tool.toolset).and_then(Value::as_u64).unwrap_or_default();
            toolsets.insert(shown(&tool.toolset), json!(count + 1));
        }
        let offset = self.offset as usize;
        let page = found.into_iter().skip(offset).take(self.max_results.min(MAX_FOUND) as usize);
        let tools: Vec<ToolFound> =
            page.map(|(_, tool)| ToolFound::of(tool, total <= IN_FULL)).collect();
        Ok(Json(EditorTools {
            count: tools.len(),
            total_count: total,
            toolsets,
            offset,
            has_more: offset + tools.len() < total,
            tools,
            source: SourceKind::Live,
            as_of: editor.as_of(),
            warnings: editor.warnings(catalogue.missing),
        }))
    }
}

impl ToolFound {
    fn of(tool: EditorTool, in_full: bool) -> Self {
        let most = if in_full { usize::MAX } else { BRIEF };
        let line = tool.description.split_whitespace().collect::<Vec<_>>().join(" ");
        let description = match line.char_indices().nth(most) {
            Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default().trim_end()),
            None => line,
        };
        Self {
            risk: Risk::of(&tool.toolset, &tool.name),
            is_allowed: is_granted(&tool.toolset, &tool.name),
            toolset: shown(&tool.toolset),
            name: shown(&tool.name),
            description,
            arguments: in_full.then_some(tool.arguments),
        }
    }
}

/// The rank of a tool; the smallest number fits best. `None` if the tool lacks one of the words.
fn rank(tool: &EditorTool, words: &[String]) -> Option<usize> {
    let name = tool.name.to_lowercase();
    let toolset = tool.toolset.to_lowercase();
    let description = tool.description.to_lowercase();
    words.iter().try_fold(0, |sum, word| {
        let place = [&name, &toolset, &description].iter().position(|text| text.contains(word))?;
        Some(sum + place)
    })
}

about_project! {
    /// Call a tool of Epic's MCP server in the editor, with arguments that fit its schema: see search_editor_tools. The operator allows tools. The user is asked first, unless the tool is known to only read. Tools that run scripts or console commands, write files or click in windows are never called.
    pub struct CallEditorTool {
        /// The toolset's full name, such as EditorToolset.EditorAppToolset.
        #[schemars(length(min = 1, max = 256))]
        toolset: String,
        /// The tool's name without the toolset, such as GetVisibleActors.
        #[schemars(length(min = 1, max = 256))]
        tool: String,
        /// Its arguments.
        #[serde(default)]
        arguments: Map<String, Value>,
    }
}

tool_result! {
    /// What the tool answered.
    pub struct EditorToolCalled {
        toolset: String,
        tool: String,
        risk: Risk,
        /// Its value, written as JSON
        answer: String,
        /// Whether the end of the answer is missing
        is_cut: bool,
    }
}

impl Tool for CallEditorTool {
    const NAME: &'static str = "call_editor_tool";
    const TITLE: Option<&'static str> = Some("Call editor tool");
    const HINTS: Hints =
        Hints::new().read_only(false).destructive(true).idempotent(false).open_world(true);
    const NEEDS: &'static [&'static str] = &["editor-tools"];
    type Output = Json<EditorToolCalled>;

    fn call(self, request: &Request) -> Result<Json<EditorToolCalled>, Failure> {
        let (toolset, tool) = (self.toolset.trim(), self.tool.trim());
        let name = format!("{toolset}.{tool}");
        let risk = Risk::of(toolset, tool);
        if risk == Risk::Denied {
            return Err(Failure::new(format!(
                "`{}` is not called: by its name, it runs scripts or console commands, writes files or \
                 clicks in windows, which this plugin cannot check",
                shown(&name)
            )));
        }
        if !is_granted(toolset, tool) {
            return Err(Failure::new(format!(
                "`{}` is not allowed: the operator of this server can allow it in the setting \
                 `epic-tools` of this plugin, such as `epic-tools = \"{}\"`",
                shown(&name),
                shown(&name)
            )));
        }
        let editor = epics(request, self.project_dir.as_deref())?;
        // The editor finds toolsets by their full names only, so no other names are sent.
        if !editor.seen.toolsets.iter().any(|known| known == toolset) {
            return Err(Failure::new(format!(
                "the editor has no toolset `{}`: search_editor_tools lists the full names",
                shown(toolset)
            )));
        }
        let arguments = Value::Object(self.arguments);
        let told = match risk {
            Risk::Read => editor.epic_now(toolset, tool, &arguments)?,
            Risk::Change | Risk::Denied => {
                let subject = format!("{name} {arguments}");
                let deed = editor.deed("call a tool of the Unreal editor");
                request.ask(consent("editor-tool", deed, subject))?;
                request.background()?;
                editor.write_epic(toolset, tool, &arguments)?
            }
        };
        let whole = told.to_string();
        let answer = unreal_package::visible(&whole, MAX_ANSWER, true).into_owned();
        Ok(Json(EditorToolCalled {
            toolset: shown(toolset),
            tool: shown(tool),
            risk,
            is_cut: whole.chars().count() > MAX_ANSWER,
            answer,
            source: SourceKind::Live,
            as_of: editor.as_of(),
            warnings: editor.warnings(None),
        }))
    }
}

/// Finds the editor that has the project open. Fails if the editor's server is not Epic's.
fn epics<'r>(request: &'r Request<'r>, project_dir: Option<&str>) -> Result<Editor<'r>, Failure> {
    let editor = to_change(request, project_dir)?;
    match editor.seen.kind {
        Kind::Epic => Ok(editor),
        Kind::UnrealMcpServer => Err(Failure::new(
            "UnrealMCPServer has no toolsets: the editor needs Epic's Unreal MCP (engine 5.8 or newer)",
        )),
    }
}
