//! Shortens a JSON value to a maximum size. The structure stays as far as possible: lists get fewer items, objects
//! fewer keys, and texts get shorter. Notes in the value say how much is missing.

use serde_json::{Map, Value};

/// Maximum numbers of items in the outermost list and of characters in a text, tried in this order until the value
/// fits.
const STEPS: &[(usize, usize)] =
    &[(400, 8000), (150, 3000), (60, 1000), (25, 400), (10, 200), (5, 100), (3, 60), (1, 40)];

/// The value in at most `most` bytes of JSON, and whether something is missing. A value that does not fit
/// even with the last step becomes a text with its kind and size.
pub fn cut(value: Value, most: usize) -> (Value, bool) {
    if size(&value) <= most {
        return (value, false);
    }
    for (items, characters) in STEPS {
        let shorter = shortened(&value, *items, *characters, 0);
        if size(&shorter) <= most {
            return (shorter, true);
        }
    }
    let (kind, bytes) = (kind(&value), size(&value));
    (format!("{kind} of {bytes} bytes, too large to be shown").into(), true)
}

fn size(value: &Value) -> usize {
    serde_json::to_string(value).map_or(usize::MAX, |text| text.len())
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
        Value::String(_) => "a text",
        Value::Null | Value::Bool(_) | Value::Number(_) => "a value",
    }
}

fn shortened(value: &Value, items: usize, characters: usize, depth: usize) -> Value {
    // The deeper a value, the fewer items it keeps.
    let items = (items >> depth.min(8)).max(1);
    match value {
        Value::String(text) => match text.char_indices().nth(characters) {
            Some((end, _)) => {
                let more = text[end..].chars().count();
                format!("{}… ({more} more characters)", &text[..end]).into()
            }
            None => value.clone(),
        },
        Value::Array(all) => {
            let kept = all.iter().take(items);
            let mut kept: Vec<_> =
                kept.map(|one| shortened(one, items, characters, depth + 1)).collect();
            if let Some(more @ 1..) = all.len().checked_sub(items) {
                kept.push(format!("… {more} more items of {}", all.len()).into());
            }
            kept.into()
        }
        Value::Object(all) => {
            let keys = items.max(8);
            let one = |(key, value): (&String, &Value)| {
                (key.clone(), shortened(value, items, characters, depth + 1))
            };
            let mut kept: Map<_, _> = all.iter().take(keys).map(one).collect();
            if let Some(more @ 1..) = all.len().checked_sub(keys) {
                kept.insert("…".into(), format!("{more} more keys of {}", all.len()).into());
            }
            kept.into()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_value_that_fits_is_not_changed() {
        let value = json!({ "a": [1, 2, "x"] });
        assert_eq!(cut(value.clone(), 100), (value, false));
    }

    #[test]
    fn a_value_that_is_too_large_keeps_its_structure_and_notes_what_is_missing() {
        let rows: Vec<_> = (0..5000).map(|id| json!({ "id": id, "name": "a name" })).collect();
        let (shorter, is_cut) = cut(json!({ "rows": rows, "total": 5000 }), 2000);
        assert!(is_cut && size(&shorter) <= 2000);
        assert_eq!(shorter["rows"][0], json!({ "id": 0, "name": "a name" }));
        assert_eq!(shorter["total"], 5000);
        let last = shorter["rows"].as_array().unwrap().last().unwrap().as_str().unwrap().to_owned();
        assert!(last.ends_with("more items of 5000"), "{last}");
        let (text, is_cut) = cut("é".repeat(50_000).into(), 2000);
        assert!(is_cut && text.as_str().unwrap().ends_with("more characters)"));
    }

    #[test]
    fn deep_and_wide_values_are_cut_to_the_size() {
        let mut deep = json!(1);
        for _ in 0..60 {
            deep = json!({ "a": [deep, "x".repeat(500)], "b": "y".repeat(500) });
        }
        let wide: Map<_, _> =
            (0..9000).map(|n| (format!("key {n}"), json!("z".repeat(90)))).collect();
        for value in [deep, wide.into()] {
            let (shorter, is_cut) = cut(value, 1500);
            assert!(is_cut && size(&shorter) <= 1500, "{shorter}");
        }
    }
}
