//! Writes an API reference as one piece of bytes.

use super::{Head, MAGIC, Place};
use miniz_oxide::deflate::compress_to_vec;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Least length of a block in bytes. A larger one is smaller deflated, and takes longer to inflate.
const BLOCK: usize = 64 * 1024;

/// A symbol to be written.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    /// The name, by which suggestions name it.
    pub name: String,
    /// The number of the library.
    pub library: u32,
    /// The module that exports it.
    pub module: Option<String>,
    /// The keys to find it by: lower case, with dots.
    pub keys: Vec<String>,
    /// The content, in the form of `api.json`.
    pub content: Map<String, Value>,
}

/// Writes a reference: its name, its version, the libraries with their versions, and the symbols. Of
/// equal keys the first counts. `level` is how hard to deflate, from 0 to 10. Fails if there are too
/// many symbols.
pub fn make(
    (name, version): (&str, &str),
    libraries: Vec<(String, String)>,
    symbols: Vec<Written>,
    level: u8,
) -> Result<Vec<u8>, String> {
    let too_many = |_| "there are too many symbols".to_owned();
    let (mut places, mut keys) = (Vec::new(), BTreeMap::new());
    let (mut blocks, mut deflated, mut open) = (Vec::new(), Vec::new(), Vec::new());
    let mut close = |open: &mut Vec<u8>, blocks: &mut Vec<(u32, u32)>| {
        let block = compress_to_vec(open, level);
        let lengths = (u32::try_from(block.len()), u32::try_from(open.len()));
        deflated.extend_from_slice(&block);
        open.clear();
        blocks.push((lengths.0.map_err(too_many)?, lengths.1.map_err(too_many)?));
        Ok::<(), String>(())
    };
    for (Written { name, library, module, keys: names, content }, number) in
        symbols.into_iter().zip(0_u32..)
    {
        let text = Value::Object(content).to_string();
        let length = u32::try_from(text.len()).map_err(too_many)?;
        let block = u32::try_from(blocks.len()).map_err(too_many)?;
        let module = module.unwrap_or_default();
        places.push(Place { name, library, module, block, length });
        names.into_iter().for_each(|key| {
            keys.entry(key).or_insert(number);
        });
        open.extend_from_slice(text.as_bytes());
        if open.len() >= BLOCK {
            close(&mut open, &mut blocks)?;
        }
    }
    if !open.is_empty() {
        close(&mut open, &mut blocks)?;
    }
    let head = Head {
        name: name.to_owned(),
        version: version.to_owned(),
        libraries,
        blocks,
        symbols: places,
        keys: keys.into_iter().collect(),
    };
    let head = serde_json::to_vec(&head).map_err(|error| error.to_string())?;
    let head_deflated = compress_to_vec(&head, level);
    let mut bytes = MAGIC.to_vec();
    for length in [head_deflated.len(), head.len()] {
        bytes.extend_from_slice(&u32::try_from(length).map_err(too_many)?.to_le_bytes());
    }
    bytes.extend_from_slice(&head_deflated);
    bytes.extend_from_slice(&deflated);
    Ok(bytes)
}
