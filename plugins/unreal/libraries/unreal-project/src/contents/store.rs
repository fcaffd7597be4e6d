//! Serializes the contents of a project's Blueprints and materials, to store them between calls.

use super::{Contents, IndexedPackage, State};
use crate::store::UnparsedBytes;

/// The first bytes of the serialized form; they change with the format.
const MAGIC: &[u8; 8] = b"UEINSID4";
/// Size of a stored package, in integers of 32 bits.
const U32S_PER_PACKAGE: usize = 10;

impl Contents {
    /// Serializes the contents.
    pub fn to_bytes(&self) -> Vec<u8> {
        let len = self.strings.text.len() + self.strings.len() * 4 + self.stream.len();
        let mut out = Vec::with_capacity(len + self.held.len() * U32S_PER_PACKAGE * 4 + 64);
        let write_number =
            |out: &mut Vec<u8>, number: usize| out.extend((number as u64).to_le_bytes());
        out.extend(MAGIC);
        write_number(&mut out, self.strings.text.len());
        out.extend(self.strings.text.as_bytes());
        write_number(&mut out, self.strings.ends.len());
        self.strings.ends.iter().for_each(|end| out.extend(end.to_le_bytes()));
        write_number(&mut out, self.held.len());
        for IndexedPackage { key, size, modified, state, faulty, records, entry: _ } in &self.held {
            let state = State::ALL.iter().position(|known| known == state).unwrap_or_default();
            let state = u32::try_from(state).unwrap_or_default();
            [key, size, modified].iter().for_each(|number| out.extend(number.to_le_bytes()));
            let small = [state, *faulty, records.0, records.1];
            small.iter().for_each(|number| out.extend(number.to_le_bytes()));
        }
        write_number(&mut out, self.stream.len());
        out.extend(&self.stream);
        out
    }

    /// Parses the bytes; `None` for another format or damaged data.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut rest = UnparsedBytes(bytes.strip_prefix(MAGIC)?);
        let strings = rest.strings()?;
        let held = rest.all(read_package)?;
        let len = rest.count(1)?;
        let stream = rest.take(len)?.to_vec();
        rest.0.is_empty().then_some(Self { strings, held, stream })
    }
}

fn read_package(parts: [u32; U32S_PER_PACKAGE]) -> Option<IndexedPackage> {
    let [key, key_high, size, size_high, modified, modified_high, state, faulty, from, len] = parts;
    let wide = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
    Some(IndexedPackage {
        key: wide(key, key_high),
        size: wide(size, size_high),
        modified: wide(modified, modified_high),
        state: *State::ALL.get(state as usize)?,
        faulty,
        records: (from, len),
        entry: 0,
    })
}
