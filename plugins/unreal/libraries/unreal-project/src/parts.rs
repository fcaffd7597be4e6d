//! The components of an actor, and the properties of the actor and its components that differ from
//! the defaults.
//!
//! A package stores a property only if it differs from the object's archetype, so the stored
//! properties are the difference.

use unreal_package::{Index as Object, Package, Property, Render, Value, visible};

/// Maximum number of components of an actor that are read.
const MAX_COMPONENTS: usize = 64;
/// Maximum number of properties of one object that are listed.
const MAX_PROPERTIES: usize = 40;
/// Maximum length of a property with its value, in characters.
const MAX_PROPERTY_CHARS: usize = 240;
/// Properties that are not listed: they are shown in another way, or only the editor needs them.
const UNLISTED: &[&str] = &[
    "ActorLabel",
    "FolderPath",
    "FolderGuid",
    "Tags",
    "RootComponent",
    "ActorGuid",
    "ActorInstanceGuid",
    "ContentBundleGuid",
    "BlueprintCreatedComponents",
    "InstanceComponents",
    "CreationMethod",
    "UCSSerializationIndex",
];

/// The listed properties of one object: an actor itself, or one of its components.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObjectDifference {
    /// Each property with its value, in the engine's notation: `Intensity=5000.000000`.
    pub properties: Vec<String>,
    /// Messages about properties and data that are not listed, with their numbers.
    pub left_out: Vec<String>,
}

/// A component of an actor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Component {
    /// Its name in the actor.
    pub name: String,
    /// The path of its class.
    pub class: String,
    /// The component to which it is attached; empty for none.
    pub attached_to: String,
    /// The properties that differ from the component's defaults.
    pub difference: ObjectDifference,
}

/// The parts of an actor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ActorParts {
    /// The properties of the actor itself that differ from the defaults of its class.
    pub difference: ObjectDifference,
    /// Its components, at most 64.
    pub components: Vec<Component>,
    /// Number of further components.
    pub more_components: usize,
}

impl ActorParts {
    /// Reads the parts of an actor; `name` is the name of the package.
    pub(crate) fn of(package: &Package<'_>, actor: Object, name: &str) -> Self {
        let header = &package.header;
        let objects = (0..header.exports.len()).map(Object::of_export);
        let own: Vec<Object> = objects.filter(|object| header.outer(*object) == actor).collect();
        let mut components: Vec<Object> =
            own.iter().copied().filter(|object| is_component(package, *object)).collect();
        let more_components = components.len().saturating_sub(MAX_COMPONENTS);
        components.truncate(MAX_COMPONENTS);
        let is_own = |value: &Value<'_>| value.object().is_some_and(|object| own.contains(&object));
        let component = |object: &Object| {
            let read = package.object(*object);
            let parent = read.get(header, "AttachParent").and_then(Value::object);
            let line = |text: &str, max_chars| visible(text, max_chars, false).into_owned();
            Component {
                name: line(&header.object_name(*object), 512),
                class: line(&header.class_path(*object, name), 1024),
                attached_to: parent
                    .map_or_else(String::new, |parent| line(&header.object_name(parent), 512)),
                difference: difference(package, *object, name, |property, key| {
                    key != "AttachParent" && !is_own(&property.value)
                }),
            }
        };
        Self {
            difference: difference(package, actor, name, |property, _| !is_own(&property.value)),
            components: components.iter().map(component).collect(),
            more_components,
        }
    }
}

/// Whether an object in an actor is a component. Authors choose the class names of Blueprint
/// components, so an object that is attached or has a location counts as well.
fn is_component(package: &Package<'_>, object: Object) -> bool {
    let header = &package.header;
    let class = header.class_name(object);
    let class = class.strip_suffix("_C").unwrap_or(&class);
    class.ends_with("Component") || {
        let read = package.object(object);
        ["AttachParent", "RelativeLocation"].iter().any(|key| read.get(header, key).is_some())
    }
}

fn difference(
    package: &Package<'_>,
    object: Object,
    name: &str,
    is_listed: impl Fn(&Property<'_>, &str) -> bool,
) -> ObjectDifference {
    let header = &package.header;
    let read = package.object(object);
    let mut difference = ObjectDifference::default();
    let mut more = 0_usize;
    for property in &read.properties {
        let mut render = Render::new(header, name, MAX_PROPERTY_CHARS);
        let key = render.label(&property.name);
        if UNLISTED.contains(&key.as_str()) || !is_listed(property, &key) {
            continue;
        }
        if difference.properties.len() == MAX_PROPERTIES {
            more += 1;
            continue;
        }
        render.value(&property.value);
        let index =
            if property.index > 0 { format!("({})", property.index) } else { String::new() };
        let line = format!("{key}{index}={}", render.out);
        difference.properties.push(visible(&line, MAX_PROPERTY_CHARS, false).into_owned());
    }
    let left_out = &mut difference.left_out;
    left_out.extend((more > 0).then(|| format!("{more} more properties")));
    left_out.extend(
        (read.undecoded > 0).then(|| format!("{} properties are not decoded", read.undecoded)),
    );
    left_out.extend(read.native.map(|(at, bytes)| {
        format!("{bytes} bytes at byte {at} of the file, which only the class can decode")
    }));
    difference
}
