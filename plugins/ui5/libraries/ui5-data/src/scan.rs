//! Finds the position of each symbol in an `api.json`, without holding the file in memory.

use serde::Deserialize;
use std::io::Read;

/// Maximum size of a symbol, in bytes.
const MAX_SYMBOL_BYTES: usize = 16 * 1024 * 1024;

/// Maximum number of symbols of a library.
const MAX_SYMBOLS: usize = 200_000;

/// Maximum depth of nesting in an `api.json`.
const MAX_DEPTH: usize = 100;

/// The content of an `api.json`.
#[derive(Debug, Default, PartialEq)]
pub struct Library {
    /// The name, such as `sap.m`.
    pub name: String,
    /// The symbols, in order.
    pub symbols: Vec<Symbol>,
}

/// A symbol and its position.
#[derive(Debug, PartialEq)]
pub struct Symbol {
    /// The name in the file.
    pub name: String,
    /// The module that exports the symbol.
    pub module: Option<String>,
    /// The offset of the symbol's first byte.
    pub start: u64,
    /// The length of the symbol in bytes.
    pub length: u32,
}

#[derive(Deserialize)]
struct Head {
    name: String,
    #[serde(default)]
    module: Option<String>,
}

/// Scans a file. Fails if it is not an `api.json`, and says why.
pub fn scan(mut file: impl Read) -> Result<Library, String> {
    let mut scanner = Scanner::default();
    let mut chunk = vec![0; 64 * 1024];
    let mut offset = 0;
    loop {
        let length = file.read(&mut chunk).map_err(|error| error.to_string())?;
        if length == 0 {
            break;
        }
        scanner.scan_chunk(&chunk[..length], offset)?;
        offset += length as u64;
    }
    if !scanner.brackets.is_empty() || scanner.is_string || !scanner.has_begun {
        return Err("it ends before its JSON does".to_owned());
    }
    if !scanner.has_symbols {
        return Err("it lists no symbols".to_owned());
    }
    Ok(scanner.library)
}

#[derive(Default)]
struct Scanner {
    library: Library,
    /// The open brackets.
    brackets: Vec<u8>,
    has_begun: bool,
    is_string: bool,
    is_escaped: bool,
    /// The current string, if it is directly in the outermost object; its first 1024 bytes.
    text: Vec<u8>,
    /// The current member of the outermost object.
    member: Vec<u8>,
    after_colon: bool,
    in_symbols: bool,
    has_symbols: bool,
    /// The offset of the current symbol.
    symbol: Option<u64>,
    /// The part of the symbol in earlier chunks.
    buffer: Vec<u8>,
}

impl Scanner {
    fn scan_chunk(&mut self, bytes: &[u8], offset: u64) -> Result<(), String> {
        let mut from = 0;
        for (index, &byte) in bytes.iter().enumerate() {
            if self.is_string {
                self.in_string(byte);
                continue;
            }
            match byte {
                b'"' => {
                    self.is_string = true;
                    self.text.clear();
                }
                b'{' | b'[' => {
                    let is_start = self.open_bracket(byte, offset + index as u64)?;
                    from = if is_start { index } else { from };
                }
                b'}' | b']' => self.close_bracket(byte, &bytes[from..=index])?,
                b':' if self.brackets.len() == 1 => self.after_colon = true,
                b',' if self.brackets.len() == 1 => self.after_colon = false,
                _ => self.outside(byte)?,
            }
        }
        if self.symbol.is_some() {
            self.buffer.extend_from_slice(&bytes[from..]);
            if self.buffer.len() > MAX_SYMBOL_BYTES {
                return Err(format!("a symbol is larger than {} MiB", MAX_SYMBOL_BYTES >> 20));
            }
        }
        Ok(())
    }

    fn in_string(&mut self, byte: u8) {
        match byte {
            _ if self.is_escaped => self.is_escaped = false,
            b'\\' => self.is_escaped = true,
            b'"' => {
                self.is_string = false;
                if self.brackets.len() == 1 {
                    if !self.after_colon {
                        self.member.clone_from(&self.text);
                    } else if self.member == b"library" {
                        self.library.name = String::from_utf8_lossy(&self.text).into_owned();
                    }
                }
                return;
            }
            _ => {}
        }
        if self.brackets.len() == 1 && self.text.len() < 1024 {
            self.text.push(byte);
        }
    }

    /// Adds an opening bracket. Returns whether a symbol begins with it.
    fn open_bracket(&mut self, byte: u8, offset: u64) -> Result<bool, String> {
        if self.brackets.is_empty() && (byte != b'{' || self.has_begun) {
            return Err("it is not a JSON object".to_owned());
        }
        self.has_begun = true;
        if self.brackets.len() == MAX_DEPTH {
            return Err("it is nested too deeply".to_owned());
        }
        let is_start = self.in_symbols && self.brackets.len() == 2;
        if self.brackets.len() == 1 && self.after_colon && self.member == b"symbols" && byte == b'['
        {
            self.in_symbols = true;
            self.has_symbols = true;
        }
        self.brackets.push(byte);
        if is_start {
            self.symbol = Some(offset);
            self.buffer.clear();
        }
        Ok(is_start)
    }

    /// Takes a closing bracket. `symbol` is the chunk's part of the symbol that may end with this bracket.
    fn close_bracket(&mut self, byte: u8, symbol: &[u8]) -> Result<(), String> {
        let opened = if byte == b'}' { b'{' } else { b'[' };
        if self.brackets.pop() != Some(opened) {
            return Err("its brackets do not match".to_owned());
        }
        if self.brackets.len() == 1 {
            self.in_symbols = false;
        }
        if self.brackets.len() == 2 && self.symbol.is_some() {
            self.buffer.extend_from_slice(symbol);
            self.finish()?;
        }
        Ok(())
    }

    /// Only whitespace and a byte order mark may precede the object; only whitespace may follow it.
    fn outside(&self, byte: u8) -> Result<(), String> {
        let is_nothing =
            byte.is_ascii_whitespace() || (!self.has_begun && [0xef, 0xbb, 0xbf].contains(&byte));
        if self.brackets.is_empty() && !is_nothing {
            return Err("it is not a JSON object".to_owned());
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), String> {
        let start = self.symbol.take().expect("a symbol is being read");
        let symbols = &mut self.library.symbols;
        if symbols.len() == MAX_SYMBOLS {
            return Err(format!("it has more than {MAX_SYMBOLS} symbols"));
        }
        let Head { name, module } = serde_json::from_slice(&self.buffer)
            .map_err(|error| format!("the symbol at byte {start} cannot be read: {error}"))?;
        let length = u32::try_from(self.buffer.len()).map_err(|error| error.to_string())?;
        symbols.push(Symbol { name, module, start, length });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a few bytes at a time.
    struct Trickle<'b>(&'b [u8]);

    impl Read for Trickle<'_> {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            let length = self.0.len().min(into.len()).min(7);
            into[..length].copy_from_slice(&self.0[..length]);
            self.0 = &self.0[length..];
            Ok(length)
        }
    }

    #[test]
    fn positions_of_symbols_are_right() {
        let text = "\u{feff}{\"v\": {\"symbols\": [{\"name\": \"no\"}]}, \"symbols\": [\n\
             {\"name\": \"a.B\", \"module\": \"a/B\", \"text\": \"}]\\\"{\", \"more\": [{\"name\": \"x\"}]} ,\n\
             {\"name\": \"ü.ß\"}], \"library\": \"a\"}\n";
        for library in [scan(text.as_bytes()), scan(Trickle(text.as_bytes()))] {
            let library = library.expect("it is one");
            assert_eq!(library.name, "a");
            let names: Vec<&str> = library.symbols.iter().map(|it| it.name.as_str()).collect();
            assert_eq!(names, ["a.B", "ü.ß"]);
            assert_eq!(library.symbols[0].module.as_deref(), Some("a/B"));
            for symbol in &library.symbols {
                let start = usize::try_from(symbol.start).expect("it is small");
                let text = &text.as_bytes()[start..start + symbol.length as usize];
                let value: serde_json::Value = serde_json::from_slice(text).expect("it is JSON");
                assert_eq!(value["name"], *symbol.name);
            }
        }
    }

    #[test]
    fn other_files_are_refused_with_the_reason() {
        for (text, told) in [
            ("", "it ends before its JSON does"),
            ("<html>", "it is not a JSON object"),
            ("[]", "it is not a JSON object"),
            ("{}{}", "it is not a JSON object"),
            ("{}", "it lists no symbols"),
            (r#"{"symbols": [{"name": "a"}"#, "it ends before its JSON does"),
            (r#"{"symbols": [{"name": "a"]}}"#, "its brackets do not match"),
            (r#"{"symbols": [{"name": 1}]}"#, "the symbol at byte 13 cannot be read: "),
            (r#"{"symbols": [{"name" "a"}]}"#, "the symbol at byte 13 cannot be read: "),
            (&"{\"a\":".repeat(200), "it is nested too deeply"),
        ] {
            let failure = scan(text.as_bytes()).expect_err(told);
            assert!(failure.starts_with(told), "{failure}");
        }
    }

    #[test]
    fn a_symbol_without_end_is_not_held_in_memory() {
        let endless = std::io::repeat(b' ').take(1 << 30);
        let failure =
            scan((&br#"{"symbols": [{"#[..]).chain(endless)).expect_err("it is too large");
        assert_eq!(failure, "a symbol is larger than 16 MiB");
    }
}
