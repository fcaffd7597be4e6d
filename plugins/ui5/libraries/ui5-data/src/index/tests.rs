//! Tests that an index returns the entries that were put in, and that a look-up reads only a small part of
//! it.

use super::*;
use std::io::Cursor;

fn draft() -> Draft {
    let stamp = Some(Stamp { size: 7, time: 8 });
    let entry = |name: &str, start| Entry { name: name.into(), file: 0, start, length: 5 };
    Draft {
        files: vec![
            File { name: "a.api.json".into(), library: "a".into(), stamp },
            File { name: "b.api.json".into(), library: "b".into(), stamp: None },
        ],
        symbols: vec![entry("a.X", 10), entry("a.Y", 20)],
        keys: vec![("a.y".into(), 1), ("a.x".into(), 0)],
        modules: vec![((0, "a/library".into()), vec![0, 1]), ((0, "a/b".into()), vec![1])],
    }
}

fn bytes() -> Vec<u8> {
    draft().finish(Stamp { size: 1, time: 2 }).expect("it is small")
}

#[test]
fn entries_are_read_as_written() {
    let mut index = Index::open(Cursor::new(bytes())).expect("it is one");
    assert_eq!(index.stamp, Stamp { size: 1, time: 2 });
    assert_eq!(index.find("a.y").expect("it is whole"), Some(1));
    assert_eq!(index.find("a.z").expect("it is whole"), None);
    assert_eq!(index.module(0, "a/library").expect("it is whole"), [0, 1]);
    assert_eq!(index.module(1, "a/library").expect("it is whole"), [0; 0]);
    assert_eq!(index.entry(1).expect("it is whole"), draft().symbols[1]);
    let [x, y] = draft().symbols.try_into().expect("they are two");
    assert_eq!(index.entries(&[1, 0, 1]).expect("it is whole"), [y.clone(), x, y]);
    assert_eq!(index.entries(&[]).expect("it is whole"), []);
    assert_eq!(index.file(1).expect("it is whole"), draft().files[1]);
    let mut keys = index.keys().expect("it is whole");
    keys.sort();
    assert_eq!(keys, ["a.x", "a.y"]);
    assert!(index.entry(2).is_err() && index.entries(&[0, u32::MAX]).is_err());
}

/// Counts the bytes read.
struct Counted<'c>(Cursor<Vec<u8>>, &'c std::cell::Cell<usize>);

impl Read for Counted<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = self.0.read(into)?;
        self.1.set(self.1.get() + length);
        Ok(length)
    }
}

impl Seek for Counted<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
    }
}

#[test]
fn a_look_up_reads_a_small_part_of_the_index() {
    let mut draft = draft();
    draft.keys =
        (0..20_000).map(|number| (format!("sap.ui.core.Type{number:05}"), number)).collect();
    let bytes = draft.finish(Stamp { size: 1, time: 2 }).expect("it is small");
    assert!(bytes.len() > 500_000);
    let read = std::cell::Cell::new(0);
    let mut index = Index::open(Counted(Cursor::new(bytes), &read)).expect("it is one");
    for number in 0..20_000 {
        let before = read.get();
        let found = index.find(&format!("sap.ui.core.Type{number:05}"));
        assert_eq!(found.expect("it is whole"), Some(number));
        assert!(read.get() - before < 8_000, "{} bytes", read.get() - before);
        assert_eq!(index.find(&format!("sap.m.Type{number:05}")).expect("it is whole"), None);
    }
}

#[test]
fn damaged_indexes_do_not_panic() {
    let whole = bytes();
    assert!(Index::open(Cursor::new(&whole[..whole.len() - 1])).is_err());
    assert!(Index::open(Cursor::new(&[])).is_err());
    for at in 0..whole.len() {
        for value in [0, 1, 0x7f, 0xff] {
            let mut changed = whole.clone();
            changed[at] = value;
            let Ok(mut index) = Index::open(Cursor::new(changed)) else { continue };
            let _ = (index.find("a.x"), index.module(0, "a/b"), index.keys());
            for number in 0..3 {
                let _ = (index.entry(number), index.file(number));
            }
        }
    }
}
