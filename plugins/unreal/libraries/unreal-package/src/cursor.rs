//! A cursor that reads little-endian values with bounds checks. The argument `what` of each method
//! names the value in error messages.

use crate::fault::CursorStop;
use std::borrow::Cow;

/// Maximum length of a string, in characters of one or two bytes.
const MAX_STRING: usize = 1 << 20;

/// A position in a file. Possibly only the start of the file is in memory.
#[derive(Clone)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The end of the readable part, as an offset in the file.
    end: u64,
}

impl<'a> Cursor<'a> {
    /// A cursor at the start of a file of `file_len` bytes; `bytes` is the whole file or its start.
    pub fn new(bytes: &'a [u8], file_len: u64) -> Self {
        let end = file_len.max(bytes.len() as u64);
        Self { bytes, at: 0, end }
    }

    /// A cursor over the part from `start` to `end`. Fails if the part is out of bounds or not in
    /// memory.
    pub fn part(&self, what: &'static str, start: u64, end: u64) -> Result<Self, CursorStop> {
        if start > end || end > self.end {
            return Err(CursorStop::Damaged { what, at: start });
        }
        let Ok(at) = usize::try_from(start) else {
            return Err(CursorStop::Damaged { what, at: start });
        };
        if end > self.bytes.len() as u64 {
            return Err(CursorStop::Short { until: end });
        }
        Ok(Self { bytes: self.bytes, at, end })
    }

    /// A cursor at another offset of the same file.
    pub fn from(&self, what: &'static str, offset: i64) -> Result<Self, CursorStop> {
        match u64::try_from(offset) {
            Ok(start) if start <= self.end => {
                let at =
                    usize::try_from(start).map_err(|_| CursorStop::Damaged { what, at: start })?;
                Ok(Self { bytes: self.bytes, at, end: self.end })
            }
            Ok(at) => Err(CursorStop::Damaged { what, at }),
            Err(_) => Err(CursorStop::Damaged { what, at: self.at as u64 }),
        }
    }

    /// The offset in the file.
    pub fn at(&self) -> u64 {
        self.at as u64
    }

    /// Number of bytes left.
    pub fn left(&self) -> u64 {
        self.end.saturating_sub(self.at as u64)
    }

    /// An error at this position.
    pub fn damaged(&self, what: &'static str) -> CursorStop {
        CursorStop::Damaged { what, at: self.at as u64 }
    }

    /// Takes `len` bytes.
    pub fn take(&mut self, what: &'static str, len: usize) -> Result<&'a [u8], CursorStop> {
        if len as u64 > self.left() {
            return Err(self.damaged(what));
        }
        let end = self.at + len;
        let Some(taken) = self.bytes.get(self.at..end) else {
            return Err(CursorStop::Short { until: end as u64 });
        };
        self.at = end;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], CursorStop> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(what, N)?);
        Ok(array)
    }

    /// Skips `len` bytes.
    pub fn skip(&mut self, what: &'static str, len: usize) -> Result<(), CursorStop> {
        self.take(what, len).map(drop)
    }

    /// An unsigned byte.
    pub fn u8(&mut self, what: &'static str) -> Result<u8, CursorStop> {
        self.array::<1>(what).map(|[byte]| byte)
    }

    /// A signed byte.
    pub fn i8(&mut self, what: &'static str) -> Result<i8, CursorStop> {
        self.array(what).map(i8::from_le_bytes)
    }

    /// An unsigned integer of two bytes.
    pub fn u16(&mut self, what: &'static str) -> Result<u16, CursorStop> {
        self.array(what).map(u16::from_le_bytes)
    }

    /// A signed integer of two bytes.
    pub fn i16(&mut self, what: &'static str) -> Result<i16, CursorStop> {
        self.array(what).map(i16::from_le_bytes)
    }

    /// An unsigned integer of four bytes.
    pub fn u32(&mut self, what: &'static str) -> Result<u32, CursorStop> {
        self.array(what).map(u32::from_le_bytes)
    }

    /// A signed integer of four bytes.
    pub fn i32(&mut self, what: &'static str) -> Result<i32, CursorStop> {
        self.array(what).map(i32::from_le_bytes)
    }

    /// An unsigned integer of eight bytes.
    pub fn u64(&mut self, what: &'static str) -> Result<u64, CursorStop> {
        self.array(what).map(u64::from_le_bytes)
    }

    /// A signed integer of eight bytes.
    pub fn i64(&mut self, what: &'static str) -> Result<i64, CursorStop> {
        self.array(what).map(i64::from_le_bytes)
    }

    /// A floating-point number of single precision.
    pub fn f32(&mut self, what: &'static str) -> Result<f32, CursorStop> {
        self.array(what).map(f32::from_le_bytes)
    }

    /// A floating-point number of double precision.
    pub fn f64(&mut self, what: &'static str) -> Result<f64, CursorStop> {
        self.array(what).map(f64::from_le_bytes)
    }

    /// A boolean as archives store it: four bytes with 0 or 1.
    pub fn flag(&mut self, what: &'static str) -> Result<bool, CursorStop> {
        match self.u32(what)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(self.damaged(what)),
        }
    }

    /// A count of items of at least `least` bytes each. An error if too few bytes are left for them.
    pub fn count(&mut self, what: &'static str, least: usize) -> Result<usize, CursorStop> {
        let count = self.i32(what)?;
        self.checked_count(what, count, least)
    }

    /// Checks a count that was read elsewhere against the number of bytes left.
    pub fn checked_count(
        &self,
        what: &'static str,
        count: i32,
        least: usize,
    ) -> Result<usize, CursorStop> {
        let Ok(count) = usize::try_from(count) else {
            return Err(self.damaged(what));
        };
        let bytes = (count as u64).saturating_mul(least as u64);
        if bytes > self.left() {
            return Err(self.damaged(what));
        }
        let until = self.at as u64 + bytes;
        if until > self.bytes.len() as u64 {
            return Err(CursorStop::Short { until });
        }
        Ok(count)
    }

    /// A string: its length with the NUL (negative for UTF-16), and the characters.
    pub fn string(&mut self, what: &'static str) -> Result<Cow<'a, str>, CursorStop> {
        let length = self.i32(what)?;
        let units = length.unsigned_abs() as usize;
        if units > MAX_STRING {
            return Err(self.damaged(what));
        }
        if length >= 0 {
            let bytes = self.take(what, units)?;
            let text = bytes.strip_suffix(&[0]).unwrap_or(bytes);
            return Ok(match std::str::from_utf8(text) {
                Ok(text) => Cow::Borrowed(text),
                Err(_) => text.iter().copied().map(char::from).collect(),
            });
        }
        let bytes = self.take(what, units * 2)?;
        let units = bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
        let mut text: String =
            char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
        if text.ends_with('\0') {
            text.pop();
        }
        Ok(Cow::Owned(text))
    }

    /// Skips a string.
    pub fn skip_string(&mut self, what: &'static str) -> Result<(), CursorStop> {
        let length = self.i32(what)?;
        let units = length.unsigned_abs() as usize;
        if units > MAX_STRING {
            return Err(self.damaged(what));
        }
        self.skip(what, if length < 0 { units * 2 } else { units })
    }
}
