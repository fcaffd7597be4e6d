//! Reads a Blueprint's parent, interfaces, variables, components, widgets and bindings; `graph` reads its graphs.

use crate::{
    object::{Object, Package, get},
    render::Render,
    tables::Index,
    value::Value,
    visible::visible,
    widgets::Binding,
};
use std::collections::HashMap;

/// A Blueprint without its graphs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blueprint {
    /// Its name.
    pub name: String,
    /// The name of its class, such as `WidgetBlueprint`.
    pub class: String,
    /// Path of the parent class.
    pub parent: String,
    /// Paths of the implemented interfaces.
    pub interfaces: Vec<String>,
    /// Variables declared in this Blueprint.
    pub variables: Vec<Variable>,
    /// Components added in this Blueprint.
    pub components: Vec<Component>,
    /// The widgets of a widget Blueprint, each parent before its children.
    pub widgets: Vec<Component>,
    /// Properties of widgets that are bound to functions or variables.
    pub bindings: Vec<Binding>,
    /// Messages about widgets that do not fit into a tree, or were not read.
    pub faults: Vec<String>,
}

/// A variable of a Blueprint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its type, such as `array of object Actor`.
    pub kind: String,
    /// Category in the editor.
    pub category: String,
    /// Default value, if stored with the variable.
    pub value: String,
}

/// A component of a Blueprint, or a widget.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Component {
    /// Its name.
    pub name: String,
    /// Path of its class.
    pub class: String,
    /// Name of the component it is attached to, or of the widget around it.
    pub parent: String,
}

impl Package<'_> {
    /// The Blueprints in this package; `package` is its name. A map with a level script has one
    /// Blueprint.
    pub fn blueprints(&self, package: &str) -> Vec<Blueprint> {
        let header = &self.header;
        let render = Render::new(header, package, usize::MAX);
        let objects = (0..header.exports.len()).map(Index::of_export);
        let is_blueprint = |index: &Index| header.class_name(*index).ends_with("Blueprint");
        objects.filter(is_blueprint).map(|index| self.blueprint(index, &render, package)).collect()
    }

    fn blueprint(&self, index: Index, render: &Render<'_, '_>, package: &str) -> Blueprint {
        let header = &self.header;
        let object = self.object(index);
        let path = |object: Index| visible(&header.path(object, package), 1024, false).into_owned();
        let items = |name| object.get(header, name).map_or(&[][..], Value::items);
        let parent = object.get(header, "ParentClass").and_then(Value::object);
        let interfaces = items("ImplementedInterfaces").iter().filter_map(|interface| {
            get(interface.fields(), header, "Interface").and_then(Value::object).map(path)
        });
        let (widgets, faults) = self.widgets(&object);
        Blueprint {
            name: visible(&header.object_name(index), 256, false).into_owned(),
            class: visible(&header.class_name(index), 256, false).into_owned(),
            parent: parent.map(path).unwrap_or_default(),
            interfaces: interfaces.collect(),
            variables: items("NewVariables").iter().map(|v| self.variable(v, render)).collect(),
            components: self.components(&object, &path),
            widgets,
            bindings: self.bindings(&object),
            faults,
        }
    }

    pub(crate) fn variable(&self, value: &Value<'_>, render: &Render<'_, '_>) -> Variable {
        let header = &self.header;
        let field = |name| get(value.fields(), header, name);
        let name = |value: &Value<'_>| {
            value.name().map(|name| visible(&header.name(name), 256, false).into_owned())
        };
        let category = field("Category").and_then(|category| {
            category.text().map(|text| render.plain(text)).or_else(|| name(category))
        });
        let value = field("DefaultValue").and_then(Value::string);
        Variable {
            name: field("VarName").and_then(name).unwrap_or_default(),
            kind: field("VarType")
                .and_then(Value::pin_type)
                .map(|kind| render.pin_type(kind))
                .unwrap_or_default(),
            category: category.unwrap_or_default(),
            value: value.map_or_else(String::new, |v| visible(v, 2048, true).into_owned()),
        }
    }

    /// The nodes of a Blueprint's component tree.
    fn components(
        &self,
        blueprint: &Object<'_>,
        path: &impl Fn(Index) -> String,
    ) -> Vec<Component> {
        let header = &self.header;
        let tree = blueprint.get(header, "SimpleConstructionScript").and_then(Value::object);
        let Some(tree) = tree else { return Vec::new() };
        let objects = (0..header.exports.len()).map(Index::of_export);
        let nodes: Vec<(Index, Object<'_>)> = objects
            .filter(|index| header.outer(*index) == tree && header.class_name(*index) == "SCS_Node")
            .map(|index| (index, self.object(index)))
            .collect();
        let name = |object: &Object<'_>| {
            let name = ["InternalVariableName", "VariableName"]
                .iter()
                .find_map(|name| object.get(header, name).and_then(Value::name));
            name.map(|name| visible(&header.name(name), 256, false).into_owned())
        };
        let mut parents: HashMap<Index, String> = HashMap::new();
        for (_, object) in &nodes {
            let children = object.get(header, "ChildNodes").map_or(&[][..], Value::items);
            for child in children.iter().filter_map(Value::object) {
                parents.insert(child, name(object).unwrap_or_default());
            }
        }
        nodes
            .iter()
            .map(|(index, object)| {
                let template = object.get(header, "ComponentTemplate").and_then(Value::object);
                let class = object.get(header, "ComponentClass").and_then(Value::object);
                let native = object.get(header, "ParentComponentOrVariableName");
                let native = native
                    .and_then(Value::name)
                    .map(|name| visible(&header.name(name), 256, false).into_owned());
                Component {
                    name: name(object).unwrap_or_default(),
                    class: class.map(path).unwrap_or_else(|| {
                        template.map(|t| header.class_path(t, "")).unwrap_or_default()
                    }),
                    parent: parents.remove(index).or(native).unwrap_or_default(),
                }
            })
            .collect()
    }
}
