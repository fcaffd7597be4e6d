//! Finds the members of the outermost object that identify a JSON-RPC message.

/// Maximum length of an `id` or `method` that is kept, in bytes of JSON. Of a longer value, only the presence
/// and the kind are known.
const MAX_KEPT_BYTES: usize = 256;

/// Maximum length of a key that is compared, in bytes of JSON: `method` with each character escaped.
const MAX_KEY_BYTES: usize = 36;

/// The member whose value is being read.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Member {
    Id,
    Method,
    #[default]
    Other,
}

/// The token that is being kept.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum KeptToken {
    #[default]
    Nothing,
    Key,
    Id,
    Method,
}

/// A piece of JSON of limited length.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece<const N: usize> {
    bytes: [u8; N],
    /// The length in bytes. A number above `N` means that the piece is too long.
    length: usize,
}

impl<const N: usize> Default for Piece<N> {
    fn default() -> Self {
        Self { bytes: [0; N], length: 0 }
    }
}

impl<const N: usize> Piece<N> {
    fn push(&mut self, more: &[u8]) {
        if let Some(room) = self.bytes.get_mut(self.length..self.length + more.len()) {
            room.copy_from_slice(more);
            self.length += more.len();
        } else {
            self.length = N + 1;
        }
    }

    pub(crate) fn get(&self) -> Option<&[u8]> {
        self.bytes.get(..self.length)
    }
}

/// The value of a member, as far as it is known.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) enum MemberValue {
    /// There is no such member.
    #[default]
    Missing,
    /// The member exists, and its value is an array or an object, or is not complete.
    Unknown,
    /// A string, as written between its quotes.
    Text(Piece<MAX_KEPT_BYTES>),
    /// A number, or `true`, `false` or `null`, as written.
    Word(Piece<MAX_KEPT_BYTES>),
}

/// Finds the members of the outermost object during a scan.
#[derive(Debug, Default)]
pub(crate) struct Members {
    /// Whether the scan is in the outermost object.
    is_inside: bool,
    /// Whether the outermost value has ended.
    has_ended: bool,
    /// Whether the next string is a value, and not a key.
    is_at_value: bool,
    member: Member,
    keeping: KeptToken,
    key: Piece<MAX_KEY_BYTES>,
    value: Piece<MAX_KEPT_BYTES>,
    is_text: bool,
    pub(crate) id: MemberValue,
    pub(crate) method: MemberValue,
    pub(crate) has_result: bool,
    pub(crate) has_error: bool,
}

impl Members {
    #[inline]
    fn is_at(&self, depth: u32) -> bool {
        depth == 1 && self.is_inside
    }

    pub(crate) fn open(&mut self, depth: u32, is_object: bool) {
        if depth == 1 && !self.has_ended && !self.is_inside {
            self.is_inside = is_object;
            self.has_ended = !is_object;
        } else if depth == 2 && self.is_inside && self.is_at_value {
            self.begin_unknown();
        }
    }

    pub(crate) fn close(&mut self, depth: u32) {
        if depth == 0 {
            self.has_ended = true;
            self.is_inside = false;
        }
    }

    pub(crate) fn comma(&mut self, depth: u32) {
        if self.is_at(depth) {
            self.is_at_value = false;
            self.member = Member::Other;
        }
    }

    pub(crate) fn colon(&mut self, depth: u32) {
        if !self.is_at(depth) || self.is_at_value {
            return;
        }
        self.is_at_value = true;
        let key = self.key.get().unwrap_or_default();
        self.member = Member::Other;
        if is_text(key, "id") {
            self.member = Member::Id;
            self.id = MemberValue::Unknown;
        } else if is_text(key, "method") {
            self.member = Member::Method;
            self.method = MemberValue::Unknown;
        } else if is_text(key, "result") {
            self.has_result = true;
        } else if is_text(key, "error") {
            self.has_error = true;
        }
        self.key.length = 0;
    }

    pub(crate) fn begin_text(&mut self, depth: u32) {
        self.begin_value(depth, true);
    }

    pub(crate) fn begin_word(&mut self, depth: u32) {
        self.begin_value(depth, false);
    }

    fn begin_value(&mut self, depth: u32, is_text: bool) {
        if !self.is_at(depth) {
            return;
        }
        self.is_text = is_text;
        self.value.length = 0;
        self.keeping = match (self.is_at_value, self.member) {
            (false, _) => {
                self.key.length = 0;
                KeptToken::Key
            }
            (true, Member::Id) => KeptToken::Id,
            (true, Member::Method) => KeptToken::Method,
            (true, Member::Other) => KeptToken::Nothing,
        };
    }

    fn begin_unknown(&mut self) {
        match self.member {
            Member::Id => self.id = MemberValue::Unknown,
            Member::Method => self.method = MemberValue::Unknown,
            Member::Other => {}
        }
    }

    #[inline]
    pub(crate) fn keep(&mut self, bytes: &[u8]) {
        match self.keeping {
            KeptToken::Nothing => {}
            KeptToken::Key => self.key.push(bytes),
            KeptToken::Id | KeptToken::Method => self.value.push(bytes),
        }
    }

    #[inline]
    pub(crate) fn end(&mut self) {
        if self.keeping != KeptToken::Nothing {
            self.end_kept();
        }
    }

    fn end_kept(&mut self) {
        let found = if self.is_text {
            MemberValue::Text(self.value)
        } else {
            MemberValue::Word(self.value)
        };
        match self.keeping {
            KeptToken::Nothing | KeptToken::Key => {}
            KeptToken::Id => self.id = found,
            KeptToken::Method => self.method = found,
        }
        self.keeping = KeptToken::Nothing;
    }
}

/// Whether a string, as written between its quotes, is this ASCII text.
pub(crate) fn is_text(written: &[u8], text: &str) -> bool {
    let mut rest = written;
    for expected in text.bytes() {
        let Some((first, after)) = rest.split_first() else { return false };
        let (found, after) = if *first != b'\\' {
            (u32::from(*first), after)
        } else {
            match after.split_first() {
                Some((b'u', after)) if after.len() >= 4 => {
                    let digits = str::from_utf8(&after[..4]).ok();
                    let digits =
                        digits.filter(|digits| digits.bytes().all(|d| d.is_ascii_hexdigit()));
                    let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
                    let Some(code) = code else { return false };
                    (code, &after[4..])
                }
                // `/` is the only character in names of methods that has a short escape.
                Some((b'/', after)) => (u32::from(b'/'), after),
                _ => return false,
            }
        };
        if found != u32::from(expected) {
            return false;
        }
        rest = after;
    }
    rest.is_empty()
}
