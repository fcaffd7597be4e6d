//! Unpacks a pack into the UI5 data directory. First the whole pack is checked, and then each part is moved
//! to its place.

use crate::{
    archive,
    contents::{Contents, Item, Part},
};
use portcullis_plugin::Request;
use serde_json::Value;
use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};
use ui5::reference::lock::Lock;
use ui5_data::{Data, THEIRS, api, schema_name, schemas, versions, versions_name};

/// The folder for checked parts that are not yet in their place. The holder of the lock owns the folder.
const STAGING: &str = "unpacking";

/// The result of unpacking a pack.
#[derive(Debug)]
pub(crate) struct Unpacked {
    /// The list of contents.
    pub contents: Contents,
    /// Whether the API reference was added. Otherwise the directory had it already, or the pack has none.
    pub api_is_new: bool,
    /// How many lists of versions were newer than those in the directory.
    pub new_lists: usize,
}

/// Unpacks a pack into a UI5 data directory. A missing directory is created.
///
/// No part is moved to its place before the whole pack has been checked. An existing API reference stays,
/// schemas are replaced, and lists of versions are replaced by newer lists. Fails with the reason.
pub(crate) fn unpack(
    pack: &mut dyn Read,
    data: &Path,
    request: &Request<'_>,
) -> Result<Unpacked, String> {
    let home = data.join("mcp-server");
    let write_error = |error: io::Error| format!("cannot write to {}: {error}", home.display());
    let lock = home.join("locks/unpack.lock");
    fs::create_dir_all(lock.parent().expect("the lock is in a folder")).map_err(write_error)?;
    let lock = Lock::take(&lock, request, || false)?;
    let mut lock = lock.expect("the wait ends only with the lock");
    // Removes the remains of a process that was killed.
    let staging = Staging::make(home.join(STAGING)).map_err(write_error)?;
    let contents = archive::read(pack, |Item { name, .. }, text| {
        lock.touch();
        write(&staging.folder.join(name), text).map_err(write_error)
    })?;
    let apis = staging.folder.join("api");
    let has_api = contents.counts().0 > 0;
    if has_api {
        // Only a directory with an index counts as an API reference.
        Data::make(&apis)?;
    }
    let mut unpacked = Unpacked { contents, api_is_new: false, new_lists: 0 };
    unpacked.place(&staging.folder, data, has_api.then_some(&apis)).map_err(write_error)?;
    Ok(unpacked)
}

impl Unpacked {
    fn place(&mut self, staging: &Path, data: &Path, apis: Option<&PathBuf>) -> io::Result<()> {
        let Contents { framework, version, items, .. } = &self.contents;
        if let Some(apis) = apis {
            let target = api(data, *framework, version);
            self.api_is_new = !target.join(THEIRS).is_file();
            if self.api_is_new {
                fs::create_dir_all(
                    target.parent().expect("the directory of an API reference has a parent"),
                )?;
                // A directory without an index is the remains of an interrupted download.
                remove(&target)?;
                fs::rename(apis, &target)?;
            }
        }
        for Item { name, .. } in items {
            let staged = staging.join(name);
            match Part::parse(name).expect("the name was checked when the pack was read") {
                Part::Api(_) => {}
                Part::Schema(version) => {
                    let target = schemas(data).join(schema_name(&version));
                    fs::create_dir_all(
                        target.parent().expect("the file of a schema has a folder"),
                    )?;
                    fs::rename(staged, target)?;
                }
                Part::Versions(framework, document) => {
                    let target = versions(data).join(versions_name(framework, document));
                    if fetched(&staged) <= fetched(&target) {
                        continue;
                    }
                    fs::create_dir_all(versions(data))?;
                    fs::rename(staged, target)?;
                    self.new_lists += 1;
                }
            }
        }
        Ok(())
    }
}

/// An empty folder, removed when the value is dropped.
struct Staging {
    folder: PathBuf,
}

impl Staging {
    fn make(folder: PathBuf) -> io::Result<Self> {
        remove(&folder)?;
        fs::create_dir_all(&folder)?;
        Ok(Self { folder })
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // The next call removes files that cannot be removed now.
        let _left = remove(&self.folder);
    }
}

/// Writes a file, and waits until its content is on the disk. So a power failure leaves no empty file.
fn write(path: &Path, text: &[u8]) -> io::Result<()> {
    fs::create_dir_all(path.parent().expect("the name of an item has a folder"))?;
    let mut file = fs::File::create_new(path)?;
    io::Write::write_all(&mut file, text)?;
    file.sync_data()
}

/// When a list of versions was fetched. `None`: there is no list, or it is damaged.
fn fetched(list: &Path) -> Option<u64> {
    let record: Value = serde_json::from_slice(&fs::read(list).ok()?).ok()?;
    record.get("fetched")?.as_u64()
}

fn remove(directory: &Path) -> io::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}
