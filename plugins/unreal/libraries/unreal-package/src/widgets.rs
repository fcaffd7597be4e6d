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

/// Maximum number of widgets that a message names.
const MAX_NAMED: usize = 8;

/// The widgets of a Blueprint, and their places.
struct Places {
    /// All widgets, in the order of the file.
    all: Vec<Index>,
    /// For each widget, the widget around it.
    parents: HashMap<Index, Index>,
    /// For each widget, the widgets in its slots, in their order.
    children: HashMap<Index, Vec<Index>>,
    /// The widgets that are in several slots.
    repeated: Vec<Index>,
}

impl<'a> Package<'a> {
    /// The widgets of a widget Blueprint, each parent before its children, and messages about
    /// widgets that do not fit into a tree or are not read. The parent of a widget is the widget around it.
    pub(crate) fn widgets(&self, blueprint: &Object<'a>) -> (Vec<Component>, Vec<String>) {
        let header = &self.header;
        let Some(tree) = blueprint.get(header, "WidgetTree").and_then(Value::object) else {
            return (Vec::new(), Vec::new());
        };
        let indices = (0..header.exports.len()).map(Index::of_export);
        let mut all: Vec<Index> = indices.filter(|index| header.outer(*index) == tree).collect();
        let mut faults = Vec::new();
        if all.len() > MAX_WIDGETS {
            faults.push(format!("only the first {MAX_WIDGETS} of {} widgets are read", all.len()));
            all.truncate(MAX_WIDGETS);
        }
        let mut places = self.places(all);
        if !places.repeated.is_empty() {
            faults.push(format!(
                "these widgets are in several slots, and only the last counts: {}",
                self.named(&places.repeated)
            ));
        }
        let (mut listed, rootless) = places.in_order();
        if !rootless.is_empty() {
            faults.push(format!(
                "these widgets are below no root, since some of them contain each other: {}",
                self.named(&rootless)
            ));
        }
        listed.extend(rootless);
        let name = |object| visible(&header.object_name(object), 256, false).into_owned();
        let component = |widget: Index| Component {
            name: name(widget),
            class: visible(&header.class_path(widget, ""), 1024, false).into_owned(),
            parent: places.parents.get(&widget).map_or_else(String::new, |parent| name(*parent)),
        };
        (listed.into_iter().map(component).collect(), faults)
    }

    /// The places of widgets, from the slots of the widgets.
    fn places(&self, all: Vec<Index>) -> Places {
        let header = &self.header;
        let known: HashSet<Index> = all.iter().copied().collect();
        let mut contents: Vec<(Index, Index)> = Vec::new();
        let (mut parents, mut repeated) = (HashMap::new(), Vec::new());
        let mut is_repeated: HashSet<Index> = HashSet::new();
        for widget in &all {
            let widget_object = self.object(*widget);
            let slots = widget_object.get(header, "Slots").map_or(&[][..], Value::items);
            for slot in slots.iter().filter_map(Value::object) {
                let content = self.object(slot).get(header, "Content").and_then(Value::object);
                let Some(content) = content.filter(|content| known.contains(content)) else {
                    continue;
                };
                contents.push((*widget, content));
                if parents.insert(content, *widget).is_some() && is_repeated.insert(content) {
                    repeated.push(content);
                }
            }
        }
        let mut children: HashMap<Index, Vec<Index>> = HashMap::new();
        for (widget, content) in contents {
            if parents.get(&content) == Some(&widget) {
                children.entry(widget).or_default().push(content);
            }
        }
        Places { all, parents, children, repeated }
    }

    /// The names of objects. If there are many, only the first, and how many more there are.
    fn named(&self, objects: &[Index]) -> String {
        let names = objects
            .iter()
            .take(MAX_NAMED)
            .map(|object| visible(&self.header.object_name(*object), 256, false).into_owned());
        let names = names.collect::<Vec<_>>().join(", ");
        match objects.len().saturating_sub(MAX_NAMED) {
            0 => names,
            more => format!("{names} and {more} more"),
        }
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

impl Places {
    /// The widgets below roots, each parent before its children, and then the other widgets: those
    /// in a cycle, and those below a cycle. Each widget is in one of the lists once.
    fn in_order(&mut self) -> (Vec<Index>, Vec<Index>) {
        let mut visited = HashSet::new();
        let (mut listed, mut rootless) = (Vec::new(), Vec::new());
        for root in self.all.iter().filter(|widget| !self.parents.contains_key(widget)) {
            below(*root, &mut self.children, &mut visited, &mut listed);
        }
        for widget in &self.all {
            below(*widget, &mut self.children, &mut visited, &mut rootless);
        }
        (listed, rootless)
    }
}

/// Adds a widget and the widgets in it, except visited widgets.
fn below(
    widget: Index,
    children: &mut HashMap<Index, Vec<Index>>,
    visited: &mut HashSet<Index>,
    listed: &mut Vec<Index>,
) {
    let mut to_visit = vec![widget];
    while let Some(widget) = to_visit.pop() {
        if visited.insert(widget) {
            listed.push(widget);
            to_visit.extend(children.remove(&widget).unwrap_or_default().into_iter().rev());
        }
    }
}
