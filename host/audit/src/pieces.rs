//! The segments in a file: one in a segment's own file, many in an archive.

use std::ops::Range;

use crate::chain::{Flaw, Hash, Line, Walk, Wrong, lines};
use crate::record::{Entry, Opened, Record, Sealed};

/// One segment, as it was found in a file.
#[derive(Debug, Clone)]
pub(crate) struct Piece {
    /// Its first line.
    pub opened: Opened,
    /// The digest of its first line.
    pub first: Hash,
    /// How many whole lines it has.
    pub lines: u64,
    /// The digest of the last of them.
    pub last: Hash,
    /// Its last line, where it was ended.
    pub sealed: Option<Sealed>,
    /// Its whole lines in the file, in bytes.
    pub range: Range<usize>,
    /// What is wrong with its lines.
    pub flaws: Vec<Flaw>,
}

/// What a file holds.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    /// Its segments.
    pub pieces: Vec<Piece>,
    /// What is wrong before the first of them.
    pub stray: Vec<Flaw>,
    /// How many bytes are behind the last line end.
    pub torn: usize,
}

impl Pieces {
    /// The only segment of a segment's own file.
    pub fn only(self) -> Option<Piece> {
        let mut pieces = self.pieces;
        if pieces.len() == 1 && self.stray.is_empty() { pieces.pop() } else { None }
    }
}

/// Reads the segments of a file, and hands on each record with the name of its segment.
pub(crate) fn pieces(bytes: &[u8], each: &mut dyn FnMut(&str, &Record)) -> Pieces {
    let (lines, torn) = lines(bytes);
    let mut found = Pieces { torn: torn.len(), ..Pieces::default() };
    let (mut walk, mut at_byte) = (Walk::default(), 0);
    for (at, text, line) in lines {
        let range = at_byte..at_byte + text.len();
        at_byte = range.end;
        let mut wrong = walk.step(line.as_ref());
        if let Some(Line { entry: Entry::Opened(opened), hash, .. }) = &line {
            found.pieces.push(Piece {
                opened: (**opened).clone(),
                first: *hash,
                lines: 0,
                last: *hash,
                sealed: None,
                range: range.clone(),
                flaws: Vec::new(),
            });
        }
        let Some(piece) = found.pieces.last_mut() else {
            let wrong = wrong.unwrap_or(Wrong::NoBeginning);
            found.stray.push(Flaw { at, wrong });
            continue;
        };
        if piece.sealed.is_some() {
            wrong = wrong.or(Some(Wrong::BehindTheEnd));
        }
        match line.as_ref().map(|line| &line.entry) {
            Some(Entry::Record(record)) => each(&piece.opened.segment, record),
            Some(Entry::Sealed(sealed)) => {
                let (said, found) = (sealed.lines, piece.lines);
                wrong = wrong.or((said != found).then_some(Wrong::Count { said, found }));
                piece.sealed = Some(sealed.clone());
            }
            Some(Entry::Note(_)) => wrong = wrong.or(Some(Wrong::NotALine)),
            Some(Entry::Opened(_) | Entry::Other(_)) | None => {}
        }
        piece.flaws.extend(wrong.map(|wrong| Flaw { at, wrong }));
        piece.lines += 1;
        piece.last = line.map_or(piece.last, |line| line.hash);
        piece.range.end = range.end;
    }
    found
}
