//! Decodes the escapes of URLs, JSON and HTML, one byte at a time.

/// A way to decode text.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Reading {
    /// Each byte stands for itself.
    Plain,
    /// Line ends and zero bytes are left out, for base64 in lines and for UTF-16.
    Joined,
    /// `%41` (URLs, forms).
    Percent,
    /// `\u0041`, `\u{41}`, `\x41`, `\/` (JSON, JavaScript and others).
    Backslash,
    /// `&#65;`, `&#x41;`, `&amp;` (HTML, XML).
    Reference,
}

impl Reading {
    pub(crate) const ALL: [Self; 5] =
        [Self::Plain, Self::Joined, Self::Percent, Self::Backslash, Self::Reference];
}

/// The result of decoding the first bytes of a text.
#[derive(Debug, PartialEq)]
pub(crate) enum Token {
    /// Decoded bytes (at the beginning of the array), their number, and the number of encoded bytes.
    Bytes([u8; 4], usize, usize),
    /// This number of encoded bytes decodes to nothing.
    Nothing(usize),
    /// More bytes are needed to decide.
    Unknown,
}

/// Maximum length of a character reference that is decoded, in bytes.
const MAX_REFERENCE_BYTES: usize = 12;

/// HTML names of ASCII characters.
const NAMES: &[(&str, u8)] = &[
    ("amp", b'&'),
    ("apos", b'\''),
    ("ast", b'*'),
    ("bsol", b'\\'),
    ("colon", b':'),
    ("comma", b','),
    ("commat", b'@'),
    ("dollar", b'$'),
    ("equals", b'='),
    ("excl", b'!'),
    ("grave", b'`'),
    ("gt", b'>'),
    ("Hat", b'^'),
    ("lbrace", b'{'),
    ("lbrack", b'['),
    ("lcub", b'{'),
    ("lowbar", b'_'),
    ("lpar", b'('),
    ("lsqb", b'['),
    ("lt", b'<'),
    ("num", b'#'),
    ("percnt", b'%'),
    ("period", b'.'),
    ("plus", b'+'),
    ("quest", b'?'),
    ("quot", b'"'),
    ("rbrace", b'}'),
    ("rbrack", b']'),
    ("rcub", b'}'),
    ("rpar", b')'),
    ("rsqb", b']'),
    ("semi", b';'),
    ("sol", b'/'),
    ("verbar", b'|'),
    ("vert", b'|'),
];

/// Decodes the first byte or the first escape of `bytes`, which must not be empty. `is_end`: no more bytes will come.
pub(crate) fn token(reading: Reading, bytes: &[u8], is_end: bool) -> Token {
    let plain = Token::Bytes([bytes[0], 0, 0, 0], 1, 1);
    let escape = match (reading, bytes[0]) {
        (Reading::Joined, b'\r' | b'\n' | 0) => return Token::Nothing(1),
        (Reading::Percent, b'%') => hex(bytes, 1, 2),
        (Reading::Backslash, b'\\') => backslash(bytes),
        (Reading::Reference, b'&') => reference(bytes),
        _ => return plain,
    };
    match escape {
        Escape::Is(code, length) => character(code, length),
        Escape::Cut if !is_end => Token::Unknown,
        Escape::Cut | Escape::No => plain,
    }
}

enum Escape {
    /// The code point of a character, and the length of its escape in bytes.
    Is(u32, usize),
    /// More bytes are needed to decide.
    Cut,
    No,
}

fn character(code: u32, length: usize) -> Token {
    let mut bytes = [0; 4];
    // A percent escape, which has three bytes, stands for one byte. Any other escape stands for a character, which
    // becomes UTF-8.
    let written = match (char::from_u32(code), u8::try_from(code)) {
        (_, Ok(byte)) if length == 3 => {
            bytes[0] = byte;
            1
        }
        (Some(found), _) => found.encode_utf8(&mut bytes).len(),
        (None, _) => 0,
    };
    match written {
        0 => Token::Nothing(length),
        _ => Token::Bytes(bytes, written, length),
    }
}

/// Reads a character's code point: `digits` hexadecimal digits from index `from` on.
fn hex(bytes: &[u8], from: usize, digits: usize) -> Escape {
    let mut code = 0;
    for at in from..from + digits {
        let Some(byte) = bytes.get(at) else { return Escape::Cut };
        let Some(digit) = char::from(*byte).to_digit(16) else { return Escape::No };
        code = code * 16 + digit;
    }
    Escape::Is(code, from + digits)
}

fn backslash(bytes: &[u8]) -> Escape {
    let Some(kind) = bytes.get(1) else { return Escape::Cut };
    match kind {
        b'u' if bytes.get(2) == Some(&b'{') => {
            let end = bytes.iter().take(10).position(|byte| *byte == b'}');
            match end {
                Some(end) if end > 3 => match hex(bytes, 3, end - 3) {
                    Escape::Is(code, _) => Escape::Is(code, end + 1),
                    other @ (Escape::Cut | Escape::No) => other,
                },
                None if bytes.len() < 10 => Escape::Cut,
                Some(_) | None => Escape::No,
            }
        }
        b'u' => hex(bytes, 2, 4),
        b'x' => hex(bytes, 2, 2),
        b't' => Escape::Is(u32::from(b'\t'), 2),
        // Other letters stand for control characters, which no header's value contains.
        byte if byte.is_ascii_punctuation() || *byte == b' ' => Escape::Is(u32::from(*byte), 2),
        _ => Escape::No,
    }
}

fn reference(bytes: &[u8]) -> Escape {
    let name_and_end = &bytes[1..bytes.len().min(MAX_REFERENCE_BYTES)];
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'#';
    let Some(end) = name_and_end.iter().position(|byte| !is_name(byte)) else {
        return if bytes.len() < MAX_REFERENCE_BYTES { Escape::Cut } else { Escape::No };
    };
    let Ok(name) = std::str::from_utf8(&name_and_end[..end]) else { return Escape::No };
    if name_and_end[end] != b';' {
        return Escape::No;
    }
    let code = match name.strip_prefix('#') {
        Some(number) => match number.strip_prefix(['x', 'X']) {
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None => number.parse().ok(),
        },
        None => NAMES.iter().find(|(known, _)| *known == name).map(|(_, byte)| u32::from(*byte)),
    };
    code.map_or(Escape::No, |code| Escape::Is(code, end + 2))
}
