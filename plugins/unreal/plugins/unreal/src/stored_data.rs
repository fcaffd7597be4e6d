//! Stores data of a project in the cache between calls: the index, the contents of Blueprints, and
//! the C++ classes.

use portcullis_plugin::cache;
use std::path::Path;
use unreal_project::{Contents, CppClasses, Index};

/// Maximum size of one piece of data, in bytes. By default, a plugin may pass at most 32 MiB to the
/// host in one call (the limit `import-bytes`).
const PIECE_BYTES: usize = 16 << 20;
/// Maximum number of pieces that are read.
const MAX_PIECES: u64 = 16;
/// Maximum size of all pieces of one kind of data, in bytes.
const MAX_BYTES: u64 = MAX_PIECES * PIECE_BYTES as u64;

/// The metadata of stored data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Head {
    /// Identifies this version of the data; each piece begins with this number.
    generation: u64,
    /// Time of the last check of the project's folders, in nanoseconds since 1970; 0 for other data than the index.
    checked_at: u64,
    pieces: u64,
    len: u64,
}

impl Head {
    fn to_bytes(self) -> Vec<u8> {
        let Self { generation, checked_at, pieces, len } = self;
        [generation, checked_at, pieces, len].iter().flat_map(|part| part.to_le_bytes()).collect()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (parts, []) = bytes.as_chunks::<8>() else { return None };
        let [generation, checked_at, pieces, len] = parts else { return None };
        let [generation, checked_at, pieces, len] =
            [generation, checked_at, pieces, len].map(|part| u64::from_le_bytes(*part));
        Some(Self { generation, checked_at, pieces, len })
    }
}

/// The place of stored data in the cache.
struct Place<'p> {
    /// The kind of data: `index`, `contents` or `cpp`.
    kind: &'static str,
    /// The project's folder.
    folder: &'p Path,
}

impl Place<'_> {
    fn head_key(&self) -> String {
        format!("{} of {}", self.kind, self.folder.display())
    }

    /// The cache key of a piece. Even and odd generations have different keys, so that a reader of the previous
    /// generation can finish. A new generation overwrites the generation two before it, so that the cache does not
    /// fill.
    fn piece_key(&self, generation: u64, piece: u64) -> String {
        format!("{} of {}, {}, {piece}", self.kind, self.folder.display(), generation % 2)
    }

    fn head(&self) -> Option<Head> {
        Head::from_bytes(&cache::get(&self.head_key())?)
    }

    /// The stored bytes. `None` if a piece is missing or has another generation, or if the length is wrong.
    fn load(&self, head: Head) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        // Reserve at once: growing step by step would take twice the memory.
        bytes.reserve_exact(usize::try_from(head.len).ok().filter(|len| *len as u64 <= MAX_BYTES)?);
        for number in 0..head.pieces.min(MAX_PIECES) {
            let piece = cache::get(&self.piece_key(head.generation, number))?;
            let (generation, part) = piece.split_first_chunk()?;
            if u64::from_le_bytes(*generation) != head.generation {
                return None;
            }
            bytes.extend_from_slice(part);
        }
        (bytes.len() as u64 == head.len).then_some(bytes)
    }

    fn save(&self, bytes: &[u8], checked_at: u64) {
        let generation = self.head().map_or(0, |head| head.generation).wrapping_add(1);
        let mut pieces = 0;
        for part in bytes.chunks(PIECE_BYTES) {
            let mut piece = Vec::with_capacity(part.len() + 8);
            piece.extend(generation.to_le_bytes());
            piece.extend(part);
            cache::set(&self.piece_key(generation, pieces), piece, None);
            pieces += 1;
        }
        // The head is written last, so that a reader finds all pieces.
        let head = Head { generation, checked_at, pieces, len: bytes.len() as u64 };
        cache::set(&self.head_key(), head.to_bytes(), None);
    }
}

/// The index of the project in that folder, and the time of its last check, in nanoseconds since
/// 1970.
pub fn load_index(dir: &Path) -> Option<(Index, u64)> {
    let place = Place { kind: "index", folder: dir };
    let head = place.head()?;
    Some((Index::from_bytes(&place.load(head)?)?, head.checked_at))
}

/// Stores an index and the time of its check; an unchanged index is not written again.
pub fn save_index(dir: &Path, index: &Index, changed: bool, checked_at: u64) {
    let place = Place { kind: "index", folder: dir };
    if changed {
        place.save(&index.to_bytes(), checked_at);
    } else if let Some(head) = place.head() {
        cache::set(&place.head_key(), Head { checked_at, ..head }.to_bytes(), None);
    }
}

/// The contents of the Blueprints of the project in that folder, as of the last search.
pub fn load_contents(dir: &Path) -> Option<Contents> {
    let place = Place { kind: "contents", folder: dir };
    Contents::from_bytes(&place.load(place.head()?)?)
}

/// Stores the contents of a project's Blueprints.
pub fn save_contents(dir: &Path, contents: &Contents) {
    Place { kind: "contents", folder: dir }.save(&contents.to_bytes(), 0);
}

/// The C++ classes of the project in that folder, as of the last call.
pub fn load_cpp(dir: &Path) -> Option<CppClasses> {
    let place = Place { kind: "cpp", folder: dir };
    CppClasses::from_bytes(&place.load(place.head()?)?)
}

/// Stores the C++ classes of a project.
pub fn save_cpp(dir: &Path, classes: &CppClasses) {
    Place { kind: "cpp", folder: dir }.save(&classes.to_bytes(), 0);
}
