//! Reads cooked packages in files of their own for the tool `inspect_cooked`.

use super::{CookedFacts, CookedItem, CookedKind, CookedPackage, failing, whole};
use portcullis_plugin::prelude::*;
use std::path::Path;
use unreal_package::{DependencyKind, Header, Index, flags};

/// Reads a package's header. The file has one package, so `wanted` only causes a warning.
pub fn read(path: &Path, wanted: Option<&str>) -> Result<CookedFacts, Failure> {
    let bytes = whole(path)?;
    let cooked = Header::read_cooked(&bytes).or_fail(failing(path))?;
    let header = &cooked.header;
    let mut found = CookedFacts::new(CookedKind::Package);
    found.engine = cooked.engines.join(" or ");
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let name = match header.summary.saved_name.as_ref() {
        "" | "None" => stem.clone().into_owned(),
        name => name.to_owned(),
    };
    let positions = 0..header.exports.len();
    let objects = positions.map(|at| (&header.exports[at], Index::of_export(at)));
    found.items = objects
        .map(|(export, object)| CookedItem {
            path: header.path_within(object),
            class: Some(header.class_path(object, &name)),
            size: Some(export.size),
            ..CookedItem::default()
        })
        .collect();
    let needs = header.dependencies.iter().map(|dependency| match dependency.strength {
        DependencyKind::Hard | DependencyKind::Build => dependency.package.to_string(),
        DependencyKind::Soft => format!("{} (soft)", dependency.package),
    });
    let depends_on = needs.collect();
    found.package = Some(CookedPackage { name, depends_on, ..CookedPackage::default() });
    found.warnings = header.warnings.iter().map(ToString::to_string).collect();
    found.warnings.extend(warnings(header, path));
    if let Some(wanted) = wanted {
        found
            .warnings
            .push(format!("`package` ({wanted}) is ignored: this file has only one package"));
    }
    Ok(found)
}

/// Warnings about parts of a package that cannot be read.
fn warnings(header: &Header<'_>, path: &Path) -> Vec<String> {
    let mut warnings = Vec::new();
    if !header.summary.is_cooked() {
        warnings.push(
            "the package is not cooked: export_asset and query_asset show more of it".to_owned(),
        );
    }
    if header.summary.flags & flags::UNVERSIONED_PROPERTIES != 0 {
        warnings.push(
            "the values of its properties are stored without names: only the game's mappings (.usmap) \
             make them readable"
                .to_owned(),
        );
    }
    if header.summary.is_cooked() && !path.with_extension("uexp").exists() {
        warnings
            .push("the file with the objects of the package (.uexp) is not beside it".to_owned());
    }
    warnings
}
