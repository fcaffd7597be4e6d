//! Finding out whose answer a message is that is too long, or too deep, to be read.

/// Longest id that is found, in bytes. Those that we give are shorter.
const ID_BYTES: usize = 20;

/// Reads JSON as it passes by, and keeps nothing of it but the number under `id` of the outermost
/// object.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    depth: u32,
    in_text: bool,
    escaped: bool,
    /// Whether what comes next in the outermost object is a value, and not a key.
    at_value: bool,
    /// The key or the number that is being read in the outermost object, cut off.
    word: Vec<u8>,
    /// Whether the value that comes next is that of `id`.
    is_id: bool,
    id: Option<u64>,
}

impl Scan {
    /// Reads on.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if self.id.is_some() {
                return;
            }
            self.step(*byte);
        }
    }

    /// What was found.
    pub(crate) fn id(&self) -> Option<u64> {
        self.id
    }

    fn step(&mut self, byte: u8) {
        if self.in_text {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_text = false,
                _ if self.depth == 1 && !self.at_value => self.keep(byte),
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => {
                self.in_text = true;
                self.word.clear();
            }
            b'{' | b'[' => self.depth = self.depth.saturating_add(1),
            b'}' | b']' => {
                if self.depth == 1 {
                    self.end_value();
                }
                self.depth = self.depth.saturating_sub(1);
            }
            b':' if self.depth == 1 => {
                self.is_id = self.word == b"id";
                self.at_value = true;
                self.word.clear();
            }
            b',' if self.depth == 1 => self.end_value(),
            b'0'..=b'9' | b'-' | b'.' | b'e' | b'E' if self.depth == 1 && self.is_id => {
                self.keep(byte);
            }
            _ => {}
        }
    }

    fn end_value(&mut self) {
        if self.is_id {
            self.id = std::str::from_utf8(&self.word).ok().and_then(|word| word.parse().ok());
        }
        self.is_id = false;
        self.at_value = false;
        self.word.clear();
    }

    fn keep(&mut self, byte: u8) {
        if self.word.len() < ID_BYTES {
            self.word.push(byte);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_is_found_wherever_it_is_and_nowhere_else() {
        for (text, expected) in [
            (r#"{"jsonrpc":"2.0","id":12,"result":"#, Some(12)),
            (r#"{"result":{"id":1,"a":["id",{"id":2}],"t":"\"id\":3,{"},"id" : 45 }"#, Some(45)),
            (r#"{"result":{"id":1},"jsonrpc":"2.0"}"#, None),
            (r#"{"id":"7","result":1}"#, None),
            (r#"{"id":-7,"result":1}"#, None),
            (r#"{"id":7.5,"result":1}"#, None),
            (r#"{"text":"id","other":5,"#, None),
            ("\"id\":4,", None),
        ] {
            for cut in 0..text.len() {
                let mut scan = Scan::default();
                scan.feed(&text.as_bytes()[..cut]);
                scan.feed(&text.as_bytes()[cut..]);
                assert_eq!(scan.id(), expected, "{text} cut at {cut}");
            }
        }
    }
}
