//! The tool `list_level_actors`: the actors of a map.

use crate::{
    answer::{Page, SourceKind, shown},
    offline::Offline,
    source::SourceQuery,
};
use portcullis_plugin::prelude::*;
use unreal_project::{Actor, Component, ObjectDifference};

/// Maximum size of the actors on a page with components, as JSON, in bytes: about 2,000 tokens.
const PAGE_BYTES: usize = 6_000;

about_project! {
    #[paged]
    /// List the actors of a map, including external actors, which a partitioned world keeps in files of their own.
    pub struct LevelActors {
        /// Path of the map, such as /Game/Maps/Town.
        #[schemars(length(min = 1, max = 2048))]
        map_path: String,
        /// Only actors whose class has this in its path, such as PointLight. Case does not matter.
        #[serde(default)]
        class_filter: String,
        /// Only actors whose label, or name, has this in it. Case does not matter.
        #[serde(default)]
        name_filter: String,
        /// Also the components of each actor, and the properties of both that differ from their defaults. A page then has about 2,000 tokens: go on with `offset`.
        #[serde(default)]
        with_components: bool,
    }
}

tool_result! {
    /// The actors of a map.
    pub struct Actors {
        map_path: String,
        actors: Vec<ActorInfo>,
        count: usize,
        total_count: usize,
        offset: usize,
        has_more: bool,
    }
}

#[data]
struct ActorInfo {
    name: String,
    #[serde(skip_serializing_if = "String::is_empty", default)]
    label: String,
    class_path: String,
    /// Location of its root component, relative to what the actor is attached to; absent at the origin
    #[serde(skip_serializing_if = "Option::is_none")]
    location: Option<Location>,
    #[serde(skip_serializing_if = "String::is_empty", default)]
    folder: String,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    tags: Vec<String>,
    /// The package of an external actor
    #[serde(skip_serializing_if = "Option::is_none")]
    package: Option<String>,
    /// Properties that differ from the class, each with its value
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    properties: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    components: Vec<ComponentInfo>,
    /// Facts about the actor that the answer leaves out
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    left_out: Vec<String>,
}

#[data]
struct ComponentInfo {
    name: String,
    class_path: String,
    /// The component to which it is attached
    #[serde(skip_serializing_if = "String::is_empty", default)]
    attached_to: String,
    /// Properties that differ from the defaults, each with its value
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    properties: Vec<String>,
    /// Facts about the component that the answer leaves out
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    left_out: Vec<String>,
}

#[data]
struct Location {
    x: f64,
    y: f64,
    z: f64,
}

read_only_tool!(LevelActors, "list_level_actors", "List level actors", Actors);

impl SourceQuery for LevelActors {
    type Answer = Actors;

    fn ask_files(&self, _request: &Request<'_>, offline: &Offline) -> Result<Actors, Failure> {
        let (class_filter, name_filter) =
            (self.class_filter.to_ascii_lowercase(), self.name_filter.to_ascii_lowercase());
        let page = Page::new(self.offset, self.max_results);
        let list = offline.index.actors(
            &offline.project,
            &self.map_path,
            page.offset,
            page.most(),
            self.with_components,
            |class, name| {
                class.to_ascii_lowercase().contains(&class_filter)
                    && name.to_ascii_lowercase().contains(&name_filter)
            },
        )?;
        let actors = list.actors.into_iter().map(ActorInfo::of);
        let actors: Vec<ActorInfo> = match self.with_components {
            true => within(PAGE_BYTES, actors)?,
            false => actors.collect(),
        };
        let shown_count = actors.len();
        Ok(Actors {
            map_path: shown(&list.map),
            count: shown_count,
            actors,
            total_count: list.total,
            offset: page.offset,
            has_more: page.offset.saturating_add(shown_count) < list.total,
            source: SourceKind::Offline,
            warnings: offline.warnings_and(list.warnings),
            as_of: offline.as_of.clone(),
        })
    }
}

impl ActorInfo {
    fn of(actor: Actor) -> Self {
        let parts = actor.parts.unwrap_or_default();
        let mut left_out = parts.difference.left_out;
        let more = parts.more_components;
        left_out.extend((more > 0).then(|| format!("{more} more components")));
        Self {
            name: actor.name,
            label: actor.label,
            class_path: actor.class,
            // JSON has no NaN or infinity.
            location: actor
                .location
                .filter(|place| place.iter().all(|part| part.is_finite()))
                .map(|[x, y, z]| Location { x, y, z }),
            folder: actor.folder,
            tags: actor.tags,
            package: actor.package.map(|package| shown(&package)),
            properties: parts.difference.properties,
            components: parts.components.into_iter().map(ComponentInfo::of).collect(),
            left_out,
        }
    }
}

impl ComponentInfo {
    fn of(component: Component) -> Self {
        let Component { name, class, attached_to, difference } = component;
        let ObjectDifference { properties, left_out } = difference;
        Self { name, class_path: class, attached_to, properties, left_out }
    }
}

/// The first actors whose JSON together has at most `bytes` bytes. If the first actor alone is
/// larger, its last components and properties are left out.
fn within(
    bytes: usize,
    actors: impl Iterator<Item = ActorInfo>,
) -> Result<Vec<ActorInfo>, Failure> {
    let mut page = Vec::new();
    let mut left = bytes;
    for mut actor in actors {
        let size = serde_json::to_vec(&actor)?.len();
        match left.checked_sub(size) {
            Some(rest) => left = rest,
            None if page.is_empty() => {
                cut(&mut actor, bytes)?;
                page.push(actor);
                break;
            }
            None => break,
        }
        page.push(actor);
    }
    Ok(page)
}

/// Leaves out components, and then properties, from the end, until the actor's JSON with notes about them fits into
/// `bytes` bytes, or until there are no more of them.
fn cut(actor: &mut ActorInfo, bytes: usize) -> Result<(), Failure> {
    let (mut components, mut properties) = (0, 0);
    while serde_json::to_vec(&actor)?.len() + 200 > bytes {
        if actor.components.pop().is_some() {
            components += 1;
        } else if actor.properties.pop().is_some() {
            properties += 1;
        } else {
            break;
        }
    }
    let left_out = [(components, "components"), (properties, "properties")];
    let notes = left_out.into_iter().filter(|(number, _)| *number > 0).map(|(number, what)| {
        format!("{number} {what}, for which the page has no room: see export_asset")
    });
    actor.left_out.extend(notes);
    Ok(())
}
