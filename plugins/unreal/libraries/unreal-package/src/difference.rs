//! Compares two versions of a package for a review: the engine, Blueprints, graphs, objects with their
//! properties, rows and undecoded data, and dependencies. Objects that the engine compiles from graphs are
//! not compared. Nodes that changed only their position are counted, not listed.

mod graphs;
mod objects;
mod report;

use crate::{
    blueprint::{Blueprint, Component, Variable},
    object::Package,
    registry::DependencyKind,
};
use std::collections::BTreeMap;

/// Maximum number of changes that are listed.
const MAX_CHANGES: usize = 20_000;
/// Maximum length of a value that is shown, in characters.
const MAX_SHOWN_CHARS: usize = 240;
/// Characters shown before the first difference of long values.
const CHARS_BEFORE: usize = 40;

/// The changes from one version of a package to another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// The changes of the engine, of Blueprints, of graphs, of objects and of dependencies, in this order.
    pub changes: Vec<Change>,
    /// Number of nodes that changed only their position.
    pub moved: usize,
    /// Whether `changes` is incomplete, since there are more than 20,000.
    pub cut: bool,
    /// Messages about parts of objects that could not be read.
    pub warnings: Vec<String>,
}

/// A change. An addition has no `before`, a removal has no `after`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// The kind of the changed thing.
    pub part: Part,
    /// The place of the change: a Blueprint, a graph, a node, an object or a row; empty for the
    /// package and for its only Blueprint.
    pub place: String,
    /// The name of the changed thing.
    pub name: String,
    /// The value before the change.
    pub before: Option<String>,
    /// The value after the change.
    pub after: Option<String>,
}

/// The kind of a changed thing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The version of the engine that saved the package.
    #[default]
    Engine,
    /// The parent class of a Blueprint.
    Parent,
    /// An interface of a Blueprint.
    Interface,
    /// A variable of a Blueprint.
    Variable,
    /// A component of a Blueprint.
    Component,
    /// A graph.
    Graph,
    /// A node of a graph.
    Node,
    /// A pin of a node, with its default value.
    Pin,
    /// A link between two pins.
    Link,
    /// An object of the package.
    Object,
    /// A property of an object.
    Property,
    /// A row of a table, or one of its values.
    Row,
    /// A package that this one depends on.
    Dependency,
    /// Data that the reader does not decode: the rest of an object, or the data behind all objects.
    /// The reader knows only their sizes, and whether they differ.
    Data,
}

impl Part {
    /// The word for this kind.
    pub fn word(self) -> &'static str {
        match self {
            Self::Engine => "engine",
            Self::Parent => "parent class",
            Self::Interface => "interface",
            Self::Variable => "variable",
            Self::Component => "component",
            Self::Graph => "graph",
            Self::Node => "node",
            Self::Pin => "pin",
            Self::Link => "link",
            Self::Object => "object",
            Self::Property => "property",
            Self::Row => "row",
            Self::Dependency => "dependency",
            Self::Data => "data, not decoded",
        }
    }
}

/// Compares two versions of a package; `package` is its name.
pub fn difference(before: &Package<'_>, after: &Package<'_>, package: &str) -> Difference {
    let mut found = Difference::default();
    let engine = |version: &Package<'_>| version.header.summary.engine.to_string();
    found.one(Part::Engine, "", "saved with", engine(before), engine(after));
    found.blueprints(&before.blueprints(package), &after.blueprints(package));
    found.graphs(&before.graphs(package), &after.graphs(package));
    found.objects(before, after, package);
    found.all(Part::Dependency, "", &dependencies(before), &dependencies(after));
    found
}

/// Lists the contents of a package, each part as an addition; `package` is its name. Graphs, nodes and objects are
/// listed with all that [`difference`] compares, so that each change that it finds also changes lines of the listing.
pub fn listing(of: &Package<'_>, package: &str) -> Difference {
    let mut found = Difference::default();
    let engine = of.header.summary.engine.to_string();
    found.only(Part::Engine, "", "saved with", None, Some(&engine));
    found.blueprints(&[], &of.blueprints(package));
    found.list_graphs(&of.graphs(package));
    found.list_objects(of, package);
    found.all(Part::Dependency, "", &BTreeMap::new(), &dependencies(of));
    found
}

/// The packages that a package depends on, each with its kinds of dependency. Packages of C++ code
/// and build dependencies are left out.
fn dependencies(package: &Package<'_>) -> BTreeMap<String, String> {
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    for dependency in &package.header.dependencies {
        let name = crate::visible(&dependency.package, 1024, false).into_owned();
        let kind = match dependency.strength {
            DependencyKind::Hard => "hard",
            DependencyKind::Soft => "soft",
            DependencyKind::Build => continue,
        };
        if !name.starts_with("/Script/") {
            let kinds = found.entry(name).or_default();
            if !kinds.contains(kind) {
                let comma = if kinds.is_empty() { "" } else { " and " };
                *kinds = format!("{kinds}{comma}{kind}");
            }
        }
    }
    found
}

impl Difference {
    /// The difference in the other direction: additions are removals.
    pub fn reversed(mut self) -> Self {
        for change in &mut self.changes {
            std::mem::swap(&mut change.before, &mut change.after);
        }
        self
    }

    /// Adds a change, unless the limit is reached.
    fn push(&mut self, change: Change) {
        if self.changes.len() < MAX_CHANGES {
            self.changes.push(change);
        } else {
            self.cut = true;
        }
    }

    /// Adds a change if the values of the two versions differ.
    fn one(&mut self, part: Part, place: &str, name: &str, before: String, after: String) {
        if before != after {
            let (before, after) = around(&before, &after);
            let (place, name) = (place.to_owned(), name.to_owned());
            self.push(Change { part, place, name, before: Some(before), after: Some(after) });
        }
    }

    /// Compares named values.
    fn all(
        &mut self,
        part: Part,
        place: &str,
        before: &BTreeMap<String, String>,
        after: &BTreeMap<String, String>,
    ) {
        for (name, old) in before {
            match after.get(name) {
                Some(new) => self.one(part, place, name, old.clone(), new.clone()),
                None => self.only(part, place, name, Some(old), None),
            }
        }
        for (name, new) in after.iter().filter(|(name, _)| !before.contains_key(*name)) {
            self.only(part, place, name, None, Some(new));
        }
    }

    /// Adds a change without comparing its values. A value that is cut ends with a checksum of the whole value.
    fn only(
        &mut self,
        part: Part,
        place: &str,
        name: &str,
        before: Option<&String>,
        after: Option<&String>,
    ) {
        let (before, after) = (before.map(|text| whole(text)), after.map(|text| whole(text)));
        self.push(Change { part, place: place.to_owned(), name: name.to_owned(), before, after });
    }

    fn blueprints(&mut self, before: &[Blueprint], after: &[Blueprint]) {
        let pairs = blueprint_pairs(before, after);
        let is_one = pairs.len() == 1;
        for (old, new) in pairs {
            let Some(Blueprint { name, .. }) = new.or(old) else { continue };
            let place = if is_one { "" } else { name };
            self.all(Part::Parent, "", &parent(old, name), &parent(new, name));
            self.all(Part::Interface, place, &named(old, interfaces), &named(new, interfaces));
            self.all(Part::Variable, place, &named(old, variables), &named(new, variables));
            self.all(Part::Component, place, &named(old, components), &named(new, components));
        }
    }
}

/// The Blueprints of both versions in pairs of the same name. The first Blueprint that only the old version has counts
/// as renamed to the first Blueprint that only the new version has, and so on. A Blueprint that was added or removed is
/// alone in its pair.
fn blueprint_pairs<'b>(
    before: &'b [Blueprint],
    after: &'b [Blueprint],
) -> Vec<(Option<&'b Blueprint>, Option<&'b Blueprint>)> {
    let is_in = |list: &[Blueprint], name: &str| list.iter().any(|other| other.name == name);
    let mut removed = before.iter().filter(|old| !is_in(after, &old.name));
    let same_or_renamed = |new: &'b Blueprint| {
        let same = before.iter().find(|old| old.name == new.name);
        (same.or_else(|| removed.next()), Some(new))
    };
    let mut pairs: Vec<_> = after.iter().map(same_or_renamed).collect();
    pairs.extend(removed.map(|old| (Some(old), None)));
    pairs
}

/// The parent class of a Blueprint, under `name`; empty if the version does not have the Blueprint.
fn parent(blueprint: Option<&Blueprint>, name: &str) -> BTreeMap<String, String> {
    blueprint.map(|blueprint| (name.to_owned(), blueprint.parent.clone())).into_iter().collect()
}

/// Named parts of a Blueprint; none if the version does not have the Blueprint.
fn named(
    blueprint: Option<&Blueprint>,
    parts: fn(&Blueprint) -> BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    blueprint.map(parts).unwrap_or_default()
}

fn interfaces(blueprint: &Blueprint) -> BTreeMap<String, String> {
    blueprint.interfaces.iter().map(|path| (path.clone(), String::new())).collect()
}

fn variables(blueprint: &Blueprint) -> BTreeMap<String, String> {
    let text = |Variable { kind, category, value, .. }: &Variable| {
        let value = if value.is_empty() { String::new() } else { format!(" = {value}") };
        let is_default_category = category.is_empty() || category == "Default";
        let category =
            if is_default_category { String::new() } else { format!(" (category {category})") };
        format!("{kind}{value}{category}")
    };
    blueprint.variables.iter().map(|it| (it.name.clone(), text(it))).collect()
}

fn components(blueprint: &Blueprint) -> BTreeMap<String, String> {
    let text = |Component { class, parent, .. }: &Component| match parent.as_str() {
        "" => class.clone(),
        parent => format!("{class}, attached to {parent}"),
    };
    blueprint.components.iter().map(|it| (it.name.clone(), text(it))).collect()
}

/// A value, cut to the length that is shown. A cut value ends with its length and its checksum, so that another value
/// is shown differently.
fn whole(value: &str) -> String {
    let (mut text, _) = around(value, "");
    if text.len() < value.len() {
        let (length, sum) = (value.chars().count(), checksum(value.as_bytes()));
        text.push_str(&format!(" ({length} characters, checksum {sum:016x})"));
    }
    text
}

/// The checksum FNV-1a of 64 bits.
fn checksum(bytes: &[u8]) -> u64 {
    let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3);
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, step)
}

/// Cuts two values to the length that is shown. Long values are cut around their first difference; if `after` is
/// empty, `before` keeps its start.
fn around(before: &str, after: &str) -> (String, String) {
    let same = before.chars().zip(after.chars()).take_while(|(a, b)| a == b).count();
    let is_long = before.chars().count().max(after.chars().count()) > MAX_SHOWN_CHARS;
    let start = if is_long && !after.is_empty() { same.saturating_sub(CHARS_BEFORE) } else { 0 };
    let cut = |text: &str| {
        let mut chars = text.chars().skip(start);
        let part: String = chars.by_ref().take(MAX_SHOWN_CHARS).collect();
        let (first, last) = (if start > 0 { "…" } else { "" }, chars.next().map_or("", |_| "…"));
        format!("{first}{part}{last}")
    };
    (cut(before), cut(after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_are_shown_around_their_difference() {
        let text = |last: &str| format!("{}{last}{}", "x".repeat(1_000), "y".repeat(1_000));
        let (before, after) = around(&text("a"), &text("b"));
        assert!(before.starts_with('…') && before.ends_with('…'), "{before}");
        assert!(before.contains("xa") && after.contains("xb"), "{before} {after}");
        assert_eq!(around("short", "shorter"), ("short".to_owned(), "shorter".to_owned()));
    }

    #[test]
    fn a_cut_value_tells_whether_its_end_differs() {
        let of = |last: &str| whole(&format!("{}{last}", "x".repeat(1_000)));
        assert!(of("a").ends_with(")") && of("a").contains("… (1001 characters, checksum "));
        assert_ne!(of("a"), of("b"));
        assert_eq!(whole("short"), "short");
        // The checksum of the empty text and of `a`, as the authors of the function publish them.
        assert_eq!((checksum(b""), checksum(b"a")), (0xCBF2_9CE4_8422_2325, 0xAF63_DC4C_8601_EC8C));
    }
}
