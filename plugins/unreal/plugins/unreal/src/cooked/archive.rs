//! Reads pak archives (`.pak`) for the tool `inspect_cooked`.

use super::{CookedFacts, CookedItem, CookedKind, CookedPackage, absent, failing};
use portcullis_plugin::prelude::*;
use std::{collections::BTreeSet, fs::File, path::Path};
use unreal_cooked::{Pak, io_store::package_name, pak::PakFile};

/// Reads the index of an archive: all files, or the files of one package.
pub fn read(path: &Path, wanted: Option<&str>) -> Result<CookedFacts, Failure> {
    let mut file = File::open(path).or_fail(failing(path))?;
    let pak = Pak::read(&mut file).or_fail(failing(path))?;
    let mut found = CookedFacts::new(CookedKind::Archive);
    found.engine = pak.engine.to_owned();
    found.format_version = Some(pak.version);
    let methods: BTreeSet<&str> = pak.files.iter().map(|file| file.method.as_str()).collect();
    found.compression =
        methods.into_iter().filter(|name| !name.is_empty()).map(str::to_owned).collect();
    let encrypted = pak.files.iter().filter(|file| file.is_encrypted).count();
    found.encrypted = Some(pak.encrypted_index.is_some() || encrypted > 0);
    found.warnings = warnings(&pak, encrypted);
    let mut files: Vec<&PakFile> = pak.files.iter().collect();
    if let Some(wanted) = wanted.filter(|_| pak.encrypted_index.is_none()) {
        files.retain(|file| {
            package_of(&file.path).is_some_and(|name| name.eq_ignore_ascii_case(wanted))
        });
        let name = files.first().and_then(|file| package_of(&file.path));
        let name = name.ok_or_else(|| absent(path, wanted))?;
        found.package = Some(CookedPackage { name, ..CookedPackage::default() });
        found.warnings.push(
            "an archive does not list the dependencies of a package: unpack its .uasset (UnrealPak FILE -Extract FOLDER), \
             and inspect the unpacked file"
                .to_owned(),
        );
    }
    found.items = files.into_iter().map(item).collect();
    found.items.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// Warnings about encrypted, nameless and deleted files.
fn warnings(pak: &Pak, encrypted: usize) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(key) = &pak.encrypted_index {
        warnings.push(format!(
            "the index is encrypted, and encrypted data is not read here: its files cannot be listed (GUID of the key: \
             {key})"
        ));
    }
    if pak.unnamed > 0 {
        warnings.push(format!(
            "the index has hashes in place of the names of its {} files, so that these files cannot be listed",
            pak.unnamed
        ));
    }
    if encrypted > 0 {
        warnings.push(format!("the data of {encrypted} files are encrypted"));
    }
    let deleted = pak.files.iter().filter(|file| file.is_deleted).count();
    if deleted > 0 {
        warnings.push(format!(
            "{deleted} files of other archives are deleted by this one: their class is \"deleted\""
        ));
    }
    warnings
}

fn item(file: &PakFile) -> CookedItem {
    let method = (!file.method.is_empty()).then(|| file.method.clone());
    CookedItem {
        path: package_name(&file.path).unwrap_or_else(|| file.path.clone()),
        class: Some(if file.is_deleted { "deleted".to_owned() } else { class(&file.path) }),
        size: Some(file.size),
        stored: method.is_some().then_some(file.stored),
        compression: method,
    }
}

/// The kind of a file, by its extension.
fn class(path: &str) -> String {
    match extension(path) {
        "uasset" | "umap" => "package".to_owned(),
        "uexp" => "objects of a package".to_owned(),
        "ubulk" | "uptnl" => "bulk data".to_owned(),
        "" => "other file".to_owned(),
        other => format!(".{other}"),
    }
}

/// The package to which a file of an archive belongs as header, objects or bulk data. `None` for
/// other files.
fn package_of(path: &str) -> Option<String> {
    let parts = ["uasset", "umap", "uexp", "ubulk", "uptnl"];
    let end = extension(path);
    let stem = path.strip_suffix(end).filter(|_| parts.contains(&end))?;
    package_name(&format!("{stem}uasset"))
}

fn extension(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.rsplit_once('.').map_or("", |(_, end)| end)
}
