//! Reads the graphs of materials and material functions. The nodes are the expressions, and the
//! material itself as the node in which the graph ends. An input stores its link. An expression
//! stores its outputs only if they differ from the outputs of its class.

use super::{Graph, Link, MAX_NAME, MAX_VALUE, Node, NodeKind, NodePin};
use crate::{
    header::Header,
    object::{Object, Package, get},
    render::Render,
    tables::Index,
    titles::{self, Title},
    value::{Label, Property, Value},
    visible::visible,
};
use std::collections::{BTreeMap, HashMap};

/// Maximum depth at which inputs are searched in lists and structures.
const MAX_DEPTH: usize = 3;

/// Properties that are not shown as settings: they concern the editor, the engine derives them, or
/// the graph shows them in another way.
const LEFT_OUT: &[&str] = &[
    "AttributeGetTypes",
    "AttributeSetTypes",
    "CachedExpressionData",
    "Desc",
    "EditorComments",
    "EditorOnlyData",
    "EditorX",
    "EditorY",
    "ExpressionCollection",
    "ExpressionGUID",
    "Expressions",
    "Function",
    "FunctionOutputs",
    "GraphNode",
    "Id",
    "LightingGuid",
    "Material",
    "MaterialExpressionEditorX",
    "MaterialExpressionEditorY",
    "MaterialExpressionGuid",
    "MenuCategories",
    "Outputs",
    "ParameterGroupData",
    "ParameterOverviewExpansion",
    "ReferencedTextureGuids",
    "ShowCode",
    "SortPriority",
    "StateId",
    "Text",
    "TextureStreamingData",
    "TextureStreamingDataVersion",
    "ThumbnailInfo",
    "bCollapsed",
    "bCommentBubbleVisible",
    "bHidePreviewWindow",
    "bLastPreviewed",
    "bNeedToUpdatePreview",
    "bRealtimePreview",
    "bShowInputs",
    "bShowOutputNameOnPin",
];

/// Properties with the name of an expression's subject, the kind of the expression, and the words before this name in
/// the title.
const SUBJECTS: &[(&str, NodeKind, &str)] = &[
    ("ParameterName", NodeKind::Parameter, "Parameter "),
    ("MaterialFunction", NodeKind::Call, "Call "),
    ("InputName", NodeKind::Input, "Input "),
    ("OutputName", NodeKind::Output, "Output "),
    ("Text", NodeKind::Comment, "Comment: "),
    ("Name", NodeKind::Other, "Reroute "),
    ("Description", NodeKind::Other, ""),
];

/// Expressions with titles that omit the class, since the words of `SUBJECTS` tell the class.
const TITLES_WITHOUT_CLASS: &[&str] = &[
    "Comment",
    "FunctionInput",
    "FunctionOutput",
    "MaterialFunctionCall",
    "NamedRerouteDeclaration",
    "Reroute",
];

/// An input of an expression or of a material.
struct Input {
    name: String,
    /// The expression that it is linked to.
    source: Option<Index>,
    /// Index of the output of that expression.
    output: usize,
    /// The channels that are used, such as `RG`; empty for all.
    mask: String,
    /// The constant that is used in place of a link.
    constant: String,
}

impl<'a> Package<'a> {
    /// The graphs of the materials and material functions of this package; `package` is its name.
    pub(super) fn material_graphs(&self, package: &str) -> Vec<Graph> {
        let header = &self.header;
        let mut by_owner: BTreeMap<i32, Vec<Index>> = BTreeMap::new();
        for index in (0..header.exports.len()).map(Index::of_export) {
            let class = header.class_name(index);
            let is_default = index
                .export()
                .and_then(|position| header.exports.get(position))
                .is_some_and(|export| export.is_class_default());
            if class == "Material" && !is_default {
                by_owner.entry(index.0).or_default();
            } else if class.starts_with("MaterialExpression") && header.outer(index).0 > 0 {
                by_owner.entry(header.outer(index).0).or_default().push(index);
            }
        }
        let render = Render::new(header, package, usize::MAX);
        by_owner
            .into_iter()
            .map(|(owner, expressions)| self.material_graph(Index(owner), &expressions, &render))
            .collect()
    }

    fn material_graph(
        &self,
        owner: Index,
        expressions: &[Index],
        render: &Render<'_, 'a>,
    ) -> Graph {
        let header = &self.header;
        let class = visible(&header.class_name(owner), 256, false).into_owned();
        let mut nodes: HashMap<Index, (usize, Outputs)> = HashMap::new();
        let mut graph = Graph {
            name: visible(&header.object_name(owner), MAX_NAME, false).into_owned(),
            role: "",
            nodes: Vec::new(),
            class,
        };
        let mut inputs = Vec::new();
        if graph.class == "Material" {
            let (root, node_inputs) = self.material(owner, render);
            graph.nodes.push(root);
            inputs.push(node_inputs);
        }
        for index in expressions {
            let object = self.object(*index);
            nodes.insert(*index, (graph.nodes.len(), Outputs::of(&object, header, render)));
            inputs.push(self.inputs(&object, render));
            graph.nodes.push(self.expression(*index, &object, render));
        }
        for (position, node_inputs) in inputs.into_iter().enumerate() {
            for input in node_inputs {
                add_link(&mut graph.nodes, &nodes, position, input);
            }
        }
        graph.nodes.iter_mut().for_each(|node| node.pins.sort_by_key(|pin| pin.output));
        graph
    }

    /// The material as a node with its settings, and its inputs. The inputs are stored in the
    /// material or, since 5.1, in the object that its property `EditorOnlyData` names.
    fn material(&self, index: Index, render: &Render<'_, 'a>) -> (Node, Vec<Input>) {
        let header = &self.header;
        let object = self.object(index);
        let name = visible(&header.object_name(index), MAX_NAME, false).into_owned();
        let mut inputs = self.inputs(&object, render);
        let mut fault = object.warnings.first().map(ToString::to_string);
        if let Some(editor_only) = object.get(header, "EditorOnlyData").and_then(Value::object)
            && editor_only.export().is_some()
        {
            let editor_only = self.object(editor_only);
            inputs.extend(self.inputs(&editor_only, render));
            fault = fault.or_else(|| editor_only.warnings.first().map(ToString::to_string));
        }
        let node = Node {
            title: format!("Material {name}"),
            name,
            class: "Material".to_owned(),
            pins: self.settings(&object, render),
            fault,
            ..Node::default()
        };
        (node, inputs)
    }

    fn expression(&self, index: Index, object: &Object<'a>, render: &Render<'_, 'a>) -> Node {
        let header = &self.header;
        let class = visible(&header.class_name(index), 256, false).into_owned();
        let number = |name| object.get(header, name).and_then(Value::number).unwrap_or_default();
        let short = class.strip_prefix("MaterialExpression").unwrap_or(&class);
        let about = SUBJECTS.iter().find_map(|(property, kind, words)| {
            let value = object.get(header, property)?;
            let subject = titles::subject(render, header, value)?;
            Some((*property, Title { text: format!("{words}{subject}"), kind: *kind, subject }))
        });
        let mut pins = self.settings(object, render);
        if let Some((shown_in_title, _)) = &about {
            pins.retain(|pin| pin.name != *shown_in_title);
        }
        let title = match about {
            Some((_, about)) if TITLES_WITHOUT_CLASS.contains(&short) => about,
            Some((_, about)) => Title { text: format!("{} ({short})", about.text), ..about },
            None => Title {
                text: short.to_owned(),
                kind: match short {
                    "Reroute" => NodeKind::Reroute,
                    "Comment" => NodeKind::Comment,
                    _ => NodeKind::Other,
                },
                subject: String::new(),
            },
        };
        let comment = object.get(header, "Desc").and_then(Value::string);
        let guid = ["MaterialExpressionGuid", "ExpressionGUID"].iter().find_map(|name| {
            let value = object.get(header, name)?;
            if let Value::Guid(guid) = value { Some(*guid) } else { None }
        });
        Node {
            name: visible(&header.object_name(index), MAX_NAME, false).into_owned(),
            title: title.text,
            kind: title.kind,
            subject: title.subject,
            comment: comment
                .map_or_else(String::new, |text| visible(text, MAX_VALUE, true).into_owned()),
            state: String::new(),
            guid: guid.unwrap_or_default(),
            position: (number("MaterialExpressionEditorX"), number("MaterialExpressionEditorY")),
            pins,
            fault: object.warnings.first().map(ToString::to_string),
            class,
        }
    }

    /// The settings of an expression or a material, as pins with values.
    fn settings(&self, object: &Object<'a>, render: &Render<'_, 'a>) -> Vec<NodePin> {
        let header = &self.header;
        let properties = object.properties.iter();
        let listed = properties.filter(|property| {
            let name = render.label(&property.name);
            !LEFT_OUT.contains(&name.as_str()) && !has_inputs(&property.value, header, 0)
        });
        listed
            .map(|property| {
                let mut text = Render::new(header, "", MAX_VALUE);
                text.value(&property.value);
                let mut name = render.label(&property.name);
                if property.index > 0 {
                    name.push_str(&format!("[{}]", property.index));
                }
                let value = text.out.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
                let value = value.unwrap_or(&text.out).to_owned();
                NodePin { name, value, ..NodePin::default() }
            })
            .collect()
    }

    /// The inputs of an expression or a material.
    fn inputs(&self, object: &Object<'a>, render: &Render<'_, 'a>) -> Vec<Input> {
        let mut inputs = Vec::new();
        for Property { name, index, value } in &object.properties {
            let mut name = render.label(name);
            if *index > 0 {
                name.push_str(&format!("[{index}]"));
            }
            self.inputs_of(value, &name, render, 0, &mut inputs);
        }
        inputs
    }

    fn inputs_of(
        &self,
        value: &Value<'a>,
        name: &str,
        render: &Render<'_, 'a>,
        depth: usize,
        inputs: &mut Vec<Input>,
    ) {
        let header = &self.header;
        if depth > MAX_DEPTH {
            return;
        }
        if is_input(value, header) {
            inputs.push(self.input(value.fields(), name));
            return;
        }
        for (position, item) in value.items().iter().enumerate() {
            // An item of a list has the input's name as a member, or within its member `Input`.
            let own_name = ["InputName", "Input"].iter().find_map(|member| {
                let value = get(item.fields(), header, member)?;
                let value = get(value.fields(), header, "InputName").unwrap_or(value);
                titles::subject(render, header, value)
            });
            let own_name = own_name.or_else(|| {
                titles::subject(render, header, get(item.fields(), header, "InputName")?)
            });
            let own_name = own_name.unwrap_or_else(|| format!("{name}[{position}]"));
            self.inputs_of(item, &own_name, render, depth + 1, inputs);
        }
        if value.items().is_empty() {
            for member in value.fields() {
                let inner = match &member.name {
                    label if depth == 0 => format!("{name}.{}", render.label(label)),
                    Label::Name(_) | Label::Text(_) => name.to_owned(),
                };
                self.inputs_of(&member.value, &inner, render, depth + 1, inputs);
            }
        }
    }

    fn input(&self, fields: &[Property<'a>], name: &str) -> Input {
        let header = &self.header;
        let number = |name| get(fields, header, name).and_then(Value::number).unwrap_or_default();
        let is_true = |name| get(fields, header, name) == Some(&Value::Bool(true));
        let mask = ["MaskR", "MaskG", "MaskB", "MaskA"].iter().zip("RGBA".chars());
        let mask: String =
            mask.filter(|(name, _)| number(name) != 0).map(|(_, channel)| channel).collect();
        let constant = if is_true("UseConstant") {
            let after = fields.iter().position(
                |field| matches!(&field.name, Label::Text(text) if text == "UseConstant"),
            );
            let parts = after.and_then(|at| fields.get(at + 1..)).unwrap_or_default();
            let mut text = Render::new(header, "", MAX_VALUE);
            match parts {
                [one] => text.value(&one.value),
                parts => text.properties(parts),
            }
            text.out
        } else {
            String::new()
        };
        Input {
            name: name.to_owned(),
            source: get(fields, header, "Expression").and_then(Value::object),
            output: usize::try_from(number("OutputIndex")).unwrap_or_default(),
            mask,
            constant,
        }
    }
}

/// The names of an expression's outputs, if the package has them.
struct Outputs(Vec<String>);

impl Outputs {
    fn of(object: &Object<'_>, header: &Header<'_>, render: &Render<'_, '_>) -> Self {
        let lists = ["FunctionOutputs", "Outputs"];
        let list = lists.iter().find_map(|name| object.get(header, name));
        let items = list.map_or(&[][..], Value::items).iter();
        Self(
            items
                .map(|item| {
                    let inner = get(item.fields(), header, "Output").unwrap_or(item);
                    let name = get(inner.fields(), header, "OutputName");
                    name.and_then(|name| titles::subject(render, header, name)).unwrap_or_default()
                })
                .collect(),
        )
    }

    /// The name of an output: its stored name, else the channels that are taken from it, else
    /// `Output` with its number, which the first output does not have.
    fn name(&self, output: usize, mask: &str) -> String {
        match self.0.get(output) {
            Some(name) if !name.is_empty() => name.clone(),
            Some(_) | None if !mask.is_empty() => mask.to_owned(),
            Some(_) | None if output == 0 => "Output".to_owned(),
            Some(_) | None => format!("Output {output}"),
        }
    }
}

/// Adds an input pin to a node, and the link to the pins at both ends.
fn add_link(
    nodes: &mut [Node],
    places: &HashMap<Index, (usize, Outputs)>,
    position: usize,
    input: Input,
) {
    let Input { name, source, output, mask, constant } = input;
    let mut pin = NodePin { name: name.clone(), value: constant, ..NodePin::default() };
    if let Some((from, outputs)) = source.and_then(|source| places.get(&source)) {
        let out = outputs.name(output, &mask);
        let target = nodes.get(position).map(|node| node.name.clone()).unwrap_or_default();
        let target = Link { node: target, pin: name };
        if let Some(node) = nodes.get_mut(*from) {
            pin.links.push(Link { node: node.name.clone(), pin: out.clone() });
            match node.pin_mut(&out, true) {
                Some(pin) => pin.links.push(target),
                None => node.pins.push(NodePin {
                    name: out,
                    output: true,
                    links: vec![target],
                    ..NodePin::default()
                }),
            }
        }
    }
    if let Some(node) = nodes.get_mut(position) {
        node.pins.push(pin);
    }
}

/// Whether a value is the input of an expression (`FExpressionInput`).
fn is_input(value: &Value<'_>, header: &Header<'_>) -> bool {
    let has = |name| get(value.fields(), header, name).is_some();
    has("OutputIndex") && has("Mask") || has("Expression") && has("InputName")
}

/// Whether a value is an input, or contains inputs.
fn has_inputs(value: &Value<'_>, header: &Header<'_>, depth: usize) -> bool {
    depth <= MAX_DEPTH
        && (is_input(value, header)
            || value.items().iter().any(|item| has_inputs(item, header, depth + 1))
            || value.fields().iter().any(|field| has_inputs(&field.value, header, depth + 1)))
}
