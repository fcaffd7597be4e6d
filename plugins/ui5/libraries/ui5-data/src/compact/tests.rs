//! Tests of references in the compact format, whole and damaged.

use super::*;
use serde_json::json;

fn written(number: u32, library: u32, module: &str, text: &str) -> Written {
    let name = format!("my.Symbol{number}");
    let Value::Object(content) = json!({ "name": name, "description": text }) else {
        unreachable!("it is written above")
    };
    let keys = vec![name.to_lowercase(), "my.shared".to_owned()];
    Written { name, library, module: Some(module.to_owned()), keys, content }
}

fn libraries() -> Vec<(String, String)> {
    vec![("my.a".to_owned(), "1.2.3".to_owned()), ("my.b".to_owned(), "1.2.0".to_owned())]
}

fn symbols() -> Vec<Written> {
    let module = |number: u32| if number.is_multiple_of(2) { "my/Even" } else { "my/Odd" };
    let text = |number: u32| format!("{number} ").repeat(2000);
    (0..60).map(|number| written(number, number / 30, module(number), &text(number))).collect()
}

fn bytes() -> Vec<u8> {
    make(("My", "1.2.3"), &libraries(), symbols(), 6).expect("it is small")
}

#[test]
fn every_symbol_is_found_again() {
    let mut compact = Compact::open(bytes()).expect("it is one");
    assert_eq!((compact.title(), compact.version()), ("My", "1.2.3"));
    assert_eq!(compact.libraries(), libraries());
    assert!(compact.blocks.count > 2, "it is tested across blocks");
    for expected in symbols() {
        let found = compact.find(&expected.keys[0]).expect("it is whole").expect("it is there");
        assert_eq!((found.content, found.file), (expected.content, expected.library));
        assert_eq!(found.library, libraries()[expected.library as usize].0);
        assert_eq!(compact.name(&expected.keys[0]), Some(expected.name));
    }
    assert_eq!(compact.find("my.symbol60"), Ok(None));
    assert_eq!(compact.name("my.shared").as_deref(), Some("my.Symbol0"), "the first counts");
    let keys = compact.keys().expect("it is whole");
    assert!(keys.len() == 61 && keys.is_sorted(), "{keys:?}");
}

#[test]
fn modules_are_those_of_one_library() {
    let compact = Compact::open(bytes()).expect("it is one");
    let even = compact.module(1, "my/even").expect("it is whole");
    assert_eq!(even, (30..60).filter(|number| number % 2 == 0).collect::<Vec<u32>>());
    assert_eq!(compact.module(0, "my/other"), Ok(Vec::new()));
    let lengths = compact.lengths(&[0, 59]).expect("they are there");
    assert!(lengths[0] > 4000 && lengths[1] > 6000, "{lengths:?}");
    assert_eq!(compact.lengths(&[60]).expect_err("it is not there"), broken());
}

#[test]
fn cut_references_are_errors_and_damage_causes_no_panic() {
    let whole = bytes();
    for length in [0, 5, 16, 20, 24, 60, whole.len() / 2] {
        let mut part = Compact::open(whole[..length].to_vec());
        let read = part.as_mut().map_err(|why| why.clone()).and_then(|it| it.find("my.symbol59"));
        assert_eq!(read.expect_err("it is cut"), broken(), "{length}");
    }
    for at in (0..300).chain((300..whole.len()).step_by(7)) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x55;
        if let Ok(mut compact) = Compact::open(damaged) {
            for key in compact.keys().into_iter().flatten() {
                let _ = compact.find(&key);
            }
        }
    }
}
