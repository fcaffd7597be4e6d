//! The packs that are searched: embedded packs, packs in the documentation folder, and the table of contents
//! from the network.

use crate::{online, pack::Pack};
use portcullis_plugin::prelude::*;
use std::{fs, path::Path};

include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// The setting with the folder of further packs.
pub const SETTING: &str = "documentation-dir";

/// The name of the pack with the documentation of OpenUI5.
pub const OPENUI5: &str = "openui5";

/// Maximum size of a pack in the folder, in bytes.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Maximum number of packs in the folder; further ones are ignored.
const MAX_PACKS: usize = 16;

/// The packs that are not embedded, and notes about packs that are missing or not used.
#[derive(Default)]
pub struct Sources {
    folder_packs: Vec<Vec<u8>>,
    contents: Option<Vec<u8>>,
    /// Notes for the answer about packs that are missing or not used.
    pub notes: Vec<String>,
}

impl Sources {
    /// Reads the packs of the folder. If neither the folder nor an embedded pack has the documentation of
    /// OpenUI5, fetches its table of contents.
    pub fn read() -> Self {
        let mut sources = Self::default();
        if let Some(folder) = settings::get(SETTING).filter(|folder| !folder.is_empty()) {
            sources.read_folder(Path::new(&folder));
        }
        if !sources.packs().iter().any(|pack| pack.about.name == OPENUI5) {
            match online::contents() {
                Ok(contents) => sources.contents = Some(contents),
                Err(why) => sources.notes.push(format!(
                    "The pages of OpenUI5's documentation are not searched: {why}. To search them without a \
                     network, put the pack openui5.pack into the folder mcp-server/documentation of the \
                     UI5 data directory."
                )),
            }
        }
        sources
    }

    fn read_folder(&mut self, folder: &Path) {
        // A missing folder means that there are no further packs.
        let Ok(entries) = fs::read_dir(folder) else { return };
        let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        paths.retain(|path| path.extension().is_some_and(|ending| ending == "pack"));
        paths.sort();
        for path in paths.iter().take(MAX_PACKS) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let read = fs::metadata(path).map_err(|error| error.to_string()).and_then(|data| {
                if data.len() > MAX_BYTES {
                    return Err(format!("it is larger than {} MiB", MAX_BYTES >> 20));
                }
                let bytes = fs::read(path).map_err(|error| error.to_string())?;
                Pack::open(&bytes)?;
                Ok(bytes)
            });
            match read {
                Ok(bytes) => self.folder_packs.push(bytes),
                Err(why) => self.notes.push(format!(
                    "The pack {name} in the documentation folder is not used: {why}."
                )),
            }
        }
    }

    /// The packs; a pack from the folder replaces an embedded one with the same name.
    pub fn packs(&self) -> Vec<Pack<'_>> {
        let mut packs: Vec<Pack<'_>> = Vec::new();
        let folder_packs = self.folder_packs.iter().map(Vec::as_slice);
        let all = folder_packs.chain(EMBEDDED.iter().copied()).chain(self.contents.as_deref());
        for pack in all.filter_map(|bytes| Pack::open(bytes).ok()) {
            if !packs.iter().any(|known| known.about.name == pack.about.name) {
                packs.push(pack);
            }
        }
        packs
    }

    /// Whether the pages of that pack have to be fetched.
    pub fn is_online(&self, pack: &Pack<'_>) -> bool {
        self.contents.is_some() && pack.about.name == OPENUI5
    }
}
