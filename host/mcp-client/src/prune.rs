//! Removes values that are nested too deep to be parsed, so that the rest of a list can be used.

/// The depth beyond which arrays and objects are left out. The parser accepts 127.
const DEPTH: usize = 120;

/// The JSON with `null` in place of each array and object that is nested deeper than [`DEPTH`]. JSON that is invalid
/// outside of these arrays and objects stays invalid.
pub(crate) fn pruned(json: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(json.len().min(1024 * 1024));
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    for &byte in json {
        let outside = depth <= DEPTH;
        if in_text {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_text = false,
                _ => {}
            }
        } else {
            match byte {
                b'"' => in_text = true,
                b'{' | b'[' => {
                    depth += 1;
                    if depth == DEPTH + 1 {
                        kept.extend_from_slice(b"null");
                    }
                }
                b'}' | b']' => {
                    depth = depth.saturating_sub(1);
                    // The end of a value that was left out.
                    if depth == DEPTH {
                        continue;
                    }
                }
                _ => {}
            }
        }
        if outside && depth <= DEPTH {
            kept.push(byte);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn only_values_that_are_too_deep_are_removed() {
        let plain = json!({"a": [1, {"b": "}]\"\\"}], "c": null}).to_string();
        assert_eq!(pruned(plain.as_bytes()), plain.as_bytes());
        for depth in [DEPTH - 1, DEPTH, DEPTH + 1, 1000, 200_000] {
            let (open, close) = ("[".repeat(depth), "]".repeat(depth));
            let text = format!("{{\"deep\": [{open}\"]]\"{close}], \"after\": [1]}}");
            let read: Value = serde_json::from_slice(&pruned(text.as_bytes())).unwrap();
            assert_eq!(read["after"], json!([1]), "{depth}");
        }
        for text in ["[[", "]]", "{\"a", "nonsense", ""] {
            assert!(serde_json::from_slice::<Value>(&pruned(text.as_bytes())).is_err(), "{text}");
        }
    }
}
