//! Properties of all paths and all `file:` URIs, compared with a simple model.
#![cfg(unix)]

use proptest::prelude::*;

use std::path::Component;

use super::*;

const NAMES: &[&str] =
    &["a", "A", "ab", "a.", "..", ".", "", "root", "root2", "%2e%2e", "\u{e4}", "a\u{308}"];

/// Names that are alike, so that two paths often have a common beginning.
fn part() -> impl Strategy<Value = String> {
    prop_oneof![4 => proptest::sample::select(NAMES).prop_map(str::to_owned), 1 => "[^/]{0,4}"]
}

fn path() -> impl Strategy<Value = String> {
    let parts = proptest::collection::vec(part(), 0..7);
    (parts, any::<bool>(), any::<bool>()).prop_map(|(parts, absolute, slash)| {
        let text = parts.join("/");
        let (before, after) = (if absolute { "/" } else { "" }, if slash { "/" } else { "" });
        format!("{before}{text}{after}")
    })
}

/// The names of a path, split as text. `None`: the path is relative, or has `..` or NUL.
fn names(path: &str) -> Option<Vec<&str>> {
    let rest = path.strip_prefix('/')?;
    let names: Vec<_> = rest.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
    (!names.contains(&"..") && !path.contains('\0')).then_some(names)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_path_is_beneath_a_root_if_it_begins_with_all_of_its_names(
        root in path(),
        rest in path(),
        other in path(),
        joined in any::<bool>(),
    ) {
        let path = if joined { format!("{root}/{rest}") } else { other };
        let (Some(root_names), true) = (names(&root), root.starts_with('/')) else { return Ok(()) };
        let root_path: PathBuf = Path::new(&root).components().collect();
        let expected = names(&path).and_then(|names| {
            names.strip_prefix(&root_names[..]).map(|rest| rest.join("/"))
        });
        let parsed = designate::parse(&path);
        let found = parsed.as_ref().ok().and_then(|path| beneath(&root_path, path));
        prop_assert_eq!(found.map(|rest| rest.display().to_string()), expected, "{} {}", root, path);
    }

    #[test]
    fn a_path_beneath_a_root_has_no_parent_directory_in_it(root in path(), path in path()) {
        let root = format!("/{root}");
        if let Some(rest) = beneath(Path::new(&root), Path::new(&path)) {
            prop_assert!(rest.components().all(|part| part != Component::ParentDir));
            prop_assert!(!rest.is_absolute());
        }
    }

    #[test]
    fn a_uri_is_a_root_or_refused_and_never_a_panic(
        head in prop_oneof![
            Just("file:///".to_owned()), Just("file:".to_owned()), Just("file://".to_owned()), ".{0,9}",
        ],
        path in path(),
        tail in prop_oneof![3 => Just(String::new()), 1 => ".{0,6}"],
    ) {
        let uri = format!("{head}{path}{tail}");
        let Ok(found) = path_of_uri(&uri) else { return Ok(()) };
        prop_assert!(uri.starts_with("file:///"));
        prop_assert!(found.is_absolute() && !uri::is_everything(&found));
        prop_assert!(found.components().skip(1).all(|part| matches!(part, Component::Normal(_))));
    }

    #[test]
    fn each_path_has_a_uri_that_names_it(parts in proptest::collection::vec("[^/\0]{1,6}", 1..5)) {
        prop_assume!(parts.iter().all(|part| part != "." && part != ".."));
        let path = PathBuf::from(format!("/{}", parts.join("/")));
        let uri = uri_of_path(&path).expect("it is absolute");
        // Names such as `a:` are included, although URL parsers treat them as drive letters.
        prop_assert_eq!(path_of_uri(&uri), Ok(path), "{}", uri);
    }
}
