//! A compact file format for many JSON documents with common parts.
//!
//! Every distinct value is stored once and refers to the values inside it. So a document is built without
//! decompression, by reading only its own values. All numbers are LEB128:
//!
//! ```text
//! MAGIC
//! strings    count, then each: length in bytes, UTF-8
//! shapes     count, then each: number of members, their names (strings)
//! values     count, then each: 4 * number + kind, and what belongs to the kind
//!              0 object: number of its shape; for each member, the distance back to its value
//!              1 array: its length; for each item, the distance back to its value
//!              2 string: number of the string
//!              3 any other: number of the string with its JSON
//! documents  count, then each: its name (string), number of its value
//! ```

use serde_json::{Map, Value};

/// The first bytes of a pack.
pub const MAGIC: &[u8] = b"portcullis pack 1\n";

/// An opened pack.
pub struct Pack<'p> {
    bytes: &'p [u8],
    strings: Vec<&'p str>,
    shapes: Vec<Vec<usize>>,
    /// The offset of each value.
    values: Vec<usize>,
    documents: Vec<(&'p str, usize)>,
}

impl<'p> Pack<'p> {
    /// Opens a pack.
    ///
    /// # Panics
    ///
    /// When the bytes are not a pack: packs are built together with the program.
    pub fn open(bytes: &'p [u8]) -> Self {
        assert!(bytes.starts_with(MAGIC), "this is a pack");
        let mut reader = Reader { bytes, at: MAGIC.len() };
        let strings: Vec<&str> = reader.read_list(Reader::read_string);
        let shapes = reader.read_list(|reader| reader.read_list(Reader::read_number));
        let mut sizes = Vec::with_capacity(shapes.len());
        sizes.extend(shapes.iter().map(Vec::len));
        let values = reader.read_list(|reader| {
            let start = reader.at;
            let (number, kind) = reader.read_head();
            let references = match kind {
                Kind::Object => sizes[number],
                Kind::Array => number,
                Kind::String | Kind::Other => 0,
            };
            for _ in 0..references {
                reader.read_number();
            }
            start
        });
        let documents =
            reader.read_list(|reader| (strings[reader.read_number()], reader.read_number()));
        Self { bytes, strings, shapes, values, documents }
    }

    /// The names of the documents, in the order of the pack.
    pub fn names(&self) -> impl Iterator<Item = &'p str> + '_ {
        self.documents.iter().map(|(name, _)| *name)
    }

    /// The document with that name.
    pub fn document(&self, name: &str) -> Option<Value> {
        let (_, value) = self.documents.iter().find(|(known, _)| *known == name)?;
        Some(self.value(*value))
    }

    fn value(&self, index: usize) -> Value {
        let mut reader = Reader { bytes: self.bytes, at: self.values[index] };
        let (number, kind) = reader.read_head();
        match kind {
            Kind::Object => {
                let names = &self.shapes[number];
                let mut members = Map::with_capacity(names.len());
                for name in names {
                    let member = self.value(index - reader.read_number());
                    members.insert(self.strings[*name].to_owned(), member);
                }
                Value::Object(members)
            }
            Kind::Array => (0..number).map(|_| self.value(index - reader.read_number())).collect(),
            Kind::String => Value::String(self.strings[number].to_owned()),
            Kind::Other => {
                serde_json::from_str(self.strings[number]).expect("a literal is packed as JSON")
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Object,
    Array,
    String,
    Other,
}

struct Reader<'p> {
    bytes: &'p [u8],
    at: usize,
}

impl<'p> Reader<'p> {
    fn read_number(&mut self) -> usize {
        let mut number = 0;
        let mut shift = 0;
        loop {
            let byte = self.bytes[self.at];
            self.at += 1;
            number |= usize::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return number;
            }
            shift += 7;
        }
    }

    fn read_head(&mut self) -> (usize, Kind) {
        let head = self.read_number();
        let kind = match head % 4 {
            0 => Kind::Object,
            1 => Kind::Array,
            2 => Kind::String,
            _ => Kind::Other,
        };
        (head / 4, kind)
    }

    fn read_string(&mut self) -> &'p str {
        let length = self.read_number();
        let text = &self.bytes[self.at..self.at + length];
        self.at += length;
        std::str::from_utf8(text).expect("strings are packed as UTF-8")
    }

    fn read_list<T>(&mut self, mut read: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let count = self.read_number();
        (0..count).map(|_| read(self)).collect()
    }
}
