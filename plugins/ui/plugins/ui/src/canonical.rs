//! Canonical JSON by RFC 8785 (JSON Canonicalization Scheme), and its digests.

use portcullis_plugin::serde_json::{self, Value};
use sha2::{Digest, Sha256};

/// The SHA-256 of a value's canonical form, cut to 40 hexadecimal digits (160 bits).
pub fn digest(value: &Value) -> String {
    digest_of(text(value).as_bytes())
}

/// The SHA-256 of bytes, cut to 40 hexadecimal digits (160 bits).
pub fn digest_of(bytes: &[u8]) -> String {
    let mut hex = String::with_capacity(40);
    for byte in &Sha256::digest(bytes)[..20] {
        for digit in [byte >> 4, byte & 15] {
            hex.push(char::from_digit(digit.into(), 16).expect("four bits"));
        }
    }
    hex
}

/// The canonical form.
pub fn text(value: &Value) -> String {
    let mut out = String::new();
    write(&mut out, value);
    out
}

fn write(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        // RFC 8785 treats all numbers as doubles.
        Value::Number(number) => {
            out.push_str(&ecmascript(number.as_f64().expect("a JSON number is finite")));
        }
        Value::String(text) => quote(out, text),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(out, item);
            }
            out.push(']');
        }
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            out.push('{');
            for (index, (name, member)) in members.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                quote(out, name);
                out.push(':');
                write(out, member);
            }
            out.push('}');
        }
    }
}

/// serde_json escapes the same characters in the same way as ECMAScript's `JSON.stringify`.
fn quote(out: &mut String, text: &str) {
    out.push_str(&serde_json::to_string(text).expect("text is JSON"));
}

/// Writes a number like ECMAScript's `Number::toString`.
fn ecmascript(number: f64) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    // Rust writes the shortest digits that yield the same number, like ECMAScript.
    let scientific = format!("{:e}", number.abs());
    let (mantissa, exponent) = scientific.split_once('e').expect("it has an exponent");
    let digits = even(number.abs(), mantissa.replace('.', ""));
    let point = exponent.parse::<i32>().expect("a double's exponent") + 1;
    let count = i32::try_from(digits.len()).expect("17 at most");
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
    let at = |place: i32| usize::try_from(place).expect("within the digits");
    let written = match point {
        _ if count <= point && point <= 21 => format!("{digits}{}", zeros(point - count)),
        1..=21 => format!("{}.{}", &digits[..at(point)], &digits[at(point)..]),
        -5..=0 => format!("0.{}{digits}", zeros(-point)),
        _ => {
            let fraction = if count > 1 { format!(".{}", &digits[1..]) } else { String::new() };
            format!("{}{fraction}e{:+}", &digits[..1], point - 1)
        }
    };
    if number < 0.0 { format!("-{written}") } else { written }
}

/// If two shortest forms are equally near, ECMAScript takes the even one, and Rust the greater one. Such a
/// tie has at least 16 digits.
fn even(number: f64, digits: String) -> String {
    if digits.len() < 16 {
        return digits;
    }
    // All digits that a double can have.
    let exact = format!("{number:.767e}").replace('.', "");
    let (lower, rest) = exact.split_at(digits.len());
    let is_tie = rest.split('e').next().is_some_and(|rest| rest.trim_end_matches('0') == "5");
    let is_even = lower.bytes().last().is_some_and(|digit| digit % 2 == 0);
    if is_tie && is_even { lower.to_owned() } else { digits }
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_plugin::serde_json::json;

    /// The samples of RFC 8785, appendix B: IEEE 754 bits and their text.
    #[test]
    fn numbers_are_written_as_in_the_rfc() {
        let table = [
            (0x0000_0000_0000_0000, "0"),
            (0x8000_0000_0000_0000, "0"),
            (0x0000_0000_0000_0001, "5e-324"),
            (0x8000_0000_0000_0001, "-5e-324"),
            (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
            (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
            (0x4340_0000_0000_0000, "9007199254740992"),
            (0xc340_0000_0000_0000, "-9007199254740992"),
            (0x4430_0000_0000_0000, "295147905179352830000"),
            (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
            (0x44b5_2d02_c7e1_4af6, "1e+23"),
            (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
            (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
            (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
            (0x444b_1ae4_d6e2_ef50, "1e+21"),
            (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
            (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
            (0x41b3_de43_5555_5553, "333333333.3333332"),
            (0x41b3_de43_5555_5554, "333333333.33333325"),
            (0x41b3_de43_5555_5555, "333333333.3333333"),
            (0x41b3_de43_5555_5556, "333333333.3333334"),
            (0x41b3_de43_5555_5557, "333333333.33333343"),
            (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
        ];
        for (bits, expected) in table {
            assert_eq!(ecmascript(f64::from_bits(bits)), expected, "{bits:x}");
        }
    }

    #[test]
    #[expect(clippy::excessive_precision, reason = "the RFC's own example")]
    fn the_example_of_the_rfc() {
        let value = json!({
            "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
            "string": "\u{20ac}$\u{f}\u{a}A'\u{42}\u{22}\u{5c}\\\"/",
            "literals": [null, true, false]
        });
        let expected = "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\
                        \"string\":\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}";
        assert_eq!(text(&value), expected);
    }

    #[test]
    fn members_are_sorted_by_utf16() {
        let value = json!({
            "\u{20ac}": "Euro Sign", "\r": "Carriage Return", "\u{fb33}": "Hebrew Letter Dalet With Dagesh",
            "1": "One", "\u{1f600}": "Emoji: Grinning Face", "\u{80}": "Control", "\u{f6}": "Latin Small Letter O With Diaeresis"
        });
        let written = text(&value);
        let places: Vec<_> =
            ["\\r", "\"1\"", "\u{80}", "\u{f6}", "\u{20ac}", "\u{1f600}", "\u{fb33}"]
                .iter()
                .map(|name| written.find(name).expect("it is there"))
                .collect();
        assert!(places.is_sorted(), "{written}");
    }

    #[test]
    fn digests_differ_if_nested_values_differ() {
        let tool = |kind: &str| json!({ "name": "t", "inputSchema": { "properties": { "a": { "type": kind } } } });
        assert_ne!(digest(&tool("string")), digest(&tool("number")));
        assert_eq!(digest(&json!({ "a": 1, "b": 2 })), digest(&json!({ "b": 2.0, "a": 1 })));
        assert_ne!(digest(&json!(["a|b"])), digest(&json!(["a", "b"])));
        assert_eq!(digest(&json!({})).len(), 40);
    }
}
