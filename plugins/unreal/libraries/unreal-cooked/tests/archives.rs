//! Tests that indexes of pak archives of all versions are read, and that damage causes no panic and
//! adds no files.

use std::io::Cursor;
use unreal_cooked::{
    Fault, Pak,
    pak::PakFile,
    writer::{DraftFile, DraftPak},
};

fn draft(version: u32) -> DraftPak {
    let file = |folder: &str, name: &str, size, stored, method, flags| DraftFile {
        folder: folder.to_owned(),
        name: name.to_owned(),
        size,
        stored,
        method,
        flags,
    };
    let encrypted = u8::from(version >= 3);
    let deleted = if version >= 6 { 2 } else { 0 };
    DraftPak {
        version,
        is_4_22: false,
        mount: "../../../MyGame/".to_owned(),
        methods: vec!["Zlib".to_owned(), "Oodle".to_owned()],
        key: None,
        is_nameless: false,
        files: vec![
            file(
                "Content/Doors/",
                "BP_Door.uasset",
                5000,
                2000,
                if version < 8 { 1 } else { 2 },
                0,
            ),
            file("Content/Doors/", "BP_Door.uexp", 6_000_000_000, 6_000_000_000, 0, encrypted),
            file("", "MyGame.uproject", 10, 10, 0, deleted),
        ],
    }
}

fn read(bytes: &[u8]) -> Result<Pak, Fault> {
    Pak::read(&mut Cursor::new(bytes))
}

fn check(draft: &DraftPak) {
    let version = draft.version;
    let pak = read(&draft.bytes()).unwrap_or_else(|fault| panic!("{version}: {fault}"));
    assert_eq!((pak.version, pak.mount.as_str()), (version, "../../../MyGame/"));
    assert_eq!((pak.encrypted_index, pak.unnamed), (None, 0), "{version}");
    let file = |path: &str, size, stored, method: &str, is_encrypted, is_deleted| PakFile {
        path: format!("../../../MyGame/{path}"),
        size,
        stored,
        method: method.to_owned(),
        is_encrypted,
        is_deleted,
    };
    let method = if version < 8 { "Zlib" } else { "Oodle" };
    let large = 6_000_000_000;
    assert_eq!(
        pak.files,
        [
            file("Content/Doors/BP_Door.uasset", 5000, 2000, method, false, false),
            file("Content/Doors/BP_Door.uexp", large, large, "", version >= 3, false),
            file("MyGame.uproject", 10, 10, "", false, version >= 6),
        ],
        "{version}"
    );
}

#[test]
fn all_versions_are_read() {
    (1..=12).for_each(|version| check(&draft(version)));
    check(&DraftPak { is_4_22: true, ..draft(8) });
}

#[test]
fn engines_are_named_by_the_format_version() {
    let engine = |draft: &DraftPak| read(&draft.bytes()).expect("it is read").engine;
    let told: Vec<&str> = [4, 7, 8, 9, 11].map(|version| engine(&draft(version))).to_vec();
    assert_eq!(told, ["4.16 to 4.19", "4.21", "4.23 or 4.24", "4.25", "4.26 or newer"]);
    assert_eq!(engine(&DraftPak { is_4_22: true, ..draft(8) }), "4.22");
}

#[test]
fn an_encrypted_index_shows_only_its_key() {
    let mut key = [0; 16];
    key[..4].copy_from_slice(&0x0102_0304_u32.to_le_bytes());
    for version in 4..=12 {
        let pak = read(&DraftPak { key: Some(key), ..draft(version) }.bytes()).expect("it is read");
        // Before version 7, the footer has no GUID of the key.
        let expected = if version >= 7 { "01020304" } else { "00000000" };
        let told = pak.encrypted_index.expect("it is encrypted");
        assert_eq!((&told[..8], told.len(), pak.files.len()), (expected, 32, 0), "{version}");
    }
}

#[test]
fn an_index_without_names_counts_its_files() {
    let pak = read(&DraftPak { is_nameless: true, ..draft(11) }.bytes()).expect("it is read");
    assert_eq!((pak.unnamed, pak.files.len()), (3, 0));
}

#[test]
fn other_files_and_unknown_versions_are_refused() {
    for bytes in [&b""[..], b"text", &[0; 500]] {
        assert!(matches!(read(bytes), Err(Fault::Unknown(_))));
    }
    let newer = DraftPak { version: 13, ..draft(12) };
    assert!(matches!(read(&newer.bytes()), Err(Fault::TooNew { version: 13, newest: 12, .. })));
    let mut frozen = draft(9).bytes();
    let at = frozen.len() - 161;
    frozen[at] = 1;
    assert!(matches!(read(&frozen), Err(Fault::FrozenIndex)));
}

#[test]
fn damaged_archives_have_no_extra_files() {
    for version in [3, 8, 9, 11] {
        let bytes = draft(version).bytes();
        for cut in 1..bytes.len() {
            // The end of an archive may happen to be a valid archive with fewer files.
            let left = read(&bytes[cut..]).map_or(0, |pak| pak.files.len());
            assert!(left < 3, "{version}: {cut}");
            assert!(read(&bytes[..cut]).is_err(), "{version}: {cut}");
        }
        for at in 64..bytes.len() {
            for value in [0, 1, 0x7F, 0xFF] {
                let mut bytes = bytes.clone();
                bytes[at] = value;
                if let Ok(pak) = read(&bytes) {
                    assert!(pak.files.len() <= 3, "{version}: {at}");
                }
            }
        }
    }
}
