//! Queries the dependencies between packages, in both directions, through redirectors and as a
//! tree, and finds unused and missing packages.

use crate::{
    config::Config,
    entry::{Entry, Link, State},
    find::Project,
    index::Index,
};
use std::{
    collections::{HashMap, HashSet},
    fs,
    path::{Path, PathBuf},
};
use unreal_package::DependencyKind;

/// Maximum size of a source file that is searched, in bytes.
const MAX_SOURCE_BYTES: u64 = 1 << 20;
/// Maximum number of source files that are searched.
const MAX_SOURCES: usize = 5_000;
/// Maximum depth of folders beneath a folder `Source`.
const MAX_SOURCE_DEPTH: usize = 12;

/// Marks a name without an entry in the index.
const NONE: u32 = u32::MAX;

/// A dependency between two packages.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Relation {
    /// The other package: the dependency or the referencer.
    pub package: String,
    /// The kind of dependency.
    pub strength: DependencyKind,
    /// Whether only the editor needs it, if known.
    pub editor_only: Option<bool>,
    /// The redirector between the two packages. If there are several, the redirector that the referencer names.
    pub via: Option<String>,
}

/// A package in a dependency tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeNode {
    /// Its name.
    pub package: String,
    /// Number of steps from the root.
    pub depth: usize,
    /// Its dependencies.
    pub dependencies: Vec<String>,
}

/// An unused package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unused {
    /// Its name.
    pub package: String,
    /// Packages that refer to it, all unused as well.
    pub referencers: Vec<String>,
}

/// The unused packages of a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnusedPackages {
    /// The packages, sorted by name.
    pub packages: Vec<Unused>,
    /// What was not searched for names of packages, so that used packages may be listed.
    pub warnings: Vec<String>,
}

/// A reference to a missing package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The referencer.
    pub package: String,
    /// The missing package.
    pub missing: String,
    /// The kind of dependency.
    pub strength: DependencyKind,
}

/// Dependencies in both directions, computed from an index.
#[derive(Debug)]
pub struct Relations<'i> {
    index: &'i Index,
    /// For each string, the position of the package with that name, or [`NONE`].
    targets: Vec<u32>,
    /// For each entry, its referencers: their position, and the position of the link.
    referencers: Vec<Vec<(u32, u32)>>,
    /// Referencers of packages that the index does not have, by name in lower case.
    outside_referencers: HashMap<String, Vec<(u32, u32)>>,
}

impl<'i> Relations<'i> {
    /// Computes the relations of an index.
    pub fn of(index: &'i Index) -> Self {
        let mut referencers = vec![Vec::new(); index.entries().len()];
        let mut outside_referencers: HashMap<String, Vec<(u32, u32)>> = HashMap::new();
        let mut targets = vec![None; index.strings.len()];
        for (from, entry) in (0..).zip(index.entries()) {
            for (by, link) in (0..).zip(index.links_of(entry)) {
                let package = index.text(link.package);
                let Some(target) = targets.get_mut(link.package.0 as usize) else { continue };
                let position = *target.get_or_insert_with(|| {
                    let position = index.position(package);
                    position.and_then(|position| u32::try_from(position).ok()).unwrap_or(NONE)
                });
                match referencers.get_mut(position as usize) {
                    Some(referencers) => referencers.push((from, by)),
                    None => {
                        outside_referencers
                            .entry(package.to_ascii_lowercase())
                            .or_default()
                            .push((from, by));
                    }
                }
            }
        }
        let targets = targets.into_iter().map(|target| target.unwrap_or(NONE)).collect();
        Self { index, targets, referencers, outside_referencers }
    }

    /// The position of a link's package.
    fn target(&self, link: &Link) -> Option<usize> {
        let position = self.targets.get(link.package.0 as usize).copied()? as usize;
        (position < self.referencers.len()).then_some(position)
    }

    /// The dependencies of a package; a redirector is replaced by its target. With `native`,
    /// packages of C++ classes (`/Script/…`) are included.
    pub fn dependencies(
        &self,
        entry: &Entry,
        wanted: &[DependencyKind],
        native: bool,
    ) -> Vec<Relation> {
        let index = self.index;
        let own_name = index.text(entry.package);
        let links = index.links_of(entry).iter();
        let links = links.filter(|link| wanted.contains(&link.strength));
        let found: Vec<Relation> = links
            .map(|link| self.relation(link))
            .filter(|relation| native || !relation.package.starts_with("/Script/"))
            .filter(|relation| relation.package != own_name)
            .collect();
        sorted_and_distinct(found)
    }

    fn relation(&self, link: &Link) -> Relation {
        let index = self.index;
        let package = index.text(link.package);
        let mut relation = Relation {
            package: package.to_owned(),
            strength: link.strength,
            editor_only: link.editor_only,
            via: None,
        };
        for _ in 0..16 {
            let Some(target) = index.find(&relation.package).and_then(|e| index.redirected(e))
            else {
                break;
            };
            relation.via = Some(package.to_owned());
            target.clone_into(&mut relation.package);
        }
        relation
    }

    /// The packages that depend on a package, also through redirectors.
    pub fn referencers(&self, package: &str, wanted: &[DependencyKind]) -> Vec<Relation> {
        let mut found = Vec::new();
        self.collect(package, wanted, None, 0, &mut found);
        sorted_and_distinct(found)
    }

    fn collect(
        &self,
        package: &str,
        wanted: &[DependencyKind],
        via: Option<&str>,
        depth: usize,
        found: &mut Vec<Relation>,
    ) {
        let index = self.index;
        let known = match index.position(package) {
            Some(to) => Some(&self.referencers[to]),
            None => self.outside_referencers.get(&package.to_ascii_lowercase()),
        };
        for (from, by) in known.into_iter().flatten() {
            let entry = &index.entries()[*from as usize];
            let name = index.text(entry.package);
            let redirects = index.redirected(entry);
            if redirects.is_some_and(|target| target.eq_ignore_ascii_case(package)) && depth < 16 {
                self.collect(name, wanted, Some(name), depth + 1, found);
                continue;
            }
            let link = &index.links_of(entry)[*by as usize];
            if wanted.contains(&link.strength) && !name.eq_ignore_ascii_case(package) {
                found.push(Relation {
                    package: name.to_owned(),
                    strength: link.strength,
                    editor_only: link.editor_only,
                    via: via.map(str::to_owned),
                });
            }
        }
    }

    /// The transitive dependencies of a package, each package once at its smallest depth. At most
    /// `max_nodes` packages; also returns whether the tree is complete.
    pub fn tree(
        &self,
        package: &str,
        wanted: &[DependencyKind],
        native: bool,
        max_depth: usize,
        max_nodes: usize,
    ) -> (Vec<TreeNode>, bool) {
        let mut nodes: Vec<TreeNode> =
            vec![TreeNode { package: package.to_owned(), depth: 0, dependencies: Vec::new() }];
        let mut seen = HashSet::from([package.to_ascii_lowercase()]);
        let (mut at, mut is_complete) = (0, true);
        while at < nodes.len() {
            let depth = nodes[at].depth;
            let entry = self.index.find(&nodes[at].package);
            let found = entry.map(|entry| self.dependencies(entry, wanted, native));
            let mut names: Vec<String> =
                found.unwrap_or_default().into_iter().map(|relation| relation.package).collect();
            names.dedup();
            for name in &names {
                if depth >= max_depth {
                    is_complete = false;
                } else if seen.insert(name.to_ascii_lowercase()) {
                    if nodes.len() >= max_nodes {
                        is_complete = false;
                        continue;
                    }
                    let node =
                        TreeNode { package: name.clone(), depth: depth + 1, dependencies: vec![] };
                    nodes.push(node);
                }
            }
            nodes[at].dependencies = names;
            at += 1;
        }
        (nodes, is_complete)
    }

    /// The unused packages in the folder `path`, without redirectors. These packages count as used:
    /// maps, external actors and objects, packages that the configuration or the source code names,
    /// and the dependencies of all of these. A package that cannot be read, such as a Git LFS
    /// pointer, counts as used as well, since its kind and its dependencies are not known.
    pub fn unused(&self, project: &Project, path: &str) -> UnusedPackages {
        let index = self.index;
        let mut used = vec![false; index.entries().len()];
        let mut next: Vec<usize> = Vec::new();
        let (texts, warnings) = self.mentioned(project);
        for (position, entry) in index.entries().iter().enumerate() {
            let package = index.text(entry.package);
            let is_root = entry.is_map
                || entry.is_external
                || !matches!(entry.state, State::Read | State::Partly)
                || texts.contains(package.to_ascii_lowercase().as_str());
            if is_root {
                next.push(position);
            }
        }
        while let Some(position) = next.pop() {
            if std::mem::replace(&mut used[position], true) {
                continue;
            }
            let links = index.links_of(&index.entries()[position]).iter();
            next.extend(links.filter_map(|link| self.target(link)));
        }
        let folder = path.trim_end_matches('/').to_ascii_lowercase();
        let mut packages = Vec::new();
        for (position, entry) in index.entries().iter().enumerate() {
            let package = index.text(entry.package);
            let is_inside = is_within(package, &folder);
            if used[position] || !is_inside || index.redirected(entry).is_some() {
                continue;
            }
            let from = self.referencers[position].iter().map(|(from, _)| *from as usize);
            let mut referencers: Vec<String> = from
                .filter(|from| *from != position)
                .map(|from| index.text(index.entries()[from].package).to_owned())
                .collect();
            referencers.dedup();
            packages.push(Unused { package: package.to_owned(), referencers });
        }
        UnusedPackages { packages, warnings }
    }

    /// The packages named in the configuration and in the source code, and what was not searched.
    fn mentioned(&self, project: &Project) -> (HashSet<String>, Vec<String>) {
        let mut found = HashSet::new();
        let Config { settings, mut warnings } = Config::read(&project.dir);
        for setting in settings {
            self.names_in(&setting.value, &mut found);
        }
        let mut sources = Sources::default();
        sources.look(&project.dir.join("Source"), 0);
        for mount in &self.index.mounts {
            let plugin = Path::new(&mount.folder).with_file_name("Source");
            if plugin != Path::new("Source") {
                sources.look(&project.dir.join(plugin), 0);
            }
        }
        if sources.is_cut {
            warnings.push(format!(
                "source files were not searched: only {MAX_SOURCES} files of at most {} MiB, in folders \
                 nested at most {MAX_SOURCE_DEPTH} deep, are. Packages that only the other files name may \
                 be listed although they are used",
                MAX_SOURCE_BYTES >> 20
            ));
        }
        for source in sources.files {
            if let Ok(bytes) = fs::read(source) {
                self.names_in(&String::from_utf8_lossy(&bytes), &mut found);
            }
        }
        (found, warnings)
    }

    /// The names of packages in a text.
    fn names_in(&self, text: &str, found: &mut HashSet<String>) {
        for mount in &self.index.mounts {
            let begin = format!("{}/", mount.name);
            for (at, _) in text.match_indices(&begin) {
                let rest = &text[at..];
                let end = rest.find(|c: char| {
                    c.is_whitespace() || matches!(c, '.' | '"' | '\'' | ',' | ')' | ']' | ';' | ':')
                });
                found.insert(rest[..end.unwrap_or(rest.len())].to_ascii_lowercase());
            }
        }
    }

    /// References to missing packages of this project's mount points, each once. Also the number of
    /// references to other mount points, such as the engine's, which cannot be checked; those to C++
    /// classes (`/Script/…`) are not counted. Only packages in the folder `path` are examined.
    pub fn broken(&self, path: &str) -> (Vec<Broken>, usize) {
        let index = self.index;
        let folder = path.trim_end_matches('/').to_ascii_lowercase();
        let (mut broken, mut unknown) = (Vec::new(), 0);
        let referencers = self.outside_referencers.values().flatten();
        for (from, by) in referencers {
            let entry = &index.entries()[*from as usize];
            let package = index.text(entry.package);
            if !is_within(package, &folder) {
                continue;
            }
            let link = &index.links_of(entry)[*by as usize];
            let missing = index.text(link.package);
            if index.has_mount_of(missing) {
                broken.push(Broken {
                    package: package.to_owned(),
                    missing: missing.to_owned(),
                    strength: link.strength,
                });
            } else if !missing.starts_with("/Script/") {
                unknown += 1;
            }
        }
        // A package may depend on another in several ways. The pair is listed once, as soft only if
        // all its dependencies are soft.
        let key = |broken: &Broken| {
            let is_soft = broken.strength == DependencyKind::Soft;
            (broken.package.clone(), broken.missing.clone(), is_soft)
        };
        broken.sort_by_key(key);
        broken.dedup_by(|second, first| {
            second.package == first.package && second.missing == first.missing
        });
        (broken, unknown)
    }
}

/// Whether a package is in `folder`, or has the same name. `folder` is in lower case and has no slash at its end.
fn is_within(package: &str, folder: &str) -> bool {
    let package = package.to_ascii_lowercase();
    let rest = package.strip_prefix(folder);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Sorts relations and removes duplicates. A build dependency is dropped if there is another kind
/// of dependency.
fn sorted_and_distinct(mut relations: Vec<Relation>) -> Vec<Relation> {
    relations.sort();
    relations.dedup_by(|second, first| {
        second.package == first.package
            && (second.strength == first.strength || second.strength == DependencyKind::Build)
    });
    relations
}

/// The source files that are searched.
#[derive(Default)]
struct Sources {
    files: Vec<PathBuf>,
    /// Whether a source file, or a folder that may have some, is left out because of a limit.
    is_cut: bool,
}

impl Sources {
    /// Adds the source files in a folder.
    fn look(&mut self, folder: &Path, depth: usize) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        for entry in entries.flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            let path = entry.path();
            let is_full = self.files.len() >= MAX_SOURCES;
            if kind.is_dir() {
                if is_full || depth >= MAX_SOURCE_DEPTH {
                    self.is_cut = true;
                } else {
                    self.look(&path, depth + 1);
                }
            } else if path.extension().is_some_and(|end| end == "cpp" || end == "h" || end == "cs")
            {
                if !is_full && entry.metadata().is_ok_and(|found| found.len() <= MAX_SOURCE_BYTES) {
                    self.files.push(path);
                } else {
                    self.is_cut = true;
                }
            }
            if is_full && self.is_cut {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_within;

    #[test]
    fn a_folder_ends_at_a_slash() {
        assert!(is_within("/Game/Doors/BP_Door", "/game/doors"));
        assert!(is_within("/Game/Doors", "/game/doors") && is_within("/Game/Doors", ""));
        assert!(!is_within("/Game/DoorsOld/BP_Door", "/game/doors"));
    }
}
