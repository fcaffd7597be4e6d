//! Applies a delta of a git pack to its base object.

/// Applies a delta to the object `base`. `None` if the delta is malformed or was made for a base of
/// another size, or if the result would have more than `max_bytes` bytes.
pub fn applied(base: &[u8], delta: &[u8], max_bytes: u64) -> Option<Vec<u8>> {
    let mut rest = delta;
    let base_size = usize::try_from(read_size(&mut rest)?).ok()?;
    let size = read_size(&mut rest)?;
    if base_size != base.len() || size > max_bytes {
        return None;
    }
    let size = usize::try_from(size).ok()?;
    let mut result = Vec::with_capacity(size.min(base.len().saturating_add(delta.len())));
    while let Some((&code, after)) = rest.split_first() {
        rest = after;
        let part = if code & 0x80 == 0 {
            // Literal bytes; git reserves the code zero.
            let (new, after) = rest.split_at_checked(usize::from(code)).filter(|_| code != 0)?;
            rest = after;
            new
        } else {
            let start = read_packed(&mut rest, code & 0x0f, 4)?;
            let length = match read_packed(&mut rest, code >> 4 & 0x07, 3)? {
                0 => 0x1_0000,
                length => length,
            };
            base.get(start..start.checked_add(length)?)?
        };
        if result.len() + part.len() > size {
            return None;
        }
        result.extend_from_slice(part);
    }
    (result.len() == size).then_some(result)
}

/// Reads a size that is stored as seven bits per byte, the lowest first.
fn read_size(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..63).step_by(7) {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// Reads a little-endian number of `bytes` bytes. Bit N of `present` says whether byte N is
/// stored; a byte that is not stored is zero.
fn read_packed(rest: &mut &[u8], present: u8, bytes: usize) -> Option<usize> {
    let mut value = 0;
    for at in 0..bytes {
        if present & 1 << at != 0 {
            let (&byte, after) = rest.split_first()?;
            *rest = after;
            value |= usize::from(byte) << (8 * at);
        }
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_and_insertions() {
        // From 5 bytes to 7: two bytes copied from offset 3, "xyz", two bytes copied from offset 0.
        let delta = [5, 7, 0x91, 3, 2, 3, b'x', b'y', b'z', 0x90, 2];
        assert_eq!(applied(b"abcde", &delta, 100).as_deref(), Some(&b"dexyzab"[..]));
        assert_eq!(applied(b"abcde", &delta, 6), None, "the limit");
        assert_eq!(applied(b"abcd", &delta, 100), None, "another base");
        assert_eq!(applied(b"abcde", &delta[..9], 100), None, "cut");
        assert_eq!(applied(b"abcde", &[5, 7, 0x91, 4, 2], 100), None, "beyond the base");
        assert_eq!(applied(b"abcde", &[5, 1, 0], 100), None, "the reserved code");
        assert_eq!(applied(b"abcde", &[5, 1, 2, 1, 1], 100), None, "more than it says");
        let all = [0xff; 40];
        assert_eq!(applied(b"abcde", &all, u64::MAX), None, "a size without end");
    }
}
