//! The hierarchy of a project's C++ and Blueprint classes, below the engine classes from which they
//! derive.

use crate::{
    classes::{ClassName, class_of, class_path},
    cpp::CppClasses,
    index::Index,
    native_classes,
};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum depth of classes.
const MAX_DEPTH: usize = 64;

/// The place where a class is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassKind {
    /// In the engine, or in a plugin outside of the project.
    Outside,
    /// In the project's C++ code.
    Cpp,
    /// In a Blueprint.
    Blueprint,
}

/// A class in the hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassNode {
    /// Its path, such as `/Script/MyGame.Door` or `/Game/Doors/BP_Door.BP_Door_C`.
    pub path: String,
    /// The place where the class is declared.
    pub kind: ClassKind,
    /// Number of steps from the class at the top of its tree in this list.
    pub depth: usize,
    /// The header and the line of a class in C++.
    pub declared: Option<(String, u32)>,
}

/// The requested part of the class hierarchy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hierarchy {
    /// The paths of the ancestors of the requested class, nearest first, as far as they are known.
    /// Empty if no class was requested.
    pub ancestors: Vec<String>,
    /// The classes, each before the classes that derive from it.
    pub classes: Vec<ClassNode>,
}

/// A class. `parent` is the parent's path at first, and the parent's key once all classes are known.
struct Class {
    path: String,
    kind: ClassKind,
    parent: Option<String>,
    declared: Option<(String, u32)>,
}

/// All classes by their keys: paths in lower case, or names alone for native classes outside of the
/// project.
#[derive(Default)]
struct ClassesByKey {
    classes: BTreeMap<String, Class>,
    children: BTreeMap<String, BTreeSet<String>>,
}

/// The hierarchy of `root` and of the classes that derive from it. Without `root`, the hierarchy of
/// all classes of the project, and of the outside classes from which they derive directly. `None`
/// if `root` is neither a class of the project nor an ancestor of one.
pub fn hierarchy(index: &Index, cpp: &CppClasses, root: Option<&str>) -> Option<Hierarchy> {
    let all = ClassesByKey::of(index, cpp);
    let mut found = Hierarchy::default();
    let Some(root) = root else {
        // Begins at the outside classes that are direct parents of project classes, and at project
        // classes without a known parent.
        for (key, class) in &all.classes {
            let has_own = all.children_of(key).any(|child| all.kind(child) != ClassKind::Outside);
            let is_top =
                class.parent.as_ref().is_none_or(|parent| !all.classes.contains_key(parent));
            if class.kind == ClassKind::Outside && has_own
                || class.kind != ClassKind::Outside && is_top
            {
                all.add_derived(key, 0, false, &mut BTreeSet::new(), &mut found.classes);
            }
        }
        return Some(found);
    };
    let wanted = ClassName::of(root);
    let is_wanted = |(_, class): &(&String, &Class)| wanted.is(&class.path.to_ascii_lowercase());
    let (key, class) = all.classes.iter().find(is_wanted)?;
    let mut above = class.parent.as_ref();
    while let Some(parent) = above.and_then(|parent| all.classes.get(parent)) {
        if found.ancestors.len() >= MAX_DEPTH || found.ancestors.contains(&parent.path) {
            break;
        }
        found.ancestors.push(parent.path.clone());
        above = parent.parent.as_ref();
    }
    all.add_derived(key, 0, true, &mut BTreeSet::new(), &mut found.classes);
    Some(found)
}

impl ClassesByKey {
    fn of(index: &Index, cpp: &CppClasses) -> Self {
        let mut all = Self::default();
        for (class, parent) in cpp.with_parents() {
            let path = class.path();
            all.add(&path, ClassKind::Cpp, &parent, Some((class.file, class.line)));
        }
        for entry in index.entries() {
            let package = index.text(entry.package);
            for asset in index.assets_of(entry) {
                let parent = class_path(index.text(asset.parent));
                if parent.is_empty() || !index.is_blueprint(asset) {
                    continue;
                }
                let path = match index.text(asset.path) {
                    path if path.starts_with('/') => format!("{path}_C"),
                    path => format!("{package}.{path}_C"),
                };
                all.add(&path, ClassKind::Blueprint, parent, None);
            }
        }
        all.add_outside_classes();
        all
    }

    fn add(&mut self, path: &str, kind: ClassKind, parent: &str, declared: Option<(String, u32)>) {
        let parent = (!parent.is_empty()).then(|| parent.to_owned());
        let class = Class { path: path.to_owned(), kind, parent, declared };
        self.classes.insert(path.to_ascii_lowercase(), class);
    }

    /// Adds the outside classes from which classes of the project derive, and the ancestors of
    /// these outside classes.
    fn add_outside_classes(&mut self) {
        let parents: Vec<String> =
            self.classes.values().filter_map(|class| class.parent.clone()).collect();
        // The parents from the project's files come first, since their paths have capitals. The
        // table of native classes is in lower case.
        let mut above: Vec<String> =
            parents.iter().filter_map(|path| self.add_outside_class(path)).collect();
        while let Some(path) = above.pop() {
            above.extend(self.add_outside_class(&path));
        }
        // All classes are known now, so the keys of the parents can be set.
        let keys: Vec<(String, String)> = self
            .classes
            .iter()
            .filter_map(|(own, class)| {
                let parent = class.parent.as_ref()?;
                let lower = parent.to_ascii_lowercase();
                let parent = if self.classes.contains_key(&lower) { lower } else { key(parent) };
                Some((own.clone(), parent))
            })
            .collect();
        for (own, parent) in keys {
            self.children.entry(parent.clone()).or_default().insert(own.clone());
            if let Some(class) = self.classes.get_mut(&own) {
                class.parent = Some(parent);
            }
        }
    }

    /// Adds a class outside of the project, and returns its parent. `None` if the class is already
    /// known, or has no known parent.
    fn add_outside_class(&mut self, path: &str) -> Option<String> {
        if self.classes.contains_key(&key(path))
            || self.classes.contains_key(&path.to_ascii_lowercase())
        {
            return None;
        }
        let parent = native_classes::parent(&class_of(path).to_ascii_lowercase());
        let class = Class {
            path: path.to_owned(),
            kind: ClassKind::Outside,
            parent: parent.clone(),
            declared: None,
        };
        self.classes.insert(key(path), class);
        parent
    }

    fn children_of(&self, key: &str) -> impl Iterator<Item = &String> {
        self.children.get(key).into_iter().flatten()
    }

    fn kind(&self, key: &str) -> ClassKind {
        self.classes.get(key).map_or(ClassKind::Outside, |class| class.kind)
    }

    /// Adds a class and the classes that derive from it. Derived classes outside of the project are
    /// added only if `with_outside`.
    fn add_derived(
        &self,
        key: &str,
        depth: usize,
        with_outside: bool,
        above: &mut BTreeSet<String>,
        found: &mut Vec<ClassNode>,
    ) {
        let Some(class) = self.classes.get(key) else { return };
        // Only damaged packages have a class that derives from itself.
        if depth > MAX_DEPTH || !above.insert(key.to_owned()) {
            return;
        }
        found.push(ClassNode {
            path: class.path.clone(),
            kind: class.kind,
            depth,
            declared: class.declared.clone(),
        });
        for child in self.children_of(key) {
            if with_outside || self.kind(child) != ClassKind::Outside {
                self.add_derived(child, depth + 1, with_outside, above, found);
            }
        }
        above.remove(key);
    }
}

/// The key of a class outside of the project. For a native class, its name, since the engine has
/// moved classes between modules. For a Blueprint, its path.
fn key(path: &str) -> String {
    let lower = path.to_ascii_lowercase();
    if lower.starts_with("/script/") { class_of(&lower).to_owned() } else { lower }
}
