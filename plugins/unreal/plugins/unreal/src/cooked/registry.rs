//! Reads asset registries for the tool `inspect_cooked`.

use super::{CookedFacts, CookedItem, CookedKind, CookedPackage, absent, failing, whole};
use portcullis_plugin::prelude::*;
use std::{collections::HashMap, path::Path};
use unreal_cooked::{
    Registry,
    asset_registry::{Asset, Dependency, DependencyDirection},
};

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
        found.package = Some(CookedPackage {
            depends_on: lines(registry.dependencies(&name, DependencyDirection::Needs)),
            needed_by: lines(registry.dependencies(&name, DependencyDirection::NeededBy)),
            tags: assets.iter().flat_map(|asset| registry.tags(asset)).collect(),
            name,
        });
    }
    Ok(found)
}

fn lines(dependencies: Vec<Dependency>) -> Vec<String> {
    let line = |Dependency { package, is_hard }| {
        if is_hard { package } else { format!("{package} (soft)") }
    };
    dependencies.into_iter().map(line).collect()
}
