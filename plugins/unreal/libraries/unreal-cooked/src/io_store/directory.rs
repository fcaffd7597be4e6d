//! Reads the names of a container's files (`FIoDirectoryIndexResource`).

use crate::Fault;
use std::borrow::Cow;
use unreal_package::Cursor;

/// The index that stands for "none".
const NONE: u32 = u32::MAX;
/// Maximum length of a file's path, in bytes.
const MAX_PATH_BYTES: usize = 4_096;
/// Maximum size of all paths together, in bytes: a hostile directory can repeat a long folder in
/// each path.
const MAX_PATHS_BYTES: usize = 64 << 20;

/// A file of a container: its path and its chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedFile {
    /// Path as the packager wrote it, such as `../../../MyGame/Content/Doors/BP_Door.uasset`.
    pub path: String,
    /// Index of its chunk in the table of contents.
    pub chunk: usize,
}

/// A folder: its name, and its first child, next sibling and first file.
struct Folder {
    name: u32,
    child: u32,
    sibling: u32,
    file: u32,
}

/// A file: its name, the next file of its folder, and its chunk.
struct File {
    name: u32,
    next: u32,
    chunk: u32,
}

/// Reads the directory of a container with `chunks` chunks.
pub fn read(bytes: &[u8], chunks: usize) -> Result<Vec<PackedFile>, Fault> {
    let mut cursor = Cursor::new(bytes, bytes.len() as u64);
    let mount = cursor.string("mount point")?;
    let what = "directory";
    let count = cursor.count(what, 16)?;
    let mut folders = Vec::with_capacity(count);
    for _ in 0..count {
        folders.push(Folder {
            name: cursor.u32(what)?,
            child: cursor.u32(what)?,
            sibling: cursor.u32(what)?,
            file: cursor.u32(what)?,
        });
    }
    let count = cursor.count(what, 12)?;
    let mut files = Vec::with_capacity(count);
    for _ in 0..count {
        files.push(File {
            name: cursor.u32(what)?,
            next: cursor.u32(what)?,
            chunk: cursor.u32(what)?,
        });
    }
    let count = cursor.count(what, 4)?;
    let mut names = Vec::with_capacity(count);
    for _ in 0..count {
        names.push(cursor.string(what)?);
    }
    let end = cursor.at();
    let damaged = || Fault::Damaged { what: "directory", at: end };
    let mut walk = Walk { folders, files, names, chunks, found: Vec::new(), bytes: 0 };
    walk.run(&mount).ok_or_else(damaged)?;
    Ok(walk.found)
}

/// Walks the folders and files. More visits than there are folders or files mean a cycle, which is
/// an error.
struct Walk<'a> {
    folders: Vec<Folder>,
    files: Vec<File>,
    names: Vec<Cow<'a, str>>,
    chunks: usize,
    found: Vec<PackedFile>,
    bytes: usize,
}

impl Walk<'_> {
    fn run(&mut self, mount: &str) -> Option<()> {
        // The first folder is the root. It has no name.
        let mut to_visit = vec![(0_u32, mount.trim_end_matches('/').to_owned())];
        let mut steps = 0;
        while let Some((at, parent)) = to_visit.pop() {
            if self.folders.is_empty() && at == 0 {
                break;
            }
            steps += 1;
            if steps > self.folders.len() {
                return None;
            }
            let folder = self.folders.get(at as usize)?;
            let path = match folder.name {
                NONE => parent.clone(),
                name => join(&parent, self.names.get(name as usize)?)?,
            };
            let (child, sibling, file) = (folder.child, folder.sibling, folder.file);
            self.add_files(file, &path)?;
            if sibling != NONE {
                to_visit.push((sibling, parent));
            }
            if child != NONE {
                to_visit.push((child, path));
            }
        }
        Some(())
    }

    fn add_files(&mut self, first: u32, folder: &str) -> Option<()> {
        let mut at = first;
        while at != NONE {
            let file = self.files.get(at as usize)?;
            let path = join(folder, self.names.get(file.name as usize)?)?;
            let chunk = file.chunk as usize;
            self.bytes += path.len();
            if chunk >= self.chunks
                || self.found.len() >= self.files.len()
                || self.bytes > MAX_PATHS_BYTES
            {
                return None;
            }
            at = file.next;
            self.found.push(PackedFile { path, chunk });
        }
        Some(())
    }
}

fn join(folder: &str, name: &str) -> Option<String> {
    let path = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
    (path.len() <= MAX_PATH_BYTES).then_some(path)
}

/// The name of the package in a file, such as `/Game/Doors/BP_Door` for
/// `../../../MyGame/Content/Doors/BP_Door.uasset`. The name begins with `/Engine/` for files of the
/// engine, and with the plugin's name for files of an Unreal plugin. `None` for files that are not
/// packages in a `Content` folder.
pub fn package_name(path: &str) -> Option<String> {
    let stem = path.strip_suffix(".uasset").or_else(|| path.strip_suffix(".umap"))?;
    let stem = stem.trim_start_matches("../");
    let (before, inner) = stem.split_once("/Content/")?;
    let mount = match before.rsplit_once("/Plugins/").map(|(_, plugin)| plugin) {
        // A plugin may be in folders below `Plugins`.
        Some(plugin) => plugin.rsplit('/').next()?,
        None if before == "Engine" => "Engine",
        None => "Game",
    };
    Some(format!("/{mount}/{inner}"))
}

#[cfg(test)]
mod tests {
    use super::package_name;

    #[test]
    fn packages_are_named_like_in_the_project() {
        for (path, name) in [
            ("../../../MyGame/Content/Doors/BP_Door.uasset", Some("/Game/Doors/BP_Door")),
            ("../../../MyGame/Content/Maps/Start.umap", Some("/Game/Maps/Start")),
            ("../../../Engine/Content/Basic/Cube.uasset", Some("/Engine/Basic/Cube")),
            ("../../../Engine/Plugins/FX/Niagara/Content/A.uasset", Some("/Niagara/A")),
            ("../../../MyGame/Plugins/Tools/Doors/Content/B.uasset", Some("/Doors/B")),
            ("../../../MyGame/Content/Doors/BP_Door.ubulk", None),
            ("BP_Door.uasset", None),
        ] {
            assert_eq!(package_name(path).as_deref(), name, "{path}");
        }
    }
}
