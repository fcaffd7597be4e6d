//! Tests that each of a thousand manipulations of lines is found, with the right file and line.

use super::*;

/// Numbers that look random and are the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: usize) -> usize {
        // The generator of Knuth's MMIX.
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % most
    }
}

/// Manipulates the line with this index. Returns the new bytes of the file, and the numbers of lines, from 1. A fault
/// must name one of these lines. If there are no numbers, the end of the file was cut off, which the index shows.
fn manipulate(lines: &[&[u8]], kind: usize, at: usize) -> (Vec<u8>, Vec<usize>) {
    let mut lines: Vec<Vec<u8>> = lines.iter().map(|line| line.to_vec()).collect();
    let (number, last) = (at + 1, lines.len());
    let named = match kind {
        0 => {
            lines.remove(at);
            vec![number]
        }
        1 => {
            // Changes the first digit of the line.
            let line = &mut lines[at];
            let digit = line.iter().position(u8::is_ascii_digit).unwrap();
            line[digit] = if line[digit] == b'9' { b'8' } else { b'9' };
            vec![number, number + 1]
        }
        2 => {
            let other = if number == last { at - 1 } else { at + 1 };
            lines.swap(at, other);
            vec![at.min(other) + 1, at.max(other) + 1]
        }
        _ => {
            lines.truncate(at);
            Vec::new()
        }
    };
    let named = if kind == 0 && number == last { Vec::new() } else { named };
    (lines.concat(), named)
}

#[test]
fn each_of_a_thousand_manipulations_is_found_and_named() {
    let folder = tempfile::tempdir().unwrap();
    for asks in [30, 12, 50] {
        recorded(folder.path(), Limits { segment: 1 << 20, ..small() }, asks);
    }
    assert_whole(folder.path());
    let files = segments(folder.path());
    let mut numbers = Numbers(1);
    for round in 0..1000 {
        let path = &files[numbers.below(files.len())];
        let whole = fs::read(path).unwrap();
        let lines: Vec<_> = whole.split_inclusive(|byte| *byte == b'\n').collect();
        let (kind, at) = (round % 4, numbers.below(lines.len()));
        let (changed, named) = manipulate(&lines, kind, at);
        fs::write(path, changed).unwrap();
        let report = verify(folder.path()).unwrap();
        fs::write(path, &whole).unwrap();
        let file = path.file_name().unwrap().to_string_lossy();
        let is_named = report.faults.iter().any(|fault| {
            fault.file == file
                && (named.is_empty() || fault.line.is_some_and(|line| named.contains(&line)))
        });
        assert!(is_named, "{kind} at {} of {}: {:#?}", at + 1, lines.len(), report.faults);
        let others: Vec<_> = report.faults.iter().filter(|fault| fault.file != file).collect();
        assert!(others.is_empty(), "another file is accused: {others:#?}");
    }
    assert_whole(folder.path());
}
