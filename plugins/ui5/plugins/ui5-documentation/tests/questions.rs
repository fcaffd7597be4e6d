//! Questions of UI5 developers, each with the pages of which one should be among the first three.
//!
//! Questions about embedded packs are always asked. Questions about OpenUI5's documentation need the pack at
//! the path in the environment variable `OPENUI5_DOCUMENTATION`, which `documentation.sh` sets.

use std::{env, fs, time::Instant};
use ui5_documentation::{
    EMBEDDED,
    pack::Pack,
    rank::{question_words, rank},
};

/// The name of the pack that is not embedded everywhere.
const OPENUI5: &str = "openui5";

/// How many of the questions have to be answered, in percent.
const MIN_PERCENT: usize = 90;

#[test]
fn the_page_is_among_the_first_three() {
    let brought = env::var_os("OPENUI5_DOCUMENTATION").map(|path| fs::read(path).expect("a pack"));
    let all = EMBEDDED.iter().copied().chain(brought.as_deref());
    let packs: Vec<Pack<'_>> = all.map(|bytes| Pack::open(bytes).expect("a pack")).collect();
    let lines = include_str!("questions.tsv").lines().filter(|line| !line.starts_with('#'));
    let mut asked = 0;
    let mut missed = Vec::new();
    let started = Instant::now();
    for line in lines {
        let [source, ids, question] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        if !packs.iter().any(|pack| pack.about.name == source) {
            assert_eq!(source, OPENUI5, "{line}");
            continue;
        }
        asked += 1;
        let hits = rank(&packs, &question_words(question));
        let first: Vec<String> = hits
            .iter()
            .take(3)
            .filter_map(|hit| {
                let pack = &packs[hit.pack];
                Some(format!("{}/{}", pack.about.name, pack.entry(hit.page)?.id))
            })
            .collect();
        let is_it =
            |page: &String| page.starts_with(source) && ids.split('|').any(|id| page.ends_with(id));
        if !first.iter().any(is_it) {
            missed.push(format!("{question}: {}, not {ids}", first.join(", ")));
        }
    }
    let hit = asked - missed.len();
    println!("{hit} of {asked} questions, {:?} each", started.elapsed() / asked as u32);
    println!("{}", missed.join("\n"));
    assert!(asked >= 15, "{asked}");
    assert!(hit * 100 >= asked * MIN_PERCENT, "{hit} of {asked}: {missed:#?}");
}
