//! Writes small, simple packages of any version, so that tests need no files of real projects.

mod byte_writer;
mod profile;
mod rows;
mod tables;
mod values;

pub use profile::{PROFILES, Profile};

use crate::{
    Guid, flags,
    summary::Summary,
    tables::{Index, Name},
};

/// A package under construction.
#[derive(Clone, Debug, Default)]
pub struct DraftPackage {
    package: String,
    engine: (u16, u16),
    summary: Summary<'static>,
    names: Vec<String>,
    soft_paths: Vec<String>,
    /// Package of the class, class, index of the outer, name.
    imports: Vec<[String; 4]>,
    exports: Vec<DraftObject>,
    /// Path, class and tags.
    assets: Vec<(String, String, Tags)>,
    soft: Vec<String>,
    editor_imports: Vec<usize>,
    editor_soft: Vec<usize>,
    thumbnail: Option<(String, Vec<u8>)>,
}

/// Asset registry tags of an asset.
type Tags = Vec<(String, String)>;

/// An object under construction.
#[derive(Clone, Debug, Default)]
struct DraftObject {
    class: Index,
    outer: Index,
    name: String,
    properties: Vec<(String, DraftValue)>,
    is_node: bool,
    pins: Vec<DraftPin>,
    native: Vec<u8>,
    /// Whether the object consists of native data only, without properties and their end mark.
    is_raw: bool,
}

impl DraftObject {
    fn is_default(&self) -> bool {
        self.name.starts_with("Default__")
    }
}

/// A property value to write.
#[derive(Clone, Debug, PartialEq)]
pub enum DraftValue {
    /// A boolean.
    Bool(bool),
    /// An integer.
    Int(i32),
    /// A floating-point number of single precision.
    Float(f32),
    /// A floating-point number of double precision.
    Double(f64),
    /// A string.
    String(String),
    /// A name.
    Name(String),
    /// A localizable text, with a key but no namespace.
    Text(String),
    /// An enumeration's type and entry.
    Enum(String, String),
    /// An object.
    Object(Index),
    /// A soft object path.
    Soft(String),
    /// A GUID.
    Guid(Guid),
    /// A vector, which has native serialization.
    Vector([f64; 3]),
    /// A structure with native serialization: its type and its bytes.
    Raw(String, Vec<u8>),
    /// An instanced structure (`FInstancedStruct`): its type and its members.
    Instanced(Index, Vec<(String, DraftValue)>),
    /// A property bag (`FInstancedPropertyBag`): its members.
    Bag(Vec<(String, DraftValue)>),
    /// A variable of Niagara with native serialization: the structure, the variable's name and
    /// type, and the bytes after the type.
    Niagara(&'static str, String, Index, Vec<u8>),
    /// A tagged structure: its type and its members.
    Struct(String, Vec<(String, DraftValue)>),
    /// A pin type, by its category.
    PinType(String),
    /// An array; all items have the type of the first.
    List(Vec<DraftValue>),
    /// A map; all entries have the types of the first.
    Map(Vec<(DraftValue, DraftValue)>),
}

/// A pin to write.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DraftPin {
    /// Its id, unique within the node.
    pub id: Guid,
    /// Its name.
    pub name: String,
    /// Whether this is an output pin.
    pub output: bool,
    /// Its type, such as `exec`.
    pub kind: String,
    /// Default value, used while nothing is linked.
    pub default: String,
    /// Default value, if it is an object.
    pub object: Index,
    /// Links, as nodes and pin ids.
    pub links: Vec<(Index, Guid)>,
    /// Whether the pin is hidden.
    pub hidden: bool,
}

impl DraftPackage {
    /// An empty package with this name, of the version in `profile`.
    pub fn new(profile: Profile, package: &str) -> Self {
        let Profile { engine, versions, customs, .. } = profile;
        // The oldest format has another list of custom versions, which the tests do not need.
        let customs = if versions.legacy == -2 { Vec::new() } else { customs.to_vec() };
        let summary = Summary { versions, customs, ..Summary::default() };
        Self { package: package.to_owned(), engine, summary, ..Self::default() }
    }

    /// Sets flags of the package; see [`crate::flags`].
    pub fn flags(&mut self, flags: u32) -> &mut Self {
        self.summary.flags |= flags;
        self
    }

    /// Adds an import, such as `/Script/Engine.Actor`. The package of the import becomes a
    /// dependency. `class` is the path of the import's class, or the name of a class in
    /// `/Script/CoreUObject`.
    pub fn import(&mut self, class: &str, path: &str) -> Index {
        let (package, object) = path.split_once('.').unwrap_or((path, ""));
        let outer = self.import_entry("/Script/CoreUObject", "Package", Index(0), package);
        if object.is_empty() {
            return outer;
        }
        let (class_package, class) =
            class.split_once('.').unwrap_or(("/Script/CoreUObject", class));
        self.import_entry(class_package, class, outer, object)
    }

    fn import_entry(&mut self, package: &str, class: &str, outer: Index, name: &str) -> Index {
        let entry = [package, class, &outer.0.to_string(), name].map(str::to_owned);
        let known = self.imports.iter().position(|known| *known == entry);
        let position = known.unwrap_or_else(|| {
            self.imports.push(entry);
            self.imports.len() - 1
        });
        Index(-i32::try_from(position + 1).expect("a draft has few imports"))
    }

    /// Adds an export of a class such as `/Script/Engine.EdGraph`.
    pub fn export(&mut self, class: &str, outer: Index, name: &str) -> Index {
        let class = self.import("Class", class);
        self.export_of(class, outer, name)
    }

    /// Adds an export of an imported or exported class.
    pub fn export_of(&mut self, class: Index, outer: Index, name: &str) -> Index {
        self.exports.push(DraftObject {
            class,
            outer,
            name: name.to_owned(),
            ..DraftObject::default()
        });
        Index::of_export(self.exports.len() - 1)
    }

    /// Sets a property of an object.
    pub fn set(&mut self, object: Index, name: &str, value: DraftValue) -> &mut Self {
        self.object_mut(object).properties.push((name.to_owned(), value));
        self
    }

    /// Adds native data to an object.
    pub fn native(&mut self, object: Index, bytes: &[u8]) -> &mut Self {
        self.object_mut(object).native.extend_from_slice(bytes);
        self
    }

    /// Makes an object consist of native data only.
    pub fn raw(&mut self, object: Index, bytes: &[u8]) -> &mut Self {
        self.object_mut(object).is_raw = true;
        self.native(object, bytes)
    }

    /// Makes an object a node with these pins. In versions with pins as separate objects, a link is
    /// dropped if the pins of the linked node are added later.
    pub fn pins(&mut self, node: Index, pins: &[DraftPin]) -> &mut Self {
        let piece = self.object_mut(node);
        piece.is_node = true;
        piece.pins = pins.to_vec();
        if !self.layout().pins_in_nodes {
            self.pin_objects(node, pins);
        }
        self
    }

    fn pin_objects(&mut self, node: Index, pins: &[DraftPin]) {
        let mut objects = Vec::new();
        for pin in pins {
            let name = format!("EdGraphPin_{}", pin.id.0[3]);
            let object = self.export("/Script/Engine.EdGraphPin", node, &name);
            self.set(object, "PinName", DraftValue::String(pin.name.clone()));
            if pin.output {
                let way = ("EEdGraphPinDirection".to_owned(), "EGPD_Output".to_owned());
                self.set(object, "Direction", DraftValue::Enum(way.0, way.1));
            }
            self.set(object, "PinType", DraftValue::PinType(pin.kind.clone()));
            self.set(object, "DefaultValue", DraftValue::String(pin.default.clone()));
            let links = pin.links.iter().filter_map(|(node, id)| {
                let name = format!("EdGraphPin_{}", id.0[3]);
                let mut exports = self.exports.iter();
                let found = exports.position(|piece| piece.outer == *node && piece.name == name);
                found.map(|position| DraftValue::Object(Index::of_export(position)))
            });
            let links: Vec<DraftValue> = links.collect();
            if !links.is_empty() {
                self.set(object, "LinkedTo", DraftValue::List(links));
            }
            objects.push(DraftValue::Object(object));
        }
        self.set(node, "Pins", DraftValue::List(objects));
    }

    /// Adds an asset to the asset registry data: its path in the package, its class and its tags.
    pub fn asset(&mut self, path: &str, class: &str, tags: &[(&str, &str)]) -> &mut Self {
        let tags = tags.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        self.assets.push((path.to_owned(), class.to_owned(), tags.collect()));
        self
    }

    /// Adds a soft dependency.
    pub fn soft(&mut self, package: &str) -> &mut Self {
        self.soft.push(package.to_owned());
        self
    }

    /// Adds an editor-only hard dependency.
    pub fn editor_only(&mut self, package: &str) -> &mut Self {
        let index = self.import("Package", package);
        self.editor_imports.push(index.import().expect("it is an import"));
        self
    }

    /// Sets the thumbnail of an asset.
    pub fn thumbnail(&mut self, object: &str, picture: &[u8]) -> &mut Self {
        self.thumbnail = Some((object.to_owned(), picture.to_vec()));
        self
    }

    fn object_mut(&mut self, object: Index) -> &mut DraftObject {
        let position = object.export().expect("it is an object of this package");
        &mut self.exports[position]
    }

    /// Adds a name to the table; a trailing number is stored separately, as engines do.
    fn name(&mut self, text: &str) -> Name {
        let (text, number) = split_number(text);
        let known = self.names.iter().position(|known| known == text);
        let index = known.unwrap_or_else(|| {
            self.names.push(text.to_owned());
            self.names.len() - 1
        });
        Name { index: u32::try_from(index).expect("a draft has few names"), number }
    }
}

/// Splits a trailing number from a name: `Door_3` becomes `Door` and 4. Without a number, the
/// second part is 0.
fn split_number(text: &str) -> (&str, u32) {
    let unsplit = (text, 0);
    let Some((before, digits)) = text.rsplit_once('_') else { return unsplit };
    if before.is_empty() || (digits.starts_with('0') && digits != "0") {
        return unsplit;
    }
    match digits.parse::<u32>() {
        Ok(number) if number < 1_000_000 && digits.bytes().all(|b| b.is_ascii_digit()) => {
            (before, number + 1)
        }
        Ok(_) | Err(_) => unsplit,
    }
}

/// A typical Blueprint: its asset, its class, and a graph whose event prints a text.
pub fn blueprint(profile: Profile, package: &str, parent: &str) -> DraftPackage {
    let mut draft = DraftPackage::new(profile, package);
    let name = package.rsplit('/').next().unwrap_or(package).to_owned();
    let class = format!("{name}_C");
    let parent_index = draft.import("Class", parent);
    let asset = draft.export("/Script/Engine.Blueprint", Index(0), &name);
    let generated = draft.export("/Script/Engine.BlueprintGeneratedClass", Index(0), &class);
    let graph = draft.export("/Script/Engine.EdGraph", asset, "EventGraph");
    let event = draft.export("/Script/BlueprintGraph.K2Node_Event", graph, "K2Node_Event_0");
    let call =
        draft.export("/Script/BlueprintGraph.K2Node_CallFunction", graph, "K2Node_CallFunction_3");
    let member = |name: &str| {
        let member = vec![("MemberName".to_owned(), DraftValue::Name(name.to_owned()))];
        DraftValue::Struct("MemberReference".to_owned(), member)
    };
    draft.set(asset, "ParentClass", DraftValue::Object(parent_index));
    draft.set(asset, "UbergraphPages", DraftValue::List(vec![DraftValue::Object(graph)]));
    draft.set(asset, "GeneratedClass", DraftValue::Object(generated));
    draft.set(event, "EventReference", member("ReceiveBeginPlay"));
    draft.set(call, "FunctionReference", member("PrintString"));
    draft.set(call, "NodePosX", DraftValue::Int(320));
    let id = |number| Guid([1, 2, 3, number]);
    let pin = |number, name: &str, kind: &str| DraftPin {
        id: id(number),
        name: name.to_owned(),
        kind: kind.to_owned(),
        ..DraftPin::default()
    };
    let text = DraftPin { default: "Hello".to_owned(), ..pin(12, "InString", "string") };
    draft.pins(
        call,
        &[DraftPin { links: vec![(event, id(1))], ..pin(11, "execute", "exec") }, text],
    );
    let then = DraftPin { output: true, links: vec![(call, id(11))], ..pin(1, "then", "exec") };
    draft.pins(event, &[then]);
    let defaults = format!("Default__{class}");
    draft.export_of(generated, Index(0), &defaults);
    let of_class = |path: &str| match profile.versions.ue5 {
        crate::ue5::SOFT_PATH_TABLE.. => format!("/Script/CoreUObject.Class'{path}'"),
        _ => format!("Class'{path}'"),
    };
    let parent_tag = match parent.starts_with("/Script/") {
        true => of_class(parent),
        false => format!("BlueprintGeneratedClass'{parent}'"),
    };
    let tags = [("ParentClass", parent_tag.as_str()), ("BlueprintType", "BPTYPE_Normal")];
    draft.asset(&name, "/Script/Engine.Blueprint", &tags);
    draft.asset(&class, "/Script/Engine.BlueprintGeneratedClass", &tags);
    draft
}

/// A cooked package that does not state the versions of its engine, as games ship it. It has one texture, with the name
/// of the package.
pub fn cooked_without_versions(profile: Profile, package: &str) -> Vec<u8> {
    let mut bytes = cooked(profile, package);
    // After the magic number and the version of the file format come the object versions of Unreal Engine 3 (not in
    // format -4), of Unreal Engine 4, and of Unreal Engine 5 (since format -8). The version of Unreal Engine 3 stays.
    let format = i32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
    let first = if format == -4 { 8 } else { 12 };
    let end = if format <= -8 { 20 } else { first + 4 };
    bytes[first..end].fill(0);
    bytes
}

/// A cooked package that states the versions of its engine. It has one texture, with the name of the package.
pub fn cooked(profile: Profile, package: &str) -> Vec<u8> {
    let name = package.rsplit('/').next().unwrap_or(package);
    let mut draft = DraftPackage::new(profile, package);
    draft.flags(flags::COOKED | flags::FILTER_EDITOR_ONLY);
    draft.export("/Script/Engine.Texture2D", Index(0), name);
    draft.bytes()
}
