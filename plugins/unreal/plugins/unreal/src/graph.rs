//! The tool `get_blueprint_graph`: a Blueprint's parent, components, variables and graphs.

mod live;

use crate::{
    answer::{SourceKind, shown},
    live::{Editor, Fault},
    offline::Offline,
    source::SourceQuery,
};
use portcullis_plugin::prelude::*;
use unreal_package::{Graph, Node, Package};

mod pages;

/// Maximum length of the text of one call, in bytes.
const MAX_TEXT: usize = 1 << 20;

about_project! {
    /// Read a Blueprint as pseudo-code: parent, components, variables and graphs. Also animation graphs, level scripts of maps, Control Rigs, materials and state trees. A long one comes as an outline first.
    pub struct BlueprintGraph {
        /// Path of the Blueprint, map, rig or material, such as /Game/Doors/BP_Door.
        #[schemars(length(min = 1, max = 2048))]
        asset_path: String,
        /// Only the graph of that name, such as EventGraph. Left out: all.
        graph_name: Option<String>,
        /// `pseudo_code`: what is executed with which values; if it is long, calls without `graphName`, `offset` and `maxResults` get an outline instead. `outline`: events, calls and variables without the flow. `markdown`: each node with its links. `json`: every pin, for programs.
        #[serde(default = "pseudo_code")]
        format: Format,
        /// How many lines (`json`: nodes) at most; 0: as many as fit. Left out: about 2,000 tokens.
        max_results: Option<u32>,
        /// Number of results to skip.
        #[serde(default)]
        offset: u32,
    }
}

#[data]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Format {
    PseudoCode,
    Outline,
    Markdown,
    Json,
}

impl Format {
    fn name(self) -> &'static str {
        match self {
            Self::PseudoCode => "pseudo_code",
            Self::Outline => "outline",
            Self::Markdown => "markdown",
            Self::Json => "json",
        }
    }
}

fn pseudo_code() -> Format {
    Format::PseudoCode
}

tool_result! {
    /// A Blueprint and its graphs.
    pub struct Graphs {
        asset_path: String,
        /// What `text` is: `pseudo_code`, `outline` or `markdown`; `json` without text
        format: Format,
        /// The lines of this page
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// With `json`
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        blueprints: Vec<BlueprintInfo>,
        /// With `json`
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        graphs: Vec<GraphInfo>,
        /// How many lines the text has, or nodes with `json`
        total_count: usize,
        offset: usize,
        has_more: bool,
    }
}

#[data]
struct BlueprintInfo {
    name: String,
    /// Such as WidgetBlueprint
    class: String,
    parent_class: String,
    interfaces: Vec<String>,
    variables: Vec<VariableInfo>,
    components: Vec<ComponentInfo>,
    /// The widgets, each before its children
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    widgets: Vec<ComponentInfo>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    bindings: Vec<BindingInfo>,
}

/// A property of a widget that gets its value from elsewhere.
#[data]
struct BindingInfo {
    widget: String,
    property: String,
    /// The function or property that the value comes from
    source: String,
}

#[data]
struct VariableInfo {
    name: String,
    r#type: String,
    #[serde(skip_serializing_if = "String::is_empty", default)]
    category: String,
    #[serde(skip_serializing_if = "String::is_empty", default)]
    default: String,
}

#[data]
struct ComponentInfo {
    name: String,
    class: String,
    /// The parent of a component or widget
    #[serde(skip_serializing_if = "String::is_empty", default)]
    attached_to: String,
}

#[data]
struct GraphInfo {
    name: String,
    /// `events`, `function`, `macro` or `signature`, where the Blueprint says so
    #[serde(skip_serializing_if = "String::is_empty", default)]
    role: String,
    class: String,
    /// Nodes of the whole graph, also those that are not on this page
    node_count: usize,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    nodes: Vec<NodeInfo>,
}

#[data]
struct NodeInfo {
    name: String,
    class: String,
    title: String,
    #[serde(skip_serializing_if = "String::is_empty", default)]
    comment: String,
    /// `Disabled` or `DevelopmentOnly`; absent if the node always runs
    #[serde(skip_serializing_if = "String::is_empty", default)]
    state: String,
    /// A stable id of the node: renaming keeps it
    #[serde(skip_serializing_if = "Option::is_none")]
    guid: Option<String>,
    x: i64,
    y: i64,
    pins: Vec<PinInfo>,
}

#[data]
struct PinInfo {
    name: String,
    /// The name that the editor shows, if it is another one
    #[serde(skip_serializing_if = "String::is_empty", default)]
    label: String,
    /// `input` or `output`
    direction: String,
    r#type: String,
    /// The value while nothing is linked
    #[serde(skip_serializing_if = "String::is_empty", default)]
    default: String,
    #[serde(skip_serializing_if = "is_false", default)]
    hidden: bool,
    /// `Node.Pin`
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    linked_to: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_false(truth: &bool) -> bool {
    !truth
}

read_only_tool!(BlueprintGraph, "get_blueprint_graph", "Blueprint graph", Graphs);

impl SourceQuery for BlueprintGraph {
    type Answer = Graphs;

    fn ask_editor(&self, editor: &Editor<'_>) -> Result<Graphs, Fault> {
        live::graphs(self, editor)
    }

    fn ask_files(&self, _request: &Request<'_>, offline: &Offline) -> Result<Graphs, Failure> {
        let opened = offline.read(&self.asset_path)?;
        let package = opened.package()?;
        let mut graphs = package.graphs(&opened.package);
        self.choose(&mut graphs, &opened.package)?;
        let blueprints = package.blueprints(&opened.package);
        let is_empty = blueprints.is_empty() && graphs.is_empty();
        let states = is_empty.then(|| package.state_tree(&opened.package)).flatten();
        if is_empty && states.is_none() {
            return Err(Failure::new(format!(
                "{} has no Blueprint and no graph{}",
                opened.package,
                if package.header.summary.is_cooked() { ": it is cooked" } else { "" }
            )));
        }
        let mut faults: Vec<String> = blueprints.iter().flat_map(|it| it.faults.clone()).collect();
        faults.extend(graphs.iter().flat_map(self::faults));
        faults.extend(
            opened
                .redirected_from
                .iter()
                .map(|from| format!("{from} is a redirector to {}", opened.package)),
        );
        let mut answer = Graphs {
            asset_path: shown(&opened.package),
            format: self.format,
            text: None,
            blueprints: Vec::new(),
            graphs: Vec::new(),
            total_count: 0,
            offset: self.offset as usize,
            has_more: false,
            source: SourceKind::Offline,
            warnings: Vec::new(),
            as_of: offline.as_of.clone(),
        };
        if let Some(states) = states {
            // A state tree has no nodes with pins, so the answer is this text in every format.
            answer.format = Format::PseudoCode;
            if self.format != Format::PseudoCode {
                let format = self.format.name();
                faults.push(format!("a state tree comes as `pseudo_code`, not as `{format}`"));
            }
            pages::lines(self, &mut answer, &states);
        } else if self.format == Format::Json {
            pages::nodes(self, &mut answer, graphs, blueprints.into_iter().map(blueprint));
        } else {
            let text = self.text_of(&package, &opened.package, &graphs);
            let is_first =
                self.offset == 0 && self.max_results.is_none() && self.graph_name.is_none();
            if self.format == Format::PseudoCode && is_first && text.len() > pages::FIRST {
                let lines = text.trim_end().lines().count();
                answer.format = Format::Outline;
                faults.push(format!(
                    "this is an outline: the pseudo-code has {lines} lines; read it graph by graph \
                     with `graphName`, or from the beginning with `maxResults` 0"
                ));
                pages::lines(self, &mut answer, &package.outline(&opened.package));
            } else {
                pages::lines(self, &mut answer, &text);
            }
        }
        answer.warnings = offline.warnings_and(faults);
        Ok(answer)
    }
}

impl BlueprintGraph {
    /// If `graph_name` is given, keeps only the graphs with this name, or with this name after the
    /// last dot of theirs. Fails if there are no such graphs.
    fn choose(&self, graphs: &mut Vec<Graph>, package: &str) -> Result<(), Failure> {
        let Some(wanted) = &self.graph_name else { return Ok(()) };
        let names: Vec<String> = graphs.iter().map(|graph| graph.name.clone()).collect();
        graphs.retain(|graph| {
            graph.name.eq_ignore_ascii_case(wanted)
                || graph.name.rsplit('.').next().is_some_and(|n| n.eq_ignore_ascii_case(wanted))
        });
        if graphs.is_empty() {
            let (wanted, names) = (shown(wanted), names.join(", "));
            return Err(Failure::new(format!("{package} has no graph {wanted}; it has: {names}")));
        }
        Ok(())
    }

    /// The whole package as text, or only `graphs` if `graph_name` is given. Empty for JSON.
    fn text_of(&self, package: &Package<'_>, name: &str, graphs: &[Graph]) -> String {
        let of_graphs = |text: &dyn Fn(&Graph) -> String| graphs.iter().map(text).collect();
        match (self.format, &self.graph_name) {
            (Format::Json, _) => String::new(),
            (Format::PseudoCode, None) => package.pseudo_code(name),
            (Format::PseudoCode, Some(_)) => of_graphs(&Graph::pseudo_code),
            (Format::Outline, None) => package.outline(name),
            (Format::Outline, Some(_)) => of_graphs(&Graph::outline),
            (Format::Markdown, None) => package.markdown(name, MAX_TEXT),
            (Format::Markdown, Some(_)) => of_graphs(&|graph| graph.markdown(MAX_TEXT)),
        }
    }
}

fn faults(graph: &Graph) -> Vec<String> {
    let nodes = graph.nodes.iter();
    nodes
        .filter_map(|node| Some(format!("{}.{}: {}", graph.name, node.name, node.fault.as_ref()?)))
        .collect()
}

fn blueprint(blueprint: unreal_package::Blueprint) -> BlueprintInfo {
    let components = |list: Vec<unreal_package::Component>| {
        let infos = list.into_iter().map(|component| ComponentInfo {
            name: component.name,
            class: component.class,
            attached_to: component.parent,
        });
        infos.collect()
    };
    BlueprintInfo {
        name: blueprint.name,
        class: blueprint.class,
        parent_class: blueprint.parent,
        interfaces: blueprint.interfaces,
        variables: blueprint
            .variables
            .into_iter()
            .map(|variable| VariableInfo {
                name: variable.name,
                r#type: variable.kind,
                category: variable.category,
                default: variable.value,
            })
            .collect(),
        components: components(blueprint.components),
        widgets: components(blueprint.widgets),
        bindings: blueprint
            .bindings
            .into_iter()
            .map(|binding| BindingInfo {
                widget: binding.widget,
                property: binding.property,
                source: binding.source,
            })
            .collect(),
    }
}

fn node(node: Node) -> NodeInfo {
    let Node { name, class, title, comment, state, guid, position, pins, .. } = node;
    let (x, y) = position;
    let pins = pins.into_iter().map(|pin| PinInfo {
        name: pin.name,
        label: pin.label,
        direction: if pin.output { "output" } else { "input" }.to_owned(),
        r#type: pin.kind,
        default: pin.value,
        hidden: pin.hidden,
        linked_to: pin
            .links
            .into_iter()
            .map(|link| format!("{}.{}", link.node, link.pin))
            .collect(),
    });
    let guid = (guid != unreal_package::Guid::default()).then(|| guid.to_string());
    NodeInfo { name, class, title, comment, state, guid, x, y, pins: pins.collect() }
}
