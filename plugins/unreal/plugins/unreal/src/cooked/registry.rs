//! Reads asset registries for the tool `inspect_cooked`.

use super::{CookedFacts, CookedItem, CookedKind, CookedPackage, absent, failing, whole};
use portcullis_plugin::prelude::*;
use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
};
use unreal_cooked::{
    Registry,
    asset_registry::{Asset, Dependency, DependencyDirection},
};

/// Maximum number of tags of a package that are read.
const MAX_TAGS: usize = 20_000;

/// Reads a registry: all assets, or the assets of one package with its dependencies.
pub fn read(path: &Path, wanted: Option<&str>) -> Result<CookedFacts, Failure> {
    let bytes = whole(path)?;
    let registry = Registry::read(&bytes).or_fail(failing(path))?;
    let mut found = CookedFacts::new(CookedKind::Registry);
    found.format_version = Some(registry.version);
    found.warnings.clone_from(&registry.warnings);
    if registry.packages.is_empty() {
        found.warnings.push(
            "this registry has no sizes of packages: Metadata/DevelopmentAssetRegistry.bin below \
             Saved/Cooked has them"
                .to_owned(),
        );
    }
    let sizes = registry.packages.iter().map(|package| {
        let size = u64::try_from(package.size).ok();
        (registry.name(package.name), size)
    });
    let sizes: HashMap<_, _> = sizes.collect();
    let is_wanted = |asset: &&Asset| match wanted {
        Some(wanted) => registry.package(asset).eq_ignore_ascii_case(wanted),
        None => true,
    };
    let assets: Vec<&Asset> = registry.assets.iter().filter(is_wanted).collect();
    found.items = assets
        .iter()
        .map(|asset| {
            let package = registry.package(asset);
            CookedItem {
                path: format!("{package}.{}", registry.asset_name(asset)),
                class: Some(registry.class(asset).into_owned()),
                size: sizes.get(&package).copied().flatten(),
                ..CookedItem::default()
            }
        })
        .collect();
    if let Some(wanted) = wanted {
        let first = assets.first().ok_or_else(|| absent(path, wanted))?;
        let name = registry.package(first).into_owned();
        let (tags, read) = tags(&registry, &assets);
        let all: usize = assets.iter().map(|asset| registry.tag_count(asset)).sum();
        found.unread_tags = all.saturating_sub(read);
        found.package = Some(CookedPackage {
            depends_on: lines(registry.dependencies(&name, DependencyDirection::Needs)),
            needed_by: lines(registry.dependencies(&name, DependencyDirection::NeededBy)),
            tags,
            name,
        });
    }
    Ok(found)
}

/// The tags of a package's assets, and how many were read. If several assets have a tag of the same name with different
/// values, the names of the further tags end with the names of their assets.
fn tags(registry: &Registry<'_>, assets: &[&Asset]) -> (BTreeMap<String, String>, usize) {
    let (mut found, mut read) = (BTreeMap::<String, String>::new(), 0);
    let tags = assets.iter().flat_map(|asset| {
        let named = registry.tags(asset).into_iter();
        named.map(move |(key, value)| (*asset, key, value))
    });
    for (asset, key, value) in tags.take(MAX_TAGS) {
        let key = match found.get(&key) {
            Some(other) if *other != value => format!("{key} of {}", registry.asset_name(asset)),
            Some(_) | None => key,
        };
        found.insert(key, value);
        read += 1;
    }
    (found, read)
}

fn lines(dependencies: Vec<Dependency>) -> Vec<String> {
    let line = |Dependency { package, is_hard }| {
        if is_hard { package } else { format!("{package} (soft)") }
    };
    dependencies.into_iter().map(line).collect()
}
