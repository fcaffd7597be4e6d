//! Follows paths, which are lists of JSON Pointers, through the data of an answer.

use serde_json::{Map, Value, json};

use crate::bindings::portcullis::plugin::catalog::Finding;

/// Maximum number of paths that are followed in one round of a plugin's call.
pub const MAX_PATHS: u32 = 500;

/// Maximum number of pointers in a path.
const MAX_POINTERS: usize = 8;
/// Maximum length of a pointer, in bytes.
const MAX_POINTER_BYTES: usize = 1000;

/// Maximum number of items of lists and members of objects, counted together, that are looked at for each path.
const MAX_ITEMS: usize = 1000;

/// Whether the path leads to a value. Each pointer after the first is followed from the items of the list to which
/// the previous pointer leads. Members of an object are items `{"key": …, "value": …}`. [`Finding::Unknown`]: the
/// path is empty, has too many pointers or one that is too long, leads through an empty list or object, or has to look
/// at too many items.
pub fn find(data: &Value, path: &[String]) -> Finding {
    if path.is_empty()
        || path.len() > MAX_POINTERS
        || path.iter().any(|pointer| pointer.len() > MAX_POINTER_BYTES)
    {
        return Finding::Unknown;
    }
    let mut left = MAX_ITEMS;
    follow(data, path, &mut left)
}

fn follow(data: &Value, path: &[String], left: &mut usize) -> Finding {
    let Some((pointer, rest)) = path.split_first() else { return Finding::Found };
    let Some(value) = data.pointer(pointer) else { return Finding::Missing };
    if rest.is_empty() {
        return Finding::Found;
    }
    let is_empty =
        value.as_array().is_some_and(Vec::is_empty) || value.as_object().is_some_and(Map::is_empty);
    let mut last = if is_empty { Finding::Unknown } else { Finding::Missing };
    let mut visit = |item: &Value| {
        if *left == 0 {
            last = Finding::Unknown;
            return true;
        }
        *left -= 1;
        let finding = follow(item, rest, left);
        if finding != Finding::Missing {
            last = finding;
        }
        finding == Finding::Found
    };
    // `any` ends at the first item that has a value at the rest of the path, or when no more items may be looked at.
    let _found = match (value.as_array(), value.as_object()) {
        (Some(items), _) => items.iter().any(&mut visit),
        (None, Some(members)) => {
            members.iter().any(|(key, value)| visit(&json!({"key": key, "value": value})))
        }
        (None, None) => false,
    };
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &[&str]) -> Finding {
        let data = json!({
            "city": "Bonn", "none": null, "empty": [],
            "days": [{"high": 1}, {"low": 2, "hours": [{"wind": 3}]}],
            "by/name": {"a": 1}
        });
        let path: Vec<String> = path.iter().map(ToString::to_string).collect();
        find(&data, &path)
    }

    #[test]
    fn paths_are_followed_through_lists_and_objects() {
        for path in [
            &[""][..],
            &["/city"],
            &["/none"],
            &["/days/1/low"],
            &["/days", "/high"],
            &["/days", "/low"],
            &["/days", "/hours", "/wind"],
            &["/by~1name", "/value"],
            &["/by~1name", "/key"],
        ] {
            assert_eq!(found(path), Finding::Found, "{path:?}");
        }
        for path in [&["/town"][..], &["/days/2"], &["/days", "/rain"], &["/city", "/a"]] {
            assert_eq!(found(path), Finding::Missing, "{path:?}");
        }
    }

    #[test]
    fn paths_that_cannot_be_followed_are_unknown() {
        let long = "/a".repeat(MAX_POINTER_BYTES);
        for path in [&["/empty", "/a"][..], &[], &[""; MAX_POINTERS + 1], &[long.as_str()]] {
            assert_eq!(found(path), Finding::Unknown, "{path:?}");
        }
        let many = Value::from(vec![json!({}); MAX_ITEMS + 1]);
        let path = ["".to_owned(), "/a".to_owned()];
        assert_eq!(find(&many, &path), Finding::Unknown);
    }
}
