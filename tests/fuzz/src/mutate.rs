//! A small fuzzer with a fixed seed: it changes the files of a corpus and hands them to a target.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Maximum number of changes of one mutation.
const CHANGES: usize = 8;

/// Maximum size of an input, in bytes.
const MAX_INPUT_BYTES: usize = 16 * 1024;

/// The name of a target and its input. If the target panics, both are printed.
struct Shown<'a>(&'a str, &'a [u8]);

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the target `{}` fails with: {}", self.0, self.1.escape_ascii());
        }
    }
}

/// Runs a target on each file of `tests/fuzz/corpus/NAME`, and then on `mutations` mutations of these files. If the
/// environment variable `FUZZ_SECONDS` is set, mutations run for this time instead. The sequence of mutations is
/// always the same. `words`: texts that have a meaning for the parser. Returns the number of mutations on which the
/// target ran.
///
/// # Panics
///
/// The target panics, after the input was printed; or the target has no corpus.
pub fn run(name: &str, mutations: u32, target: impl Fn(&[u8]), words: &[&str]) -> u32 {
    let corpus = corpus(name);
    assert!(!corpus.is_empty(), "tests/fuzz/corpus/{name} has files");
    let call = |input: &[u8]| {
        let _shown = Shown(name, input);
        target(input);
    };
    corpus.iter().for_each(|file| call(file));
    let seconds = std::env::var("FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    let (begun, most) = (Instant::now(), seconds.map(Duration::from_secs));
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut runs = 0;
    while most.map_or(runs < mutations, |most| begun.elapsed() < most) {
        let mut input = random.of(&corpus).clone();
        for _ in 0..=random.below(CHANGES) {
            change(&mut input, &mut random, &corpus, words);
        }
        input.truncate(MAX_INPUT_BYTES);
        call(&input);
        runs += 1;
    }
    if most.is_some() {
        println!("{name}: {runs} runs in {:.0} s", begun.elapsed().as_secs_f32());
    }
    runs
}

fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
    let entries = std::fs::read_dir(&folder).expect("the target has a corpus");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort_unstable();
    files.iter().map(|file| std::fs::read(file).expect("a file of the corpus")).collect()
}

/// Pseudo-random numbers that are the same in each run (xorshift64*, Vigna 2016).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    /// A number below `end`, which must not be 0.
    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    /// A range within `0..length`, of at most 512 bytes.
    fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let from = self.below(length + 1);
        let most = (length - from).min(1 << self.below(10));
        from..from + self.below(most + 1)
    }
}

fn change(input: &mut Vec<u8>, random: &mut Random, corpus: &[Vec<u8>], words: &[&str]) {
    let at = random.below(input.len() + 1);
    match random.below(9) {
        0 if at < input.len() => input[at] ^= 1 << random.below(8),
        1 if at < input.len() => {
            input[at] = *random.of(b"\0\n\r\t \"'\\/%&:.,;[]{}()<>=#*?@-_0aA\x7f\x80\xff")
        }
        2 => input.insert(at, random.next().to_le_bytes()[0]),
        3 => {
            let range = random.range(input.len());
            input.drain(range);
        }
        4 => {
            let piece = input[random.range(input.len())].to_vec();
            for _ in 0..=random.below(4) {
                input.splice(at..at, piece.iter().copied());
            }
        }
        5 if !words.is_empty() => {
            let word = random.of(words).bytes();
            input.splice(at..at, word);
        }
        6 if !words.is_empty() => {
            let range = random.range(input.len());
            let word = random.of(words).bytes();
            input.splice(range, word);
        }
        7 => {
            let other = random.of(corpus);
            let piece = other[random.range(other.len())].to_vec();
            let range = random.range(input.len());
            input.splice(range, piece);
        }
        _ => input.truncate(at),
    }
    input.truncate(MAX_INPUT_BYTES);
}
