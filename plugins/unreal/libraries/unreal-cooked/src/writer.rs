//! Writes small containers, pak archives and asset registries, so that tests need no files of real
//! games. The output was compared with files of real engines.

mod container;
mod pak;
mod registry;

pub use container::{Container, script_objects};
pub use pak::{DraftFile, DraftPak};
pub use registry::{DraftAsset, DraftRegistry};

/// A buffer to which values are appended in little-endian order.
#[derive(Clone, Debug, Default)]
struct ByteWriter(Vec<u8>);

impl ByteWriter {
    fn u32(&mut self, value: u32) -> &mut Self {
        self.bytes(&value.to_le_bytes())
    }

    fn u64(&mut self, value: u64) -> &mut Self {
        self.bytes(&value.to_le_bytes())
    }

    fn count(&mut self, count: usize) -> &mut Self {
        self.u32(u32::try_from(count).unwrap_or(u32::MAX))
    }

    fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }

    /// Appends a string: its length, its bytes and a zero.
    fn string(&mut self, text: &str) -> &mut Self {
        self.count(text.len() + 1).bytes(text.as_bytes()).bytes(&[0])
    }

    /// Appends a name batch.
    fn names(&mut self, names: &[String]) -> &mut Self {
        self.count(names.len());
        if names.is_empty() {
            return self;
        }
        self.count(names.iter().map(String::len).sum()).u64(0xC164_0000);
        for _ in names {
            // The readers skip the hashes.
            self.u64(0);
        }
        for name in names {
            self.bytes(&i16::try_from(name.len()).unwrap_or(0).to_be_bytes());
        }
        names.iter().for_each(|name| {
            self.bytes(name.as_bytes());
        });
        self
    }

    /// Appends names one after the other, as 4.26 and 4.27 store them.
    fn sequence(&mut self, names: &[String]) -> &mut Self {
        for name in names {
            let length = i16::try_from(name.len()).unwrap_or(0);
            self.bytes(&length.to_be_bytes()).bytes(name.as_bytes());
        }
        self
    }
}

/// The index of a name in a table. A name that is missing is added.
fn place(names: &mut Vec<String>, name: &str) -> u32 {
    let at = names.iter().position(|known| known == name).unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    });
    u32::try_from(at).unwrap_or(u32::MAX)
}
