//! Reads a whole package: the header, and each object on request.

use crate::{
    cursor::Cursor,
    fault::{CursorStop, Fault, Warning},
    header::Header,
    pins::Pin,
    properties::Decoder,
    rows::{Rows, Table},
    tables::Index,
    value::{Label, Property, Value},
    version::ue5,
};
use std::cell::Cell;

/// A package whose file is completely in memory.
#[derive(Debug)]
pub struct Package<'a> {
    /// The header: everything except the objects.
    pub header: Header<'a>,
    bytes: &'a [u8],
    /// Number of bytes of objects that may still be decoded. Objects of a valid file do not
    /// overlap, so that the budget suffices to read all objects many times.
    budget: Cell<u64>,
}

/// The budget is this multiple of the file's length, plus 1 MiB.
const PASSES: u64 = 24;

/// The content of an object.
#[derive(Debug, Default)]
pub struct Object<'a> {
    /// The properties that differ from the object's archetype.
    pub properties: Vec<Property<'a>>,
    /// The pins, if the object is a graph node that contains its pins.
    pub pins: Vec<Pin<'a>>,
    /// The content, if the object is a table.
    pub rows: Option<Rows<'a>>,
    /// Number of properties, at any depth, that could not be decoded.
    pub undecoded: usize,
    /// Offset and length, in bytes, of the remaining data, which only the object's class can read.
    pub native: Option<(u64, u64)>,
    /// A warning for each part that could not be read.
    pub warnings: Vec<Warning>,
}

impl<'a> Object<'a> {
    /// The value of a property.
    pub fn get(&self, header: &Header<'_>, name: &str) -> Option<&Value<'a>> {
        get(&self.properties, header, name)
    }
}

/// The value of a property, by name.
pub fn get<'v, 'a>(
    properties: &'v [Property<'a>],
    header: &Header<'_>,
    name: &str,
) -> Option<&'v Value<'a>> {
    let found = properties.iter().find(|property| match &property.name {
        Label::Name(label) => header.is_named(*label, name),
        Label::Text(label) => label == name,
    });
    found.map(|property| &property.value)
}

impl<'a> Package<'a> {
    /// Reads a whole file.
    ///
    /// # Errors
    ///
    /// When the file cannot be read at all; see [`Header::read`].
    pub fn read(bytes: &'a [u8]) -> Result<Self, Fault> {
        let len = bytes.len() as u64;
        let budget = Cell::new(len.saturating_mul(PASSES).saturating_add(1 << 20));
        Ok(Self { header: Header::read(bytes, len)?, bytes, budget })
    }

    /// The length of the file in bytes.
    pub(crate) fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// A part of the file; `None` if it is out of bounds.
    pub(crate) fn bytes_of(&self, at: u64, len: u64) -> Option<&'a [u8]> {
        let (at, len) = (usize::try_from(at).ok()?, usize::try_from(len).ok()?);
        self.bytes.get(at..at.checked_add(len)?)
    }

    /// A cursor over the whole file.
    pub(crate) fn whole(&self) -> Cursor<'a> {
        Cursor::new(self.bytes, self.bytes.len() as u64)
    }

    /// Reads the object of an export. Unreadable parts become warnings.
    pub fn object(&self, export: Index) -> Object<'a> {
        let mut object = Object::default();
        if let Err(stop) = self.fill(export, &mut object) {
            object.warnings.push(stop.in_section("object"));
        }
        object
    }

    fn fill(&self, index: Index, object: &mut Object<'a>) -> Result<(), CursorStop> {
        let header = &self.header;
        let Some(export) = index.export().and_then(|position| header.exports.get(position)) else {
            return Err(CursorStop::Damaged { what: "reference to an object", at: 0 });
        };
        let (start, end) = (export.offset, export.offset.saturating_add(export.size));
        let Some(budget) = self.budget.get().checked_sub(export.size) else {
            return Err(CursorStop::Damaged {
                what: "size of an object (many objects overlap)",
                at: start,
            });
        };
        self.budget.set(budget);
        let whole = self.whole();
        if start >= self.bytes.len() as u64 && export.size > 0 {
            return Err(CursorStop::Damaged { what: "data in another file (.uexp)", at: start });
        }
        let mut cursor = whole.part("object", start, end)?;
        if let Some((script, _)) = export.script {
            cursor = whole.part("object", start + script, end)?;
        } else if has_import_sources(&header.class_name(index)) && !header.summary.is_stripped() {
            // The source files come first, as a list in JSON; older versions have no such list.
            let mut after_sources = cursor.clone();
            let sources = after_sources.string("sources of an import");
            if sources.is_ok_and(|text| text.trim_start().starts_with('[')) {
                cursor = after_sources;
            }
        }
        let decoder = Decoder::new(header);
        if header.class_name(index) == "RigVMLink"
            && let Some(ends) = link_ends(whole.part("object", start, end)?)
        {
            object.properties = ends;
            return Ok(());
        }
        let properties = properties(&decoder, &mut cursor);
        object.undecoded = decoder.undecoded.take();
        object.properties = properties?;
        if let Some((_, script)) = export.script
            && cursor.at() != start + script
        {
            object.warnings.push(cursor.damaged("end of the properties").in_section("object"));
            cursor = whole.part("object", start + script, end)?;
        }
        let rest = self.read_rest(&decoder, index, cursor, object);
        object.undecoded += decoder.undecoded.get();
        rest
    }

    /// Reads the data after the properties: GUID, pins and rows.
    fn read_rest(
        &self,
        decoder: &Decoder<'_, 'a>,
        index: Index,
        mut cursor: Cursor<'a>,
        object: &mut Object<'a>,
    ) -> Result<(), CursorStop> {
        let is_default = index
            .export()
            .and_then(|position| self.header.exports.get(position))
            .is_some_and(|export| export.is_class_default());
        if !is_default && cursor.left() >= 4 && cursor.flag("GUID of an object")? {
            cursor.skip("GUID of an object", 16)?;
        }
        if decoder.layout.pins_in_nodes && self.header.is_node(index) {
            object.pins = decoder.pins(&mut cursor)?;
        }
        if let Some(table) = Table::of_class(&self.header.class_name(index))
            && !is_default
        {
            // Rows that cannot be read count as data that only the class can read.
            let mut content = cursor.clone();
            match table.read(decoder, &mut content) {
                Ok(rows) => (object.rows, cursor) = (Some(rows), content),
                Err(stop) => object.warnings.push(stop.in_section("content of the table")),
            }
        }
        object.native = (cursor.left() > 0).then(|| (cursor.at(), cursor.left()));
        Ok(())
    }

    /// The actors of a level in the order of its list. `None` if the list is empty or cannot be read.
    pub fn actors(&self, level: Index) -> Option<Vec<Index>> {
        let (at, len) = self.object(level).native?;
        let whole = self.whole();
        let list = whole.part("actors", at, at + len).ok()?;
        // Until 4.19 the list starts with its owner.
        [0, 4].into_iter().find_map(|skipped| {
            let mut cursor = list.clone();
            cursor.skip("actors", skipped).ok()?;
            let count = cursor.count("actors", 4).ok()?;
            let actors: Result<Vec<Index>, CursorStop> =
                (0..count).map(|_| Index::read(&mut cursor, "actors")).collect();
            let mut actors = actors.ok()?;
            actors.retain(|actor| actor.0 != 0);
            let are_all_in_level = actors.iter().all(|actor| self.header.outer(*actor) == level);
            (are_all_in_level && !actors.is_empty()).then_some(actors)
        })
    }
}

/// Reads a link of a rig: two paths without tagged properties. `None` for other data. Source:
/// `URigVMLink::Serialize` of the engine.
fn link_ends(mut cursor: Cursor<'_>) -> Option<Vec<Property<'_>>> {
    let mut ends = Vec::new();
    for name in ["SourcePinPath", "TargetPinPath"] {
        let value = Value::String(cursor.string("link of a rig").ok()?);
        ends.push(Property { name: Label::fixed(name), index: 0, value });
    }
    (cursor.left() == 0).then_some(ends)
}

fn properties<'a>(
    decoder: &Decoder<'_, 'a>,
    cursor: &mut Cursor<'a>,
) -> Result<Vec<Property<'a>>, CursorStop> {
    if decoder.layout.ue5 >= ue5::TAG_EXTENSIONS {
        let what = "kind of the properties";
        if cursor.u8(what)? & 0x02 != 0 {
            cursor.skip(what, 1)?;
        }
    }
    decoder.properties(cursor, 0)
}

impl Header<'_> {
    /// Whether an object is a graph node.
    pub fn is_node(&self, object: Index) -> bool {
        let outer = self.outer(object);
        object.export().is_some()
            && outer.0 != 0
            && is_graph(&self.class_name(outer))
            && !is_graph(&self.class_name(object))
            && !is_other(&self.class_name(object))
    }

    /// Whether an object is a graph.
    pub fn is_graph(&self, object: Index) -> bool {
        object.export().is_some() && is_graph(&self.class_name(object))
    }
}

/// Whether a class of that name is based on `UEdGraph`. Such names end in `Graph`. The names of
/// some nodes, such as `AnimGraphNode_LinkedAnimGraph`, and of some classes with graphs of another
/// kind also end in `Graph`, and are excluded.
fn is_graph(class: &str) -> bool {
    let name = class.strip_suffix("_C").unwrap_or(class);
    name.ends_with("Graph") && !name.contains("Node") && !OTHER_GRAPHS.contains(&name)
}

/// Whether objects of a class are in graphs but are not nodes: pins of old versions, and some objects of Niagara.
fn is_other(class: &str) -> bool {
    class == "EdGraphPin" || class == "NiagaraScriptVariable" || class.contains("Hierarchy")
}

/// Classes whose names end in `Graph` and that are not based on `UEdGraph`.
const OTHER_GRAPHS: &[&str] = &["MovieGraph", "PCGGraph", "RigVMGraph"];

/// Whether the data of a class begin with the source files of an import, as JSON. In the engine,
/// these classes are `UAssetImportData` and the classes based on it.
fn has_import_sources(class: &str) -> bool {
    class.ends_with("AssetImportData")
        || (class.starts_with("Fbx") && class.ends_with("ImportData"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graphs_and_nodes_are_known_by_their_classes() {
        for class in ["EdGraph", "AnimationGraph", "AnimationStateMachineGraph", "MyGraph_C"] {
            assert!(is_graph(class), "{class}");
        }
        for class in ["AnimGraphNode_LinkedAnimGraph", "RigVMGraph", "PCGGraph", "EdGraphPin"] {
            assert!(!is_graph(class), "{class}");
        }
    }

    #[test]
    fn import_data_of_all_kinds_have_sources() {
        for class in ["AssetImportData", "FbxAnimSequenceImportData", "FbxAssetImportData"] {
            assert!(has_import_sources(class), "{class}");
        }
        assert!(!has_import_sources("ImportData") && !has_import_sources("FbxFactory"));
    }
}
