//! The tool `get_blueprint_graph`: a Blueprint's parent, components, variables and graphs.

mod live;

use crate::{
    answer::{Page, SourceKind, shown},
    live::{Editor, Fault},
    offline::Offline,
    source::Asked,
};
use portcullis_plugin::prelude::*;
use unreal_package::{Graph, Node};

/// Longest Markdown of one call, in bytes.
const MAX_MARKDOWN: usize = 1 << 20;

about_project! {
    /// Read a Blueprint: parent, components, variables, and its graphs with nodes, pins and links. Level scripts of maps and animation graphs as well.
    pub struct BlueprintGraph {
        /// Path of the Blueprint or map, such as /Game/Doors/BP_Door.
        #[schemars(length(min = 1, max = 2048))]
        asset_path: String,
        /// Only the graph of that name, such as EventGraph. Left out: all.
        graph_name: Option<String>,
        /// `markdown`: short, to be read. `json`: every pin, for programs.
        #[serde(default = "markdown")]
        format: Format,
        /// With `json`: how many nodes at most; 0 for as many as one answer holds.
        #[serde(default = "two_hundred")]
        max_results: u32,
        /// With `json`: how many nodes to leave out.
        #[serde(default)]
        offset: u32,
    }
}

#[data]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Markdown,
    Json,
}

fn markdown() -> Format {
    Format::Markdown
}

fn two_hundred() -> u32 {
    200
}

told! {
    /// A Blueprint and its graphs.
    pub struct Graphs {
        asset_path: String,
        blueprints: Vec<BlueprintInfo>,
        graphs: Vec<GraphInfo>,
        /// The Blueprint as Markdown, if that was asked for
        #[serde(skip_serializing_if = "Option::is_none")]
        markdown: Option<String>,
        /// How many nodes all graphs asked for have; 0 where the editor does not say
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
    /// 0 where the editor does not say
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
    /// `Disabled` or `DevelopmentOnly`, where it does not always run
    #[serde(skip_serializing_if = "String::is_empty", default)]
    state: String,
    /// What identifies the node also when it is renamed
    #[serde(skip_serializing_if = "Option::is_none")]
    guid: Option<String>,
    x: i64,
    y: i64,
    pins: Vec<PinInfo>,
}

#[data]
struct PinInfo {
    name: String,
    /// The name that people see, where it is another
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

answered!(BlueprintGraph, "get_blueprint_graph", "Blueprint graph", Graphs);

impl Asked for BlueprintGraph {
    type Answer = Graphs;

    fn ask_editor(&self, editor: &Editor<'_>) -> Result<Graphs, Fault> {
        live::graphs(self, editor)
    }

    fn ask_files(&self, _request: &Request<'_>, offline: &Offline) -> Result<Graphs, Failure> {
        let opened = offline.read(&self.asset_path)?;
        let package = opened.package()?;
        let mut graphs = package.graphs(&opened.package);
        if let Some(wanted) = &self.graph_name {
            let names: Vec<String> = graphs.iter().map(|graph| graph.name.clone()).collect();
            graphs.retain(|graph| {
                graph.name.eq_ignore_ascii_case(wanted)
                    || graph.name.rsplit('.').next().is_some_and(|n| n.eq_ignore_ascii_case(wanted))
            });
            if graphs.is_empty() {
                let (wanted, names) = (shown(wanted), names.join(", "));
                return Err(Failure::new(format!(
                    "{} has no graph {wanted}; it has: {names}",
                    opened.package
                )));
            }
        }
        let blueprints = package.blueprints(&opened.package);
        if blueprints.is_empty() && graphs.is_empty() {
            return Err(Failure::new(format!(
                "{} has no Blueprint and no graph{}",
                opened.package,
                if package.header.summary.is_cooked() { ": it is cooked" } else { "" }
            )));
        }
        let mut faults: Vec<String> = graphs.iter().flat_map(faults).collect();
        let total: usize = graphs.iter().map(|graph| graph.nodes.len()).sum();
        let page = Page::new(self.offset, self.max_results);
        let markdown = match (self.format, &self.graph_name) {
            (Format::Json, _) => None,
            (Format::Markdown, None) => Some(package.markdown(&opened.package, MAX_MARKDOWN)),
            (Format::Markdown, Some(_)) => {
                Some(graphs.iter().map(|graph| graph.markdown(MAX_MARKDOWN)).collect())
            }
        };
        let is_json = self.format == Format::Json;
        faults.extend(
            opened
                .redirected_from
                .iter()
                .map(|from| format!("{from} is a redirector to {}", opened.package)),
        );
        Ok(Graphs {
            asset_path: shown(&opened.package),
            blueprints: blueprints.into_iter().map(blueprint).collect(),
            graphs: infos(graphs, is_json.then_some(page)),
            markdown,
            total_count: total,
            offset: if is_json { page.offset } else { 0 },
            has_more: is_json && page.has_more(total),
            source: SourceKind::Offline,
            warnings: offline.warnings_and(faults),
            as_of: offline.as_of.clone(),
        })
    }
}

fn faults(graph: &Graph) -> Vec<String> {
    let nodes = graph.nodes.iter();
    nodes
        .filter_map(|node| Some(format!("{}.{}: {}", graph.name, node.name, node.fault.as_ref()?)))
        .collect()
}

fn blueprint(blueprint: unreal_package::Blueprint) -> BlueprintInfo {
    let unreal_package::Blueprint { name, class, parent, interfaces, variables, components } =
        blueprint;
    BlueprintInfo {
        name,
        class,
        parent_class: parent,
        interfaces,
        variables: variables
            .into_iter()
            .map(|variable| VariableInfo {
                name: variable.name,
                r#type: variable.kind,
                category: variable.category,
                default: variable.value,
            })
            .collect(),
        components: components
            .into_iter()
            .map(|component| ComponentInfo {
                name: component.name,
                class: component.class,
                attached_to: component.parent,
            })
            .collect(),
    }
}

/// The graphs; with a page, only its nodes.
fn infos(graphs: Vec<Graph>, page: Option<Page>) -> Vec<GraphInfo> {
    let (mut skip, mut room) = page.map_or((0, 0), |page| (page.offset, page.most()));
    graphs
        .into_iter()
        .map(|graph| {
            let node_count = graph.nodes.len();
            let nodes: Vec<NodeInfo> =
                graph.nodes.into_iter().skip(skip).take(room).map(node).collect();
            skip = skip.saturating_sub(node_count);
            room -= nodes.len();
            GraphInfo {
                name: graph.name,
                role: graph.role.to_owned(),
                class: graph.class,
                node_count,
                nodes,
            }
        })
        .collect()
}

fn node(node: Node) -> NodeInfo {
    let Node { name, class, title, comment, state, guid, position, pins, fault: _ } = node;
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
