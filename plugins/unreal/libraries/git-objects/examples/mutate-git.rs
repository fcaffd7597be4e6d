//! Fuzz test: reads a git repository whose files are damaged at random; no read may panic or take longer than a second.
//!
//! `cargo run -p git-objects --example mutate-git -- DIR COUNT [SEED]` does the following COUNT times: it damages one
//! file of the repository in DIR, reads the repository, and restores the file. DIR should be a copy of a repository,
//! preferably on a file system in memory. The same SEED damages the files in the same way.

use git_objects::Repository;
use std::{
    error::Error,
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// Limit of time for a read.
const MAX_TIME: Duration = Duration::from_secs(1);
/// Maximum size of a file that is read from the repository, in bytes.
const MAX_FILE: u64 = 1 << 20;
/// Revisions that are read.
const REVISIONS: &[&str] = &["HEAD", "HEAD~1", "HEAD~2", "HEAD~5"];

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let usage = "mutate-git DIR COUNT [SEED]";
    let dir = PathBuf::from(arguments.next().ok_or(usage)?);
    let count: u64 = arguments.next().ok_or(usage)?.parse()?;
    let seed: u64 = arguments.next().map_or(Ok(1), |seed| seed.parse())?;
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let mut files = Vec::new();
    collect(&dir.join(".git"), &mut files)?;
    let tracked: Vec<PathBuf> = fs::read_dir(&dir)?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_file())
        .collect();
    let (mut accepted, mut worst) = (0_u64, Duration::ZERO);
    for number in 0..count {
        let file = &files[random.below(files.len())];
        let whole = fs::read(file)?;
        let mut damaged = whole.clone();
        random.damage(&mut damaged);
        fs::write(file, &damaged)?;
        let started = Instant::now();
        accepted += u64::from(read(&dir, &tracked));
        let took = started.elapsed();
        worst = worst.max(took);
        fs::write(file, &whole)?;
        if took > MAX_TIME {
            let kept = std::env::temp_dir().join("git-objects-mutated");
            fs::write(&kept, &damaged)?;
            let (file, kept) = (file.display(), kept.display());
            return Err(format!("{number}: {file} took {took:?}: {kept}").into());
        }
    }
    println!("{count} damaged files, {accepted} times everything was read; at most {worst:?}");
    Ok(())
}

/// Reads every tracked file in some revisions. Returns whether all reads succeeded.
fn read(dir: &Path, tracked: &[PathBuf]) -> bool {
    let Ok(repository) = Repository::around(&dir.join("x")) else { return false };
    let mut is_whole = true;
    for revision in REVISIONS {
        let Ok(commit) = repository.commit(revision) else {
            is_whole = false;
            continue;
        };
        for file in tracked {
            is_whole &= repository.file(&commit, file, MAX_FILE).is_ok();
        }
    }
    is_whole
}

/// Collects the files that the reader may open. The reader never opens hooks, logs, `index` or `description`.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            if !path.ends_with("hooks") && !path.ends_with("logs") {
                collect(&path, files)?;
            }
        } else if !path.ends_with("index") && !path.ends_with("description") {
            files.push(path);
        }
    }
    files.sort();
    Ok(())
}

/// The xorshift generator: deterministic for a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit.max(1) as u64).unwrap_or(0)
    }

    /// Changes up to four bytes, and sometimes cuts the end off.
    fn damage(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(4) {
            if bytes.is_empty() {
                return;
            }
            let at = self.below(bytes.len());
            match self.below(8) {
                0 => bytes.truncate(at),
                1..=3 => bytes[at] ^= 1 << self.below(8),
                4 => bytes[at] = [0, 0x7F, 0x80, 0xFF][self.below(4)],
                5 => bytes[at] = bytes[self.below(bytes.len())],
                _ => bytes[at] = u8::try_from(self.below(256)).unwrap_or(0),
            }
        }
    }
}
