//! Reads the widgets of a widget Blueprint as a tree, and the bindings of their properties.

use crate::{
    blueprint::Component,
    object::{Object, Package, get},
    tables::Index,
    value::{Property, Value},
    visible::visible,
};
use std::collections::{HashMap, HashSet};

/// Maximum number of widgets of one Blueprint.
const MAX_WIDGETS: usize = 20_000;

/// A property of a widget whose value comes from a function or another property.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Binding {
    /// The widget.
    pub widget: String,
    /// Its property, such as `Text`.
    pub property: String,
    /// The function, or the path of the property, that the value comes from.
    pub source: String,
}

impl<'a> Package<'a> {
    /// The widgets of a widget Blueprint, each parent before its children. The parent of a widget
    /// is the widget around it.
    pub(crate) fn widgets(&self, blueprint: &Object<'a>) -> Vec<Component> {
        let header = &self.header;
        let Some(tree) = blueprint.get(header, "WidgetTree").and_then(Value::object) else {
            return Vec::new();
        };
        let objects = |object: &Object<'_>, name| -> Vec<Index> {
            let list = object.get(header, name).map_or(&[][..], Value::items);
            list.iter().filter_map(Value::object).collect()
        };
        let name = |object| visible(&header.object_name(object), 256, false).into_owned();
        let indices = (0..header.exports.len()).map(Index::of_export);
        let widget_indices: Vec<Index> =
            indices.filter(|index| header.outer(*index) == tree).take(MAX_WIDGETS).collect();
        let known: HashSet<Index> = widget_indices.iter().copied().collect();
        // For each widget, the widgets in its slots, in their order.
        let mut children: HashMap<Index, Vec<Index>> = HashMap::new();
        let mut parents: HashMap<Index, Index> = HashMap::new();
        for widget in &widget_indices {
            for slot in objects(&self.object(*widget), "Slots") {
                let content = self.object(slot).get(header, "Content").and_then(Value::object);
                if let Some(content) = content.filter(|content| known.contains(content)) {
                    children.entry(*widget).or_default().push(content);
                    parents.insert(content, *widget);
                }
            }
        }
        let mut widgets = Vec::new();
        let mut to_visit: Vec<Index> = widget_indices
            .iter()
            .rev()
            .filter(|widget| !parents.contains_key(widget))
            .copied()
            .collect();
        while let Some(widget) = to_visit.pop() {
            widgets.push(Component {
                name: name(widget),
                class: visible(&header.class_path(widget, ""), 1024, false).into_owned(),
                parent: parents.get(&widget).map_or_else(String::new, |parent| name(*parent)),
            });
            // The children of a widget are visited once, even if the file has the widget in two
            // slots.
            to_visit.extend(children.remove(&widget).unwrap_or_default().into_iter().rev());
        }
        widgets
    }

    /// The properties of widgets that are bound, and their sources.
    pub(crate) fn bindings(&self, blueprint: &Object<'a>) -> Vec<Binding> {
        let header = &self.header;
        let list = blueprint.get(header, "Bindings").map_or(&[][..], Value::items);
        let text = |fields: &[Property<'_>], name| {
            let value = get(fields, header, name)?;
            let text = value.name().map(|name| header.name(name));
            let text = text.or_else(|| value.string().cloned())?;
            (text != "None").then(|| visible(&text, 256, false).into_owned())
        };
        list.iter()
            .map(|binding| {
                let fields = binding.fields();
                let segments = get(fields, header, "SourcePath")
                    .and_then(|path| get(path.fields(), header, "Segments"))
                    .map_or(&[][..], Value::items)
                    .iter()
                    .filter_map(|segment| text(segment.fields(), "Name"))
                    .collect::<Vec<_>>()
                    .join(".");
                let source = ["FunctionName", "SourceProperty"];
                let source = source.iter().find_map(|name| text(fields, name));
                Binding {
                    widget: text(fields, "ObjectName").unwrap_or_default(),
                    property: text(fields, "PropertyName").unwrap_or_default(),
                    source: if segments.is_empty() { source.unwrap_or_default() } else { segments },
                }
            })
            .collect()
    }
}
