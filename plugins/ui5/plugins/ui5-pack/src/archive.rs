//! The bytes of a pack: writes and reads the gzipped tar archive, and checks it.
//!
//! Each entry is compressed as soon as it is added, since the members of a gzip file can be concatenated. So memory
//! holds only compressed entries, and one call can pack many large files.

use crate::contents::{CONTENTS, Contents, Item, MAX_BYTES, MAX_CONTENTS, MAX_ITEM, Part};
use flate2::{Compression, read::MultiGzDecoder, write::GzEncoder};
use sha2::{Digest, Sha256};
use std::io::{self, Read, Write};

/// The end of a tar archive: two empty blocks.
const END: [u8; 1024] = [0; 1024];

/// The entries of a new pack.
pub(crate) struct Draft {
    /// When the pack was made, in seconds since 1970.
    made: u64,
    items: Vec<Item>,
    /// The compressed entries, without the first.
    entries: Vec<u8>,
    /// The number of bytes that can still be added, before compression.
    bytes_left: u64,
}

impl Draft {
    /// A pack without entries.
    pub fn new(made: u64) -> Self {
        Self { made, items: Vec::new(), entries: Vec::new(), bytes_left: MAX_BYTES }
    }

    /// Adds an entry. Fails with the reason.
    pub fn add(&mut self, part: &Part, text: &[u8]) -> Result<(), String> {
        let bytes = text.len() as u64;
        if bytes > MAX_ITEM {
            return Err(format!("{} is larger than {} MiB", part.name(), MAX_ITEM >> 20));
        }
        self.bytes_left = self
            .bytes_left
            .checked_sub(bytes)
            .ok_or_else(|| format!("There is more than {} MiB to pack", MAX_BYTES >> 20))?;
        let item = Item { name: part.name(), bytes, sha256: sha256(text) };
        self.entries.extend(
            entry(&item.name, self.made, text)
                .map_err(|error| format!("Failed to pack {}: {error}", item.name))?,
        );
        self.items.push(item);
        Ok(())
    }

    /// Whether there is such an entry.
    pub fn has(&self, part: &Part) -> bool {
        let name = part.name();
        self.items.iter().any(|item| item.name == name)
    }

    /// The whole archive. `contents` gets the list of the entries.
    pub fn finish(
        self,
        contents: impl FnOnce(Vec<Item>) -> Contents,
    ) -> Result<(Contents, Vec<u8>), String> {
        let contents = contents(self.items);
        let list =
            serde_json::to_vec_pretty(&contents).expect("the list of contents is plain data");
        if list.len() as u64 > MAX_CONTENTS {
            return Err("There are too many items for a pack".to_owned());
        }
        // A pack that could not be unpacked is refused here already.
        Contents::read(&list).map_err(|why| format!("The pack could not be unpacked: {why}"))?;
        let failed = |error: io::Error| format!("Failed to pack {CONTENTS}: {error}");
        let mut archive = entry(CONTENTS, self.made, &list).map_err(failed)?;
        archive.extend(self.entries);
        archive.extend(compressed(&END).map_err(failed)?);
        Ok((contents, archive))
    }
}

/// A compressed entry of the archive.
fn entry(name: &str, made: u64, text: &[u8]) -> io::Result<Vec<u8>> {
    let mut header = tar::Header::new_ustar();
    header.set_path(name)?;
    header.set_size(text.len() as u64);
    header.set_mode(0o644);
    header.set_mtime(made);
    header.set_cksum();
    // `tar::Builder` cannot be used, since it would write the end of an archive after each entry.
    let padding = vec![0; text.len().next_multiple_of(512) - text.len()];
    compressed(&[header.as_bytes(), text, &padding].concat())
}

fn compressed(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes)?;
    encoder.finish()
}

/// Reads an archive to its end and checks each entry against the list of contents. Calls `keep` with every
/// checked entry. Fails with the reason.
pub(crate) fn read(
    source: &mut dyn Read,
    keep: impl FnMut(&Item, &[u8]) -> Result<(), String>,
) -> Result<Contents, String> {
    let contents = read_entries(source, keep)?;
    // Reads the rest, since the digest is that of the whole file.
    io::copy(source, &mut io::sink()).map_err(unread)?;
    Ok(contents)
}

fn unread(error: io::Error) -> String {
    format!("the file is not a pack, or is incomplete: {error}")
}

fn read_entries(
    source: &mut dyn Read,
    mut keep: impl FnMut(&Item, &[u8]) -> Result<(), String>,
) -> Result<Contents, String> {
    let mut archive = tar::Archive::new(MultiGzDecoder::new(source));
    // Raw entries, because otherwise extensions for long names are read into memory, however large they are.
    let mut entries = archive.entries().map_err(unread)?.raw(true);
    let mut next = |name: &str, bytes: Option<u64>| {
        let entry = entries.next().ok_or_else(|| format!("{name} is missing"))?;
        let entry = entry.map_err(unread)?;
        let is_expected = entry.header().entry_type().is_file()
            && *entry.path_bytes() == *name.as_bytes()
            && bytes.is_none_or(|bytes| entry.size() == bytes);
        if is_expected {
            Ok(entry)
        } else {
            Err(format!("{name} is not at its place, or has another size than listed"))
        }
    };
    let mut list = Vec::new();
    next(CONTENTS, None)?.take(MAX_CONTENTS).read_to_end(&mut list).map_err(unread)?;
    let contents = Contents::read(&list)?;
    for item in &contents.items {
        let Item { name, bytes, sha256: expected } = item;
        let mut text = Vec::new();
        next(name, Some(*bytes))?.read_to_end(&mut text).map_err(unread)?;
        if text.len() as u64 != *bytes || sha256(&text) != *expected {
            return Err(format!("{name} has changed since the pack was made"));
        }
        keep(item, &text)?;
    }
    match entries.next() {
        None => Ok(contents),
        Some(Ok(_)) => Err("there is more in it than it lists".to_owned()),
        Some(Err(error)) => Err(unread(error)),
    }
}

/// Counts and digests the bytes that are read.
pub(crate) struct DigestingReader<R> {
    source: R,
    digest: Sha256,
    bytes: u64,
}

impl<R> DigestingReader<R> {
    /// Starts before the first byte.
    pub fn new(source: R) -> Self {
        Self { source, digest: Sha256::new(), bytes: 0 }
    }

    /// The number of bytes and their SHA-256 in hexadecimal.
    pub fn finish(self) -> (u64, String) {
        (self.bytes, hex(&self.digest.finalize()))
    }
}

impl<R: Read> Read for DigestingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        self.digest.update(&buffer[..read]);
        self.bytes += read as u64;
        Ok(read)
    }
}

/// SHA-256 in hexadecimal.
fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ui5::Framework;

    fn finished(draft: Draft) -> Result<Vec<u8>, String> {
        let contents = |items| Contents::new(0, Framework::OpenUi5, "1.2.3".to_owned(), items);
        draft.finish(contents).map(|(_, archive)| archive)
    }

    #[test]
    fn packs_that_could_not_be_unpacked_are_not_made() {
        let api = |name: &str| Part::Api(name.to_owned());
        let mut draft = Draft::new(0);
        draft.add(&api("sap.m"), b"{}").expect("it is small");
        let large = vec![0; usize::try_from(MAX_ITEM).expect("64 bits") + 1];
        let why = draft.add(&api("large"), &large).expect_err("it is too large");
        assert_eq!(why, "api/large.api.json is larger than 64 MiB");
        let archive = finished(draft).expect("what was added fits");
        read(&mut archive.as_slice(), |_, _| Ok(())).expect("it can be unpacked");
        let mut twice = Draft::new(0);
        for name in ["sap.m", "SAP.m"] {
            twice.add(&api(name), b"{}").expect("it is small");
        }
        let why = finished(twice).expect_err("one file would replace the other");
        assert!(why.contains("api/sap.m.api.json is in it twice"), "{why}");
        let mut odd = Draft::new(0);
        odd.add(&api(""), b"{}").expect("it is small");
        let why = finished(odd).expect_err("it has no place");
        assert!(why.contains("does not belong in a pack"), "{why}");
    }
}
