//! Stores the index of a project in the cache, from one call to the next.

use portcullis_plugin::cache;
use std::path::Path;
use unreal_project::Index;

/// Size of one value in the cache, in bytes: the host's limit is 32 MiB.
const PIECE: usize = 16 << 20;

/// The metadata of a stored index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Head {
    /// Identifies the index: the time of the last check of its files.
    generation: u64,
    /// Time of the last check of the project's folders.
    checked: u64,
    pieces: u64,
    len: u64,
}

impl Head {
    fn to_bytes(self) -> Vec<u8> {
        let Self { generation, checked, pieces, len } = self;
        [generation, checked, pieces, len].iter().flat_map(|part| part.to_le_bytes()).collect()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (parts, []) = bytes.as_chunks::<8>() else { return None };
        let [generation, checked, pieces, len] = parts else { return None };
        let [generation, checked, pieces, len] =
            [generation, checked, pieces, len].map(|part| u64::from_le_bytes(*part));
        Some(Self { generation, checked, pieces, len })
    }
}

fn head_key(dir: &Path) -> String {
    format!("index of {}", dir.display())
}

fn piece_key(dir: &Path, generation: u64, piece: u64) -> String {
    format!("index of {}, {generation}, {piece}", dir.display())
}

/// The index of the project in that folder, and the time of its last check, in nanoseconds since
/// 1970.
pub fn load(dir: &Path) -> Option<(Index, u64)> {
    let head = Head::from_bytes(&cache::get(&head_key(dir))?)?;
    let mut bytes = Vec::new();
    for number in 0..head.pieces.min(1_000) {
        let piece = cache::get(&piece_key(dir, head.generation, number))?;
        if head.pieces == 1 {
            bytes = piece;
        } else {
            // Reserve at once: growing step by step would take twice the memory.
            bytes.reserve_exact(usize::try_from(head.len).ok()?.saturating_sub(bytes.len()));
            bytes.extend(piece);
        }
    }
    if bytes.len() as u64 != head.len {
        return None;
    }
    Some((Index::from_bytes(&bytes)?, head.checked))
}

/// Stores an index and the time of its check; an unchanged index is not written again.
pub fn save(dir: &Path, index: &Index, changed: bool, checked: u64) {
    let key = head_key(dir);
    if !changed {
        if let Some(head) = cache::get(&key).and_then(|bytes| Head::from_bytes(&bytes)) {
            cache::set(&key, Head { checked, ..head }.to_bytes(), None);
        }
        return;
    }
    let bytes = index.to_bytes();
    let generation = index.walked;
    let mut pieces = 0;
    for piece in bytes.chunks(PIECE) {
        cache::set(&piece_key(dir, generation, pieces), piece, None);
        pieces += 1;
    }
    // Written last, so that a reader finds all pieces.
    let head = Head { generation, checked, pieces, len: bytes.len() as u64 };
    cache::set(&key, head.to_bytes(), None);
}
