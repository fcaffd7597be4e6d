//! Compares the objects of a package: their properties, the rows of tables, and data that is not decoded.

use super::{Difference, MAX_SHOWN_CHARS, Part, checksum};
use crate::{
    object::{Object, Package},
    render::Render,
    rows::Rows,
    tables::Index,
    value::{Label, Property, Value},
};
use std::collections::{BTreeMap, HashMap};

/// After this many bytes of a property's text, no further value is written, and the rest is not compared.
const MAX_TEXT: usize = 1 << 20;

/// Properties that are not compared: they change with every save, concern only the editor, or repeat
/// what is compared as a Blueprint or a graph.
const LEFT_OUT: &[&str] = &[
    "AdvancedPinDisplay",
    "AllNodes",
    "BlueprintGuid",
    "BlueprintSystemVersion",
    "CategorySorting",
    "ChildNodes",
    "CrcLastCompiledCDO",
    "CrcLastCompiledSignature",
    "DelegateSignatureGraphs",
    "EnabledState",
    "ErrorMsg",
    "ErrorType",
    "ExpressionCollection",
    "FunctionExpressions",
    "FunctionGraphs",
    "GeneratedClass",
    "ImplementedInterfaces",
    "LastEditedDocuments",
    "MacroGraphs",
    "NewVariables",
    "NodeComment",
    "NodeGuid",
    "NodeHeight",
    "NodePosX",
    "NodePosY",
    "NodeWidth",
    "Nodes",
    "ParentClass",
    "Pins",
    "RootNodes",
    "ShowPinForProperties",
    "SimpleConstructionScript",
    "SkeletonGeneratedClass",
    "UbergraphPages",
    "bHasCompilerMessage",
];

impl Difference {
    pub(super) fn objects(&mut self, before: &Package<'_>, after: &Package<'_>, package: &str) {
        let (old, new) = (paths(before), paths(after));
        let new_paths: HashMap<&str, Index> =
            new.iter().map(|(path, index)| (path.as_str(), *index)).collect();
        let old_paths: HashMap<&str, Index> =
            old.iter().map(|(path, index)| (path.as_str(), *index)).collect();
        for (path, index) in &old {
            match new_paths.get(path.as_str()) {
                Some(other) => self.object(path, (before, *index), (after, *other), package),
                None => self.only_object(path, before, *index, true),
            }
        }
        for (path, index) in &new {
            if !old_paths.contains_key(path.as_str()) {
                self.only_object(path, after, *index, false);
            }
        }
        self.data(BEHIND, payload(before), payload(after));
    }

    /// Lists the objects with their properties, rows and data.
    pub(super) fn list_objects(&mut self, of: &Package<'_>, package: &str) {
        for (path, index) in paths(of) {
            self.only_object(&path, of, index, false);
            let object = of.object(index);
            for warning in object.warnings.iter().take(4) {
                self.warnings.push(format!("{path}: {warning}"));
            }
            for (name, value) in parts(of, &object, package) {
                self.only(Part::Property, &path, &name, None, Some(&value));
            }
            self.list_rows(&path, &rows(of, &object, package));
            self.list_data(&path, class_data(of, &object).as_deref());
        }
        self.list_data(BEHIND, payload(of));
    }

    /// Lists rows, each on one line where it is short.
    fn list_rows(&mut self, path: &str, rows: &RowTexts) {
        for (name, values) in rows {
            let row = joined(values);
            if is_short(&row) {
                self.only(Part::Row, path, name, None, Some(&row));
            } else {
                self.all(Part::Row, &format!("{path}: {name}"), &BTreeMap::new(), values);
            }
        }
    }

    /// Lists data that are not decoded. The checksum differs where the data differ.
    fn list_data(&mut self, path: &str, data: Option<&[u8]>) {
        if let Some(bytes) = data {
            let text = format!("{} bytes, checksum {:016x}", bytes.len(), checksum(bytes));
            self.only(Part::Data, "", path, None, Some(&text));
        }
    }

    /// Adds an object that only one version has. Graphs and nodes are left out: they are compared as graphs.
    fn only_object(&mut self, path: &str, package: &Package<'_>, index: Index, is_old: bool) {
        let header = &package.header;
        if !header.is_graph(index) && !header.is_node(index) {
            let class = crate::visible(&header.class_name(index), 256, false).into_owned();
            let (before, after) = if is_old { (Some(&class), None) } else { (None, Some(&class)) };
            self.only(Part::Object, "", path, before, after);
        }
    }

    fn object(
        &mut self,
        path: &str,
        (before, old): (&Package<'_>, Index),
        (after, new): (&Package<'_>, Index),
        package: &str,
    ) {
        let class = |version: &Package<'_>, index| {
            crate::visible(&version.header.class_name(index), 256, false).into_owned()
        };
        self.one(Part::Object, "", path, class(before, old), class(after, new));
        let (older, newer) = (before.object(old), after.object(new));
        for warning in older.warnings.iter().chain(&newer.warnings).take(4) {
            self.warnings.push(format!("{path}: {warning}"));
        }
        let (texts_before, texts_after) =
            (texts(before, &older, package), texts(after, &newer, package));
        self.all(Part::Property, path, &texts_before, &texts_after);
        let (rows_before, rows_after) =
            (rows(before, &older, package), rows(after, &newer, package));
        self.rows(path, &rows_before, &rows_after);
        let (old_data, new_data) = (class_data(before, &older), class_data(after, &newer));
        self.data(path, old_data.as_deref(), new_data.as_deref());
    }

    fn rows(&mut self, path: &str, before: &RowTexts, after: &RowTexts) {
        for (name, old) in before {
            match after.get(name) {
                Some(new) => self.all(Part::Row, &format!("{path}: {name}"), old, new),
                None => self.only(Part::Row, path, name, Some(&joined(old)), None),
            }
        }
        for (name, new) in after.iter().filter(|(name, _)| !before.contains_key(*name)) {
            self.only(Part::Row, path, name, None, Some(&joined(new)));
        }
    }

    fn data(&mut self, path: &str, before: Option<&[u8]>, after: Option<&[u8]>) {
        if before != after {
            let size = |bytes: Option<&[u8]>| {
                bytes.map_or_else(|| "none".to_owned(), |bytes| format!("{} bytes", bytes.len()))
            };
            self.only(Part::Data, "", path, Some(&size(before)), Some(&size(after)));
        }
    }
}

/// The name of the data behind the objects.
const BEHIND: &str = "behind the objects";

/// The data behind the objects in the file, such as the pixels of a texture; `None` if there are none.
fn payload<'a>(version: &Package<'a>) -> Option<&'a [u8]> {
    let ends =
        version.header.exports.iter().map(|export| export.offset.saturating_add(export.size));
    let end = ends.max().unwrap_or_default();
    // The last four bytes are the magic number of packages.
    let len = version.len().saturating_sub(end).saturating_sub(4);
    version.bytes_of(end, len).filter(|bytes| !bytes.is_empty())
}

/// Data of at most this many bytes count as none if all bytes are 0: they are an empty list, or a flag that is not set.
const MAX_EMPTY_BYTES: usize = 16;

/// The data of an object that only its class can read; `None` for data that count as none.
fn class_data(version: &Package<'_>, object: &Object<'_>) -> Option<Vec<u8>> {
    let bytes = object.native.and_then(|(at, len)| version.bytes_of(at, len))?;
    let is_nothing = bytes.len() <= MAX_EMPTY_BYTES && bytes.iter().all(|byte| *byte == 0);
    (!is_nothing).then(|| bytes.to_vec())
}

/// Whether objects of this class are not compared, since the engine makes them from other data (such as
/// from graphs when it compiles a Blueprint), or since they are pins, which are compared with their graphs.
fn is_made(class: &str) -> bool {
    ["GeneratedClass", "Property", "DelegateBinding"].iter().any(|end| class.ends_with(end))
        || ["Function", "EdGraphPin", "PackageMetaData", "MetaData"].contains(&class)
}

/// Whether objects of this class are compared as parts of the graph of a rig or of a material.
fn is_in_graph(class: &str) -> bool {
    class.starts_with("MaterialExpression")
        || ["Material", "MaterialEditorOnlyData"].contains(&class)
        || class.strip_prefix("RigVM").is_some_and(|kind| {
            kind.ends_with("Node") || ["Graph", "Link", "Pin", "InjectionInfo"].contains(&kind)
        })
}

/// The compared objects with their paths. Objects that the engine makes from other data, and
/// objects that graphs show, are left out.
fn paths(package: &Package<'_>) -> Vec<(String, Index)> {
    let header = &package.header;
    let all = (0..header.exports.len()).map(Index::of_export);
    let is_compared = |index: &Index| {
        let class = header.class_name(*index);
        !is_made(&class) && !is_in_graph(&class)
    };
    let path = |index| crate::visible(&header.path_within(index), 1024, false).into_owned();
    all.filter(is_compared).map(|index| (path(index), index)).collect()
}

/// The properties of an object as texts.
fn texts(package: &Package<'_>, object: &Object<'_>, name: &str) -> BTreeMap<String, String> {
    let properties = object.properties.iter();
    let labelled = properties.map(|property| text(package, property, name));
    labelled.filter(|(label, _)| !LEFT_OUT.contains(&label.as_str())).collect()
}

fn text(package: &Package<'_>, property: &Property<'_>, name: &str) -> (String, String) {
    let mut render = Render::new(&package.header, name, MAX_TEXT);
    render.value(&property.value);
    let label = match property.index {
        0 => render.label(&property.name),
        index => format!("{}({index})", render.label(&property.name)),
    };
    (label, render.out)
}

/// The properties of an object in their order, each as one text where it is short. Long structures, lists and maps are
/// taken apart into named parts, such as `Keys(3).Time`.
fn parts(package: &Package<'_>, object: &Object<'_>, name: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for property in &object.properties {
        let (label, text) = text(package, property, name);
        if !LEFT_OUT.contains(&label.as_str()) {
            take_apart(package, name, label, &property.value, text, &mut found);
        }
    }
    found
}

fn take_apart(
    package: &Package<'_>,
    name: &str,
    label: String,
    value: &Value<'_>,
    rendered: String,
    found: &mut Vec<(String, String)>,
) {
    let render = |value: &Value<'_>| {
        let mut render = Render::new(&package.header, name, MAX_TEXT);
        render.value(value);
        render.out
    };
    let mut part = |label: String, value: &Value<'_>| {
        let rendered = render(value);
        take_apart(package, name, label, value, rendered, found);
    };
    let is_long = !is_short(&rendered);
    if let (true, Value::Struct(inside)) = (is_long, value)
        && !inside.fields.is_empty()
    {
        for field in &inside.fields {
            let (inner, _) = text(package, field, name);
            part(format!("{label}.{inner}"), &field.value);
        }
    } else if let (true, Value::List(items)) = (is_long, value) {
        for (position, item) in items.iter().enumerate() {
            part(format!("{label}({position})"), item);
        }
    } else if let (true, Value::Map(entries)) = (is_long, value) {
        for (key, value) in entries {
            part(format!("{label}[{}]", render(key)), value);
        }
    } else {
        found.push((label, rendered));
    }
}

/// Whether a text is shown as a whole.
fn is_short(text: &str) -> bool {
    text.chars().nth(MAX_SHOWN_CHARS).is_none()
}

/// The values of each row, by the name of the row.
type RowTexts = BTreeMap<String, BTreeMap<String, String>>;

fn rows(package: &Package<'_>, object: &Object<'_>, name: &str) -> RowTexts {
    let render = Render::new(&package.header, name, MAX_TEXT);
    match &object.rows {
        None => RowTexts::new(),
        Some(Rows::Named(rows)) => rows
            .iter()
            .map(|(row, properties)| {
                let values = properties.iter().map(|property| text(package, property, name));
                (render.label(&Label::Name(*row)), values.collect())
            })
            .collect(),
        Some(Rows::Strings(strings)) => strings
            .entries
            .iter()
            .map(|(key, text)| {
                let shown = |text: &str| crate::visible(text, MAX_TEXT, true).into_owned();
                (shown(key), BTreeMap::from([("text".to_owned(), shown(text))]))
            })
            .collect(),
    }
}

/// The values of a row on one line.
fn joined(row: &BTreeMap<String, String>) -> String {
    row.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(", ")
}
