//! Writes properties and pins in the format of an engine version.

use super::{DraftPackage, DraftPin, DraftValue, byte_writer::ByteWriter};
use crate::{
    layout::Layout,
    tables::Index,
    version::{ue4, ue5},
};

impl DraftValue {
    /// The name of the property type for the value.
    fn kind(&self) -> &'static str {
        match self {
            Self::Bool(_) => "BoolProperty",
            Self::Int(_) => "IntProperty",
            Self::Float(_) => "FloatProperty",
            Self::Double(_) => "DoubleProperty",
            Self::String(_) => "StrProperty",
            Self::Name(_) => "NameProperty",
            Self::Text(_) => "TextProperty",
            Self::Enum(..) => "ByteProperty",
            Self::Object(_) => "ObjectProperty",
            Self::Soft(_) => "SoftObjectProperty",
            Self::Guid(_)
            | Self::Vector(_)
            | Self::Raw(..)
            | Self::Instanced(..)
            | Self::Bag(_)
            | Self::Niagara(..)
            | Self::Struct(..)
            | Self::PinType(_) => "StructProperty",
            Self::List(_) => "ArrayProperty",
            Self::Map(_) => "MapProperty",
        }
    }

    fn structure(&self) -> Option<&str> {
        Some(match self {
            Self::Guid(_) => "Guid",
            Self::Vector(_) => "Vector",
            Self::PinType(_) => "EdGraphPinType",
            Self::Instanced(..) => "InstancedStruct",
            Self::Bag(_) => "InstancedPropertyBag",
            Self::Niagara(structure, ..) => structure,
            Self::Struct(name, _) | Self::Raw(name, _) => name,
            Self::Bool(_)
            | Self::Int(_)
            | Self::Float(_)
            | Self::Double(_)
            | Self::String(_)
            | Self::Name(_)
            | Self::Text(_)
            | Self::Enum(..)
            | Self::Object(_)
            | Self::Soft(_)
            | Self::List(_)
            | Self::Map(_) => return None,
        })
    }

    fn is_native(&self) -> bool {
        self.structure().is_some() && !matches!(self, Self::Struct(..))
    }
}

impl DraftPackage {
    /// Writes properties and the end mark.
    pub(super) fn properties(&mut self, ink: &mut ByteWriter, properties: &[(String, DraftValue)]) {
        for (name, worth) in properties {
            let mut body = ByteWriter::default();
            if !matches!(worth, DraftValue::Bool(_)) {
                self.worth(&mut body, worth);
            }
            self.tag(ink, name, worth, body.at());
            ink.bytes(&body.0);
        }
        let none = self.name("None");
        ink.name(none);
    }

    fn tag(&mut self, ink: &mut ByteWriter, name: &str, worth: &DraftValue, size: usize) {
        let layout = self.layout();
        let name = self.name(name);
        ink.name(name);
        let truth = matches!(worth, DraftValue::Bool(true));
        if layout.ue5 >= ue5::COMPLETE_TYPE_NAMES {
            self.type_name(ink, worth);
            ink.len(size);
            ink.u8(u8::from(worth.is_native()) << 3 | u8::from(truth) << 4);
            return;
        }
        let kind = self.name(worth.kind());
        ink.name(kind);
        ink.len(size);
        ink.u32(0);
        if let Some(structure) = worth.structure() {
            let structure = self.name(structure);
            ink.name(structure);
            if layout.ue4 >= ue4::STRUCT_GUID {
                ink.bytes(&[0; 16]);
            }
        }
        let inner: Vec<&str> = match worth {
            DraftValue::Bool(_) => {
                ink.u8(u8::from(truth));
                vec![]
            }
            DraftValue::Enum(kind, _) => vec![kind],
            DraftValue::List(items) if layout.ue4 >= ue4::ARRAY_INNER_TYPE => {
                vec![items.first().map_or("IntProperty", DraftValue::kind)]
            }
            DraftValue::Map(entries) => entries
                .first()
                .map_or(vec!["IntProperty"; 2], |(key, value)| vec![key.kind(), value.kind()]),
            DraftValue::Int(_)
            | DraftValue::Float(_)
            | DraftValue::Double(_)
            | DraftValue::String(_)
            | DraftValue::Name(_)
            | DraftValue::Text(_)
            | DraftValue::Object(_)
            | DraftValue::Soft(_)
            | DraftValue::Guid(_)
            | DraftValue::Vector(_)
            | DraftValue::Raw(..)
            | DraftValue::Instanced(..)
            | DraftValue::Bag(_)
            | DraftValue::Niagara(..)
            | DraftValue::Struct(..)
            | DraftValue::PinType(_)
            | DraftValue::List(_) => vec![],
        };
        for inner in inner {
            let inner = self.name(inner);
            ink.name(inner);
        }
        if layout.ue4 >= ue4::PROPERTY_GUID {
            ink.u8(0);
        }
        if layout.ue5 >= ue5::TAG_EXTENSIONS {
            ink.u8(0);
        }
    }

    fn type_name(&mut self, ink: &mut ByteWriter, worth: &DraftValue) {
        let kind = self.name(worth.kind());
        ink.name(kind);
        if let Some(structure) = worth.structure().map(str::to_owned) {
            ink.u32(1);
            let structure = self.name(&structure);
            ink.name(structure);
            ink.u32(1);
            let package = self.name("/Script/CoreUObject");
            ink.name(package);
            ink.u32(0);
            return;
        }
        match worth {
            DraftValue::Enum(kind, _) => {
                ink.u32(1);
                let kind = self.name(kind);
                ink.name(kind);
                ink.u32(0);
            }
            DraftValue::List(items) => {
                ink.u32(1);
                self.type_name(ink, items.first().unwrap_or(&DraftValue::Int(0)));
            }
            DraftValue::Map(entries) => {
                ink.u32(2);
                let other = (DraftValue::Int(0), DraftValue::Int(0));
                let (key, value) = entries.first().unwrap_or(&other);
                self.type_name(ink, key);
                self.type_name(ink, value);
            }
            DraftValue::Bool(_)
            | DraftValue::Int(_)
            | DraftValue::Float(_)
            | DraftValue::Double(_)
            | DraftValue::String(_)
            | DraftValue::Name(_)
            | DraftValue::Text(_)
            | DraftValue::Object(_)
            | DraftValue::Soft(_)
            | DraftValue::Guid(_)
            | DraftValue::Vector(_)
            | DraftValue::Raw(..)
            | DraftValue::Instanced(..)
            | DraftValue::Bag(_)
            | DraftValue::Niagara(..)
            | DraftValue::Struct(..)
            | DraftValue::PinType(_) => ink.u32(0),
        }
    }

    /// Writes a property bag: its version if the package has no custom version for it, the descriptions of
    /// its members, the size of the values, and the values.
    fn bag(&mut self, ink: &mut ByteWriter, members: &[(String, DraftValue)]) {
        let version = self.layout().property_bag;
        if version < 1 {
            ink.u8(1);
        }
        ink.u32(1);
        ink.len(members.len());
        for (name, _) in members {
            ink.i32(0);
            ink.bytes(&[7; 16]);
            let (name, key) = (self.name(name), self.name("ToolTip"));
            ink.name(name);
            ink.u8(3);
            match version {
                ..1 => {}
                1 => ink.u8(0),
                2.. => ink.bytes(&[1, 1]),
            }
            ink.u32(1);
            ink.len(1);
            ink.name(key);
            ink.string("what it is");
            if version >= 3 {
                ink.i32(0);
            }
        }
        let mut body = ByteWriter::default();
        self.properties(&mut body, members);
        ink.len(body.at());
        ink.bytes(&body.0);
    }

    fn worth(&mut self, ink: &mut ByteWriter, worth: &DraftValue) {
        let layout = self.layout();
        match worth {
            DraftValue::Bool(truth) => ink.u8(u8::from(*truth)),
            DraftValue::Int(number) => ink.i32(*number),
            DraftValue::Float(number) => ink.bytes(&number.to_le_bytes()),
            DraftValue::Double(number) => ink.bytes(&number.to_le_bytes()),
            DraftValue::String(text) => ink.string(text),
            DraftValue::Name(name) | DraftValue::Enum(_, name) => {
                let name = self.name(name);
                ink.name(name);
            }
            DraftValue::Text(text) => write_text(ink, &layout, text),
            DraftValue::Object(object) => ink.i32(object.0),
            DraftValue::Soft(path) => self.soft_path(ink, path),
            DraftValue::Guid(guid) => guid.0.iter().for_each(|part| ink.u32(*part)),
            DraftValue::Vector(numbers) => {
                for number in numbers {
                    if layout.large_worlds() {
                        ink.bytes(&number.to_le_bytes());
                    } else {
                        #[expect(clippy::cast_possible_truncation, reason = "single precision")]
                        ink.bytes(&(*number as f32).to_le_bytes());
                    }
                }
            }
            DraftValue::Raw(_, bytes) => ink.bytes(bytes),
            DraftValue::Struct(_, fields) => self.properties(ink, fields),
            DraftValue::Instanced(structure, fields) => {
                let mut body = ByteWriter::default();
                self.properties(&mut body, fields);
                ink.i32(structure.0);
                ink.len(body.at());
                ink.bytes(&body.0);
            }
            DraftValue::Bag(members) => self.bag(ink, members),
            DraftValue::Niagara(_, name, kind, behind) => {
                let name = self.name(name);
                ink.name(name);
                self.properties(
                    ink,
                    &[("ClassStructOrEnum".to_owned(), DraftValue::Object(*kind))],
                );
                ink.bytes(behind);
            }
            DraftValue::PinType(kind) => self.pin_type(ink, kind),
            DraftValue::List(items) => {
                ink.len(items.len());
                let mut bodies = ByteWriter::default();
                items.iter().for_each(|item| self.worth(&mut bodies, item));
                let repeats =
                    layout.ue4 >= ue4::ARRAY_INNER_TAG && layout.ue5 < ue5::COMPLETE_TYPE_NAMES;
                if let Some(item) = items.first().filter(|item| item.structure().is_some())
                    && repeats
                {
                    self.tag(ink, "Items", item, bodies.at());
                }
                ink.bytes(&bodies.0);
            }
            DraftValue::Map(entries) => {
                ink.u32(0);
                ink.len(entries.len());
                for (key, value) in entries {
                    self.worth(ink, key);
                    self.worth(ink, value);
                }
            }
        }
    }

    fn soft_path(&mut self, ink: &mut ByteWriter, path: &str) {
        let layout = self.layout();
        if layout.ue5 >= ue5::SOFT_PATH_TABLE {
            let known = self.soft_paths.iter().position(|known| known == path);
            let entry = known.unwrap_or_else(|| {
                self.soft_paths.push(path.to_owned());
                self.soft_paths.len() - 1
            });
            ink.len(entry);
        } else if layout.ue5 >= ue5::TOP_LEVEL_ASSET_PATH {
            let (package, asset) = path.split_once('.').unwrap_or((path, "None"));
            let (package, asset) = (self.name(package), self.name(asset));
            ink.name(package);
            ink.name(asset);
            ink.string("");
        } else if layout.ue4 >= ue4::SOFT_OBJECT_PATH {
            let path = self.name(path);
            ink.name(path);
            ink.string("");
        } else {
            ink.string(path);
        }
    }

    /// Writes the pins, which follow the properties of a node.
    pub(super) fn write_pins(&mut self, ink: &mut ByteWriter, node: Index, pins: &[DraftPin]) {
        let layout = self.layout();
        ink.len(pins.len());
        for pin in pins {
            ink.u32(0);
            for _ in 0..2 {
                ink.i32(node.0);
                pin.id.0.iter().for_each(|part| ink.u32(*part));
            }
            self.pin_label(ink, &pin.name);
            write_text(ink, &layout, "");
            if layout.pin_source {
                ink.i32(-1);
            }
            ink.string("");
            ink.u8(u8::from(pin.output));
            self.pin_type(ink, &pin.kind);
            ink.string(&pin.default);
            ink.string("");
            ink.i32(pin.object.0);
            write_text(ink, &layout, "");
            ink.len(pin.links.len());
            for (node, id) in &pin.links {
                ink.u32(0);
                ink.i32(node.0);
                id.0.iter().for_each(|part| ink.u32(*part));
            }
            ink.u32(0);
            // No parent pin and no reference pass-through connection.
            ink.u32(1);
            ink.u32(1);
            ink.bytes(&[0; 16]);
            ink.u32(u32::from(pin.hidden));
        }
    }

    fn pin_label(&mut self, ink: &mut ByteWriter, label: &str) {
        if self.layout().pins_have_names {
            let name = self.name(label);
            ink.name(name);
        } else {
            ink.string(label);
        }
    }

    fn pin_type(&mut self, ink: &mut ByteWriter, category: &str) {
        let layout = self.layout();
        self.pin_label(ink, category);
        self.pin_label(ink, "");
        ink.i32(0);
        if layout.pin_container {
            ink.u8(0);
        } else {
            ink.u32(0);
            if layout.pin_sets {
                ink.u32(0);
                ink.u32(0);
            }
        }
        ink.u32(0);
        ink.u32(0);
        if layout.ue4 >= ue4::PIN_MEMBER {
            ink.i32(0);
            let none = self.name("None");
            ink.name(none);
            ink.bytes(&[0; 16]);
        }
        let flags = [layout.ue4 >= ue4::PIN_TYPE_CONST, layout.pin_wrapper, layout.pin_precision];
        for _ in flags.into_iter().filter(|flag| *flag) {
            ink.u32(0);
        }
    }

    pub(super) fn layout(&self) -> Layout {
        Layout::of(&self.summary, self.soft_paths.len())
    }
}

fn write_text(ink: &mut ByteWriter, layout: &Layout, text: &str) {
    if !layout.text_history() {
        ink.string(text);
        if layout.ue4 >= 226 {
            ink.string("");
            ink.string("Key");
            ink.u32(0);
        }
        return;
    }
    ink.u32(0);
    if text.is_empty() {
        ink.u8(0xFF);
        if layout.text_invariant {
            ink.u32(0);
        }
        return;
    }
    ink.u8(0);
    ink.string("");
    ink.string("Key");
    ink.string(text);
    if layout.text_notes {
        ink.string("");
    }
}
