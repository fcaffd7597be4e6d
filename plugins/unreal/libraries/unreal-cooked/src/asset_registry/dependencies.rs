//! The dependency graph of an asset registry. Its nodes are packages and identifiers of the asset
//! manager.

use super::{Name, Reader, Registry, version};
use crate::Fault;
use std::collections::BTreeSet;

/// The direction in which dependencies are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DependencyDirection {
    /// The packages that the package needs.
    Needs,
    /// The packages that need the package.
    NeededBy,
}

/// A dependency of a package.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dependency {
    /// The other package.
    pub package: String,
    /// Whether the dependency is hard: the needed package is loaded with the package that needs it.
    pub is_hard: bool,
}

/// A node of the graph: a package, or an identifier of the asset manager.
#[derive(Clone, Debug, Default)]
pub struct Node {
    /// The package; `None` for other nodes.
    package: Option<Name>,
    /// Nodes that the package needs, and whether they are loaded with it.
    needs: Vec<(u32, bool)>,
    /// Nodes that need this one.
    needed_by: Vec<u32>,
}

/// The dependencies of a package, sorted by name. Each package is listed once, as hard if one of
/// its dependencies is hard.
pub fn of(
    registry: &Registry<'_>,
    package: &str,
    direction: DependencyDirection,
) -> Vec<Dependency> {
    let is_searched = |name: Name| registry.name(name).eq_ignore_ascii_case(package);
    let at = registry.nodes.iter().position(|node| node.package.is_some_and(is_searched));
    let Some((at, node)) = at.map(|at| (at, &registry.nodes[at])) else {
        return Vec::new();
    };
    let name = |at: u32| registry.nodes.get(at as usize)?.package.map(|name| registry.name(name));
    let dependency = |(at, is_hard): (u32, bool)| {
        name(at).map(|name| Dependency { package: name.into_owned(), is_hard })
    };
    let mut found: Vec<Dependency> = match direction {
        DependencyDirection::Needs => node.needs.iter().copied().filter_map(dependency).collect(),
        DependencyDirection::NeededBy => {
            let is_hard_for = |by: u32| {
                let needs = registry.nodes.get(by as usize).map(|node| node.needs.as_slice());
                needs.unwrap_or_default().iter().any(|(to, is_hard)| *to as usize == at && *is_hard)
            };
            // Each node counts once, since a hostile file can repeat nodes.
            let by: BTreeSet<u32> = node.needed_by.iter().copied().collect();
            by.into_iter().filter_map(|by| dependency((by, is_hard_for(by)))).collect()
        }
    };
    found.sort_by(|a, b| (&a.package, b.is_hard).cmp(&(&b.package, a.is_hard)));
    found.dedup_by(|b, a| a.package == b.package);
    found
}

impl Reader<'_, '_> {
    /// Reads the graph and moves the cursor to its end. `None` if the file ends before the graph.
    pub(super) fn nodes(&mut self) -> Result<Option<Vec<Node>>, Fault> {
        let what = "dependencies";
        if self.cursor.left() == 0 {
            return Ok(None);
        }
        if self.version < version::DEPENDENCY_FLAGS {
            let count = self.cursor.count(what, 25)?;
            return (0..count).map(|_| self.old_node()).collect::<Result<_, _>>().map(Some);
        }
        let size = self.cursor.i64(what)?;
        let start = self.cursor.at();
        let end = u64::try_from(size).ok().and_then(|size| start.checked_add(size));
        let end = end.ok_or_else(|| self.cursor.damaged(what))?;
        if size == 0 {
            return Ok(Some(Vec::new()));
        }
        let count = self.cursor.count(what, 17)?;
        let nodes = (0..count).map(|_| self.node()).collect::<Result<_, Fault>>()?;
        self.cursor = self.cursor.from(what, i64::try_from(end).unwrap_or(i64::MAX))?;
        Ok(Some(nodes))
    }

    /// Reads a node as 4.26 and later write it: numbers of nodes, with bits for the kind of each dependency.
    fn node(&mut self) -> Result<Node, Fault> {
        let package = self.identifier()?;
        let packages = self.read_counted_u32s()?;
        let flags = self.flags(packages.len(), 5)?;
        self.read_counted_u32s()?;
        let managed = self.read_counted_u32s()?;
        self.flags(managed.len(), if self.version >= version::COOK_RULE { 3 } else { 1 })?;
        let needed_by = self.read_counted_u32s()?;
        let needs = packages.iter().enumerate();
        let needs = needs.map(|(at, node)| (*node, is_hard(bits(&flags, at * 5, 5))));
        Ok(Node { package, needs: needs.collect(), needed_by })
    }

    /// Reads a node as engines before 4.26 write it: the lengths of its five or six lists of nodes, then the lists.
    fn old_node(&mut self) -> Result<Node, Fault> {
        let what = "dependencies";
        let package = self.identifier()?;
        let mut count = || self.cursor.count(what, 4);
        let (hard, soft, names, managed) = (count()?, count()?, count()?, count()?);
        let hard_managed = if self.version >= version::HARD_MANAGE { count()? } else { 0 };
        let referencers = count()?;
        let needs = self.read_u32s(hard)?.into_iter().map(|node| (node, true));
        let mut needs: Vec<(u32, bool)> = needs.collect();
        needs.extend(self.read_u32s(soft)?.into_iter().map(|node| (node, false)));
        self.read_u32s(names)?;
        self.read_u32s(managed)?;
        self.read_u32s(hard_managed)?;
        Ok(Node { package, needs, needed_by: self.read_u32s(referencers)? })
    }

    /// Reads the identifier of a node (`FAssetIdentifier`). `None` unless it has the name of a
    /// package and no other names.
    fn identifier(&mut self) -> Result<Option<Name>, Fault> {
        let bits = self.cursor.u8("dependencies")?;
        let mut names = [None; 4];
        for (bit, name) in names.iter_mut().enumerate() {
            if bits & 1 << bit != 0 {
                *name = Some(self.name()?);
            }
        }
        Ok(if bits == 1 { names[0] } else { None })
    }

    /// Reads a count, and then as many numbers.
    fn read_counted_u32s(&mut self) -> Result<Vec<u32>, Fault> {
        let count = self.cursor.count("dependencies", 4)?;
        self.read_u32s(count)
    }

    fn read_u32s(&mut self, count: usize) -> Result<Vec<u32>, Fault> {
        let bytes = count.checked_mul(4).ok_or_else(|| self.cursor.damaged("dependencies"))?;
        let bytes = self.cursor.take("dependencies", bytes)?;
        let words = bytes.chunks_exact(4);
        Ok(words.map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect())
    }

    /// Reads `width` bits for each of `count` dependencies, in words of 32 bits.
    fn flags(&mut self, count: usize, width: usize) -> Result<Vec<u32>, Fault> {
        self.read_u32s((count * width).div_ceil(32))
    }
}

/// The number in `count` bits of the words, from bit `first` on, the lowest first.
fn bits(words: &[u32], first: usize, count: usize) -> u32 {
    let bit = |at: usize| words.get(at / 32).map_or(0, |word| word >> (at % 32) & 1);
    (0..count).fold(0, |sum, at| sum | bit(first + at) << at)
}

/// Whether one of the combinations of properties is hard (`FPropertyCombinationPack3`). Numbers
/// below 8 are one combination; its bit 0 means hard. Numbers from 8 on are lists of combinations.
/// Only list 11 (game alone, build alone) contains no hard combination.
fn is_hard(packed: u32) -> bool {
    if packed < 8 { packed & 1 == 1 } else { packed != 11 }
}
