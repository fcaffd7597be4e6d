//! The tool `list_level_actors`: the actors of a map.

use crate::{
    answer::{Page, SourceKind, shown},
    offline::Offline,
    source::Asked,
};
use portcullis_plugin::prelude::*;

about_project! {
    #[paged]
    /// List the actors of a map, also those that a partitioned world keeps in files of their own and has not loaded.
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
    }
}

told! {
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
    /// Where its root is, relative to what it is attached to; left out at the origin
    #[serde(skip_serializing_if = "Option::is_none")]
    location: Option<Location>,
    #[serde(skip_serializing_if = "String::is_empty", default)]
    folder: String,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    tags: Vec<String>,
    /// The package it has of its own
    #[serde(skip_serializing_if = "Option::is_none")]
    package: Option<String>,
}

#[data]
struct Location {
    x: f64,
    y: f64,
    z: f64,
}

answered!(LevelActors, "list_level_actors", "List level actors", Actors);

impl Asked for LevelActors {
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
            |class, name| {
                class.to_ascii_lowercase().contains(&class_filter)
                    && name.to_ascii_lowercase().contains(&name_filter)
            },
        )?;
        let actors: Vec<ActorInfo> = list
            .actors
            .into_iter()
            .map(|actor| ActorInfo {
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
            })
            .collect();
        Ok(Actors {
            map_path: shown(&list.map),
            count: actors.len(),
            actors,
            total_count: list.total,
            offset: page.offset,
            has_more: page.has_more(list.total),
            source: SourceKind::Offline,
            warnings: offline.warnings_and(list.warnings),
            as_of: offline.as_of.clone(),
        })
    }
}
