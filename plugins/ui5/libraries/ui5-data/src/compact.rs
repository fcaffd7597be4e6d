//! The API reference of one release as one piece of bytes, for plugins that carry it.
//!
//! A look-up inflates the head and one block of symbols, and parses one symbol:
//!
//! ```text
//! MAGIC, then 4 bytes each, little-endian: length of the head, deflated and inflated
//! head, deflated: JSON, see Head
//! blocks, each deflated: the JSON of consecutive symbols, without anything between them
//! ```

mod make;

pub use make::{Written, make};

use crate::Symbol;
use miniz_oxide::inflate::decompress_to_vec_with_limit;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// The first bytes. The number changes with the format.
const MAGIC: &[u8; 16] = b"ui5 reference 1\n";

/// Largest head, and largest block, inflated: far above real ones.
const LARGEST: usize = 16 * 1024 * 1024;

/// What is in the piece of bytes.
#[derive(Debug, Deserialize, Serialize)]
struct Head {
    /// What the reference is of, such as `OpenUI5`.
    name: String,
    version: String,
    /// The libraries with their versions, which may differ from the release's.
    libraries: Vec<(String, String)>,
    /// The lengths of the blocks, deflated and inflated.
    blocks: Vec<(u32, u32)>,
    symbols: Vec<Place>,
    /// The keys in order, each with the number of a symbol.
    keys: Vec<(String, u32)>,
}

/// Where a symbol is. They are in the order of the blocks, and in each from its start.
#[derive(Debug, Deserialize, Serialize)]
struct Place {
    name: String,
    /// The number of the library.
    library: u32,
    /// The module, or nothing.
    module: String,
    block: u32,
    length: u32,
}

/// An opened reference.
pub struct Compact {
    bytes: Cow<'static, [u8]>,
    /// The offset of the first block.
    start: usize,
    head: Head,
    /// The block that was inflated last.
    last: Option<(u32, Vec<u8>)>,
}

impl Compact {
    /// Opens a reference. Fails if the bytes are not one, and says so.
    pub fn open(bytes: impl Into<Cow<'static, [u8]>>) -> Result<Self, String> {
        let bytes = bytes.into();
        let rest = bytes.strip_prefix(MAGIC).ok_or_else(broken)?;
        let number = |at: usize| {
            let number = rest.get(at..at + 4)?.try_into().ok()?;
            usize::try_from(u32::from_le_bytes(number)).ok()
        };
        let (deflated, inflated) = number(0).zip(number(4)).ok_or_else(broken)?;
        let head = rest.get(8..).and_then(|rest| rest.get(..deflated)).ok_or_else(broken)?;
        let head = inflate(head, inflated)?;
        let head = serde_json::from_slice(&head).map_err(|_| broken())?;
        let start = MAGIC.len() + 8 + deflated;
        Ok(Self { bytes, start, head, last: None })
    }

    /// What the reference is of, such as `OpenUI5`.
    pub fn title(&self) -> &str {
        &self.head.name
    }

    /// The version of the release.
    pub fn version(&self) -> &str {
        &self.head.version
    }

    /// The libraries with their versions, which may differ from the release's.
    pub fn libraries(&self) -> &[(String, String)] {
        &self.head.libraries
    }

    /// The symbol of a key, in lower case and with dots.
    pub fn find(&mut self, key: &str) -> Result<Option<Symbol>, String> {
        self.number(key).map(|number| self.symbol(number)).transpose()
    }

    /// The symbols of a module in a library, in order; the module's name is in lower case.
    pub fn module(&self, library: u32, module: &str) -> Vec<u32> {
        let all = self.head.symbols.iter().zip(0..);
        all.filter(|(one, _)| one.library == library && one.module.to_lowercase() == module)
            .map(|(_, number)| number)
            .collect()
    }

    /// The lengths of symbols in bytes, by number and in this order.
    pub fn lengths(&self, numbers: &[u32]) -> Result<Vec<u32>, String> {
        numbers.iter().map(|number| Ok(self.place(*number)?.length)).collect()
    }

    /// The symbol with that number.
    pub fn symbol(&mut self, number: u32) -> Result<Symbol, String> {
        let Place { name: _, library, module: _, block, length } = self.place(number)?;
        let (library, block, length) = (*library, *block, *length as usize);
        let before = self.head.symbols[..number as usize].iter().rev();
        let before = before.take_while(|one| one.block == block).map(|one| one.length as usize);
        let start: usize = before.sum();
        let text = self.block(block)?.get(start..start.saturating_add(length));
        let content: Map<String, Value> =
            serde_json::from_slice(text.ok_or_else(broken)?).map_err(|_| broken())?;
        let named = self.head.libraries.get(library as usize).ok_or_else(broken)?;
        Ok(Symbol { content, library: named.0.clone(), file: library })
    }

    /// The name of the symbol of a key.
    pub fn name(&self, key: &str) -> Option<String> {
        Some(self.place(self.number(key)?).ok()?.name.clone())
    }

    /// All keys, in order.
    pub fn keys(&self) -> Vec<String> {
        self.head.keys.iter().map(|(key, _)| key.clone()).collect()
    }

    fn number(&self, key: &str) -> Option<u32> {
        let keys = &self.head.keys;
        let found = keys.binary_search_by(|(known, _)| known.as_str().cmp(key)).ok()?;
        Some(keys[found].1)
    }

    fn place(&self, number: u32) -> Result<&Place, String> {
        self.head.symbols.get(number as usize).ok_or_else(broken)
    }

    fn block(&mut self, number: u32) -> Result<&[u8], String> {
        if self.last.as_ref().is_none_or(|(last, _)| *last != number) {
            let lengths = self.head.blocks.get(..=number as usize).ok_or_else(broken)?;
            let (&(deflated, inflated), before) = lengths.split_last().ok_or_else(broken)?;
            let before: usize = before.iter().map(|(deflated, _)| *deflated as usize).sum();
            let start = self.start + before;
            let block = self.bytes.get(start..start + deflated as usize).ok_or_else(broken)?;
            self.last = Some((number, inflate(block, inflated as usize)?));
        }
        self.last.as_ref().map(|(_, block)| block.as_slice()).ok_or_else(broken)
    }
}

fn inflate(bytes: &[u8], length: usize) -> Result<Vec<u8>, String> {
    let inflated = decompress_to_vec_with_limit(bytes, length.min(LARGEST));
    inflated.ok().filter(|inflated| inflated.len() == length).ok_or_else(broken)
}

fn broken() -> String {
    "The API reference that comes with this tool is damaged: install the tool anew".to_owned()
}

#[cfg(test)]
mod tests;
