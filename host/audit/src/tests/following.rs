//! Tests of followers and of deleted records: a follower yields each record once, and the counts of deleted records
//! stay.

use super::*;

fn ask_subject(record: &Record) -> Option<String> {
    match &record.event {
        Event::Ask { subject, .. } => Some(subject.clone()),
        Event::Outcome { .. }
        | Event::More { .. }
        | Event::Call { .. }
        | Event::Approval { .. } => None,
    }
}

#[test]
fn each_record_is_yielded_once_while_segments_rotate_and_are_archived() {
    let folder = tempfile::tempdir().unwrap();
    let mut follower = Follower::of(folder.path().to_owned());
    let mut yielded = Vec::new();
    let mut written = Vec::new();
    for process in 0..20 {
        let audit = Audit::with(folder.path().to_owned(), Limits { total: 1 << 30, ..small() });
        let trail = trail_of(&audit, "r");
        for n in 0..(process % 7) * 6 {
            let subject = format!("read /{process}/{n}");
            ask(&trail, &subject).unwrap();
            written.push(subject);
            if n % 5 == 0 {
                follower.poll(|record| yielded.extend(ask_subject(&record))).unwrap();
                assert_eq!(yielded.len(), written.len(), "at once");
            }
        }
        audit.end().unwrap();
        if process % 3 == 0 {
            follower.poll(|record| yielded.extend(ask_subject(&record))).unwrap();
        }
    }
    follower.poll(|record| yielded.extend(ask_subject(&record))).unwrap();
    let is_archive = |path: &PathBuf| path.to_string_lossy().contains("archive-");
    assert!(segments(folder.path()).iter().any(is_archive), "nothing was archived");
    yielded.sort_unstable();
    written.sort_unstable();
    assert_eq!(yielded, written);
}

#[test]
fn an_incomplete_line_is_yielded_when_it_is_complete() {
    let folder = tempfile::tempdir().unwrap();
    recorded(folder.path(), Limits::default(), 2);
    let path = segments(folder.path()).remove(0);
    let whole = fs::read(&path).unwrap();
    let half = whole.len() / 2;
    fs::write(&path, &whole[..half]).unwrap();
    let mut follower = Follower::of(folder.path().to_owned());
    let mut count = 0;
    follower.poll(|_| count += 1).unwrap();
    assert!(count < 3, "{count}");
    fs::write(&path, &whole).unwrap();
    follower.poll(|_| count += 1).unwrap();
    assert_eq!(count, 3, "two asks and the call");
}

#[test]
fn the_latest_records_are_selected_and_the_rest_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    recorded(folder.path(), Limits::default(), 10);
    let query = Query { capability: Some("files".into()), ..Query::default() };
    let selection = select(folder.path(), &query, 3).unwrap();
    let subjects: Vec<_> = selection.records.iter().filter_map(ask_subject).collect();
    assert_eq!(subjects, ["read /files/7", "read /files/8", "read /files/9"]);
    assert_eq!(selection.left_out, 7);
}

#[test]
fn old_records_are_deleted_and_their_counts_and_times_stay() {
    let folder = tempfile::tempdir().unwrap();
    recorded(folder.path(), small(), 3);
    let first = records(folder.path());
    // The next process deletes records that are older than a day. These records are younger.
    let day = Duration::from_secs(24 * 60 * 60);
    let limits = Limits { age: Some(day), ..small() };
    recorded(folder.path(), limits.clone(), 1);
    assert_eq!(subjects(folder.path()).len(), 4);
    let old = segments(folder.path()).remove(0);
    let long_ago = std::time::SystemTime::now() - 2 * day;
    File::options().append(true).open(&old).unwrap().set_modified(long_ago).unwrap();
    recorded(folder.path(), limits, 1);
    assert_eq!(subjects(folder.path()), ["read /files/0", "read /files/0"]);
    assert!(!old.exists());
    assert_whole(folder.path());
    let (usage, dropped) = usage_and_dropped(folder.path()).unwrap();
    let used = &usage.0["snoop"];
    assert_eq!((used.calls, used.allowed), (3, 5));
    assert_eq!(dropped.records, 4, "three asks and a call");
    assert_eq!(dropped.from, Some(first[0].time.clone()));
    assert_eq!(dropped.until, Some(first[3].time.clone()));
}

#[test]
fn a_digest_that_was_kept_elsewhere_shows_that_the_folder_was_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    recorded(folder.path(), small(), 1);
    let end = verify(folder.path()).unwrap().index_end.unwrap().to_string();
    recorded(folder.path(), small(), 1);
    assert!(was_last(folder.path(), &end).unwrap());
    // Somebody replaces the folder with another folder that verifies.
    let other = tempfile::tempdir().unwrap();
    recorded(other.path(), small(), 1);
    assert_whole(other.path());
    assert!(!was_last(other.path(), &end).unwrap());
    assert!(!was_last(&other.path().join("none"), &end).unwrap());
}
