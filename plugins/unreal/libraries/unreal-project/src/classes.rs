//! The class hierarchy: parents of Blueprint classes from their asset tags, of the project's C++ classes from its
//! headers, and of the engine's classes from a table.

use crate::{cpp::CppClasses, entry::Asset, index::Index, native_classes};
use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hasher},
    rc::Rc,
};

/// Maximum number of classes in a chain.
const MAX_CHAIN: usize = 64;

/// The classes of a project, by path.
#[derive(Debug, Default)]
pub struct Classes {
    /// The parent of each class of the project, in lower case, by a hash of the class's path.
    /// Hashes save memory: most paths are never needed as text.
    parents: HashMap<u64, Rc<str>>,
}

/// The hash of a path in lower case; `parts` together are the path. `buffer` is reused between
/// calls.
fn key(buffer: &mut String, parts: &[&str]) -> u64 {
    buffer.clear();
    parts.iter().for_each(|part| buffer.push_str(part));
    buffer.make_ascii_lowercase();
    let mut hasher = DefaultHasher::new();
    hasher.write(buffer.as_bytes());
    hasher.finish()
}

/// The path in a tag such as `/Script/CoreUObject.Class'/Script/Engine.Actor'`.
pub fn class_path(tag: &str) -> &str {
    let inner = tag.split_once('\'').map_or(tag, |(_, rest)| rest.trim_end_matches('\''));
    inner.trim_matches('"')
}

/// The last part of a path: `BP_Door_C`.
pub fn class_of(path: &str) -> &str {
    path.rsplit(['.', '/', ':']).next().unwrap_or(path)
}

impl Index {
    /// Whether an asset is a Blueprint of any kind.
    pub fn is_blueprint(&self, asset: &Asset) -> bool {
        let class = class_of(self.text(asset.class));
        class.ends_with("Blueprint")
    }
}

impl Classes {
    /// The classes of all Blueprints in an index, and the classes that the project declares in C++.
    pub fn of(index: &Index, cpp: &CppClasses) -> Self {
        let (mut parents, mut lowered, mut buffer) =
            (HashMap::new(), HashMap::new(), String::new());
        for entry in index.entries() {
            let package = index.text(entry.package);
            for asset in index.assets_of(entry) {
                let parent = class_path(index.text(asset.parent));
                if parent.is_empty() || !index.is_blueprint(asset) {
                    continue;
                }
                // The path of the generated class. The path of an external actor's asset is
                // complete already.
                let class = match index.text(asset.path) {
                    path if path.starts_with('/') => key(&mut buffer, &[path, "_C"]),
                    path => key(&mut buffer, &[package, ".", path, "_C"]),
                };
                let parent: &Rc<str> = lowered
                    .entry(asset.parent)
                    .or_insert_with(|| parent.to_ascii_lowercase().into());
                parents.insert(class, Rc::clone(parent));
            }
        }
        for (class, parent) in cpp.with_parents() {
            if !parent.is_empty() {
                parents
                    .insert(key(&mut buffer, &[&class.path()]), parent.to_ascii_lowercase().into());
            }
        }
        Self { parents }
    }

    /// The known ancestors of a class, nearest first, in lower case, and whether the chain is
    /// complete.
    pub fn ancestors(&self, class: &str) -> (Vec<String>, bool) {
        let mut chain: Vec<String> = Vec::new();
        let mut at = class.to_ascii_lowercase();
        while chain.len() < MAX_CHAIN {
            let Some(parent) = self.parent(&at) else {
                return (chain, class_of(&at) == "object");
            };
            if chain.contains(&parent) {
                return (chain, false);
            }
            chain.push(parent.clone());
            at = parent;
        }
        (chain, false)
    }

    fn parent(&self, class: &str) -> Option<String> {
        if let Some(parent) = self.parents.get(&key(&mut String::new(), &[class])) {
            return Some(parent.to_string());
        }
        // Native classes are found by name: the engine has moved classes between modules.
        class.starts_with("/script/").then(|| native_classes::parent(class_of(class))).flatten()
    }

    /// Whether a class derives from another. `from` is written as `Actor`, `AActor`, `BP_Door`,
    /// `BP_Door_C`, `/Game/BP_Door` or `/Script/Engine.Actor`. `None` if the chain of ancestors is
    /// incomplete and `from` is not in it.
    pub fn derives(&self, class: &str, from: &str) -> Option<bool> {
        let (chain, is_whole) = self.ancestors(class);
        let wanted = ClassName::of(from);
        // `UObject` is the root of every chain.
        let is_object = matches!(wanted.text.as_str(), "object" | "uobject");
        if is_object || wanted.is_among(&chain) { Some(true) } else { is_whole.then_some(false) }
    }

    /// Whether a class is `from` or derives from it; `None` if `class` is empty, or as in [`Self::derives`].
    pub fn is_or_derives(&self, class: &str, from: &str) -> Option<bool> {
        if class.is_empty() {
            return None;
        }
        let own = [class.to_ascii_lowercase()];
        if ClassName::of(from).is_among(&own) { Some(true) } else { self.derives(class, from) }
    }
}

/// A class as a user writes it: `Blueprint`, `UBlueprint`, `/Script/Engine.Blueprint` or `/Game/BP_Door`.
pub struct ClassName {
    text: String,
    is_path: bool,
}

impl ClassName {
    /// Parses the text with which a user names a class.
    pub fn of(text: &str) -> Self {
        let text = class_path(text.trim()).to_ascii_lowercase();
        let is_path = text.starts_with('/');
        // `/Game/BP_Door` means `/Game/BP_Door.BP_Door`.
        let text = match text.rsplit_once('/') {
            Some((_, name)) if is_path && !name.contains('.') => format!("{text}.{name}"),
            _ => text,
        };
        Self { text, is_path }
    }

    fn is_among(&self, classes: &[String]) -> bool {
        classes.iter().any(|class| self.is(class))
    }

    /// Whether this name stands for the class `ancestor`. `ancestor` is a path in lower case, or a
    /// bare name from packages of old versions.
    pub fn is(&self, ancestor: &str) -> bool {
        let bare = ancestor.strip_suffix("_c").unwrap_or(ancestor);
        if self.is_path && !ancestor.starts_with('/') {
            return class_of(&self.text) == ancestor;
        }
        if self.is_path {
            return self.text == ancestor || self.text == bare;
        }
        let (name, bare_name) = (class_of(ancestor), class_of(bare));
        let prefixed = ancestor.starts_with("/script/")
            && matches!(self.text.strip_prefix(['a', 'u']), Some(rest) if rest == name);
        self.text == name || self.text == bare_name || prefixed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes() -> Classes {
        let pairs = [
            ("/game/bp_base.bp_base_c", "/script/engine.character"),
            ("/game/bp_door.bp_door_c", "/game/bp_base.bp_base_c"),
            ("/game/own.own_c", "/script/mygame.mything"),
            ("/game/loop.loop_c", "/game/loop.loop_c"),
        ];
        let mut buffer = String::new();
        Classes { parents: pairs.map(|(a, b)| (key(&mut buffer, &[a]), b.into())).into() }
    }

    #[test]
    fn tags_and_names() {
        for tag in [
            "/Script/CoreUObject.Class'/Script/Engine.Actor'",
            "Class'/Script/Engine.Actor'",
            "/Script/Engine.Actor",
            "Class'\"/Script/Engine.Actor\"'",
        ] {
            assert_eq!(class_path(tag), "/Script/Engine.Actor");
        }
        assert_eq!(class_of("/Game/BP_Door.BP_Door_C"), "BP_Door_C");
    }

    #[test]
    fn a_class_derives_from_all_its_ancestors() {
        let classes = classes();
        let door = "/Game/BP_Door.BP_Door_C";
        for ancestor in [
            "BP_Base",
            "BP_Base_C",
            "/Game/BP_Base",
            "/Game/BP_Base.BP_Base_C",
            "character",
            "ACharacter",
            "Pawn",
            "/Script/Engine.Actor",
            "UObject",
        ] {
            assert_eq!(classes.derives(door, ancestor), Some(true), "{ancestor}");
        }
        assert_eq!(classes.derives(door, "Widget"), Some(false));
        assert_eq!(classes.derives(door, "BP_Door"), Some(false));
        assert_eq!(classes.derives("/Game/Own.Own_C", "MyThing"), Some(true));
        assert_eq!(classes.derives("/Game/Own.Own_C", "Actor"), None);
        assert_eq!(classes.derives("/Game/Own.Own_C", "UObject"), Some(true));
        assert_eq!(classes.derives("/Game/Loop.Loop_C", "Actor"), None);
    }
}
