//! Tests that the scan and `serde_json` agree about the contents of any text.

use std::fmt;

use portcullis_json_bounds::{Excess, MAX_DEPTH, MAX_UNITS, Outline, Scan, most_units, scan};
use proptest::prelude::*;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Value, json};

/// The units and the depth that `serde_json` meets while it reads a text. Repeated members count each time.
#[derive(Debug, Default, PartialEq)]
struct Met {
    units: u64,
    depth: u32,
}

impl<'de> Deserialize<'de> for Met {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Meeting)
    }
}

struct Meeting;

const SCALAR: Met = Met { units: 1, depth: 0 };

impl Met {
    fn add(&mut self, keys: u64, value: &Met) {
        self.units += keys + value.units + if self.units == 1 { 4 } else { 0 };
        self.depth = self.depth.max(value.depth + 1);
    }
}

impl<'de> Visitor<'de> for Meeting {
    type Value = Met;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Met, E> {
        Ok(SCALAR)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Met, E> {
        Ok(SCALAR)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Met, E> {
        Ok(SCALAR)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Met, E> {
        Ok(SCALAR)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Met, E> {
        Ok(SCALAR)
    }

    fn visit_str<E>(self, _: &str) -> Result<Met, E> {
        Ok(SCALAR)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Met, A::Error> {
        let mut met = Met { units: 1, depth: 1 };
        while let Some(value) = seq.next_element::<Met>()? {
            met.add(0, &value);
        }
        Ok(met)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Met, A::Error> {
        let mut met = Met { units: 1, depth: 1 };
        while map.next_key::<IgnoredAny>()?.is_some() {
            met.add(1, &map.next_value::<Met>()?);
        }
        Ok(met)
    }
}

/// Compares the scan of a text with the value that `serde_json` reads, if the text is JSON.
fn compare(text: &[u8]) -> Result<(), TestCaseError> {
    let outline = scan(text);
    let Ok(value) = serde_json::from_slice::<Value>(text) else { return Ok(()) };
    let met: Met = serde_json::from_slice(text).expect("the text was read before");
    prop_assert_eq!(outline.depth(), met.depth);
    prop_assert_eq!(outline.units(), met.units);
    prop_assert!(outline.is_complete());
    prop_assert!(outline.check().is_ok() || met.units > most_units(text.len() as u64));
    let id = value.get("id");
    prop_assert_eq!(outline.has_id(), id.is_some());
    let short =
        |id: &&Value| id.is_string() && id.to_string().len() < 40 || id.is_i64() || id.is_u64();
    let found = outline.id().map(|id| serde_json::from_str::<Value>(&id).expect("an id is JSON"));
    // A negative zero is an integer as it is written, and a float as it is read.
    let found = found.filter(|found| !found.is_f64());
    if id.is_none_or(|id| short(&id) || !id.is_string()) {
        prop_assert_eq!(found.as_ref(), id.filter(short));
    }
    prop_assert_eq!(outline.has_method(), value.get("method").is_some());
    prop_assert_eq!(outline.has_result(), value.get("result").is_some());
    prop_assert_eq!(outline.has_error(), value.get("error").is_some());
    let method = value.get("method").and_then(Value::as_str);
    prop_assert_eq!(outline.has_named_method(), method.is_some());
    prop_assert_eq!(outline.is_method("initialize"), method == Some("initialize"));
    Ok(())
}

fn told(outline: &Outline) -> impl PartialEq + fmt::Debug + use<> {
    (
        (outline.bytes(), outline.units(), outline.depth(), outline.is_complete()),
        (outline.id(), outline.has_id(), outline.has_method(), outline.is_method("initialize")),
        (outline.has_result(), outline.has_error(), outline.has_named_method()),
    )
}

fn any_json() -> impl Strategy<Value = Value> {
    let key = prop_oneof![
        Just("id".to_owned()),
        Just("method".to_owned()),
        Just("result".to_owned()),
        Just("error".to_owned()),
        any::<String>(),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        Just(json!("initialize")),
    ];
    leaf.prop_recursive(6, 60, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..8)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// A change of a text at one place. Most changes make JSON invalid, and some do not.
#[derive(Debug, Clone)]
struct Change {
    at: prop::sample::Index,
    removed: usize,
    put: Vec<u8>,
}

fn change() -> impl Strategy<Value = Change> {
    let pieces = [
        "",
        " ",
        "\n",
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        "\"",
        "\\",
        "\\\"",
        "\\u0069",
        "\\ud800",
        "0",
        "-0",
        "1.5",
        "null",
        "\"id\"",
        "\"id\":7,",
        "\"id\":{},",
        "\"i\\u0064\":\"x\",",
        "[]",
        "{}",
        "\"method\":\"initialize\",",
        "\"method\":\"initi\\u0061lize\",",
        "\"result\":0,",
        "\u{e9}",
    ];
    let put = prop_oneof![
        4 => prop::sample::select(pieces.to_vec()).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => any::<u8>().prop_map(|byte| vec![byte]),
    ];
    (any::<prop::sample::Index>(), 0..3_usize, put).prop_map(|(at, removed, put)| Change {
        at,
        removed,
        put,
    })
}

fn changed(mut text: Vec<u8>, changes: &[Change]) -> Vec<u8> {
    for change in changes {
        let at = change.at.index(text.len() + 1);
        let end = (at + change.removed).min(text.len());
        text.splice(at..end, change.put.iter().copied());
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_scan_agrees_with_serde_about_any_value(value in any_json(), pretty in any::<bool>()) {
        let text = if pretty { serde_json::to_vec_pretty(&value) } else { serde_json::to_vec(&value) };
        compare(&text.unwrap())?;
    }

    #[test]
    fn the_scan_agrees_with_serde_about_any_text_that_serde_reads(
        value in any_json(),
        changes in prop::collection::vec(change(), 1..4),
    ) {
        compare(&changed(serde_json::to_vec(&value).unwrap(), &changes))?;
    }

    #[test]
    fn pieces_of_any_size_are_read_like_the_whole(
        value in any_json(),
        changes in prop::collection::vec(change(), 0..3),
        sizes in prop::collection::vec(1..9_usize, 1..6),
    ) {
        let text = changed(serde_json::to_vec(&value).unwrap(), &changes);
        let mut pieces = Scan::default();
        let mut rest = &text[..];
        for size in sizes.iter().cycle() {
            let (piece, after) = rest.split_at((*size).min(rest.len()));
            pieces.feed(piece);
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(told(&pieces.finish()), told(&scan(&text)));
    }

    #[test]
    fn any_bytes_are_read_to_their_end(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert_eq!(scan(&bytes).bytes(), bytes.len() as u64);
        compare(&bytes)?;
    }
}

fn id(text: &str) -> Option<String> {
    scan(text.as_bytes()).id()
}

#[test]
fn the_last_id_of_the_outermost_object_counts() {
    for (text, expected) in [
        (r#"{"jsonrpc":"2.0","id":12,"result":"#, Some("12")),
        (r#"{"params":{"id":1,"a":["id",{"id":2}],"t":"\"id\":3,{"},"id" : 45 }"#, Some("45")),
        (r#"{"id":1,"id":2}"#, Some("2")),
        (r#"{"id":1,"id":{}}"#, None),
        (r#"{"id":{"id":3}}"#, None),
        (r#"{"\u0069d":"a\"b"}"#, Some(r#""a\"b""#)),
        (r#"{"id":"7","s":"\ud800"}"#, Some("\"7\"")),
        (r#"{"id":-7}"#, Some("-7")),
        (r#"{"id":7.5}"#, None),
        (r#"{"id":null}"#, None),
        // A number that is cut off could be another number.
        (r#"{"id":12"#, None),
        (r#"{"id":"cut"#, None),
        (r#"{"text":"id","other":5}"#, None),
        (r#"[{"id":1}]"#, None),
        (r#"{"id":1}{"id":2}"#, Some("1")),
        ("\"id\":4,", None),
    ] {
        assert_eq!(id(text).as_deref(), expected, "{text}");
    }
    let longest = "x".repeat(256);
    assert_eq!(id(&format!(r#"{{"id":"{longest}"}}"#)), Some(format!("\"{longest}\"")));
    assert_eq!(id(&format!(r#"{{"id":"{longest}x"}}"#)), None);
}

#[test]
fn an_answer_is_told_from_a_request() {
    let is_answer = |text: &str| scan(text.as_bytes()).is_answer();
    assert!(is_answer(r#"{"id":1,"result":{}}"#) && is_answer(r#"{"id":1,"error":{"#));
    assert!(!is_answer(r#"{"id":1,"method":"x","result":{}}"#) && !is_answer("{}"));
}

#[test]
fn a_message_that_is_nested_too_deep_or_has_too_many_values_exceeds_the_limits() {
    let deep = |depth: u32| "[".repeat(depth as usize) + &"]".repeat(depth as usize);
    assert!(scan(deep(MAX_DEPTH).as_bytes()).check().is_ok());
    assert!(serde_json::from_str::<Value>(&deep(MAX_DEPTH)).is_ok());
    assert_eq!(scan(deep(MAX_DEPTH + 1).as_bytes()).check(), Err(Excess::Depth));
    assert!(serde_json::from_str::<Value>(&deep(MAX_DEPTH + 1)).is_err());
    let numbers = |count: u64| format!("[{}0]", "0,".repeat(usize::try_from(count).unwrap() - 1));
    // The array is one unit, and its first member adds four more.
    assert!(scan(numbers(MAX_UNITS - 5).as_bytes()).check().is_ok());
    let excess = scan(numbers(MAX_UNITS - 4).as_bytes()).check().unwrap_err();
    assert_eq!(excess, Excess::Units { units: MAX_UNITS + 1, most: MAX_UNITS });
    // A text is one value, however long it is.
    assert_eq!(scan(format!("\"{}\"", "x,[".repeat(1_000_000)).as_bytes()).units(), 1);
    // A message of 16 MiB may have more units.
    assert_eq!(most_units(16 * 1024 * 1024), 2 * MAX_UNITS);
    // Bytes after an error do not lower the count.
    let cheating = format!("[{}{}", "\"\",".repeat(200_000), ":".repeat(400_000));
    assert!(scan(cheating.as_bytes()).units() >= 200_000);
}

/// The sizes that [`most_units`] assumes are still right.
#[test]
fn a_value_has_the_size_that_the_bounds_are_made_for() {
    assert!(size_of::<Value>() <= 72, "{}", size_of::<Value>());
    assert!(size_of::<(String, Value)>() + 8 <= 104);
}
