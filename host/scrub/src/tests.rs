//! Tests that secrets are removed and that other text stays, also if the text arrives in pieces.

use std::fmt::Write;

use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE, BASE64_URL_SAFE_NO_PAD};
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const SECRET: &str = "s3cret/0f+the=\"0perator\"&co";

fn scrub(secret: &str) -> Arc<Scrub> {
    Arc::new(Scrub::new([secret]))
}

fn in_pieces(scrub: &Arc<Scrub>, text: &[u8], pieces: &[usize]) -> Vec<u8> {
    let mut stream = Stream::new(scrub.clone());
    let (mut given, mut rest) = (Vec::new(), text);
    for piece in pieces {
        let (piece, after) = rest.split_at((*piece).min(rest.len()));
        given.extend(stream.push(piece));
        rest = after;
    }
    given.extend(stream.push(rest));
    given.extend(stream.finish());
    given
}

fn escaped(text: &str, escape: impl Fn(usize, char) -> Option<String>) -> String {
    let escaped = text.chars().enumerate().map(|(at, c)| escape(at, c).unwrap_or(c.to_string()));
    escaped.collect()
}

/// Every encoding in which a text must be found, by its name.
fn encodings(text: &str) -> Vec<(&'static str, Vec<u8>)> {
    let hex = text.bytes().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    });
    let lines: Vec<_> = BASE64_STANDARD.encode(text).into_bytes();
    let lines = lines.chunks(7).collect::<Vec<_>>().join(&b"\r\n"[..]);
    let every = |format: fn(u32) -> String| escaped(text, |_, c| Some(format(c.into())));
    let some = |format: fn(u32) -> String| {
        escaped(text, |at, c| (at % 3 != 1 || "%&\\".contains(c)).then(|| format(c.into())))
    };
    let named = |c| match c {
        '&' => Some("&amp;".into()),
        '"' => Some("&quot;".into()),
        '<' => Some("&lt;".into()),
        '>' => Some("&gt;".into()),
        '\'' => Some("&apos;".into()),
        '=' => Some("&equals;".into()),
        _ => None,
    };
    let json = escaped(text, |_, c| "\"\\/".contains(c).then(|| format!("\\{c}")));
    let mut all = vec![
        ("as it is", text.to_owned()),
        ("capitals", text.to_uppercase()),
        ("hex", hex.clone()),
        ("HEX", hex.to_uppercase()),
        ("JSON", json),
        ("JSON, every character", every(|code| format!("\\u{code:04x}"))),
        ("JSON, some characters", some(|code| format!("\\u{code:04X}"))),
        ("JavaScript", every(|code| format!("\\u{{{code:x}}}"))),
        ("bytes of C", every(|code| format!("\\x{code:02x}"))),
        ("URL, every character", every(|code| format!("%{code:02x}"))),
        ("URL, some characters", some(|code| format!("%{code:02X}"))),
        ("a form", some(|code| format!("%{code:02X}")).replace("%20", "+")),
        ("HTML, every character", every(|code| format!("&#{code};"))),
        ("HTML, some characters", some(|code| format!("&#x{code:04X};"))),
        ("HTML, names", escaped(text, |_, c| named(c))),
    ];
    for before in ["", "a", "ab", "abc", "user:"] {
        for after in ["", "z", "yz"] {
            let whole = format!("{before}{text}{after}");
            all.push(("base64", BASE64_STANDARD.encode(&whole)));
            all.push(("base64url", BASE64_URL_SAFE.encode(&whole)));
            all.push(("base64url without padding", BASE64_URL_SAFE_NO_PAD.encode(&whole)));
            all.push(("base64 in JSON", BASE64_STANDARD.encode(&whole).replace('/', "\\/")));
            let in_url = BASE64_STANDARD.encode(&whole).replace('+', "%2B").replace('/', "%2F");
            all.push(("base64 in a URL", in_url));
        }
    }
    let mut all: Vec<_> = all.into_iter().map(|(name, text)| (name, text.into_bytes())).collect();
    all.push(("base64 in lines", lines));
    all.push(("UTF-16LE", text.encode_utf16().flat_map(u16::to_le_bytes).collect()));
    all.push(("UTF-16BE", text.encode_utf16().flat_map(u16::to_be_bytes).collect()));
    all
}

/// Length of the longest run of bytes without `*`. `=`, line ends and zero bytes are not counted.
fn left(text: &[u8]) -> usize {
    let runs = text.split(|byte| *byte == b'*');
    let letters = |run: &[u8]| run.iter().filter(|byte| !b"\r\n\0=".contains(*byte)).count();
    runs.map(letters).max().unwrap_or(0)
}

#[test]
fn each_encoding_is_found_however_it_is_split() {
    let scrub = scrub(SECRET);
    for (name, encoded) in encodings(SECRET) {
        let text = [b"{\"k\":\"<", &encoded[..], b">\"}\n"].concat();
        let whole = scrub.bytes(&text);
        assert_eq!(whole.len(), text.len(), "{name}");
        let middle = &whole[7..7 + encoded.len()];
        // In base64, characters that also encode bytes around the secret stay: at most eight in a row.
        let most = if name.starts_with("base64") { 8 } else { 0 };
        assert!(left(middle) <= most, "{name}: {}", String::from_utf8_lossy(&whole));
        assert!(whole.starts_with(b"{\"k\":\"<") && whole.ends_with(b">\"}\n"), "{name}");
        for split in 0..text.len() {
            assert_eq!(in_pieces(&scrub, &text, &[split]), whole, "{name} at {split}");
        }
        assert_eq!(in_pieces(&scrub, &text, &vec![1; text.len()]), whole, "{name}");
    }
}

#[test]
fn what_is_no_secret_is_left_alone() {
    let scrub = scrub(SECRET);
    let mut text: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    text.extend_from_slice(b"s3cret/0f the operator %4 &#6 &am \\u00 \\ & %");
    assert_eq!(scrub.bytes(&text), text);
    assert_eq!(Arc::new(Scrub::default()).bytes(&text), text);
    assert_eq!(in_pieces(&Arc::new(Scrub::new([""])), &text, &[9, 9]), text);
}

#[test]
fn a_secret_that_is_cut_off_at_the_end_is_found() {
    let scrub = scrub(SECRET);
    for length in 0..SECRET.len() {
        let text = format!("key: {}", &SECRET[..length]);
        let after = scrub.bytes(text.as_bytes());
        assert_eq!(after.contains(&b'*'), length >= 8, "{length}");
    }
}

#[test]
fn how_much_is_kept_back_says_nothing_of_the_secret() {
    let scrub = scrub(SECRET);
    for guess in ["", "x", "s", "s3cret", "s3cret/0f+the=\"0perator\"&c"] {
        let mut stream = Stream::new(scrub.clone());
        let given = stream.push(format!("{}{guess}", "-".repeat(5000 - guess.len())).as_bytes());
        assert_eq!(given.len(), 5000 - scrub.kept_back(), "{guess}");
    }
}

#[test]
fn messages_show_that_something_is_missing() {
    let scrub = Arc::new(Scrub::new(["token", "another token"]));
    let text = scrub.text("a TOKEN, another+token and a*b; %74oken");
    assert_eq!(text, "a …, … and a*b; …");
}

#[test]
fn only_the_secret_parts_of_a_header_are_found() {
    for (value, expected) in [
        ("Bearer abcdefgh", &["abcdefgh"][..]),
        ("abcdefgh", &["abcdefgh"]),
        ("Basic dXNlcjpwYXNzd29yZA==", &["dXNlcjpwYXNzd29yZA==", "password", "user:password"]),
        ("Basic c2tfbGl2ZV9rZXk6", &["c2tfbGl2ZV9rZXk6", "sk_live_key", "sk_live_key:"]),
        ("a=1; session=abcdefgh", &["a=1; session=abcdefgh", "abcdefgh", "session=abcdefgh"]),
        ("Token token=\"abcdefgh\"", &["abcdefgh", "token=\"abcdefgh\""]),
        ("ApiKey me:abcdefgh", &["abcdefgh", "me:abcdefgh"]),
        ("correct horse", &["correct horse"]),
    ] {
        let parts = secret_parts(value).unwrap();
        assert!(expected.iter().all(|part| parts.iter().any(|found| found == part)), "{parts:?}");
        assert!(parts.iter().all(|part| !part.contains("Bearer")), "{parts:?}");
    }
    for short in ["", "abc", "Bearer abc", "Bearer  ", "Basic dTpw", "Basic YTpiYw=="] {
        assert_eq!(secret_parts(short), Err(TooShort), "{short}");
    }
}

/// A secret that shares no character with [`around`].
fn any_secret() -> impl Strategy<Value = String> {
    vec(proptest::sample::select(b"abcXYZ019+/=-_.:%&\\\"'<".to_vec()), 8..40)
        .prop_map(|bytes| String::from_utf8(bytes).unwrap())
}

/// Text without escapes and without characters of a secret.
fn around() -> impl Strategy<Value = Vec<u8>> {
    vec(proptest::sample::select(b"{}[]~|!?\n\t$@\xff\xc3".to_vec()), 0..60)
}

/// The lengths of the pieces into which a text is cut, in bytes.
fn pieces() -> impl Strategy<Value = Vec<usize>> {
    vec(prop_oneof![Just(1), 0_usize..20, 0_usize..400], 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_encoding_of_a_secret_is_removed_and_all_else_stays(
        secret in any_secret(), before in around(), after in around(), pieces in pieces(),
        which in any::<proptest::sample::Index>(),
    ) {
        let all = encodings(&secret);
        let (name, encoded) = &all[which.index(all.len())];
        // The zero bytes of UTF-16 stay, and `left` does not count them.
        let text = [&before[..], encoded, &after[..]].concat();
        let scrubbed = in_pieces(&scrub(&secret), &text, &pieces);
        prop_assert_eq!(scrubbed.len(), text.len());
        prop_assert_eq!(&scrubbed[..before.len()], &before[..]);
        prop_assert_eq!(&scrubbed[before.len() + encoded.len()..], &after[..]);
        let most = if name.starts_with("base64") { 8 } else { 0 };
        let middle = &scrubbed[before.len()..before.len() + encoded.len()];
        prop_assert!(left(middle) <= most, "{} {:?}: {}", name, secret, String::from_utf8_lossy(&scrubbed));
    }

    #[test]
    fn pieces_make_no_difference(
        secret in any_secret(),
        text in vec(prop_oneof![
            vec(any::<u8>(), 0..9),
            (0_usize..40, 0_usize..40).prop_map(|(from, to)| vec![0xfe, from as u8, to as u8]),
            proptest::sample::select(vec![&b"%4"[..], b"&#x", b"\\u00", b"&", b"\\", b"%"])
                .prop_map(<[u8]>::to_vec),
        ], 0..40),
        pieces in pieces(),
    ) {
        // A piece that begins with 0xfe stands for a part of the secret.
        let text: Vec<u8> = text.into_iter().flat_map(|piece| match piece[..] {
            [0xfe, from, to] => {
                let (from, to) = (usize::from(from), usize::from(to));
                secret.bytes().skip(from % secret.len()).take(to).collect()
            }
            _ => piece,
        }).collect();
        let scrub = scrub(&secret);
        prop_assert_eq!(in_pieces(&scrub, &text, &pieces), scrub.bytes(&text));
    }
}
