//! A compact file format for the API reference of one release, for plugins that embed the reference.
//!
//! A look-up reads some entries of the tables, inflates one block of symbols, and parses one symbol. All
//! numbers are 4 bytes, little-endian. A text is stored as its offset in the texts, and its length:
//!
//! ```text
//! MAGIC, then the numbers of libraries, blocks, symbols and keys, and the length of the texts
//! title, version: a text each
//! libraries   name, version: a text each
//! blocks      offset after the texts, length deflated, length inflated
//! symbols     name, module: a text each; library, block, offset in the block, length
//! keys        a text, symbol; in the order of the texts
//! texts
//! blocks, each deflated: the JSON of consecutive symbols, without anything between them
//! ```

mod make;

pub use make::{Written, make};

use crate::Symbol;
use miniz_oxide::inflate::decompress_to_vec_with_limit;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// The first bytes. The number changes with the format.
const MAGIC: &[u8; 16] = b"ui5 reference 1\n";

/// Maximum size of an inflated block, in bytes; far above real ones.
const MAX_BLOCK_BYTES: usize = 16 * 1024 * 1024;

/// Length of the head after [`MAGIC`], in bytes.
const HEAD_BYTES: usize = 9 * 4;

/// A table of entries of equal width.
#[derive(Clone, Copy, Debug)]
struct Table {
    start: usize,
    count: usize,
    /// Numbers in an entry.
    width: usize,
}

/// An opened reference.
pub struct Compact {
    bytes: Cow<'static, [u8]>,
    title: String,
    version: String,
    libraries: Vec<(String, String)>,
    blocks: Table,
    symbols: Table,
    keys: Table,
    /// The offset of the texts.
    texts: usize,
    /// The offset of the first block.
    start: usize,
    /// The block that was inflated last.
    last: Option<(usize, Vec<u8>)>,
}

/// The place of a symbol.
struct Place {
    library: usize,
    block: usize,
    start: usize,
    length: usize,
}

impl Compact {
    /// Opens a reference. Fails if the bytes are not in this format.
    pub fn open(bytes: impl Into<Cow<'static, [u8]>>) -> Result<Self, String> {
        let bytes = bytes.into();
        if !bytes.starts_with(MAGIC) {
            return Err(broken());
        }
        let mut start = MAGIC.len() + HEAD_BYTES;
        let mut table = |number: usize, width: usize| {
            let count = word(&bytes, MAGIC.len() + 4 * number)?;
            let table = Table { start, count, width };
            start = count.checked_mul(4 * width).and_then(|length| start.checked_add(length))?;
            Some(table)
        };
        let libraries = table(0, 4).ok_or_else(broken)?;
        let blocks = table(1, 3).ok_or_else(broken)?;
        let symbols = table(2, 8).ok_or_else(broken)?;
        let keys = table(3, 3).ok_or_else(broken)?;
        let texts = start;
        let length = word(&bytes, MAGIC.len() + 16).ok_or_else(broken)?;
        let start = texts.checked_add(length).ok_or_else(broken)?;
        if start > bytes.len() {
            return Err(broken());
        }
        let (title, version) = (String::new(), String::new());
        let mut opened = Self {
            bytes,
            title,
            version,
            libraries: Vec::new(),
            blocks,
            symbols,
            keys,
            texts,
            start,
            last: None,
        };
        opened.title = opened.text(MAGIC.len() + 20)?.to_owned();
        opened.version = opened.text(MAGIC.len() + 28)?.to_owned();
        let library = |number: usize| {
            let at = libraries.start + 16 * number;
            Ok((opened.text(at)?.to_owned(), opened.text(at + 8)?.to_owned()))
        };
        opened.libraries = (0..libraries.count).map(library).collect::<Result<_, String>>()?;
        Ok(opened)
    }

    /// The title of the reference, such as `OpenUI5`.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The version of the release.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The libraries with their versions, which may differ from the version of the release.
    pub fn libraries(&self) -> &[(String, String)] {
        &self.libraries
    }

    /// The symbol of a key; the key is in lower case, with dots.
    pub fn find(&mut self, key: &str) -> Result<Option<Symbol>, String> {
        self.number(key)?.map(|number| self.symbol(number)).transpose()
    }

    /// The numbers of the symbols of a module in a library; the module's name is in lower case.
    pub fn module(&self, library: u32, module: &str) -> Result<Vec<u32>, String> {
        let mut found = Vec::new();
        for (number, at) in (0_u32..).zip(self.symbols.entries()) {
            let is_there = self.place(at)?.library == library as usize;
            if is_there && self.text(at + 8)?.to_lowercase() == module {
                found.push(number);
            }
        }
        Ok(found)
    }

    /// The lengths of the symbols with these numbers, in bytes and in this order.
    pub fn lengths(&self, numbers: &[u32]) -> Result<Vec<u32>, String> {
        let length = |number: &u32| {
            let length = self.place(self.symbols.entry(*number as usize)?)?.length;
            u32::try_from(length).map_err(|_| broken())
        };
        numbers.iter().map(length).collect()
    }

    /// The symbol with that number.
    pub fn symbol(&mut self, number: u32) -> Result<Symbol, String> {
        let Place { library, block, start, length } =
            self.place(self.symbols.entry(number as usize)?)?;
        let text = self.block(block)?.get(start..start.saturating_add(length));
        let content: Map<String, Value> =
            serde_json::from_slice(text.ok_or_else(broken)?).map_err(|_| broken())?;
        let (name, _) = self.libraries.get(library).ok_or_else(broken)?;
        let file = u32::try_from(library).map_err(|_| broken())?;
        Ok(Symbol { content, library: name.clone(), file })
    }

    /// The name of the symbol of a key.
    pub fn name(&self, key: &str) -> Option<String> {
        let number = self.number(key).ok()??;
        let name = self.text(self.symbols.entry(number as usize).ok()?);
        name.ok().map(str::to_owned)
    }

    /// All keys, in order.
    pub fn keys(&self) -> Result<Vec<String>, String> {
        self.keys.entries().map(|at| self.text(at).map(str::to_owned)).collect()
    }

    fn number(&self, key: &str) -> Result<Option<u32>, String> {
        let (mut low, mut high) = (0, self.keys.count);
        while low < high {
            let middle = low + (high - low) / 2;
            let at = self.keys.entry(middle)?;
            match self.text(at)?.cmp(key) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => {
                    let number = u32::try_from(self.word(at + 8)?).map_err(|_| broken())?;
                    return Ok(Some(number));
                }
            }
        }
        Ok(None)
    }

    /// The place of a symbol, from its entry at the offset `at`.
    fn place(&self, at: usize) -> Result<Place, String> {
        Ok(Place {
            library: self.word(at + 16)?,
            block: self.word(at + 20)?,
            start: self.word(at + 24)?,
            length: self.word(at + 28)?,
        })
    }

    fn block(&mut self, number: usize) -> Result<&[u8], String> {
        if self.last.as_ref().is_none_or(|(last, _)| *last != number) {
            let at = self.blocks.entry(number)?;
            let start = self.start.saturating_add(self.word(at)?);
            let end = start.saturating_add(self.word(at + 4)?);
            let block = self.bytes.get(start..end).ok_or_else(broken)?;
            self.last = Some((number, inflate(block, self.word(at + 8)?)?));
        }
        self.last.as_ref().map(|(_, block)| block.as_slice()).ok_or_else(broken)
    }

    fn word(&self, at: usize) -> Result<usize, String> {
        word(&self.bytes, at).ok_or_else(broken)
    }

    /// The text whose offset and length are at the offset `at`.
    fn text(&self, at: usize) -> Result<&str, String> {
        let start = self.texts.saturating_add(self.word(at)?);
        let end = start.saturating_add(self.word(at + 4)?);
        let text = self.bytes.get(start..end).filter(|_| end <= self.start);
        text.and_then(|text| std::str::from_utf8(text).ok()).ok_or_else(broken)
    }
}

impl Table {
    /// The offset of an entry.
    fn entry(self, number: usize) -> Result<usize, String> {
        let is_there = number < self.count;
        is_there.then(|| self.start + 4 * self.width * number).ok_or_else(broken)
    }

    /// The offsets of all entries.
    fn entries(self) -> impl Iterator<Item = usize> {
        (0..self.count).map(move |number| self.start + 4 * self.width * number)
    }
}

fn word(bytes: &[u8], at: usize) -> Option<usize> {
    let word = bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
    usize::try_from(u32::from_le_bytes(word)).ok()
}

fn inflate(bytes: &[u8], length: usize) -> Result<Vec<u8>, String> {
    let inflated = decompress_to_vec_with_limit(bytes, length.min(MAX_BLOCK_BYTES));
    inflated.ok().filter(|inflated| inflated.len() == length).ok_or_else(broken)
}

fn broken() -> String {
    "The API reference that comes with this tool is damaged: install the tool anew".to_owned()
}

#[cfg(test)]
mod tests;
