//! The stored form of a package's contents: a stream of short records of string ids.

use crate::strings::Id;

/// The kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// A variable of the Blueprint: name, type, default value.
    Variable,
    /// Begins a graph: name. The records of its local variables and nodes follow. Extra bytes: the
    /// role.
    Graph,
    /// A variable of a function: name, type, default value.
    Local,
    /// Begins a node: name, class, title, subject, owner, comment. Extra bytes: the action and the
    /// GUID.
    Node,
    /// A value of the node's pin: pin, value.
    Pin,
    /// A text outside of graphs: place, text.
    Text,
}

impl Tag {
    const ALL: [Self; 6] =
        [Self::Variable, Self::Graph, Self::Local, Self::Node, Self::Pin, Self::Text];

    fn code(self) -> u8 {
        match self {
            Self::Variable => 0,
            Self::Graph => 1,
            Self::Local => 2,
            Self::Node => 3,
            Self::Pin => 4,
            Self::Text => 5,
        }
    }

    /// Number of ids, and of extra bytes.
    fn lengths(self) -> (usize, usize) {
        match self {
            Self::Variable | Self::Local => (3, 0),
            Self::Graph => (1, 1),
            Self::Node => (6, 17),
            Self::Pin | Self::Text => (2, 0),
        }
    }
}

/// A record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'b> {
    pub tag: Tag,
    /// The ids; unused ids are 0.
    pub ids: [Id; 6],
    /// The extra bytes.
    pub extra: &'b [u8],
}

impl<'b> Record<'b> {
    /// Creates a record with these ids.
    pub fn new(tag: Tag, ids: &[Id], extra: &'b [u8]) -> Self {
        let mut all = [Id(0); 6];
        all.iter_mut().zip(ids).for_each(|(id, given)| *id = *given);
        Self { tag, ids: all, extra }
    }

    /// Appends the record to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        let (ids, _) = self.tag.lengths();
        out.push(self.tag.code());
        self.ids.iter().take(ids).for_each(|id| write_number(out, id.0));
        out.extend_from_slice(self.extra);
    }

    /// Takes the next record; `None` at the end, or if the bytes are not a record.
    pub fn next(rest: &mut &'b [u8]) -> Option<Self> {
        let (code, behind) = rest.split_first()?;
        *rest = behind;
        let tag = *Tag::ALL.get(usize::from(*code))?;
        let (ids, extra) = tag.lengths();
        let mut record = Self { tag, ids: [Id(0); 6], extra: &[] };
        for id in record.ids.iter_mut().take(ids) {
            *id = Id(read_number(rest)?);
        }
        (record.extra, *rest) = rest.split_at_checked(extra)?;
        Some(record)
    }
}

/// Appends a number, seven bits in each byte, the lowest first. The highest bit of a byte means
/// that more bytes follow.
fn write_number(out: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        out.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
}

fn read_number(rest: &mut &[u8]) -> Option<u32> {
    let mut number = 0;
    for shift in [0, 7, 14, 21, 28] {
        let (byte, behind) = rest.split_first()?;
        *rest = behind;
        number |= u32::from(byte & 0x7F) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_as_written() {
        let big = [0, 1, 127, 128, 70_000, u32::MAX].map(Id);
        let guid = [7; 17];
        let all = [
            Record::new(Tag::Graph, &[Id(300)], &[2]),
            Record::new(Tag::Node, &big, &guid),
            Record::new(Tag::Pin, &[Id(1), Id(2)], &[]),
            Record::new(Tag::Variable, &[Id(1), Id(2), Id(3)], &[]),
            Record::new(Tag::Local, &[Id(4), Id(5), Id(6)], &[]),
            Record::new(Tag::Text, &[Id(9), Id(8)], &[]),
        ];
        let mut bytes = Vec::new();
        all.iter().for_each(|record| record.write(&mut bytes));
        let mut rest = bytes.as_slice();
        let read: Vec<_> = std::iter::from_fn(|| Record::next(&mut rest)).collect();
        assert_eq!((read.as_slice(), rest.len()), (all.as_slice(), 0));
        let mut cut = &bytes[..bytes.len() - 1];
        assert_eq!(std::iter::from_fn(|| Record::next(&mut cut)).count(), 5);
        assert_eq!(Record::next(&mut [9_u8, 0].as_slice()), None);
        assert_eq!(Record::next(&mut [4_u8, 255, 255, 255, 255, 255, 0].as_slice()), None);
    }
}
