//! Fuzz test: reads packages that are damaged at random. No read may panic, or exceed the limits of time and memory.
//!
//! `cargo run --release -p unreal-package --features writer --example mutate -- DIR COUNT [SEED]` makes COUNT damaged
//! files from the packages in DIR, and from generated packages and cooked packages of every version. The same SEED
//! makes the same files.

// A global allocator is the only way to count allocations.
#![allow(unsafe_code, reason = "`GlobalAlloc` is an unsafe trait")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    error::Error,
    fmt, fs,
    path::Path,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    time::{Duration, Instant},
};
use unreal_package::writer;

mod everything;

struct Counting;

static ALLOCATED: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        PEAK.fetch_max(ALLOCATED.fetch_add(layout.size(), Relaxed) + layout.size(), Relaxed);
        // SAFETY: the caller upholds the contract of the system's allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        ALLOCATED.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller upholds the contract of the system's allocator.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Limit of memory, in bytes for each byte of the file.
const MAX_BYTES_PER_BYTE: usize = 64;
/// Memory allowed in addition, in bytes.
const BASE_BYTES: usize = 4 << 20;
/// Limit of time for a file.
const MAX_TIME: Duration = Duration::from_millis(1000);
/// Number of measurements of a file that took longer than all files before it. The shortest time counts, since the
/// machine may have been busy.
const TRIES: u32 = 5;
/// Number of files between two reports of progress.
const FILES_PER_REPORT: u64 = 100_000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let usage = "mutate DIR COUNT [SEED]";
    let folder = arguments.next().ok_or(usage)?;
    let count: u64 = arguments.next().ok_or(usage)?.parse()?;
    let seed: u64 = arguments.next().map_or(Ok(1), |seed| seed.parse())?;
    let files = originals(&folder)?;
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let mut worst = Cost::default();
    let mut read = 0_u64;
    for number in 1..=count {
        let mut file = files[random.below(files.len())].clone();
        damage(&mut file, &mut random);
        let (is_read, mut cost) = measure(&file);
        for _ in 1..TRIES {
            if cost.took > worst.took {
                cost.took = cost.took.min(measure(&file).1.took);
            }
        }
        read += u64::from(is_read);
        worst.took = worst.took.max(cost.took);
        worst.memory = worst.memory.max(cost.memory);
        if cost.took > MAX_TIME || cost.memory > BASE_BYTES + MAX_BYTES_PER_BYTE * file.len() {
            let kept = std::env::temp_dir().join("unreal-package-mutated.uasset");
            fs::write(&kept, &file)?;
            let (length, kept) = (file.len(), kept.display());
            return Err(format!("{length} bytes took {cost}: {kept}").into());
        }
        if number % FILES_PER_REPORT == 0 || number == count {
            println!("{number} damaged files, {read} still read; at most {worst}");
        }
    }
    Ok(())
}

/// The files to damage, all below 200,000 bytes: the packages in the folder, and generated packages.
fn originals(folder: &str) -> std::io::Result<Vec<Vec<u8>>> {
    let mut files = Vec::new();
    collect(Path::new(folder), &mut files)?;
    for profile in writer::PROFILES {
        let mut draft = writer::blueprint(*profile, "/Game/X", "/Script/Engine.Actor");
        files.push(draft.soft("/Game/Y").thumbnail("X", b"\x89PNG\r\n\x1a\n").bytes());
        files.push(writer::cooked_without_versions(*profile, "/Game/X"));
    }
    files.retain(|file| file.len() < 200_000);
    Ok(files)
}

/// The cost of reading a file.
#[derive(Default)]
struct Cost {
    took: Duration,
    /// Peak memory in bytes.
    memory: usize,
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} and {} bytes of memory", self.took, self.memory)
    }
}

/// Whether the file could be read as a package, and the cost.
fn measure(file: &[u8]) -> (bool, Cost) {
    let before = ALLOCATED.load(Relaxed);
    PEAK.store(before, Relaxed);
    let started = Instant::now();
    let is_read = everything::read(file);
    let (took, memory) = (started.elapsed(), PEAK.load(Relaxed) - before);
    (is_read, Cost { took, memory })
}

fn collect(path: &Path, files: &mut Vec<Vec<u8>>) -> std::io::Result<()> {
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            collect(&entry?.path(), files)?;
        }
    } else if path.extension().is_some_and(|end| end == "uasset" || end == "umap") {
        files.push(fs::read(path)?);
    }
    Ok(())
}

fn damage(file: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(4) {
        if file.len() < 8 {
            return;
        }
        // Damage in the header has the most effect.
        let reach = if random.below(2) == 0 { file.len().min(2048) } else { file.len() };
        let at = random.below(reach.saturating_sub(4).max(1));
        match random.below(6) {
            0 => file[at] = u8::try_from(random.below(256)).unwrap_or(0),
            1 => file[at] ^= 1 << random.below(8),
            2 => {
                let numbers = [0, 1, -1, i32::MAX, i32::MIN, 0x0010_0000, 255, 65_536];
                let number = numbers[random.below(numbers.len())];
                file[at..at + 4].copy_from_slice(&number.to_le_bytes());
            }
            3 => file.truncate(at),
            4 => {
                let (from, len) = (random.below(reach), random.below(64));
                let piece: Vec<u8> = file.iter().skip(from).take(len).copied().collect();
                let end = (at + piece.len()).min(file.len());
                file.splice(at..end, piece);
            }
            _ => {
                let other = random.below(reach.saturating_sub(4).max(1));
                let number: [u8; 4] = file[other..other + 4].try_into().expect("it is four bytes");
                file[at..at + 4].copy_from_slice(&number);
            }
        }
    }
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
}
