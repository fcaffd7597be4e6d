//! Items into an archive, which is there whole or not at all.

use crate::{
    Contents, Item, Packed, Part,
    contents::{CONTENTS, MOST_BYTES, MOST_CONTENTS},
    hex,
};
use flate2::{Compression, write::GzEncoder};
use sha2::{Digest, Sha256};
use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

/// Items as they are collected: files in a folder that goes when this goes.
pub(crate) struct Draft {
    folder: tempfile::TempDir,
    items: Vec<Item>,
    left: u64,
}

impl Draft {
    /// Empty, beside the file that it is going to be.
    pub fn beside(out: &Path) -> Result<Self, String> {
        let folder = tempfile::Builder::new().prefix(".ui5-pack-").tempdir_in(parent(out));
        let folder = folder.map_err(|error| {
            format!("Failed to make a folder beside {}: {error}", out.display())
        })?;
        Ok(Self { folder, items: Vec::new(), left: MOST_BYTES })
    }

    /// Adds an item.
    pub fn add(&mut self, part: &Part, text: &[u8]) -> Result<(), String> {
        let bytes = text.len() as u64;
        self.left = self
            .left
            .checked_sub(bytes)
            .ok_or_else(|| format!("There is more than {} MiB to pack", MOST_BYTES >> 20))?;
        let path = self.path(self.items.len());
        fs::write(&path, text)
            .map_err(|error| format!("Failed to write {}: {error}", path.display()))?;
        let sha256 = hex(&Sha256::digest(text));
        self.items.push(Item { name: part.name(), bytes, sha256 });
        Ok(())
    }

    /// How many items there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Makes the pack.
    pub fn finish(
        self,
        out: &Path,
        contents: impl FnOnce(Vec<Item>) -> Contents,
    ) -> Result<Packed, String> {
        let failed = |error: io::Error| format!("Failed to write {}: {error}", out.display());
        let contents = contents(self.items.clone());
        let list = serde_json::to_vec_pretty(&contents).expect("it is plain data");
        if list.len() as u64 > MOST_CONTENTS {
            return Err("There are too many items for a pack".to_owned());
        }
        let file = tempfile::NamedTempFile::new_in(parent(out)).map_err(failed)?;
        let packed = self.archive(file.as_file(), &list, &contents).map_err(failed)?;
        share(file.as_file()).map_err(failed)?;
        file.persist(out).map_err(|error| failed(error.error))?;
        let (digest, bytes) = packed;
        Ok(Packed { contents, digest, bytes })
    }

    fn archive(&self, file: &File, list: &[u8], contents: &Contents) -> io::Result<(String, u64)> {
        let summed = Summed { file, digest: Sha256::new(), bytes: 0 };
        let mut archive = tar::Builder::new(GzEncoder::new(summed, Compression::best()));
        append(&mut archive, CONTENTS, list.len() as u64, contents.made, list)?;
        for (number, item) in contents.items.iter().enumerate() {
            let text = File::open(self.path(number))?;
            append(&mut archive, &item.name, item.bytes, contents.made, text)?;
        }
        let Summed { digest, bytes, .. } = archive.into_inner()?.finish()?;
        file.sync_all()?;
        Ok((hex(&digest.finalize()), bytes))
    }

    fn path(&self, number: usize) -> PathBuf {
        self.folder.path().join(number.to_string())
    }
}

fn append(
    archive: &mut tar::Builder<impl Write>,
    name: &str,
    bytes: u64,
    made: u64,
    text: impl Read,
) -> io::Result<()> {
    let mut header = tar::Header::new_ustar();
    header.set_path(name)?;
    header.set_size(bytes);
    header.set_mode(0o644);
    header.set_mtime(made);
    header.set_cksum();
    archive.append(&header, text)
}

/// A pack is meant to be handed on: temporary files are their owner's alone.
#[cfg(unix)]
fn share(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn share(_: &File) -> io::Result<()> {
    Ok(())
}

fn parent(out: &Path) -> &Path {
    match out.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) | None => Path::new("."),
    }
}

/// A file, and what has been written to it.
struct Summed<'f> {
    file: &'f File,
    digest: Sha256,
    bytes: u64,
}

impl Write for Summed<'_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let written = self.file.write(buffer)?;
        self.digest.update(&buffer[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
