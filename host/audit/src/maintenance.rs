//! A thread that maintains an audit's folder: it writes the index, moves small segments into archives, and
//! deletes the oldest files. Calls of plugins do not wait for this thread.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::time::{Duration, SystemTime};

use crate::disk::{exists, is_live, owner_only, read, remove};
use crate::folder::{FolderFile, list};
use crate::hash::Hash;
use crate::index::Index;
use crate::index_entry::{Archive, DeletedRecords, IndexEntry, SegmentEnd, file_name};
use crate::limits::Limits;
use crate::segments::read_segments;
use crate::usage::Usage;

/// How long this thread waits for the lock of the index.
const INDEX_WAIT: Duration = Duration::from_secs(10);

/// A job for the thread.
pub(crate) enum Job {
    /// This process began a segment.
    Opened { segment: String, first: Hash },
    /// This process ended a segment.
    Ended { segment: String, first: Hash, end: SegmentEnd },
    /// Send an answer when all earlier jobs are done.
    Flush(SyncSender<()>),
}

/// A handle to the thread.
pub(crate) struct Maintenance(Sender<Job>);

impl Maintenance {
    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// The system cannot start a thread.
    pub fn start(folder: PathBuf, limits: Limits) -> io::Result<Self> {
        let (sender, jobs) = channel();
        let thread = std::thread::Builder::new().name("audit".into());
        thread.spawn(move || work(&folder, &limits, &jobs))?;
        Ok(Self(sender))
    }

    /// The channel for jobs.
    pub fn jobs(&self) -> &Sender<Job> {
        &self.0
    }

    /// Waits until all jobs are done, at most for this time. `false`: some jobs are not done, or the thread has
    /// ended.
    pub fn finish(self, at_most: Duration) -> bool {
        let (sender, done) = sync_channel(1);
        self.0.send(Job::Flush(sender)).is_ok() && done.recv_timeout(at_most).is_ok()
    }
}

fn work(folder: &Path, limits: &Limits, jobs: &Receiver<Job>) {
    while let Ok(job) = jobs.recv() {
        let (file, entry) = match job {
            Job::Opened { segment, first } => {
                (file_name(&segment), IndexEntry::SegmentOpened { segment, first })
            }
            Job::Ended { segment, first, end } => {
                (file_name(&segment), IndexEntry::SegmentEnded { segment, first, end })
            }
            Job::Flush(done) => {
                // The process may no longer wait for the answer.
                let _no_longer_awaited = done.send(());
                continue;
            }
        };
        let is_begun = matches!(entry, IndexEntry::SegmentOpened { .. });
        let updated = Index::open(folder, INDEX_WAIT).and_then(|mut index| {
            // Another process may have archived the segment in the meantime.
            if exists(&folder.join(file)) {
                index.append(entry)?;
            }
            if is_begun { tidy(folder, limits, &mut index) } else { Ok(()) }
        });
        if let Err(error) = updated {
            // The next process appends the missing lines.
            tracing::warn!("cannot update the index of the audit in {}: {error}", folder.display());
        }
    }
}

/// Adds ends of segments to the index, archives small segments, and deletes the oldest files.
///
/// # Errors
///
/// A file cannot be read or written. The next call of this function does the remaining work.
pub(crate) fn tidy(folder: &Path, limits: &Limits, index: &mut Index) -> io::Result<()> {
    let mut listed = list(folder)?;
    listed.retain(|file| {
        let is_leftover = index.state.leftover.contains(&file.name);
        if is_leftover {
            remove(&folder.join(&file.name));
        }
        !is_leftover
    });
    note_ends(folder, limits, index, &listed)?;
    archive_small(folder, limits, index, &mut listed)?;
    drop_oldest(folder, limits, index, listed)?;
    index.compact(folder, limits.index)
}

/// Adds the end of a segment to the index if the process of the segment ended without doing so.
fn note_ends(
    folder: &Path,
    limits: &Limits,
    index: &mut Index,
    listed: &[FolderFile],
) -> io::Result<()> {
    for file in listed.iter().filter(|file| !file.archive) {
        let has_ended =
            index.state.segments.get(&file.stem).is_some_and(|known| known.end.is_some());
        if has_ended || is_fresh(file, limits) || is_live(&folder.join(&file.name)) {
            continue;
        }
        let bytes = read(&folder.join(&file.name))?;
        let Some(segment) = read_segments(&bytes, &mut |_, _| ()).only() else { continue };
        let end = SegmentEnd {
            lines: segment.lines,
            last: segment.last,
            sealed: segment.sealed.is_some(),
        };
        index.append(IndexEntry::SegmentEnded {
            segment: file.stem.clone(),
            first: segment.first,
            end,
        })?;
    }
    Ok(())
}

/// Moves small segments that have ended into one file.
fn archive_small(
    folder: &Path,
    limits: &Limits,
    index: &mut Index,
    listed: &mut Vec<FolderFile>,
) -> io::Result<()> {
    let has_ended = |index: &Index, file: &FolderFile| {
        let known = index.state.segments.get(&file.stem);
        known.is_some_and(|known| known.end.is_some())
    };
    let is_small = |file: &FolderFile| !file.archive && file.bytes < limits.small;
    let small: Vec<_> =
        listed.iter().filter(|file| is_small(file) && has_ended(index, file)).cloned().collect();
    if small.len() < limits.many {
        return Ok(());
    }
    let fits = |name: &str, archive: &Archive| {
        archive.bytes < limits.segment && !spans_too_long(name, limits)
    };
    let last = index.state.archives.iter().next_back();
    let current = last.filter(|(name, archive)| fits(name, archive));
    let (archive_name, mut archive) = match current {
        Some((name, archive)) => (name.clone(), archive.clone()),
        None => (format!("archive-{}.jsonl", small[0].stem), Archive::default()),
    };
    let (mut contents, mut segments) = (Vec::new(), Vec::new());
    for file in &small {
        let bytes = read(&folder.join(&file.name))?;
        let segment = read_segments(&bytes, &mut |_, _| ()).only();
        let known = index.state.segments.get(&file.stem).and_then(|known| known.end.as_ref());
        // A segment with flaws stays in its own file, as evidence.
        let Some(segment) = segment.filter(|segment| {
            segment.flaws.is_empty() && known.is_some_and(|end| end.last == segment.last)
        }) else {
            continue;
        };
        contents.extend_from_slice(&bytes[segment.range]);
        archive.digest = archive.digest.fold(segment.last);
        archive.segments += 1;
        segments.push(file.stem.clone());
    }
    if segments.is_empty() {
        return Ok(());
    }
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    owner_only(&mut options);
    let mut file = options.open(folder.join(&archive_name))?;
    // Bytes beyond the size in the index were written by a process that was killed while it archived.
    file.set_len(archive.bytes)?;
    if let Err(error) = file.write_all(&contents) {
        file.set_len(archive.bytes)?;
        return Err(error);
    }
    file.sync_data()?;
    archive.bytes += contents.len() as u64;
    let bytes = archive.bytes;
    index.append(IndexEntry::Archived {
        segments: segments.clone(),
        into: archive_name.clone(),
        archive,
    })?;
    for segment in &segments {
        remove(&folder.join(file_name(segment)));
    }
    listed.retain(|file| file.name != archive_name && !segments.contains(&file.stem));
    listed.push(FolderFile::archive(archive_name, bytes));
    listed.sort_unstable();
    Ok(())
}

/// Deletes files that are too old, and the oldest files while all files together are too large.
fn drop_oldest(
    folder: &Path,
    limits: &Limits,
    index: &mut Index,
    listed: Vec<FolderFile>,
) -> io::Result<()> {
    let mut total: u64 = listed.iter().map(|file| file.bytes).sum();
    for file in listed {
        if total <= limits.total && !is_expired(&file, limits) {
            continue;
        }
        let path = folder.join(&file.name);
        let has_ended = file.archive
            || index.state.segments.get(&file.stem).is_some_and(|known| known.end.is_some());
        if !has_ended && (is_fresh(&file, limits) || is_live(&path)) {
            continue;
        }
        let (mut usage, mut dropped) = (Usage::default(), DeletedRecords::default());
        let found = read_segments(&read(&path)?, &mut |_, record| {
            usage.add(record);
            dropped.add(record);
        });
        let segments = found.segments.len() as u64;
        index.append(IndexEntry::Dropped { file: file.name.clone(), segments, usage, dropped })?;
        remove(&folder.join(&file.name));
        total = total.saturating_sub(file.bytes);
    }
    Ok(())
}

/// Whether an archive began more than an eighth of the maximum age ago. Nothing more is added to such an archive: files
/// are deleted whole, by the age of their last write, so an archive that grew for ever would never be deleted.
fn spans_too_long(name: &str, limits: &Limits) -> bool {
    let (Some(max_age), Some(begin)) = (limits.age, begin_time(name)) else { return false };
    SystemTime::now().duration_since(begin).is_ok_and(|age| age > max_age / 8)
}

/// The time at which the first segment of an archive began, from the archive's name:
/// `archive-20261122T080000.120Z-….jsonl`.
fn begin_time(name: &str) -> Option<SystemTime> {
    let stamp = name.strip_prefix("archive-")?.split('-').next()?;
    let part = |from: usize, to: usize| stamp.get(from..to);
    let rest = stamp.get(13..)?;
    let (year, month, day) = (part(0, 4)?, part(4, 6)?, part(6, 8)?);
    let (hour, minute) = (part(9, 11)?, part(11, 13)?);
    humantime::parse_rfc3339(&format!("{year}-{month}-{day}T{hour}:{minute}:{rest}")).ok()
}

/// Whether the last write of the file is too long ago.
fn is_expired(file: &FolderFile, limits: &Limits) -> bool {
    let (Some(max_age), Some(changed)) = (limits.age, file.changed) else { return false };
    SystemTime::now().duration_since(changed).is_ok_and(|age| age > max_age)
}

/// Whether the file was written so recently that its process may not have locked it yet.
fn is_fresh(file: &FolderFile, limits: &Limits) -> bool {
    let age = |changed| SystemTime::now().duration_since(changed).unwrap_or_default();
    file.changed.is_some_and(|changed| age(changed) < limits.settle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_an_archive_is_in_its_name() {
        let time = begin_time("archive-20261122T080001.120Z-4711-0.jsonl").unwrap();
        assert_eq!(humantime::format_rfc3339_millis(time).to_string(), "2026-11-22T08:00:01.120Z");
        for name in ["archive-.jsonl", "archive-2026.jsonl", "20261122T080001.120Z-4711-0.jsonl"] {
            assert_eq!(begin_time(name), None, "{name}");
        }
        let old = Limits { age: Some(Duration::from_secs(8 * 60)), ..Limits::default() };
        assert!(spans_too_long("archive-20201122T080001.120Z-1-0.jsonl", &old));
        assert!(!spans_too_long("archive-20201122T080001.120Z-1-0.jsonl", &Limits::default()));
    }
}
