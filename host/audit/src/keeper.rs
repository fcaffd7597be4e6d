//! What is done beside the work of a process: the index is written, small segments are put together, and
//! the oldest are dropped. It has a thread of its own, so that nobody waits for a lock or a disk.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::time::{Duration, SystemTime};

use crate::chain::Hash;
use crate::folder::{Listed, is_live, list, read};
use crate::index::{Archive, End, Index, Note, file_of};
use crate::pieces::pieces;
use crate::usage::Usage;
use crate::writer::{Limits, for_owner};

/// How long the index's lock is waited for, where nobody waits for the result.
const PATIENCE: Duration = Duration::from_secs(10);

/// What there is to do.
pub(crate) enum Job {
    /// This process began a segment.
    Opened { segment: String, first: Hash },
    /// It ended one.
    Ended { segment: String, first: Hash, end: End },
    /// All that was to be done is to be done before this is answered.
    Done(SyncSender<()>),
}

/// The thread.
pub(crate) struct Keeper(Sender<Job>);

impl Keeper {
    /// Starts it.
    ///
    /// # Errors
    ///
    /// Where the system has no thread left.
    pub fn start(folder: PathBuf, limits: Limits) -> io::Result<Self> {
        let (sender, jobs) = channel();
        let thread = std::thread::Builder::new().name("audit".into());
        thread.spawn(move || work(&folder, &limits, &jobs))?;
        Ok(Self(sender))
    }

    pub fn jobs(&self) -> &Sender<Job> {
        &self.0
    }

    /// Waits until all has been done, at most so long. Answers whether it has.
    pub fn finish(self, at_most: Duration) -> bool {
        let (sender, done) = sync_channel(1);
        self.0.send(Job::Done(sender)).is_ok() && done.recv_timeout(at_most).is_ok()
    }
}

fn work(folder: &Path, limits: &Limits, jobs: &Receiver<Job>) {
    while let Ok(job) = jobs.recv() {
        let (file, note) = match job {
            Job::Opened { segment, first } => {
                (file_of(&segment), Note::SegmentOpened { segment, first })
            }
            Job::Ended { segment, first, end } => {
                (file_of(&segment), Note::SegmentEnded { segment, first, end })
            }
            Job::Done(done) => {
                // Whoever waited may have given up.
                let _given_up = done.send(());
                continue;
            }
        };
        let begins = matches!(note, Note::SegmentOpened { .. });
        let kept = Index::open(folder, PATIENCE).and_then(|mut index| {
            // Where this comes late, another process may have put the segment into an archive.
            if is_there(&folder.join(file)) {
                index.note(note)?;
            }
            if begins { tidy(folder, limits, &mut index) } else { Ok(()) }
        });
        if let Err(error) = kept {
            // The next process notes what this one could not.
            tracing::warn!("the index of the audit in {}: {error}", folder.display());
        }
    }
}

/// Notes which segments have ended, puts small ones together, and drops the oldest.
///
/// # Errors
///
/// Where a file cannot be read or written. What is half done is finished the next time.
pub(crate) fn tidy(folder: &Path, limits: &Limits, index: &mut Index) -> io::Result<()> {
    let mut listed = list(folder)?;
    listed.retain(|file| {
        let leftover = index.state.leftover.contains(&file.name);
        if leftover {
            remove(folder, &file.name);
        }
        !leftover
    });
    note_ends(folder, limits, index, &listed)?;
    archive_small(folder, limits, index, &mut listed)?;
    drop_oldest(folder, limits, index, listed)?;
    index.renew(folder, limits.index)
}

/// Notes segments whose process is gone without having told the index.
fn note_ends(
    folder: &Path,
    limits: &Limits,
    index: &mut Index,
    listed: &[Listed],
) -> io::Result<()> {
    for file in listed.iter().filter(|file| !file.archive) {
        let ended = index.state.segments.get(&file.stem).is_some_and(|known| known.end.is_some());
        if ended || is_fresh(file, limits) || is_live(&folder.join(&file.name)) {
            continue;
        }
        let bytes = read(&folder.join(&file.name))?;
        let Some(piece) = pieces(&bytes, &mut |_, _| ()).only() else { continue };
        let end = End { lines: piece.lines, last: piece.last, sealed: piece.sealed.is_some() };
        index.note(Note::SegmentEnded { segment: file.stem.clone(), first: piece.first, end })?;
    }
    Ok(())
}

/// Puts small segments that have ended into one file.
fn archive_small(
    folder: &Path,
    limits: &Limits,
    index: &mut Index,
    listed: &mut Vec<Listed>,
) -> io::Result<()> {
    let has_ended = |index: &Index, file: &Listed| {
        let known = index.state.segments.get(&file.stem);
        known.is_some_and(|known| known.end.is_some())
    };
    let is_small = |file: &Listed| !file.archive && file.bytes < limits.small;
    let small: Vec<_> =
        listed.iter().filter(|file| is_small(file) && has_ended(index, file)).cloned().collect();
    if small.len() < limits.many {
        return Ok(());
    }
    let fits = |archive: &Archive| archive.bytes < limits.segment;
    let present = index.state.archives.iter().next_back().filter(|(_, archive)| fits(archive));
    let (into, mut archive) = match present {
        Some((name, archive)) => (name.clone(), archive.clone()),
        None => (format!("archive-{}.jsonl", small[0].stem), Archive::default()),
    };
    let (mut whole, mut segments) = (Vec::new(), Vec::new());
    for file in &small {
        let bytes = read(&folder.join(&file.name))?;
        let piece = pieces(&bytes, &mut |_, _| ()).only();
        let known = index.state.segments.get(&file.stem).and_then(|known| known.end.as_ref());
        // What was tampered with stays by itself, for whoever looks.
        let Some(piece) = piece.filter(|piece| {
            piece.flaws.is_empty() && known.is_some_and(|end| end.last == piece.last)
        }) else {
            continue;
        };
        whole.extend_from_slice(&bytes[piece.range]);
        archive.digest = archive.digest.fold(piece.last);
        archive.segments += 1;
        segments.push(file.stem.clone());
    }
    if segments.is_empty() {
        return Ok(());
    }
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    for_owner(&mut options);
    let mut file = options.open(folder.join(&into))?;
    // Behind what the index knows of lies what a process was writing when it was killed.
    file.set_len(archive.bytes)?;
    if let Err(error) = file.write_all(&whole) {
        file.set_len(archive.bytes)?;
        return Err(error);
    }
    file.sync_data()?;
    archive.bytes += whole.len() as u64;
    let bytes = archive.bytes;
    index.note(Note::Archived { segments: segments.clone(), into: into.clone(), archive })?;
    for segment in &segments {
        remove(folder, &file_of(segment));
    }
    listed.retain(|file| file.name != into && !segments.contains(&file.stem));
    listed.push(Listed::archive(into, bytes));
    listed.sort_unstable();
    Ok(())
}

/// Drops the oldest files where all of them are too large together.
fn drop_oldest(
    folder: &Path,
    limits: &Limits,
    index: &mut Index,
    listed: Vec<Listed>,
) -> io::Result<()> {
    let mut total: u64 = listed.iter().map(|file| file.bytes).sum();
    for file in listed {
        if total <= limits.total {
            break;
        }
        let path = folder.join(&file.name);
        let has_ended = file.archive
            || index.state.segments.get(&file.stem).is_some_and(|known| known.end.is_some());
        if !has_ended && (is_fresh(&file, limits) || is_live(&path)) {
            continue;
        }
        let mut usage = Usage::default();
        let held = pieces(&read(&path)?, &mut |_, record| usage.add(record));
        let segments = held.pieces.len() as u64;
        index.note(Note::Dropped { file: file.name.clone(), segments, usage })?;
        remove(folder, &file.name);
        total = total.saturating_sub(file.bytes);
    }
    Ok(())
}

/// Whether it was written so lately that its process may be about to lock it.
fn is_fresh(file: &Listed, limits: &Limits) -> bool {
    let age = |changed| SystemTime::now().duration_since(changed).unwrap_or_default();
    file.changed.is_some_and(|changed| age(changed) < limits.settle)
}

#[expect(clippy::disallowed_methods, reason = "the audit's job is its folder")]
fn is_there(path: &Path) -> bool {
    std::fs::metadata(path).is_ok()
}

#[expect(clippy::disallowed_methods, reason = "the audit's job is its folder")]
fn remove(folder: &Path, name: &str) {
    if let Err(error) = std::fs::remove_file(folder.join(name))
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!("the audit's file {name} cannot be removed: {error}");
    }
}
