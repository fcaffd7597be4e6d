//! Tests that check which asks a grant of files covers.

use std::path::PathBuf;

use portcullis_files::{Access, FileUse, Origin};

use super::grant::*;
use crate::gate::Ask as _;

fn ask(path: &str, access: Access, origin: Origin, opened_for: Access) -> FileUse {
    FileUse { path: path.into(), access, origin, opened_for }
}

#[test]
fn a_grant_for_reading_arguments_covers_nothing_else() {
    use Access::{Read, Write};
    let grant: FilesGrant = toml::from_str("access = \"read\"").unwrap();
    for (ask, expected) in [
        (ask("/a/b", Read, Origin::Argument, Read), true),
        (ask("/a/b", Write, Origin::Argument, Write), false),
        (ask("/a/b", Read, Origin::Root, Read), false),
        (ask("/a/b", Read, Origin::Directory, Read), false),
        (ask("/a/b", Read, Origin::Beside, Read), false),
    ] {
        assert_eq!(ask.is_within(&grant), expected, "{ask:?}");
    }
}

#[test]
fn a_grant_covers_the_roots_and_the_named_directories() {
    use Access::{Read, Write};
    let grant: FilesGrant =
        toml::from_str(
            "access = \"write\"\nscope = \"roots\"\ndirectories = [\"/opt/x\"]\nwritable = [\"/var/y\"]",
        )
        .unwrap();
    for (ask, expected) in [
        (ask("/a/b", Write, Origin::Argument, Write), true),
        // Opened for reading: the grant does not widen the access that the tool declared.
        (ask("/a/b", Write, Origin::Argument, Read), false),
        (ask("/a/b", Write, Origin::Root, Write), true),
        (ask("/opt/x/y", Read, Origin::Directory, Read), true),
        (ask("/opt/x/y", Write, Origin::Directory, Write), false),
        (ask("/opt/x2/y", Read, Origin::Directory, Read), false),
        (ask("/var/y/z", Write, Origin::Directory, Write), true),
        (ask("/var/y/z", Read, Origin::Directory, Write), true),
        (ask("/var/y2/z", Read, Origin::Directory, Write), false),
    ] {
        assert_eq!(ask.is_within(&grant), expected, "{ask:?}");
    }
}

#[test]
fn wants_add_up() {
    let mut sum = None;
    want(&mut sum, "arguments", "read").unwrap();
    want(&mut sum, "arguments", "write").unwrap();
    want(&mut sum, "/opt/x", "read").unwrap();
    let sum = sum.unwrap();
    assert_eq!((sum.access, sum.scope), (Access::Write, Scope::Arguments));
    assert_eq!(sum.directories, [PathBuf::from("/opt/x")]);
    assert!(want(&mut None, "arguments", "execute").is_err());
    assert!(want(&mut None, "somewhere", "read").is_err());
}
