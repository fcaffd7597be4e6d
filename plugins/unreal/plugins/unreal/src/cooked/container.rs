//! Reads IoStore containers for the tool `inspect_cooked`.

use super::{CookedFacts, CookedItem, CookedKind, CookedPackage, MAX_FILE, absent, failing, whole};
use portcullis_plugin::prelude::*;
use std::{
    collections::HashMap,
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};
use unreal_cooked::{
    Fault, Toc,
    io_store::{
        Chunk, ChunkKind, PackageHeader, PackageId, Packages, Partitions, ScriptObjects,
        package_name,
    },
};

/// Number of bytes of a package that are read before the size of its header is known.
const FIRST_BYTES: u64 = 64;
/// Maximum size of a package's header, in bytes.
const MAX_HEADER_BYTES: u64 = 16 << 20;

/// The `.ucas` files beside a table of contents.
struct Data {
    /// Path of the table of contents.
    toc_path: PathBuf,
}

impl Partitions for Data {
    fn read(&mut self, partition: u64, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        let stem = self.toc_path.file_stem().unwrap_or_default().to_string_lossy();
        let name = match partition {
            0 => format!("{stem}.ucas"),
            number => format!("{stem}_s{number}.ucas"),
        };
        let with_name = |error: io::Error| io::Error::new(error.kind(), format!("{name}: {error}"));
        let mut file = File::open(self.toc_path.with_file_name(&name)).map_err(with_name)?;
        file.seek(SeekFrom::Start(offset)).map_err(with_name)?;
        let mut bytes = Vec::new();
        file.take(len as u64).read_to_end(&mut bytes).map_err(with_name)?;
        if bytes.len() < len {
            let short = "it ends before data that the .utoc lists";
            return Err(with_name(io::Error::new(io::ErrorKind::UnexpectedEof, short)));
        }
        Ok(bytes)
    }
}

/// Reads a container: its files, or one package with its objects and dependencies.
pub fn read(path: &Path, wanted: Option<&str>) -> Result<CookedFacts, Failure> {
    let bytes = whole(path)?;
    let toc = Toc::read(&bytes).or_fail(failing(path))?;
    let mut found = CookedFacts::new(CookedKind::Container);
    found.engine = engine(toc.version).to_owned();
    found.format_version = Some(toc.version.into());
    found.compression.clone_from(&toc.methods);
    found.encrypted = Some(toc.is_encrypted());
    found.warnings = warnings(&toc);
    match wanted {
        None => found.items = files(&toc),
        Some(wanted) => add_package(&mut found, &toc, path, wanted)?,
    }
    Ok(found)
}

/// The engines that write a version of the table of contents.
fn engine(version: u8) -> &'static str {
    match version {
        0..=2 => "4.25 or 4.26",
        3 => "4.27",
        4 | 5 => "5.0 to 5.3",
        6 | 7 => "5.4 or 5.5",
        8 => "5.5 to 5.8",
        9.. => "newer than 5.8",
    }
}

/// Warnings about parts of a container that cannot be read.
fn warnings(toc: &Toc<'_>) -> Vec<String> {
    let mut warnings = Vec::new();
    if toc.is_encrypted() {
        warnings.push(format!(
            "the container is encrypted, and encrypted data is not read here: chunks are listed by their ids, \
             without the names of files (GUID of the key: {})",
            toc.key
        ));
    } else if toc.files.is_empty() {
        warnings
            .push("the container has no names of files: chunks are shown by their ids".to_owned());
    }
    let is_unsupported = |method: &&String| !method.eq_ignore_ascii_case("Zlib");
    if let Some(method) = toc.methods.iter().find(is_unsupported) {
        warnings.push(format!(
            "data that are compressed with {method} cannot be unpacked here: of packages with such data, \
             names, sizes and dependencies are listed, but not objects"
        ));
    }
    warnings
}

/// All files, and the chunks without a name.
fn files(toc: &Toc<'_>) -> Vec<CookedItem> {
    let mut names: HashMap<usize, &str> = HashMap::new();
    for file in &toc.files {
        names.insert(file.chunk, &file.path);
    }
    let item = |(at, chunk): (usize, Chunk)| CookedItem {
        path: match names.get(&at) {
            Some(path) => package_name(path).unwrap_or_else(|| (*path).to_owned()),
            None => format!("{:016X}", chunk.id),
        },
        class: Some(chunk.kind.words().to_owned()),
        size: Some(chunk.size),
        ..CookedItem::default()
    };
    let mut items: Vec<CookedItem> = toc.chunks().enumerate().map(item).collect();
    items.sort_by(|a, b| a.path.cmp(&b.path));
    items
}

/// Adds one package to `found`: its objects as items, and its dependencies.
fn add_package(
    found: &mut CookedFacts,
    toc: &Toc<'_>,
    path: &Path,
    wanted: &str,
) -> Result<(), Failure> {
    let mut data = Data { toc_path: path.to_owned() };
    let mut names: HashMap<PackageId, String> = HashMap::new();
    for file in &toc.files {
        let chunk = toc.chunk(file.chunk).filter(|chunk| chunk.kind == ChunkKind::Package);
        if let (Some(chunk), Some(name)) = (chunk, package_name(&file.path)) {
            names.insert(PackageId(chunk.id), name);
        }
    }
    let is_wanted = |id: PackageId| {
        let has_name = names.get(&id).is_some_and(|name| name.eq_ignore_ascii_case(wanted));
        has_name || id.to_string().eq_ignore_ascii_case(wanted)
    };
    let chunk = toc.chunks().find(|c| c.kind == ChunkKind::Package && is_wanted(PackageId(c.id)));
    let chunk = chunk.ok_or_else(|| absent(path, wanted))?;
    let id = PackageId(chunk.id);
    let name = |id: PackageId| match names.get(&id) {
        Some(name) => name.clone(),
        None => format!("{id} (its name is not in this container)"),
    };
    let mut package = CookedPackage { name: name(id), ..CookedPackage::default() };
    match container_header(toc, &mut data) {
        Ok(Some(bytes)) => {
            let packages = Packages::read(&bytes, toc.is_ue5()).or_fail(failing(path))?;
            package.depends_on = packages.imports(id).into_iter().flatten().map(name).collect();
            package.needed_by = packages.importers(id).into_iter().map(name).collect();
        }
        Ok(None) => found.warnings.push(
            "the container has no header with its packages and their dependencies".to_owned(),
        ),
        Err(fault) => found.warnings.push(format!(
            "the dependencies in the header of the container cannot be read: {fault}"
        )),
    }
    if let Err(fault) = add_objects(found, &mut package, toc, &chunk, &mut data) {
        found.warnings.push(format!("the objects cannot be read: {fault}"));
    }
    found.package = Some(package);
    Ok(())
}

fn container_header(toc: &Toc<'_>, data: &mut Data) -> Result<Option<Vec<u8>>, Fault> {
    let chunk = toc.chunks().find(|chunk| chunk.kind == ChunkKind::ContainerHeader);
    chunk.map(|chunk| toc.whole(&chunk, MAX_FILE, data)).transpose()
}

/// Sets the objects of a package in `found`, and its engine if its header has versions. Sets the
/// dependencies of `package` if the header has the names of imported packages.
fn add_objects(
    found: &mut CookedFacts,
    package: &mut CookedPackage,
    toc: &Toc<'_>,
    chunk: &Chunk,
    data: &mut Data,
) -> Result<(), Fault> {
    let start = toc.start(chunk, FIRST_BYTES, data)?;
    let size = PackageHeader::size(&start, toc.is_ue5()).unwrap_or(MAX_HEADER_BYTES);
    let bytes = toc.start(chunk, size.min(MAX_HEADER_BYTES), data)?;
    let global = data.toc_path.with_file_name("global.utoc");
    let scripts = match ScriptData::read(&global) {
        Ok(scripts) => scripts,
        Err(why) => {
            found.warnings.push(format!(
                "classes of the engine are unknown, as global.utoc with its .ucas cannot be read: {why}"
            ));
            ScriptData::default()
        }
    };
    let scripts = scripts.objects()?;
    let header = PackageHeader::read(&bytes, toc.is_ue5(), &scripts)?;
    if !header.imported_packages.is_empty() {
        package.depends_on.clone_from(&header.imported_packages);
    }
    if let Some((ue4, ue5)) = header.versions {
        let versions = unreal_package::Versions { legacy: 0, ue4, ue5, licensee: 0 };
        found.engine = versions.engine().to_owned();
    }
    let item = |(at, export)| CookedItem {
        path: header.path(at),
        class: header.class(export, &scripts, &package.depends_on),
        size: Some(export.size),
        ..CookedItem::default()
    };
    found.items = header.exports.iter().enumerate().map(item).collect();
    Ok(())
}

/// The chunks of `global.utoc` that contain the script objects.
#[derive(Default)]
struct ScriptData {
    objects: Vec<u8>,
    /// In 4.26 and 4.27 the names are a chunk of their own.
    names: Option<Vec<u8>>,
}

impl ScriptData {
    fn read(global: &Path) -> Result<Self, Failure> {
        let bytes = whole(global)?;
        let toc = Toc::read(&bytes).or_fail(failing(global))?;
        let mut data = Data { toc_path: global.to_owned() };
        let mut chunk = |kind| {
            let chunk = toc.chunks().find(|chunk| chunk.kind == kind);
            chunk.map(|chunk| toc.whole(&chunk, MAX_FILE, &mut data)).transpose()
        };
        let objects = chunk(ChunkKind::ScriptObjects).or_fail(failing(global))?;
        let names = chunk(ChunkKind::GlobalNames).or_fail(failing(global))?;
        let objects = objects.ok_or_else(|| Failure::new("it has no script objects"))?;
        Ok(Self { objects, names })
    }

    fn objects(&self) -> Result<ScriptObjects<'_>, Fault> {
        match (&self.names, self.objects.is_empty()) {
            (_, true) => Ok(ScriptObjects::default()),
            (None, false) => ScriptObjects::read(&self.objects),
            (Some(names), false) => ScriptObjects::read_ue4(&self.objects, names),
        }
    }
}
