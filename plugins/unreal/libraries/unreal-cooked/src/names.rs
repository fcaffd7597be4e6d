//! Reads name tables of cooked files: name batches, and the sequences of names of 4.26 and 4.27.

use crate::Fault;
use std::borrow::Cow;
use unreal_package::Cursor;

/// The only hash algorithm of name batches: CityHash of 64 bits over the name in lower case.
const HASH_ALGORITHM: u64 = 0xC164_0000;
/// Maximum length of a name that engines write (`NAME_SIZE`), in characters.
const MAX_NAME_CHARS: usize = 1024;

/// Reads a name batch (`LoadNameBatch`): number, bytes of all names, algorithm, hashes, lengths, characters.
pub fn batch<'a>(cursor: &mut Cursor<'a>) -> Result<Vec<Cow<'a, str>>, Fault> {
    let what = "names";
    // Each name has at least a hash of eight bytes and a length of two bytes.
    let count = cursor.count(what, 10)?;
    if count == 0 {
        return Ok(Vec::new());
    }
    cursor.skip(what, 4)?;
    if cursor.u64(what)? != HASH_ALGORITHM {
        return Err(cursor.damaged(what).into());
    }
    cursor.skip(what, count * 8)?;
    let lengths = cursor.take(what, count * 2)?;
    let lengths = lengths.chunks_exact(2).map(|pair| i16::from_be_bytes([pair[0], pair[1]]));
    lengths.map(|length| read_characters(cursor, length)).collect()
}

/// Whether a name batch with at least one name could begin here.
pub fn is_batch(mut cursor: Cursor<'_>) -> bool {
    let count = cursor.count("names", 10);
    let is_algorithm =
        cursor.skip("names", 4).is_ok() && cursor.u64("names").is_ok_and(|id| id == HASH_ALGORITHM);
    count.is_ok_and(|count| count > 0) && is_algorithm
}

/// Reads names one after the other, each with its length, as 4.26 and 4.27 store them.
pub fn sequence(bytes: &[u8]) -> Result<Vec<Cow<'_, str>>, Fault> {
    let what = "names";
    let mut cursor = Cursor::new(bytes, bytes.len() as u64);
    let mut names = Vec::new();
    while cursor.left() > 0 {
        let length = cursor.take(what, 2)?;
        let length = i16::from_be_bytes([length[0], length[1]]);
        // Characters of two bytes are aligned.
        if length < 0 && cursor.at() % 2 == 1 {
            cursor.skip(what, 1)?;
        }
        names.push(read_characters(&mut cursor, length)?);
    }
    Ok(names)
}

/// Reads the characters of a name; a negative length stands for characters of two bytes.
fn read_characters<'a>(cursor: &mut Cursor<'a>, length: i16) -> Result<Cow<'a, str>, Fault> {
    let what = "name";
    let is_wide = length < 0;
    let units = usize::from(length.cast_unsigned() & 0x7FFF);
    if units > MAX_NAME_CHARS {
        return Err(cursor.damaged(what).into());
    }
    if is_wide {
        let bytes = cursor.take(what, units * 2)?;
        let units = bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
        let text = char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER));
        return Ok(Cow::Owned(text.collect()));
    }
    let bytes = cursor.take(what, units)?;
    Ok(match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(bytes.iter().copied().map(char::from).collect()),
    })
}

/// A name with its appended number. The number 0 appends nothing; N appends `_` and N - 1.
pub fn numbered<'n>(text: &'n str, number: u32) -> Cow<'n, str> {
    match number {
        0 => Cow::Borrowed(text),
        number => Cow::Owned(format!("{text}_{}", number - 1)),
    }
}
