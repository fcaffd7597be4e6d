//! Completes the names of classes that Epic's server tells without their paths.

use super::names::AssetName;
use crate::offline::Offline;

/// The path of an asset's class, from the files. `reported` is the class as Epic's server names it: `StaticMesh`, or
/// for a Blueprint its generated class, `BP_Door_C`. `None` if the files do not know the asset, or know another class.
pub fn path(files: Option<&Offline>, name: &AssetName, reported: &str) -> Option<String> {
    let index = &files?.index;
    let entry = index.find(name.package())?;
    let asset = index
        .assets_of(entry)
        .iter()
        .find(|asset| index.text(asset.path).eq_ignore_ascii_case(name.object()))?;
    let class = index.text(asset.class);
    let bare = class.rsplit('.').next().unwrap_or_default();
    let is_generated =
        reported.strip_suffix("_C").is_some_and(|stem| stem.eq_ignore_ascii_case(name.object()));
    let is_same =
        bare.eq_ignore_ascii_case(reported) || (is_generated && bare.ends_with("Blueprint"));
    is_same.then(|| crate::answer::shown(class))
}

/// The warning about classes without a path; `None` if there are no such classes.
pub fn warning(names: &[String]) -> Option<String> {
    let shown: Vec<&str> = names.iter().take(5).map(String::as_str).collect();
    (!names.is_empty()).then(|| {
        format!(
            "Epic's server names classes without their paths, and the files have no paths for some, such as {}",
            shown.join(", ")
        )
    })
}
