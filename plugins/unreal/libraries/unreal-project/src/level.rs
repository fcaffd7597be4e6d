//! Lists the actors of a map: those in the map's package, and external actors.

use crate::{
    find::Project,
    index::Index,
    open::{OpenFault, Opened},
    parts::ActorParts,
};
use std::fs;
use unreal_package::{Header, Index as Object, Package, Property, Render, Value, get, visible};

/// Maximum size of a package of an external actor that is read, in bytes.
const MAX_ACTOR: u64 = 8 << 20;
/// Classes of objects in a level that are not actors.
const NO_ACTORS: &[&str] = &[
    "Model",
    "Polys",
    "BodySetup",
    "LevelScriptBlueprint",
    "BookMark",
    "AssetUserData",
    "NavigationSystemModuleConfig",
    "MapBuildDataRegistry",
    "EdGraph",
    "ActorFolder",
    "LandscapeMaterialInstanceConstant",
    "MaterialInstanceConstant",
    "Texture2D",
];

/// An actor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Actor {
    /// Its name in the level.
    pub name: String,
    /// Display name.
    pub label: String,
    /// The path of its class.
    pub class: String,
    /// Location of the root component, if stored, in centimetres: in the world, or relative to the
    /// actor to which this one is attached.
    pub location: Option<[f64; 3]>,
    /// Folder in the World Outliner.
    pub folder: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// The package of an external actor.
    pub package: Option<String>,
    /// Its components and changed properties, if they were requested and could be read.
    pub parts: Option<ActorParts>,
}

/// The actors of a map.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Actors {
    /// Name of the map's package.
    pub map: String,
    /// The requested actors.
    pub actors: Vec<Actor>,
    /// Total number of matching actors.
    pub total: usize,
    /// Problems that make the list incomplete or uncertain.
    pub warnings: Vec<String>,
}

impl Index {
    /// The actors of a map, at most `most` from `offset` on: first the actors in the map's package,
    /// then external actors. `with_parts` reads the parts of each actor. `fits` selects actors: it
    /// gets the class, and the label or, without a label, the name.
    ///
    /// # Errors
    ///
    /// When the map cannot be read.
    pub fn actors(
        &self,
        project: &Project,
        path: &str,
        offset: usize,
        most: usize,
        with_parts: bool,
        fits: impl Fn(&str, &str) -> bool,
    ) -> Result<Actors, OpenFault> {
        let opened = self.open(project, path)?;
        let package = opened.package()?;
        let mut list = Actors { map: opened.package.clone(), ..Actors::default() };
        let inside = inside(&package, &opened, &mut list.warnings);
        let inside = inside.into_iter().filter(|(_, actor)| {
            let name = if actor.label.is_empty() { &actor.name } else { &actor.label };
            fits(&actor.class, name)
        });
        let inside: Vec<(Object, Actor)> = inside.collect();
        let mut outside = self.outside(&opened.package);
        outside.retain(|(_, class, label, name)| {
            fits(class, if label.is_empty() { name } else { label })
        });
        list.total = inside.len() + outside.len();
        let first = offset.saturating_sub(inside.len());
        for (object, mut actor) in inside.into_iter().skip(offset).take(most) {
            actor.parts = with_parts.then(|| ActorParts::of(&package, object, &opened.package));
            list.actors.push(actor);
        }
        let room = most - list.actors.len();
        for (position, class, label, name) in outside.into_iter().skip(first).take(room) {
            let entry = &self.entries[position];
            let mut actor = Actor {
                name,
                label,
                class,
                package: Some(self.text(entry.package).to_owned()),
                ..Actor::default()
            };
            if entry.size <= MAX_ACTOR {
                self.fill(project, position, with_parts, &mut actor);
            }
            list.actors.push(actor);
        }
        Ok(list)
    }

    /// The external actors of a map: position of the entry, class, label and name.
    fn outside(&self, map: &str) -> Vec<(usize, String, String, String)> {
        // External actors of `/Game/Maps/Town` are in `/Game/__ExternalActors__/Maps/Town/`.
        let Some((mount, rest)) = map[1..].split_once('/') else { return Vec::new() };
        let folder = format!("/{mount}/__externalactors__/{rest}/").to_ascii_lowercase();
        let mut found = Vec::new();
        for (position, entry) in self.entries.iter().enumerate() {
            let package = self.text(entry.package);
            if !package.get(..folder.len()).is_some_and(|p| p.eq_ignore_ascii_case(&folder)) {
                continue;
            }
            for asset in self.assets_of(entry) {
                let name = self.text(asset.path).rsplit(['.', ':']).next().unwrap_or_default();
                let [class, label, name] = [self.text(asset.class), self.text(asset.label), name]
                    .map(|text| visible(text, 512, false).into_owned());
                found.push((position, class, label, name));
            }
        }
        found
    }

    /// Reads the package of an external actor, and adds the data that the index does not have.
    fn fill(&self, project: &Project, position: usize, with_parts: bool, actor: &mut Actor) {
        let entry = &self.entries[position];
        let Ok(bytes) = fs::read(project.dir.join(self.text(entry.file))) else { return };
        let Ok(package) = Package::read(&bytes) else { return };
        let header = &package.header;
        let all = (0..header.exports.len()).map(Object::of_export);
        let named = all.into_iter().find(|object| header.object_name(*object) == actor.name);
        if let Some(object) = named {
            let (label, class) = (actor.label.clone(), actor.class.clone());
            let own = actor.package.take();
            *actor = one(&package, object, self.text(entry.package));
            actor.package = own;
            actor.parts =
                with_parts.then(|| ActorParts::of(&package, object, self.text(entry.package)));
            if !label.is_empty() {
                actor.label = label;
            }
            if !class.is_empty() {
                actor.class = class;
            }
        }
    }
}

/// The actors in the map's own package.
fn inside(
    package: &Package<'_>,
    opened: &Opened,
    warnings: &mut Vec<String>,
) -> Vec<(Object, Actor)> {
    let header = &package.header;
    let all = || (0..header.exports.len()).map(Object::of_export);
    let Some(level) = all().find(|object| header.class_name(*object) == "Level") else {
        warnings.push(format!("{} has no level: it is not a map", opened.package));
        return Vec::new();
    };
    let actors = package.actors(level).unwrap_or_else(|| {
        warnings.push(
            "the level's own list of actors could not be read: these are all objects in it, except for \
             those of classes that are known not to be actors"
                .to_owned(),
        );
        let is_actor = |object: &Object| {
            let class = header.class_name(*object);
            header.outer(*object) == level && !NO_ACTORS.contains(&class.as_ref())
        };
        all().filter(is_actor).collect()
    });
    actors.into_iter().map(|actor| (actor, one(package, actor, &opened.package))).collect()
}

fn one(package: &Package<'_>, index: Object, name: &str) -> Actor {
    let header = &package.header;
    let object = package.object(index);
    let render = Render::new(header, name, usize::MAX);
    let text = |key: &str| {
        let value = object.get(header, key);
        let own = value.and_then(Value::string).map(|text| text.clone().into_owned());
        let own = own.or_else(|| value.and_then(Value::name).map(|n| header.name(n).into_owned()));
        own.map_or_else(String::new, |text| visible(&text, 512, false).into_owned())
    };
    let root = object.get(header, "RootComponent").and_then(Value::object);
    let tags = object.get(header, "Tags").map_or(&[][..], Value::items);
    Actor {
        name: visible(&header.object_name(index), 512, false).into_owned(),
        label: text("ActorLabel"),
        class: visible(&header.class_path(index, name), 1024, false).into_owned(),
        location: root.and_then(|root| {
            let root = package.object(root);
            location(header, &root.properties)
        }),
        folder: text("FolderPath"),
        tags: tags
            .iter()
            .filter_map(Value::name)
            .map(|tag| render.label(&unreal_package::Label::Name(tag)))
            .collect(),
        package: None,
        parts: None,
    }
}

fn location(header: &Header<'_>, properties: &[Property<'_>]) -> Option<[f64; 3]> {
    let place = get(properties, header, "RelativeLocation")?.fields();
    let part = |name| get(place, header, name).and_then(Value::real);
    Some([part("X")?, part("Y")?, part("Z")?])
}
