//! Makes relative paths in the arguments of `portcullis call` absolute.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use portcullis_core::bindings::PathArgument;
use portcullis_core::call::split_at_items;

/// Makes the relative paths among a tool's arguments absolute. A relative path is looked for beneath each of the
/// folders in turn. A path that exists beneath none of them is relative to the first folder.
///
/// Only arguments that the tool declares as paths change. Roots still decide what can be opened.
pub fn make_absolute(
    arguments: &mut Map<String, Value>,
    declared: &[PathArgument],
    folders: &[&Path],
) {
    let change = |text: &mut String| {
        if let Some(absolute) = absolute(text, folders) {
            *text = absolute;
        }
        Ok(())
    };
    each_path(arguments, declared, change).expect("the change of a text does not fail");
}

/// Calls a function with each argument that the tool declares as a path. Stops at the first error.
///
/// # Errors
///
/// The error of the function.
pub fn each_path(
    arguments: &mut Map<String, Value>,
    declared: &[PathArgument],
    mut change: impl FnMut(&mut String) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut whole = Value::Object(std::mem::take(arguments));
    let mut pointers: Vec<_> = declared.iter().map(|path| path.pointer.as_str()).collect();
    // A path that is declared twice in a row, for reading and for writing, is changed once.
    pointers.dedup();
    let mut texts = pointers.into_iter();
    let changed = texts
        .try_for_each(|pointer| strings(&mut whole, pointer).into_iter().try_for_each(&mut change));
    if let Value::Object(whole) = whole {
        *arguments = whole;
    }
    changed
}

/// The folder that paths in a shell are relative to. An error: the folder does not exist any more, or the user may not
/// read a folder above it.
#[expect(
    clippy::disallowed_methods,
    reason = "paths in a shell are relative to its working directory"
)]
pub fn working_folder() -> std::io::Result<PathBuf> {
    std::env::current_dir()
}

/// The absolute path. `None`: the path is absolute already, is empty, or would not be UTF-8.
fn absolute(text: &str, folders: &[&Path]) -> Option<String> {
    if text.is_empty() || portcullis_roots::is_absolute_somewhere(text) {
        return None;
    }
    let candidates: Vec<PathBuf> = folders.iter().map(|base| base.join(text)).collect();
    let found = candidates.iter().find(|path| std::fs::symlink_metadata(path).is_ok());
    let found = found.or(candidates.first())?;
    // This removes `.` and keeps `..`, which the roots refuse.
    let path: PathBuf = found.components().collect();
    path.into_os_string().into_string().ok()
}

/// The strings at a JSON pointer, in which `-` stands for each item of an array.
fn strings<'a>(value: &'a mut Value, pointer: &str) -> Vec<&'a mut String> {
    let found = match split_at_items(pointer) {
        Some((array, rest)) => {
            let items = value.pointer_mut(array).and_then(Value::as_array_mut);
            return items.into_iter().flatten().flat_map(|item| strings(item, rest)).collect();
        }
        None => value.pointer_mut(pointer),
    };
    match found {
        Some(Value::String(text)) => vec![text],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use portcullis_core::bindings::{PathAccess, PathKind};

    fn declared(pointer: &str, access: PathAccess) -> PathArgument {
        let when = None;
        let nearest = Vec::new();
        PathArgument { pointer: pointer.into(), kind: PathKind::File, access, when, nearest }
    }

    fn made(arguments: Value, folders: &[&Path]) -> Value {
        let declared = [
            declared("/file", PathAccess::Read),
            declared("/file", PathAccess::Write),
            declared("/files/-", PathAccess::Read),
            declared("/-o", PathAccess::Write),
        ];
        let Value::Object(mut arguments) = arguments else { panic!("arguments are an object") };
        make_absolute(&mut arguments, &declared, folders);
        arguments.into()
    }

    #[test]
    fn a_relative_path_is_found_beneath_the_root_and_then_in_the_working_directory() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        #[expect(clippy::disallowed_methods, reason = "the test needs a file")]
        std::fs::write(root.join("a.txt"), "").unwrap();
        #[expect(clippy::disallowed_methods, reason = "tests run in their package's folder")]
        let here = std::env::current_dir().unwrap();
        let at = |base: &Path, name: &str| base.join(name).to_str().unwrap().to_owned();
        for (given, expected) in [
            ("a.txt", at(root, "a.txt")),
            ("./a.txt", at(root, "a.txt")),
            ("Cargo.toml", at(&here, "Cargo.toml")),
            ("new.txt", at(root, "new.txt")),
            ("../a.txt", at(root, "../a.txt")),
            ("/etc/hostname", "/etc/hostname".to_owned()),
            ("", String::new()),
        ] {
            let arguments = json!({"file": given, "files": [given, 1], "other": given});
            let expected = json!({"file": expected, "files": [expected, 1], "other": given});
            assert_eq!(made(arguments, &[root, &here]), expected, "{given:?}");
        }
        for name in ["file", "-o"] {
            assert_eq!(made(json!({name: "x"}), &[&here]), json!({name: at(&here, "x")}));
        }
    }
}
