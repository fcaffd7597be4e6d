//! Searches assets and Blueprints by name, folder, class and parent.

use crate::{
    classes::{ClassName, Classes, class_of, class_path},
    cpp::CppClasses,
    entry::{Asset, Entry},
    index::Index,
    strings::Id,
};
use std::collections::HashMap;

/// A found asset.
#[derive(Clone, Copy, Debug)]
pub struct Hit<'i> {
    /// Its package.
    pub entry: &'i Entry,
    /// The asset.
    pub asset: &'i Asset,
}

/// A search for assets. Empty fields match everything.
#[derive(Clone, Debug, Default)]
pub struct AssetQuery {
    /// Folders, such as `/Game/Doors`.
    pub paths: Vec<String>,
    /// Whether to include subfolders.
    pub recursive: bool,
    /// Names of packages, such as `/Game/Doors/BP_Door`; `*` matches anything.
    pub names: Vec<String>,
    /// Classes by path or by name.
    pub classes: Vec<String>,
}

/// A search for Blueprints.
#[derive(Clone, Debug)]
pub enum BlueprintQuery {
    /// The name contains the text.
    Name(String),
    /// The tag `ParentClass` contains the text.
    Parent(String),
    /// The name or the tag `ParentClass` contains the text.
    All(String),
    /// The Blueprint derives from the class, directly or indirectly.
    Inherits(String),
}

/// The reason for a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matched {
    /// The name.
    Name,
    /// The direct parent.
    Parent,
    /// An ancestor.
    Ancestor,
}

impl Index {
    /// The matching assets, ordered by package.
    pub fn search_assets(&self, query: &AssetQuery) -> Vec<Hit<'_>> {
        let scope = Scope::new(&query.paths, query.recursive);
        let names: Vec<Pattern> = query.names.iter().map(|name| Pattern::new(name)).collect();
        let classes: Vec<ClassName> =
            query.classes.iter().map(|class| ClassName::of(class)).collect();
        let mut kinds: HashMap<Id, bool> = HashMap::new();
        let mut is_wanted = |class: Id| {
            *kinds.entry(class).or_insert_with(|| {
                let class = self.text(class).to_ascii_lowercase();
                classes.is_empty() || classes.iter().any(|wanted| wanted.is(&class))
            })
        };
        let mut hits = Vec::new();
        for entry in self.entries() {
            let fits = |name: &Pattern| name.fits(self.text(entry.package));
            if !scope.has(self, entry) || !(names.is_empty() || names.iter().any(fits)) {
                continue;
            }
            let assets = self.assets_of(entry).iter().filter(|asset| is_wanted(asset.class));
            hits.extend(assets.map(|asset| Hit { entry, asset }));
        }
        hits
    }

    /// Whether a folder or its subfolders contain a package.
    pub fn has_folder(&self, folder: &str) -> bool {
        let scope = Scope::new(&[folder.to_owned()], true);
        self.entries().iter().any(|entry| scope.has(self, entry))
    }

    /// The matching Blueprints with the reasons, and the number of Blueprints for which `Inherits`
    /// cannot be decided, since their ancestors are unknown. `cpp` has the C++ classes of the
    /// project; only `Inherits` uses them.
    pub fn search_blueprints(
        &self,
        query: &BlueprintQuery,
        cpp: &CppClasses,
        path: &str,
        recursive: bool,
    ) -> (Vec<(Hit<'_>, Vec<Matched>)>, usize) {
        let paths = if path.is_empty() { vec![] } else { vec![path.to_owned()] };
        let scope = Scope::new(&paths, recursive);
        let classes = match query {
            BlueprintQuery::Inherits(_) => Classes::of(self, cpp),
            BlueprintQuery::Name(_) | BlueprintQuery::Parent(_) | BlueprintQuery::All(_) => {
                Classes::default()
            }
        };
        let (mut kinds, mut known) = (HashMap::new(), HashMap::new());
        let (mut found, mut unknown) = (Vec::new(), 0);
        for entry in self.entries() {
            if !scope.has(self, entry) {
                continue;
            }
            for asset in self.assets_of(entry) {
                if !*kinds.entry(asset.class).or_insert_with(|| self.is_blueprint(asset)) {
                    continue;
                }
                let matched = self.why(query, asset, &classes, &mut known);
                let Some(matched) = matched else {
                    unknown += 1;
                    continue;
                };
                if !matched.is_empty() {
                    found.push((Hit { entry, asset }, matched));
                }
            }
        }
        (found, unknown)
    }

    /// The reasons for a match; empty if the asset does not match. `None` if `Inherits` cannot be
    /// decided, since not all ancestors are known. `known` caches the result for each parent, since
    /// most Blueprints share few parents.
    fn why(
        &self,
        query: &BlueprintQuery,
        asset: &Asset,
        classes: &Classes,
        known: &mut HashMap<(Id, Id), Option<bool>>,
    ) -> Option<Vec<Matched>> {
        let name = |term: &str| contains(class_of(self.text(asset.path)), term);
        let parent = |term: &str| contains(self.text(asset.parent), term);
        let found = match query {
            BlueprintQuery::Name(term) => [name(term).then_some(Matched::Name), None],
            BlueprintQuery::Parent(term) => [parent(term).then_some(Matched::Parent), None],
            BlueprintQuery::All(term) => {
                [name(term).then_some(Matched::Name), parent(term).then_some(Matched::Parent)]
            }
            BlueprintQuery::Inherits(term) => {
                let parents = (asset.parent, asset.native_parent);
                let derives = *known.entry(parents).or_insert_with(|| {
                    let [parent, native] =
                        [parents.0, parents.1].map(|tag| class_path(self.text(tag)));
                    // If the parent lies outside the project, its native parent is still stored.
                    let by_parent = classes.is_or_derives(parent, term);
                    by_parent.or_else(|| classes.is_or_derives(native, term))
                });
                [derives?.then_some(Matched::Ancestor), None]
            }
        };
        Some(found.into_iter().flatten().collect())
    }
}

/// Whether a text contains another, ignoring the case of ASCII letters.
fn contains(text: &str, part: &str) -> bool {
    let (text, part) = (text.as_bytes(), part.as_bytes());
    part.is_empty() || text.windows(part.len()).any(|window| window.eq_ignore_ascii_case(part))
}

/// A set of folders.
pub struct Scope {
    /// In lower case, without a trailing slash.
    folders: Vec<String>,
    recursive: bool,
    /// Whether external actors and objects are included.
    external: bool,
}

impl Scope {
    pub fn new(folders: &[String], recursive: bool) -> Self {
        let folders: Vec<String> = folders
            .iter()
            .map(|folder| folder.trim().trim_end_matches('/').to_ascii_lowercase())
            .collect();
        let external = folders.iter().any(|folder| is_external(folder));
        Self { folders, recursive, external }
    }

    pub fn has(&self, index: &Index, entry: &Entry) -> bool {
        (self.external || !entry.is_external)
            && (self.folders.is_empty() || self.is_in(index.text(entry.package)))
    }

    /// Whether one of the folders is this package itself.
    pub fn names(&self, index: &Index, entry: &Entry) -> bool {
        let package = index.text(entry.package);
        self.folders.iter().any(|folder| package.eq_ignore_ascii_case(folder))
    }

    fn is_in(&self, package: &str) -> bool {
        let Some((parent, _)) = package.rsplit_once('/') else { return false };
        self.folders.iter().any(|folder| {
            let same = |part: &str| part.eq_ignore_ascii_case(folder);
            same(parent)
                || (self.recursive
                    && parent.get(..folder.len()).is_some_and(same)
                    && parent[folder.len()..].starts_with('/'))
        })
    }
}

/// Whether a package holds an external actor or object of a map.
pub fn is_external(package: &str) -> bool {
    contains(package, "/__ExternalActors__") || contains(package, "/__ExternalObjects__")
}

/// A name with `*` as wildcard.
struct Pattern(Vec<String>);

impl Pattern {
    fn new(text: &str) -> Self {
        // The path of an object stands for its package.
        let text = class_path(text.trim()).to_ascii_lowercase();
        let package = match text.rsplit_once('/') {
            Some((folder, name)) => {
                format!("{folder}/{}", name.split('.').next().unwrap_or_default())
            }
            None => text,
        };
        Self(package.split('*').map(str::to_owned).collect())
    }

    fn fits(&self, package: &str) -> bool {
        let lower = package.to_ascii_lowercase();
        let [first, middle @ .., last] = self.0.as_slice() else {
            return self.0.first().is_some_and(|only| *only == lower);
        };
        let Some(mut rest) = lower.strip_prefix(first.as_str()) else { return false };
        for part in middle {
            let Some(at) = rest.find(part.as_str()) else { return false };
            rest = &rest[at + part.len()..];
        }
        rest.ends_with(last.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_with_and_without_subfolders() {
        let scope = |recursive| Scope::new(&["/Game/Doors/".to_owned()], recursive);
        assert!(scope(false).is_in("/Game/Doors/BP") && scope(true).is_in("/game/doors/in/BP"));
        assert!(
            !scope(false).is_in("/Game/Doors/In/BP") && !scope(true).is_in("/Game/DoorsOld/BP")
        );
        assert!(is_external("/Game/__externalactors__/M/0/1/X") && !is_external("/Game/__M/X"));
    }

    #[test]
    fn names_with_wildcards() {
        let fits = |pattern: &str, name: &str| Pattern::new(pattern).fits(name);
        assert!(fits("/Game/A", "/Game/a") && !fits("/Game/A", "/Game/AB"));
        assert!(fits("/Game/A.A", "/Game/A") && fits("Blueprint'/Game/A.A'", "/Game/A"));
        assert!(fits("/Game/*door*", "/Game/X/BP_Door_2") && !fits("*Door", "/Game/BP_Door_2"));
        assert!(fits("*", "/Game/A") && !fits("/Game/*A*A", "/Game/A"));
    }
}
