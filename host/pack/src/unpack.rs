//! A pack into the UI5 data directory: checked as a whole first, then each thing at once.

use crate::{
    Contents, Item, Packed, Part,
    contents::{CONTENTS, MOST_CONTENTS},
    hex,
};
use flate2::read::GzDecoder;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::{
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};
use ui5_data::{Data, THEIRS, api, schema_name, schemas, versions, versions_name};

/// How folders begin that hold what is not in its place yet.
const STAGING: &str = "unpacking-";

/// What became of a pack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unpacked {
    /// What it was.
    pub packed: Packed,
    /// Whether its API was put there; otherwise the directory had it already.
    pub api_is_new: bool,
    /// The lists of versions that were put there; others were older than what the directory had.
    pub new_lists: usize,
}

/// Puts what is in a pack into a UI5 data directory, which is made if it is missing.
///
/// Nothing is put anywhere before all of the pack has been read and checked. API that is there already
/// stays, schemas are replaced, lists of versions are if they are older.
///
/// # Errors
///
/// What is wrong with the pack or the directory, in words for whoever unpacks it.
pub fn unpack(pack: &Path, data: &Path) -> Result<Unpacked, String> {
    let home = data.join("mcp-server");
    let unwritten = |error: io::Error| format!("Failed to write to {}: {error}", home.display());
    let mut read = Reading::open(pack)?;
    fs::create_dir_all(&home).map_err(unwritten)?;
    // Held until everything is in its place: what another process left is nobody's while this is held.
    #[cfg(unix)]
    let _alone = alone(&home).map_err(unwritten)?;
    let staging = tempfile::Builder::new().prefix(STAGING).tempdir_in(&home);
    let staging = staging.map_err(unwritten)?;
    let packed = read
        .all(staging.path())
        .map_err(|why| format!("Nothing was unpacked from {}: {why}", pack.display()))?;
    let apis = staging.path().join("api");
    let has_api = packed.contents.counts().0 > 0;
    if has_api {
        // The directory is not taken for one of API without what this makes.
        Data::make(&apis)?;
    }
    let mut unpacked = Unpacked { packed, api_is_new: false, new_lists: 0 };
    unpacked.place(staging.path(), data, has_api.then_some(&apis)).map_err(unwritten)?;
    Ok(unpacked)
}

/// Waits until nobody else unpacks there, and removes what processes that were killed had unpacked so far.
#[cfg(unix)]
fn alone(home: &Path) -> io::Result<File> {
    let folder = File::open(home)?;
    folder.lock()?;
    for entry in fs::read_dir(home)? {
        let entry = entry?;
        let is_staging = entry.file_name().as_encoded_bytes().starts_with(STAGING.as_bytes());
        if is_staging && entry.file_type()?.is_dir() {
            remove(&entry.path())?;
        }
    }
    Ok(folder)
}

impl Unpacked {
    fn place(&mut self, staging: &Path, data: &Path, apis: Option<&PathBuf>) -> io::Result<()> {
        let Contents { framework, version, items, .. } = &self.packed.contents;
        if let Some(apis) = apis {
            let target = api(data, *framework, version);
            self.api_is_new = !target.join(THEIRS).is_file();
            if self.api_is_new {
                fs::create_dir_all(target.parent().expect("it is beneath the data directory"))?;
                // What is there without an index was left by somebody's accident.
                remove(&target)?;
                fs::rename(apis, &target)?;
            }
        }
        for Item { name, .. } in items {
            let staged = staging.join(name);
            match Part::parse(name).expect("it was checked when it was read") {
                Part::Api(_) => {}
                Part::Schema(version) => {
                    let target = schemas(data).join(schema_name(&version));
                    fs::create_dir_all(target.parent().expect("its name has a folder"))?;
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

/// When a list of versions was fetched. `None`: it is not there, or none.
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

/// A pack as it is read.
struct Reading {
    file: File,
}

impl Reading {
    fn open(pack: &Path) -> Result<Self, String> {
        let failed = |error: io::Error| format!("Failed to open {}: {error}", pack.display());
        Ok(Self { file: File::open(pack).map_err(failed)? })
    }

    /// Reads all of it into a folder, each item by its own name. Fails with what is wrong with it.
    fn all(&mut self, folder: &Path) -> Result<Packed, String> {
        let mut summed = Summed { file: &self.file, digest: Sha256::new(), bytes: 0 };
        let contents = Self::items(&mut summed, folder)?;
        // The digest is that of the whole file, whatever stands behind the archive's end.
        io::copy(&mut summed, &mut io::sink()).map_err(|error| error.to_string())?;
        let Summed { digest, bytes, .. } = summed;
        Ok(Packed { contents, digest: hex(&digest.finalize()), bytes })
    }

    fn items(source: &mut Summed<'_>, folder: &Path) -> Result<Contents, String> {
        let unread = |error: io::Error| format!("it is no pack, or only a part of one: {error}");
        let mut archive = tar::Archive::new(GzDecoder::new(source));
        // Raw: what lengthens names would be read into memory, however large it is.
        let mut entries = archive.entries().map_err(unread)?.raw(true);
        let mut next = |name: &str, bytes: Option<u64>| {
            let entry = entries.next().ok_or_else(|| format!("{name} is missing"))?;
            let entry = entry.map_err(unread)?;
            let is_it = entry.header().entry_type().is_file()
                && *entry.path_bytes() == *name.as_bytes()
                && bytes.is_none_or(|bytes| entry.size() == bytes);
            if is_it { Ok(entry) } else { Err(format!("{name} is not where it should be")) }
        };
        let mut list = Vec::new();
        let first = next(CONTENTS, None)?;
        first.take(MOST_CONTENTS).read_to_end(&mut list).map_err(unread)?;
        let contents = Contents::read(&list)?;
        for Item { name, bytes, sha256 } in &contents.items {
            let mut entry = next(name, Some(*bytes))?;
            let path = folder.join(name);
            let unwritten =
                |error: io::Error| format!("{} cannot be written: {error}", path.display());
            fs::create_dir_all(path.parent().expect("its name has a folder")).map_err(unwritten)?;
            let mut file = File::create_new(&path).map_err(unwritten)?;
            let mut text = Vec::new();
            entry.read_to_end(&mut text).map_err(unread)?;
            if text.len() as u64 != *bytes || hex(&Sha256::digest(&text)) != *sha256 {
                return Err(format!("{name} is not what it was when the pack was made"));
            }
            // On the disk itself before it gets its name: a power failure leaves no empty file there.
            io::Write::write_all(&mut file, &text)
                .and_then(|()| file.sync_data())
                .map_err(unwritten)?;
        }
        match entries.next() {
            None => Ok(contents),
            Some(Ok(_)) => Err("there is more in it than it lists".to_owned()),
            Some(Err(error)) => Err(unread(error)),
        }
    }
}

/// A file, and what has been read of it.
struct Summed<'f> {
    file: &'f File,
    digest: Sha256,
    bytes: u64,
}

impl Read for Summed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.digest.update(&buffer[..read]);
        self.bytes += read as u64;
        Ok(read)
    }
}
