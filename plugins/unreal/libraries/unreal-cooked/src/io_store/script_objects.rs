//! Reads the script objects of a packaged game: native classes and their objects. Packages refer to
//! script objects by a hash. The script objects are in `global.utoc`.

use crate::{Fault, names};
use std::{borrow::Cow, collections::HashMap};
use unreal_package::Cursor;

/// Maximum depth of nested script objects.
const MAX_NESTING: usize = 16;
/// Mask of the index in a reference to a name; the two highest bits tell the name table.
pub const NAME_INDEX: u32 = (1 << 30) - 1;

/// The script objects of a game, by their hash.
#[derive(Clone, Debug, Default)]
pub struct ScriptObjects<'a> {
    names: Vec<Cow<'a, str>>,
    /// Index of the name, its appended number plus 1 (0 if none is appended), and the outer's hash.
    objects: HashMap<u64, (u32, u32, u64)>,
}

impl<'a> ScriptObjects<'a> {
    /// Reads the chunk of the script objects of Unreal Engine 5.
    ///
    /// # Errors
    ///
    /// When the data are damaged.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Fault> {
        let mut cursor = Cursor::new(bytes, bytes.len() as u64);
        let names = names::batch(&mut cursor)?;
        Self::read_objects(cursor, names)
    }

    /// Reads the chunks of 4.26 and 4.27: the script objects and the global names.
    ///
    /// # Errors
    ///
    /// When the data are damaged.
    pub fn read_ue4(bytes: &'a [u8], names: &'a [u8]) -> Result<Self, Fault> {
        let cursor = Cursor::new(bytes, bytes.len() as u64);
        Self::read_objects(cursor, names::sequence(names)?)
    }

    fn read_objects(mut cursor: Cursor<'_>, names: Vec<Cow<'a, str>>) -> Result<Self, Fault> {
        let what = "script objects";
        let count = cursor.count(what, 32)?;
        let mut objects = HashMap::with_capacity(count);
        for _ in 0..count {
            let (name, number) = (cursor.u32(what)? & NAME_INDEX, cursor.u32(what)?);
            let (hash, outer) = (cursor.u64(what)?, cursor.u64(what)?);
            cursor.skip(what, 8)?;
            objects.insert(hash, (name, number, outer));
        }
        Ok(Self { names, objects })
    }

    /// Number of objects.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether there are no objects.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// The text of a global name. `None` if there is no such index.
    pub fn name(&self, index: u32) -> Option<&str> {
        self.names.get(index as usize).map(AsRef::as_ref)
    }

    /// The path of an object, such as `/Script/Engine.StaticMesh`. `None` if the object is unknown.
    pub fn path(&self, hash: u64) -> Option<String> {
        let mut chain = Vec::new();
        let mut at = hash;
        while let Some((name, number, outer)) = self.objects.get(&at) {
            chain.push(names::numbered(self.name(*name)?, *number));
            if chain.len() > MAX_NESTING {
                return None;
            }
            at = *outer;
        }
        let mut path = chain.pop()?.into_owned();
        for (depth, name) in chain.iter().rev().enumerate() {
            path.push(if depth == 1 { ':' } else { '.' });
            path.push_str(name);
        }
        Some(path)
    }
}
