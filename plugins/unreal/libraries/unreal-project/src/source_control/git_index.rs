//! Reads the git index: whether git tracks a file, and whether the file has changed.
//!
//! Supports versions 2 to 4 with object names of 20 bytes, by git's `gitformat-index`.

use std::{fs::Metadata, time::UNIX_EPOCH};

/// Size in bytes of the fields before a name: times, device, inode, mode, owner, size, object,
/// flags.
const FIXED_LEN: usize = 62;
/// The flag for two more bytes of flags.
const EXTENDED: u16 = 0x4000;

/// Whether git tracks a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tracked {
    /// Tracked; size and time are unchanged.
    Same,
    /// Tracked; size or time have changed.
    Changed,
    /// Not tracked.
    No,
}

/// Looks up a file by its path in the repository. `None` if the index cannot be read.
pub fn tracked(index: &[u8], name: &str, metadata: &Metadata) -> Option<Tracked> {
    let rest = index.strip_prefix(b"DIRC")?;
    let (version, rest) = read_u32(rest)?;
    let (count, mut rest) = read_u32(rest)?;
    if !(2..=4).contains(&version) {
        return None;
    }
    let mut path = Vec::new();
    for _ in 0..count {
        let fixed = rest.get(..FIXED_LEN)?;
        let flags = u16::from_be_bytes([fixed[60], fixed[61]]);
        let before = if flags & EXTENDED == 0 { FIXED_LEN } else { FIXED_LEN + 2 };
        let after = rest.get(before..)?;
        let len = if version == 4 {
            // A name is stored as the number of bytes to cut from the previous name, and the bytes to append.
            let (cut, after_cut) = read_varint(after)?;
            path.truncate(path.len().checked_sub(cut)?);
            let end = after_cut.iter().position(|byte| *byte == 0)?;
            path.extend_from_slice(&after_cut[..end]);
            before + (after.len() - after_cut.len()) + end + 1
        } else {
            let end = after.iter().position(|byte| *byte == 0)?;
            path.clear();
            path.extend_from_slice(&after[..end]);
            (before + end) / 8 * 8 + 8
        };
        if path == name.as_bytes() {
            return Some(compare(fixed, metadata));
        }
        rest = rest.get(len..)?;
    }
    Some(Tracked::No)
}

fn compare(fixed: &[u8], metadata: &Metadata) -> Tracked {
    let field = |at: usize| read_u32(&fixed[at..]).map_or(0, |(number, _)| number);
    let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let (seconds, nanoseconds) =
        modified.map_or((0, 0), |time| (time.as_secs() as u32, time.subsec_nanos()));
    let is_same_size = field(36) == metadata.len() as u32;
    // Not every git stores nanoseconds.
    let is_same_time = field(8) == seconds && (field(12) == 0 || field(12) == nanoseconds);
    if is_same_size && is_same_time { Tracked::Same } else { Tracked::Changed }
}

fn read_u32(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((u32::from_be_bytes(*number), rest))
}

/// Reads an integer of variable length; the highest bit marks all bytes but the last.
fn read_varint(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut value: usize = 0;
    for (at, byte) in bytes.iter().enumerate().take(5) {
        value = (value << 7) | usize::from(byte & 0x7F);
        if byte & 0x80 == 0 {
            return Some((value, &bytes[at + 1..]));
        }
        value += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_truncated_index_is_not_read() {
        let found = std::fs::metadata(".").expect("it is there");
        let mut index = b"DIRC\0\0\0\x02\0\0\0\x01".to_vec();
        index.extend([0; FIXED_LEN]);
        index.extend(b"Content/A.uasset\0\0");
        for len in 0..index.len() {
            let read = tracked(&index[..len], "Content/A.uasset", &found);
            // Everything except the padding is needed.
            assert_eq!(read.is_some(), len > index.len() - 2, "{len}");
        }
        assert_eq!(tracked(&index, "Content/B.uasset", &found), Some(Tracked::No));
        let cut = &index[..index.len() - 1];
        assert_eq!(tracked(cut, "Content/B.uasset", &found), None, "more may follow");
        index[7] = 5;
        assert_eq!(tracked(&index, "Content/A.uasset", &found), None, "it is too new");
    }

    #[test]
    fn numbers_of_several_bytes() {
        for (bytes, value) in [(&[0x05][..], 5), (&[0x80, 0x00], 128), (&[0x81, 0x01], 257)] {
            assert_eq!(read_varint(bytes), Some((value, &[][..])), "{bytes:?}");
        }
        assert_eq!((read_varint(&[0xFF; 9]), read_varint(&[0x80])), (None, None));
    }
}
