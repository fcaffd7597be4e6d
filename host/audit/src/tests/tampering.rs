//! Property tests: every change of a file is found, and any bytes can be read.

use std::fs;

use proptest::prelude::*;

use super::*;

/// A change of a file of lines.
#[derive(Debug, Clone)]
enum Tampering {
    Change { byte: prop::sample::Index, to: u8 },
    Remove { line: prop::sample::Index },
    Repeat { line: prop::sample::Index },
    Swap { line: prop::sample::Index },
    Cut { byte: prop::sample::Index },
    Delete,
}

impl Tampering {
    fn of(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut lines: Vec<_> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        let mut changed = bytes.to_vec();
        match self {
            Self::Change { byte, to } => changed[byte.index(bytes.len())] = *to,
            Self::Remove { line } => {
                lines.remove(line.index(lines.len()));
                changed = lines.concat();
            }
            Self::Repeat { line } => {
                let at = line.index(lines.len());
                lines.insert(at, lines[at]);
                changed = lines.concat();
            }
            Self::Swap { line } => {
                let at = line.index(lines.len() - 1);
                lines.swap(at, at + 1);
                changed = lines.concat();
            }
            Self::Cut { byte } => changed.truncate(byte.index(bytes.len())),
            Self::Delete => return None,
        }
        Some(changed)
    }
}

fn tampering() -> impl Strategy<Value = Tampering> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        (index(), any::<u8>()).prop_map(|(byte, to)| Tampering::Change { byte, to }),
        index().prop_map(|line| Tampering::Remove { line }),
        index().prop_map(|line| Tampering::Repeat { line }),
        index().prop_map(|line| Tampering::Swap { line }),
        index().prop_map(|byte| Tampering::Cut { byte }),
        Just(Tampering::Delete),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..Default::default() })]

    #[test]
    fn whatever_somebody_does_to_one_file_is_found(
        processes in 1_usize..7, asks in 0_usize..12, which in any::<prop::sample::Index>(),
        tampering in tampering(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        for _ in 0..processes {
            recorded(folder.path(), small(), asks);
        }
        assert_whole(folder.path());
        let files = segments(folder.path());
        let file = &files[which.index(files.len())];
        let before = fs::read(file).unwrap();
        match tampering.of(&before) {
            Some(changed) if changed == before => return Ok(()),
            Some(changed) => fs::write(file, changed).unwrap(),
            None => fs::remove_file(file).unwrap(),
        }
        let report = verify(folder.path()).unwrap();
        prop_assert!(!report.is_whole(), "{tampering:?}");
        // The records can still be read.
        usage(folder.path()).unwrap();
    }

    #[test]
    fn any_bytes_can_be_read(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let parsed = parse(&bytes);
        let ends = bytes.iter().filter(|byte| **byte == b'\n').count();
        prop_assert!(parsed.lines.len() <= ends && parsed.flaws.len() <= ends);
    }

    #[test]
    fn lines_that_are_spoilt_can_be_read(
        spoilt in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
    ) {
        let folder = tempfile::tempdir().unwrap();
        recorded(folder.path(), small(), 3);
        for file in [segments(folder.path()).remove(0), folder.path().join("index.jsonl")] {
            let mut bytes = fs::read(&file).unwrap();
            for (at, to) in &spoilt {
                let length = bytes.len();
                bytes[at.index(length)] = *to;
            }
            let parsed = parse(&bytes);
            fs::write(&file, &bytes).unwrap();
            prop_assert!(parsed.lines.len() <= bytes.len());
        }
        verify(folder.path()).unwrap();
        usage(folder.path()).unwrap();
        // Another process can still record.
        recorded(folder.path(), small(), 1);
    }

    #[test]
    fn records_come_back_as_they_were(
        texts in prop::collection::vec(any::<String>(), 5), count in any::<u64>(),
        kind in 0_usize..5, denied in any::<bool>(), with in any::<bool>(),
    ) {
        let verdict = if denied { Verdict::Denied } else { Verdict::Allowed };
        let (capability, subject) = (texts[0].clone(), texts[1].clone());
        let outcome = with.then(|| texts[2].clone());
        let event = match kind {
            0 => Event::Ask { capability, subject, verdict, outcome },
            1 => Event::Outcome { capability, subject, verdict, outcome: texts[2].clone() },
            2 => Event::More {
                of: Counted::Asks, capability, verdict, outcome, count, total: count,
                covers: count, first: subject.clone(), last: subject,
            },
            3 => Event::Approval {
                before: with.then(|| subject.clone()), user: capability, reason: subject,
            },
            _ => Event::Call {
                verdict, outcome: capability, duration_us: count, bytes_in: 0, bytes_out: count,
                findings: if with { vec![subject] } else { Vec::new() },
            },
        };
        let record = Record {
            time: now(), request: texts[3].clone(), plugin: texts[4].clone(), digest: String::new(),
            tool: texts[3].clone(), principal: with.then(|| texts[4].clone()), event,
        };
        let folder = tempfile::tempdir().unwrap();
        let audit = Audit::with(folder.path().to_owned(), small());
        audit.write(&record).unwrap();
        audit.end().unwrap();
        prop_assert_eq!(records(folder.path()), [record]);
        assert_whole(folder.path());
    }
}
