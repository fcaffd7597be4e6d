//! Reads the segments of a file: a segment's own file holds one segment, an archive holds many.

use std::ops::Range;

use crate::chain::{BrokenLink, ChainCheck, FlawKind, Line, lines};
use crate::entry::Entry;
use crate::hash::Hash;
use crate::record::{Record, SegmentHeader, SegmentSeal};

/// One segment, as read from a file.
#[derive(Debug, Clone)]
pub(crate) struct ReadSegment {
    /// The first line.
    pub header: SegmentHeader,
    /// The digest of the first line.
    pub first: Hash,
    /// The number of complete lines.
    pub lines: u64,
    /// The digest of the last complete line that is a line of an audit.
    pub last: Hash,
    /// The last line, if the segment was sealed.
    pub sealed: Option<SegmentSeal>,
    /// The bytes of the complete lines in the file.
    pub range: Range<usize>,
    /// The flaws of the lines.
    pub flaws: Vec<BrokenLink>,
}

/// The contents of a file.
#[derive(Debug, Default)]
pub(crate) struct ReadSegments {
    /// The segments, in their order.
    pub segments: Vec<ReadSegment>,
    /// The flaws before the first segment.
    pub stray: Vec<BrokenLink>,
    /// The number of bytes after the last line end.
    pub torn: usize,
}

impl ReadSegments {
    /// The only segment of a segment's own file. `None`: the file holds something else.
    pub fn only(self) -> Option<ReadSegment> {
        let mut segments = self.segments;
        if segments.len() == 1 && self.stray.is_empty() { segments.pop() } else { None }
    }
}

/// Reads the segments of a file. `each` is called with each record and the name of its segment.
pub(crate) fn read_segments(bytes: &[u8], each: &mut dyn FnMut(&str, &Record)) -> ReadSegments {
    let (lines, torn) = lines(bytes);
    let mut found = ReadSegments { torn: torn.len(), ..ReadSegments::default() };
    let (mut check, mut at_byte) = (ChainCheck::default(), 0);
    for (number, text, line) in lines {
        let range = at_byte..at_byte + text.len();
        at_byte = range.end;
        let mut flaw = check.next(line.as_ref());
        if let Some(Line { entry: Entry::Opened(header), hash, .. }) = &line {
            found.segments.push(ReadSegment {
                header: (**header).clone(),
                first: *hash,
                lines: 0,
                last: *hash,
                sealed: None,
                range: range.clone(),
                flaws: Vec::new(),
            });
        }
        let Some(segment) = found.segments.last_mut() else {
            let kind = flaw.unwrap_or(FlawKind::MissingHeader);
            found.stray.push(BrokenLink { line: number, kind });
            continue;
        };
        if segment.sealed.is_some() {
            flaw = flaw.or(Some(FlawKind::AfterSeal));
        }
        match line.as_ref().map(|line| &line.entry) {
            Some(Entry::Record(record)) => each(&segment.header.segment, record),
            Some(Entry::Sealed(sealed)) => {
                let (expected, found) = (sealed.lines, segment.lines);
                let differs = expected != found;
                flaw = flaw.or(differs.then_some(FlawKind::LineCount { expected, found }));
                segment.sealed = Some(sealed.clone());
            }
            Some(Entry::Index(_)) => flaw = flaw.or(Some(FlawKind::NotALine)),
            Some(Entry::Opened(_) | Entry::Other(_)) | None => {}
        }
        segment.flaws.extend(flaw.map(|kind| BrokenLink { line: number, kind }));
        segment.lines += 1;
        segment.last = line.map_or(segment.last, |line| line.hash);
        segment.range.end = range.end;
    }
    found
}
