//! The file format of documentation packs: compressed pages, and an index that is searched in place.
//!
//! All numbers are little-endian `u32`, or LEB128 where stated.
//!
//! ```text
//! MAGIC
//! areas      for each of the nine areas below: its offset and its length
//! 0 about    the six strings of `About`
//! 1 pages    for each page: offset of its strings, block, offset in the block, length
//! 2 strings  for each page: id, title, key
//! 3 sections for each section: page, offset in the page, number of words
//! 4 starts   for each group of terms: its offset in 5, the offset of its postings in 6
//! 5 terms    for each term: how many bytes it shares with the term before, how many others it has
//!            (a byte each), the others, the length of its postings (LEB128); the first of a group
//!            shares none
//! 6 postings for each term, for each section: distance from the section before, weight (LEB128)
//! 7 blocks   for each block: offset in 8, length before compression
//! 8 text     the pages, several in one block, with DEFLATE
//! ```
//!
//! A string is its length in bytes (LEB128) and UTF-8. A pack may come from an untrusted source. Reading ends for any
//! bytes: at worst with an error.

pub mod write;

use miniz_oxide::inflate::decompress_to_vec_with_limit;

/// The first bytes of a pack.
pub const MAGIC: &[u8] = b"portcullis ui5 documentation 1\n";

/// Number of terms in a group.
pub const GROUP: usize = 16;

/// Maximum size of a block before compression, in bytes. A larger page has a block of its own.
pub const BLOCK: usize = 48 * 1024;

/// Maximum size of a page, in bytes.
pub const MAX_PAGE: usize = 1024 * 1024;

/// Maximum number of sections in a pack.
const MAX_SECTIONS: usize = 1_000_000;

const AREAS: usize = 9;

/// The description of a pack, stored in the pack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// The name in the addresses of its pages: lower case letters, digits and `-`.
    pub name: String,
    /// The title, for people.
    pub title: String,
    /// The state of the source: a version, a commit or a date.
    pub state: String,
    /// The authors and the licence.
    pub licence: String,
    /// The parts of the source that are left out; empty if there are none.
    pub left_out: String,
    /// The address of a page, with `{key}`; empty if pages have none.
    pub address: String,
}

/// A page in the table of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'p> {
    /// The id, unique in the pack.
    pub id: &'p str,
    /// The title.
    pub title: &'p str,
    /// The value that replaces `{key}` in [`About::address`].
    pub key: &'p str,
}

/// A section in the table of sections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The number of the page.
    pub page: u32,
    /// Where the section starts in the page, in bytes.
    pub start: u32,
    /// The number of words in the section.
    pub words: u32,
}

/// An opened pack.
pub struct Pack<'b> {
    areas: [&'b [u8]; AREAS],
    /// The description of the pack.
    pub about: About,
}

impl<'b> Pack<'b> {
    /// Opens a pack. Fails with the reason.
    pub fn open(bytes: &'b [u8]) -> Result<Self, &'static str> {
        let mut rest = bytes.strip_prefix(MAGIC).ok_or("it is not a documentation pack")?;
        let mut areas: [&[u8]; AREAS] = [&[]; AREAS];
        for area in &mut areas {
            let (offset, length) = (read_u32(&mut rest), read_u32(&mut rest));
            let range = offset.zip(length).and_then(|(start, length)| {
                bytes.get(start as usize..(start as usize).checked_add(length as usize)?)
            });
            *area = range.ok_or("it is incomplete")?;
        }
        let mut strings = areas[0];
        let mut next =
            || read_string(&mut strings).map(str::to_owned).ok_or("its description is incomplete");
        let about = About {
            name: next()?,
            title: next()?,
            state: next()?,
            licence: next()?,
            left_out: next()?,
            address: next()?,
        };
        let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if about.name.is_empty() || !about.name.chars().all(is_allowed) {
            return Err("its name has other characters than lower-case letters, digits and -");
        }
        let pack = Self { areas, about };
        if pack.section_count() > MAX_SECTIONS {
            return Err("it has too many sections");
        }
        Ok(pack)
    }

    /// The number of pages.
    pub fn page_count(&self) -> usize {
        self.areas[1].len() / 16
    }

    /// The number of sections.
    pub fn section_count(&self) -> usize {
        self.areas[3].len() / 12
    }

    /// The page with that number.
    pub fn entry(&self, page: u32) -> Option<Entry<'_>> {
        let [strings, ..] = self.record(page)?;
        let mut rest = self.areas[2].get(strings as usize..)?;
        Some(Entry {
            id: read_string(&mut rest)?,
            title: read_string(&mut rest)?,
            key: read_string(&mut rest)?,
        })
    }

    /// The number of the page with that id.
    pub fn find(&self, id: &str) -> Option<u32> {
        let count = u32::try_from(self.page_count()).ok()?;
        (0..count).find(|page| self.entry(*page).is_some_and(|entry| entry.id == id))
    }

    /// The text of a page. `None`: the pack is damaged there.
    pub fn text(&self, page: u32) -> Option<String> {
        let [_, block, start, length] = self.record(page)?;
        let mut record = self.areas[7].get((block as usize).checked_mul(8)?..)?;
        let (offset, size) = (read_u32(&mut record)? as usize, read_u32(&mut record)? as usize);
        let compressed = self.areas[8].get(offset..)?;
        let limit = size.min(MAX_PAGE.max(BLOCK));
        let block = decompress_to_vec_with_limit(compressed, limit).ok()?;
        let end = (start as usize).checked_add(length as usize)?;
        String::from_utf8(block.get(start as usize..end)?.to_vec()).ok()
    }

    /// The section with that number.
    pub fn place(&self, section: u32) -> Option<Place> {
        let mut record = self.areas[3].get((section as usize).checked_mul(12)?..)?;
        Some(Place {
            page: read_u32(&mut record)?,
            start: read_u32(&mut record)?,
            words: read_u32(&mut record)?,
        })
    }

    /// The sections with a word, each with the weight that the word has there.
    pub fn postings(&self, term: &str) -> Vec<(u32, u32)> {
        self.list(term).map(|list| self.read_postings(list)).unwrap_or_default()
    }

    fn read_postings(&self, mut list: &[u8]) -> Vec<(u32, u32)> {
        let mut found = Vec::new();
        let mut section = 0_u32;
        while let Some((distance, weight)) = read_leb(&mut list).zip(read_leb(&mut list)) {
            let Some(next) = section.checked_add(distance) else { break };
            if next as usize >= self.section_count() {
                break;
            }
            found.push((next, weight));
            section = next;
        }
        found
    }

    /// The bytes of a word's postings.
    fn list(&self, term: &str) -> Option<&[u8]> {
        let groups = self.areas[4].len() / 8;
        let first = |group: usize| {
            let mut terms = self.group(group)?.0;
            let (_, length) = (read_byte(&mut terms)?, read_byte(&mut terms)?);
            terms.get(..length as usize)
        };
        let mut low = 0;
        let mut high = groups;
        while low + 1 < high {
            let middle = low.midpoint(high);
            if first(middle)? <= term.as_bytes() { low = middle } else { high = middle }
        }
        let (mut terms, mut offset) = self.group(low)?;
        let mut current = Vec::new();
        for _ in 0..GROUP {
            let (shared, length) = (read_byte(&mut terms)?, read_byte(&mut terms)?);
            current.truncate(shared as usize);
            current.extend_from_slice(terms.split_off(..length as usize)?);
            let length = read_leb(&mut terms)? as usize;
            let end = offset.checked_add(length)?;
            if current == term.as_bytes() {
                return self.areas[6].get(offset..end);
            }
            offset = end;
        }
        None
    }

    /// The bytes of the terms from a group on, and the offset of the group's postings.
    fn group(&self, group: usize) -> Option<(&[u8], usize)> {
        let mut record = self.areas[4].get(group.checked_mul(8)?..)?;
        let (terms, postings) = (read_u32(&mut record)?, read_u32(&mut record)?);
        Some((self.areas[5].get(terms as usize..)?, postings as usize))
    }

    fn record(&self, page: u32) -> Option<[u32; 4]> {
        let mut record = self.areas[1].get((page as usize).checked_mul(16)?..)?;
        let mut next = || read_u32(&mut record);
        Some([next()?, next()?, next()?, next()?])
    }
}

fn read_u32(bytes: &mut &[u8]) -> Option<u32> {
    let number = bytes.split_off(..4)?;
    Some(u32::from_le_bytes(number.try_into().ok()?))
}

fn read_byte(bytes: &mut &[u8]) -> Option<u8> {
    bytes.split_off_first().copied()
}

fn read_leb(bytes: &mut &[u8]) -> Option<u32> {
    let mut number = 0_u32;
    for shift in [0, 7, 14, 21, 28] {
        let byte = read_byte(bytes)?;
        number |= u32::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

fn read_string<'s>(bytes: &mut &'s [u8]) -> Option<&'s str> {
    let length = read_leb(bytes)?;
    std::str::from_utf8(bytes.split_off(..length as usize)?).ok()
}
