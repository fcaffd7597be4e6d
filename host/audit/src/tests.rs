//! Tests with floods of asks, full disks, and files that are cut or edited: records stay, and changes are found.

use std::cell::Cell;
use std::fs::{self, File};
use std::time::Duration;

use super::*;
use crate::disk::SegmentFile;

mod following;
mod manipulations;
mod tampering;

/// Limits that are reached soon, and without waiting.
fn small() -> Limits {
    Limits {
        segment: 4096,
        total: 64 * 1024,
        age: None,
        small: 2048,
        many: 4,
        index: 16 * 1024,
        settle: Duration::ZERO,
        index_wait: Duration::from_secs(30),
    }
}

fn trail_of(audit: &Audit, request: &str) -> Trail {
    let subject = CallIdentity {
        request: request.into(),
        plugin: "snoop".into(),
        digest: "d".repeat(64).into(),
        tool: "look".into(),
        principal: None,
    };
    Trail::new(audit.clone(), subject)
}

fn ask(trail: &Trail, subject: &str) -> io::Result<Recorded> {
    trail.record_ask("files", subject, Verdict::Allowed, Some("opened"))
}

/// An audit of one process with this many asks in one call.
fn recorded(folder: &Path, limits: Limits, asks: usize) {
    let audit = Audit::with(folder.to_owned(), limits);
    let trail = trail_of(&audit, "r-0");
    let ongoing = trail.begin_call(2).unwrap();
    for n in 0..asks {
        ask(&trail, &format!("read /files/{n}")).unwrap();
    }
    ongoing.end(Verdict::Allowed, "done", 3).unwrap();
    audit.end().unwrap();
}

/// Creates the file of a segment. Panics if the folder has no index.
fn create_beside_index(path: &Path) -> io::Result<Box<dyn SegmentFile>> {
    assert!(path.with_file_name("index.jsonl").exists(), "a segment without an index");
    create_segment_file(path)
}

#[test]
fn the_index_exists_before_the_first_segment() {
    let folder = tempfile::tempdir().unwrap();
    let audit = Audit::with_files(folder.path().to_owned(), small(), create_beside_index);
    trail_of(&audit, "r-0").begin_call(2).unwrap();
}

fn records(folder: &Path) -> Vec<Record> {
    let mut records = Vec::new();
    read_records(folder, |record| records.push(record)).unwrap();
    records
}

fn subjects(folder: &Path) -> Vec<String> {
    let subject = |record: Record| match record.event {
        Event::Ask { subject, .. } => Some(subject),
        Event::Outcome { .. }
        | Event::More { .. }
        | Event::Call { .. }
        | Event::Approval { .. } => None,
    };
    records(folder).into_iter().filter_map(subject).collect()
}

fn segments(folder: &Path) -> Vec<PathBuf> {
    let listed = folder::list(folder).unwrap();
    listed.into_iter().map(|file| folder.join(file.name)).collect()
}

fn size(folder: &Path) -> u64 {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum()
}

fn assert_whole(folder: &Path) -> Report {
    let report = verify(folder).unwrap();
    assert!(report.is_whole(), "{:#?}", report.faults);
    report
}

#[test]
fn what_is_recorded_is_read_and_verifies() {
    let folder = tempfile::tempdir().unwrap();
    recorded(folder.path(), Limits::default(), 3);
    let report = assert_whole(folder.path());
    assert_eq!(report.remarks, []);
    assert_eq!(report.segments.len(), 1);
    // A first line, three asks, the call, a last line.
    assert_eq!(report.segments[0].lines, 6);
    assert_eq!(report.segments[0].ending, Ending::Sealed("ended".into()));
    assert_eq!(subjects(folder.path()), ["read /files/0", "read /files/1", "read /files/2"]);
    let usage = usage(folder.path()).unwrap();
    let used = &usage.0["snoop"];
    assert_eq!((used.calls, used.allowed, used.denied), (1, 3, 0));
}

#[test]
fn nothing_is_recorded_after_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let audit = Audit::to_folder(folder.path().to_owned());
    let trail = trail_of(&audit, "r-0");
    ask(&trail, "read /a").unwrap();
    audit.end().unwrap();
    assert!(ask(&trail, "read /b").is_err());
    assert_eq!(subjects(folder.path()), ["read /a"]);
}

#[test]
fn ten_million_asks_are_counted_and_push_nothing_out() {
    const FLOOD: u64 = 10_000_000;
    let folder = tempfile::tempdir().unwrap();
    let audit = Audit::to_folder(folder.path().to_owned());
    let trail = trail_of(&audit, "r-0");
    let ongoing = trail.begin_call(2).unwrap();
    trail.record_ask("files", "read /secret", Verdict::Denied, None).unwrap();
    let began = std::time::Instant::now();
    for n in 0..FLOOD {
        let outcome = if n % 2 == 0 { "no-entry" } else { "opened" };
        trail.record_ask("files", "read /files/missing", Verdict::Allowed, Some(outcome)).unwrap();
    }
    let took = began.elapsed();
    ongoing.end(Verdict::Allowed, "done", 0).unwrap();
    audit.end().unwrap();
    println!("{FLOOD} asks in {took:?}, {} bytes", size(folder.path()));
    assert_whole(folder.path());
    assert!(size(folder.path()) < 1024 * 1024, "{}", size(folder.path()));
    let usage = usage(folder.path()).unwrap();
    let used = &usage.0["snoop"];
    assert_eq!((used.calls, used.allowed, used.denied), (1, FLOOD, 1));
    assert_eq!(used.denials[0].subject, "read /secret");
    let last = records(folder.path()).into_iter().rev().find_map(|record| match record.event {
        Event::More { total, covers, .. } => Some((total, covers)),
        Event::Ask { .. } | Event::Outcome { .. } | Event::Call { .. } | Event::Approval { .. } => {
            None
        }
    });
    let half = (FLOOD - u64::from(MAX_SINGLE_RECORDS)) / 2;
    assert_eq!(last, Some((half, half)), "at the end of the call, the count is exact");
}

#[test]
fn a_denial_after_a_flood_of_allowed_asks_is_described() {
    let folder = tempfile::tempdir().unwrap();
    let audit = Audit::to_folder(folder.path().to_owned());
    let trail = trail_of(&audit, "r-0");
    for n in 0..2000 {
        ask(&trail, &format!("read /files/{n}")).unwrap();
    }
    let denied = trail.record_ask("http", "GET https://secret", Verdict::Denied, None).unwrap();
    assert_eq!(denied, Recorded::Single);
    assert_eq!(subjects(folder.path()).last().unwrap(), "GET https://secret");
}

#[test]
fn each_counted_ask_is_covered_by_a_record_before_it_is_carried_out() {
    let folder = tempfile::tempdir().unwrap();
    let audit = Audit::to_folder(folder.path().to_owned());
    let trail = trail_of(&audit, "r-0");
    for done in 1..=5000 {
        ask(&trail, "read /files/a").unwrap();
        if done % 97 == 0 {
            // The folder is read as if the process were killed here.
            let (mut described, mut covered, mut said) = (0, 0, 0);
            for record in records(folder.path()) {
                match record.event {
                    Event::Ask { .. } => described += 1,
                    Event::More { covers, count, .. } => (covered, said) = (covers, said + count),
                    Event::Outcome { .. } | Event::Call { .. } | Event::Approval { .. } => {}
                }
            }
            assert!(described + covered >= done && described + said <= done, "{done}");
        }
    }
}

#[test]
fn what_is_dropped_for_space_leaves_its_counts_and_denials() {
    let folder = tempfile::tempdir().unwrap();
    let audit = Audit::with(folder.path().to_owned(), small());
    trail_of(&audit, "r-0").record_ask("files", "read /secret", Verdict::Denied, None).unwrap();
    const CALLS: u64 = 300;
    for n in 0..CALLS {
        let trail = trail_of(&audit, &format!("r-{n}"));
        let ongoing = trail.begin_call(0).unwrap();
        for _ in 0..10 {
            ask(&trail, "read /files/a").unwrap();
        }
        ongoing.end(Verdict::Allowed, "done", 0).unwrap();
    }
    audit.end().unwrap();
    let kept: u64 = folder::list(folder.path()).unwrap().iter().map(|file| file.bytes).sum();
    assert!(kept <= small().total + 2 * small().segment, "{kept}");
    assert!(!subjects(folder.path()).contains(&"read /secret".to_owned()), "it was dropped");
    assert_whole(folder.path());
    let usage = usage(folder.path()).unwrap();
    let used = &usage.0["snoop"];
    assert_eq!((used.calls, used.allowed, used.denied), (CALLS, CALLS * 10, 1));
    assert_eq!(used.denials[0].subject, "read /secret");
}

#[test]
fn small_segments_are_put_together_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits { segment: 32 * 1024, ..small() };
    for _ in 0..30 {
        recorded(folder.path(), limits.clone(), 1);
    }
    // One archive of about 32 KiB, the next archive, and segments that are too few to be archived.
    assert!(segments(folder.path()).len() <= 2 + small().many, "{:?}", segments(folder.path()));
    assert_eq!(subjects(folder.path()).len(), 30);
    let report = assert_whole(folder.path());
    assert_eq!(report.segments.len(), 30);
    assert!(report.segments.iter().all(|one| one.ending == Ending::Sealed("ended".into())));
    assert_eq!(usage(folder.path()).unwrap().0["snoop"].calls, 30);
}

#[test]
fn an_archive_that_was_not_finished_counts_nothing_twice() {
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..14 {
        recorded(folder.path(), small(), 1);
    }
    let is_archive = |path: &PathBuf| path.to_string_lossy().contains("archive-");
    let archive = segments(folder.path()).into_iter().find(is_archive).unwrap();
    // As if the process was killed after it wrote a segment into the archive, and before it added the archive to
    // the index.
    let single = segments(folder.path()).into_iter().find(|path| !is_archive(path)).unwrap();
    let torn = fs::read(&single).unwrap();
    let before = fs::read(&archive).unwrap();
    fs::write(&archive, [&before[..], &torn[..torn.len() - 9]].concat()).unwrap();
    assert_eq!(subjects(folder.path()).len(), 14);
    let report = assert_whole(folder.path());
    assert!(report.remarks[0].what.contains("killed while it archived"), "{:?}", report.remarks);
    // As if the process was killed after it added the archive to the index, and before it removed the segments.
    let first = before.split_inclusive(|byte| *byte == b'\n').take(4).collect::<Vec<_>>().concat();
    let name = archive.file_name().unwrap().to_string_lossy().replace("archive-", "");
    fs::write(folder.path().join(name), first).unwrap();
    assert_eq!(subjects(folder.path()).len(), 14);
    for _ in 0..4 {
        recorded(folder.path(), small(), 1);
    }
    assert_eq!(subjects(folder.path()).len(), 18);
    assert_whole(folder.path());
}

#[test]
fn a_deleted_segment_whose_file_stays_counts_once_also_when_the_index_is_compacted() {
    let folder = tempfile::tempdir().unwrap();
    recorded(folder.path(), small(), 1);
    let counts = || (usage(folder.path()).unwrap().0["snoop"].calls, subjects(folder.path()).len());
    assert_eq!(counts(), (1, 1));
    let file = folder::list(folder.path()).unwrap().remove(0).name;
    // Maintenance does the same if the system does not remove the file.
    let mut index = index::Index::open(folder.path(), small().index_wait).unwrap();
    let (usage, dropped) = (usage(folder.path()).unwrap(), DeletedRecords::default());
    index.append(IndexEntry::Dropped { file, segments: 1, usage, dropped }).unwrap();
    for n in 0..50 {
        let (file, usage) = (format!("2020-{n}.jsonl"), Usage::default());
        let dropped = DeletedRecords::default();
        index.append(IndexEntry::Dropped { file, segments: 0, usage, dropped }).unwrap();
    }
    assert_eq!(counts(), (1, 0));
    index.compact(folder.path(), 0).unwrap();
    drop(index);
    assert!(folder.path().join("index-before.jsonl").exists(), "it was compacted");
    assert_eq!(counts(), (1, 0));
    assert_whole(folder.path());
    recorded(folder.path(), small(), 1);
    assert_eq!(counts(), (2, 1));
    assert_eq!(segments(folder.path()).len(), 1, "the file is removed when that is possible");
    assert_whole(folder.path());
}

#[test]
fn what_somebody_adds_to_an_archive_is_found_and_not_read() {
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..14 {
        recorded(folder.path(), small(), 1);
    }
    let archive = segments(folder.path()).into_iter().next().unwrap();
    assert!(archive.to_string_lossy().contains("archive-"), "{archive:?}");
    let before = fs::read(&archive).unwrap();
    let lines: Vec<_> = before.split_inclusive(|byte| *byte == b'\n').collect();
    let segment = lines[..4].concat();
    let mut unknown = Vec::new();
    let header = serde_json::json!({
        "event": "opened", "format": 1, "version": "1", "time": "2020-01-01T00:00:00Z",
        "segment": "20200101T000000Z-1-1", "pid": 1, "started": "2020-01-01T00:00:00Z",
    });
    chain::Chain::default().link(&header, &mut unknown).unwrap();
    let seal = lines[lines.len() - 1].to_vec();
    let edited = [&segment[..], lines[2]].concat();
    for added in [seal, lines[1].to_vec(), unknown, edited] {
        fs::write(&archive, [&before[..], &added].concat()).unwrap();
        assert_eq!(subjects(folder.path()).len(), 14);
        let report = verify(folder.path()).unwrap();
        assert!(!report.is_whole(), "{}", String::from_utf8_lossy(&added));
    }
}

#[test]
fn the_index_is_begun_anew_and_says_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits { many: 1000, index: 3000, ..small() };
    for _ in 0..40 {
        recorded(folder.path(), limits.clone(), 0);
    }
    let index = fs::read(folder.path().join("index.jsonl")).unwrap();
    let first = parse(&index).lines.swap_remove(0);
    let Entry::Index(note) = first.entry else { panic!("{first:?}") };
    let IndexEntry::IndexOpened { before, .. } = *note else { panic!("{note:?}") };
    // The previous index ends with the line whose digest the new index states.
    let old = parse(&fs::read(folder.path().join("index-before.jsonl")).unwrap());
    assert_eq!(before, Some(old.lines.last().unwrap().hash));
    assert_whole(folder.path());
    assert_eq!(usage(folder.path()).unwrap().0["snoop"].calls, 40);
    // A change of the previous index is found.
    let path = folder.path().join("index-before.jsonl");
    let before = fs::read(&path).unwrap();
    let lines: Vec<_> = before.split_inclusive(|byte| *byte == b'\n').collect();
    for changed in [lines[1..].concat(), lines[..lines.len() - 1].concat(), b"{}\n".to_vec()] {
        fs::write(&path, changed).unwrap();
        let faults = verify(folder.path()).unwrap().faults;
        assert!(faults.iter().any(|fault| fault.file == "index-before.jsonl"), "{faults:?}");
    }
}

#[test]
fn a_segment_may_be_cut_at_any_byte() {
    let folder = tempfile::tempdir().unwrap();
    recorded(folder.path(), Limits::default(), 4);
    let path = segments(folder.path()).remove(0);
    let (whole, index) = (fs::read(&path).unwrap(), folder.path().join("index.jsonl"));
    let sealed = fs::read(&index).unwrap();
    // The index as it was while the process was writing.
    let lines: Vec<_> = sealed.split_inclusive(|byte| *byte == b'\n').collect();
    let opened = lines[..2].concat();
    let all = subjects(folder.path());
    for length in 0..whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        let ends = whole[..length].iter().filter(|byte| **byte == b'\n').count();
        fs::write(&index, &opened).unwrap();
        assert_eq!(subjects(folder.path()), all[..ends.saturating_sub(1).min(all.len())]);
        let report = verify(folder.path()).unwrap();
        // The index lists a segment only after its first line was written. So if this line is missing, somebody cut
        // the file.
        assert_eq!(report.is_whole(), ends > 0, "{length}: {report:#?}");
        // The index states how the segment ended. So somebody removed the missing lines.
        fs::write(&index, &sealed).unwrap();
        assert!(!verify(folder.path()).unwrap().is_whole(), "{length}");
    }
}

#[test]
fn the_next_process_goes_on_beside_one_that_was_killed() {
    let folder = tempfile::tempdir().unwrap();
    let audit = Audit::with(folder.path().to_owned(), small());
    ask(&trail_of(&audit, "r-0"), "read /a").unwrap();
    drop(audit);
    let path = segments(folder.path()).remove(0);
    let mut bytes = fs::read(&path).unwrap();
    bytes.extend_from_slice(b"{\"time\":\"half a li");
    fs::write(&path, bytes).unwrap();
    recorded(folder.path(), small(), 1);
    assert_eq!(subjects(folder.path()), ["read /a", "read /files/0"]);
    let report = assert_whole(folder.path());
    assert_eq!(report.segments[0].ending, Ending::Killed);
    // From now on, the index states the length of the segment.
    let bytes = fs::read(&path).unwrap();
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    fs::write(&path, &bytes[..end]).unwrap();
    assert!(!verify(folder.path()).unwrap().is_whole());
}

thread_local! {
    /// Bytes that fit on the disk of this test.
    static ROOM: Cell<usize> = const { Cell::new(0) };
    /// Whether files on this disk can be truncated.
    static CUTS: Cell<bool> = const { Cell::new(true) };
}

/// A file on a disk that may be full.
struct Scarce(File);

impl SegmentFile for Scarce {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let fits = ROOM.get().min(bytes.len());
        ROOM.set(ROOM.get() - fits);
        io::Write::write_all(&mut self.0, &bytes[..fits])?;
        if fits < bytes.len() { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    fn truncate(&mut self, size: u64) -> io::Result<()> {
        if !CUTS.get() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let freed = self.0.metadata()?.len().saturating_sub(size);
        self.0.set_len(size)?;
        ROOM.set(ROOM.get() + usize::try_from(freed).unwrap());
        Ok(())
    }

    fn exists(&self) -> bool {
        true
    }
}

fn scarce(path: &Path) -> io::Result<Box<dyn SegmentFile>> {
    let file = File::options().create_new(true).append(true).open(path)?;
    Ok(Box::new(Scarce(file)))
}

#[test]
fn a_full_disk_refuses_asks_and_spoils_nothing() {
    for room in (0..3000).step_by(7) {
        let folder = tempfile::tempdir().unwrap();
        ROOM.set(room);
        CUTS.set(true);
        let audit = Audit::with_files(folder.path().to_owned(), small(), scarce);
        let trail = trail_of(&audit, "r-0");
        let mut acknowledged = Vec::new();
        for n in 0..12 {
            let subject = format!("read /files/{n}");
            // From n = 9 on, the disk has room. At each third ask, files cannot be truncated.
            CUTS.set(n % 3 > 0);
            if n == 9 {
                ROOM.set(1_000_000);
            }
            if ask(&trail, &subject).is_ok() {
                acknowledged.push(subject);
            }
            assert_eq!(subjects(folder.path()), acknowledged, "{room}");
        }
        assert!(acknowledged.len() >= 2, "there was room in the end");
        CUTS.set(true);
        audit.end().unwrap();
        assert_eq!(subjects(folder.path()), acknowledged);
        assert_whole(folder.path());
    }
}

#[cfg(unix)]
#[test]
fn a_file_that_somebody_removed_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let audit = Audit::with(folder.path().to_owned(), small());
    let trail = trail_of(&audit, "r-0");
    ask(&trail, "read /a").unwrap();
    fs::remove_file(segments(folder.path()).remove(0)).unwrap();
    std::thread::sleep(Duration::from_millis(1100));
    ask(&trail, "read /b").unwrap();
    audit.end().unwrap();
    assert_eq!(subjects(folder.path()), ["read /b"]);
    let faults = verify(folder.path()).unwrap().faults;
    // The next segment names the removed segment, even if the index does not.
    assert!(faults.iter().any(|fault| fault.what.contains("is missing")), "{faults:?}");
}

#[test]
fn a_verdict_is_allowed_or_denied() {
    let words: Vec<_> = [Verdict::Allowed, Verdict::Denied].map(Verdict::word).into();
    for word in words.iter().chain(&["maybe", "once", "always", "asked", "", "ALLOWED"]) {
        let read = serde_json::from_value::<Verdict>((*word).into());
        assert_eq!(read.ok().map(Verdict::word), words.contains(word).then_some(*word));
    }
}
