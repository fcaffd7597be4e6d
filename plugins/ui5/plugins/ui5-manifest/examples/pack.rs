//! Packs the manifest schemas and the documents they refer to; called by `plugins/ui5/resources/make-manifest-schemas.sh`.
//!
//! `cargo run -p ui5-manifest --example pack -- SOURCES PACK`, where `SOURCES` is a directory of
//! JSON files. The file names become the documents' names. The output is deterministic.

use serde_json::{Map, Value};
use std::{
    collections::HashMap,
    env,
    error::Error,
    fs,
    path::{Path, PathBuf},
};
use ui5_manifest::{
    pack::{MAGIC, Pack},
    schema::{without_annotations, without_formats},
};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args_os().skip(1).map(PathBuf::from);
    let (Some(sources), Some(target)) = (arguments.next(), arguments.next()) else {
        return Err("usage: pack SOURCES PACK".into());
    };
    let documents = read_all(&sources)?;
    let mut packer = Packer::default();
    for (name, document) in &documents {
        packer.add(name, document);
    }
    let bytes = packer.finish();
    let pack = Pack::open(&bytes);
    for (name, document) in &documents {
        assert_eq!(pack.document(name).as_ref(), Some(document), "{name} comes out as it went in");
    }
    fs::write(&target, &bytes)?;
    println!("{}: {} documents, {} bytes", target.display(), documents.len(), bytes.len());
    Ok(())
}

fn read_all(sources: &Path) -> Result<Vec<(String, Value)>, Box<dyn Error>> {
    let mut documents = Vec::new();
    for entry in fs::read_dir(sources)? {
        let path = entry?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".json"))
        else {
            continue;
        };
        let text = fs::read_to_string(&path)?;
        let document = ajv_report::parse(text.trim_start_matches('\u{feff}'))?;
        let document = match name {
            "mapping" | "mapping-2" => document,
            "draft-07" => without_formats(document),
            _ => without_annotations(document),
        };
        documents.push((name.to_owned(), document));
    }
    // Versions in order, so that neighbours are similar; then the rest by name.
    documents.sort_by_key(|(name, _)| {
        let parts: Vec<u32> = name.split('.').filter_map(|part| part.parse().ok()).collect();
        (parts.is_empty(), parts, name.clone())
    });
    Ok(documents)
}

/// Writes the format that [`Pack`] reads.
#[derive(Default)]
struct Packer {
    strings: Numbered<String>,
    shapes: Numbered<Vec<usize>>,
    values: Numbered<Packed>,
    documents: Vec<(usize, usize)>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Packed {
    Object(usize, Vec<usize>),
    Array(Vec<usize>),
    String(usize),
    Other(usize),
}

impl Packer {
    fn add(&mut self, name: &str, document: &Value) {
        let name = self.strings.number(name.to_owned());
        let value = self.value(document);
        self.documents.push((name, value));
    }

    fn value(&mut self, value: &Value) -> usize {
        let packed = match value {
            Value::Object(members) => self.object(members),
            Value::Array(items) => {
                Packed::Array(items.iter().map(|item| self.value(item)).collect())
            }
            Value::String(text) => Packed::String(self.strings.number(text.clone())),
            Value::Null | Value::Bool(_) | Value::Number(_) => {
                Packed::Other(self.strings.number(value.to_string()))
            }
        };
        self.values.number(packed)
    }

    fn object(&mut self, members: &Map<String, Value>) -> Packed {
        let values = members.values().map(|member| self.value(member)).collect();
        let names = members.keys().map(|name| self.strings.number(name.clone())).collect();
        Packed::Object(self.shapes.number(names), values)
    }

    fn finish(self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        write(&mut bytes, self.strings.list.len());
        for text in &self.strings.list {
            write(&mut bytes, text.len());
            bytes.extend_from_slice(text.as_bytes());
        }
        write(&mut bytes, self.shapes.list.len());
        for names in &self.shapes.list {
            write(&mut bytes, names.len());
            names.iter().for_each(|name| write(&mut bytes, *name));
        }
        write(&mut bytes, self.values.list.len());
        for (index, value) in self.values.list.iter().enumerate() {
            let (number, kind, parts) = match value {
                Packed::Object(shape, members) => (*shape, 0, members.as_slice()),
                Packed::Array(items) => (items.len(), 1, items.as_slice()),
                Packed::String(text) => (*text, 2, &[][..]),
                Packed::Other(text) => (*text, 3, &[][..]),
            };
            write(&mut bytes, number * 4 + kind);
            parts.iter().for_each(|part| write(&mut bytes, index - part));
        }
        write(&mut bytes, self.documents.len());
        for (name, value) in self.documents {
            write(&mut bytes, name);
            write(&mut bytes, value);
        }
        bytes
    }
}

/// Items numbered in order of first insertion.
struct Numbered<T> {
    list: Vec<T>,
    numbers: HashMap<T, usize>,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Self { list: Vec::new(), numbers: HashMap::new() }
    }
}

impl<T: Clone + Eq + std::hash::Hash> Numbered<T> {
    fn number(&mut self, item: T) -> usize {
        if let Some(number) = self.numbers.get(&item) {
            return *number;
        }
        let number = self.list.len();
        self.list.push(item.clone());
        self.numbers.insert(item, number);
        number
    }
}

fn write(bytes: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}
