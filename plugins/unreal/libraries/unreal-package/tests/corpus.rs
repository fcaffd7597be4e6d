//! Tests that the seed files for fuzzing are complete and are read without a panic.

#[path = "../examples/everything/mod.rs"]
mod everything;

use std::{fs, path::Path};

#[test]
fn the_corpus_is_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/read");
    let (mut read, mut others) = (0, 0);
    for entry in fs::read_dir(folder).expect("it is in the repository") {
        let entry = entry.expect("it can be listed");
        let is_package = entry.file_name().to_string_lossy().starts_with("blueprint-");
        let file = fs::read(entry.path()).expect("it can be read");
        let is_read = everything::read(&file);
        assert!(is_read || !is_package, "{} is a package", entry.path().display());
        *(if is_package { &mut read } else { &mut others }) += 1;
    }
    assert_eq!(read, unreal_package::writer::PROFILES.len());
    assert!(others >= 2, "the corpus also has files that are not packages");
}
