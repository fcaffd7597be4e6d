//! Opens the files and directories of a call: the paths in its arguments, and the granted directories.

use std::io::ErrorKind;

use portcullis_files::{Access, FileUse, Origin, Preopen};
use portcullis_roots::{Designated, DesignatedPart, Intent, Kind, Located, Refusal, Root, Roots};
use serde_json::Value;

use super::CallFailure;
use crate::bindings::{PathAccess, PathArgument, PathKind};
use crate::capabilities::files::Scope;
use crate::gate::{Denied, Gate, Permit};
use crate::plugins::{LoadedPlugin, PluginTool};

/// Whether a call may have to open files or directories.
pub(super) fn opens_files(loaded: &LoadedPlugin, tool: Option<&PluginTool>) -> bool {
    loaded.plugin.terms.policy.grants.files.is_some()
        || tool.is_some_and(|tool| !tool.definition.paths.is_empty())
}

/// Opens the paths in the arguments and the granted directories. Opening may block, for example on a network file
/// system: call this function on a thread that may block.
pub(super) fn designate(
    loaded: &LoadedPlugin,
    tool: &PluginTool,
    arguments: &Value,
    roots: &Roots,
    gate: &Gate,
) -> Result<Vec<Preopen>, CallFailure> {
    let mut designated = Vec::new();
    for (declared, path) in paths_in(arguments, &tool.definition.paths) {
        let argument = declared.pointer.trim_start_matches('/');
        let ask = ask_for(path, access_of(declared.access));
        let located = match roots.locate(path) {
            Ok(located) => located,
            Err(refusal) => {
                // No grant could allow this path, so the record is a refusal without a hint about grants.
                gate.record_refusal(&ask, refusal.word())?;
                return Err(explain(argument, path, &refusal));
            }
        };
        // Opening changes nothing, even for a path that will be written: each write is an ask of its own. The ask for
        // opening is therefore recorded once, with its outcome.
        match open(gate.pass_read(ask)?, &located, declared)? {
            Ok(opened) => designated.push(opened),
            Err(refusal) => return Err(explain(argument, path, &refusal)),
        }
    }
    let mut preopens = Preopen::of_arguments(designated);
    let granted = granted(loaded, roots)?;
    Preopen::widen_by_roots(&mut preopens, &granted);
    preopens.extend(granted);
    Ok(preopens)
}

/// The ask for a path in the arguments. The gate judges it like any other use of a file, so a call that would write
/// without a grant is refused before the tool runs.
fn ask_for(path: &str, access: Access) -> FileUse {
    FileUse { path: path.into(), access, origin: Origin::Argument, opened_for: access }
}

/// Opens a path of the arguments beneath a root. The outcome is recorded before the handle is used.
fn open(
    permit: Permit<FileUse>,
    located: &Located<'_>,
    declared: &PathArgument,
) -> Result<Result<Designated, Refusal>, Denied> {
    let opened = located.open(kind(declared.kind), intent(declared.access), &declared.nearest);
    match &opened {
        Ok(Designated { reach: DesignatedPart::File { handle: None, .. }, .. }) => {
            permit.record("no-entry")?;
        }
        Ok(_) => permit.record("opened")?,
        // The path is permitted, but the file or directory cannot be opened.
        Err(
            refusal @ (Refusal::Missing
            | Refusal::NotAFile
            | Refusal::NotADirectory
            | Refusal::System(_)),
        ) => permit.record(refusal.word())?,
        // No grant could allow this path, so the record is a refusal without a hint about grants.
        Err(
            refusal @ (Refusal::NoRoots
            | Refusal::RootsNotListed
            | Refusal::NotAbsolute
            | Refusal::WindowsPath
            | Refusal::Malformed(_)
            | Refusal::Outside(_)
            | Refusal::EscapesRoot
            | Refusal::Protected(_)
            | Refusal::RootReplaced(_)),
        ) => {
            permit.record_refusal(refusal.word())?;
        }
    }
    Ok(opened)
}

fn kind(kind: PathKind) -> Kind {
    match kind {
        PathKind::File => Kind::File,
        PathKind::Directory => Kind::Directory,
        PathKind::FileInDirectory => Kind::FileInDirectory,
    }
}

fn intent(access: PathAccess) -> Intent {
    match access {
        PathAccess::Read => Intent::Read,
        PathAccess::Write => Intent::Write,
        PathAccess::Create => Intent::Create,
    }
}

fn access_of(access: PathAccess) -> Access {
    match access {
        PathAccess::Read => Access::Read,
        PathAccess::Write | PathAccess::Create => Access::Write,
    }
}

/// The failure that the caller gets for a refusal.
fn explain(argument: &str, path: &str, refusal: &Refusal) -> CallFailure {
    let (path, remedy) = (portcullis_sanitize::line(path, 300), remedy(refusal));
    let message = format!("`{argument}` ({path}): {refusal}{remedy}");
    if !refusal.is_denial() {
        return CallFailure::InvalidArguments(message);
    }
    tracing::warn!("{message}");
    CallFailure::Denied(message)
}

/// The remedy at the end of the message. Empty if the refusal says enough.
fn remedy(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::NoRoots => {
            "; start portcullis with --root DIRECTORY, set `roots` in portcullis.toml, or open a \
             folder in the client"
        }
        Refusal::RootsNotListed => "; try again when the client has answered `roots/list`",
        Refusal::RootReplaced(_) => "; restart portcullis",
        Refusal::WindowsPath => "; write it as this system does: in WSL, D:\\Game is /mnt/d/Game",
        Refusal::NotAbsolute
        | Refusal::Malformed(_)
        | Refusal::Outside(_)
        | Refusal::EscapesRoot
        | Refusal::Protected(_)
        | Refusal::Missing
        | Refusal::NotAFile
        | Refusal::NotADirectory
        | Refusal::System(_) => "",
    }
}

/// The paths in the arguments, each with its declaration. If several declarations of one pointer apply, the one with
/// the widest access counts.
pub(super) fn paths_in<'a>(
    arguments: &'a Value,
    declarations: &'a [PathArgument],
) -> Vec<(&'a PathArgument, &'a str)> {
    let rank = |access: PathAccess| match access {
        PathAccess::Read => 0,
        PathAccess::Write => 1,
        PathAccess::Create => 2,
    };
    let mut found: Vec<(&PathArgument, &str)> = Vec::new();
    let applies = |declared: &&PathArgument| match &declared.when {
        None => true,
        Some(when) => arguments.pointer(when) == Some(&Value::Bool(true)),
    };
    for declared in declarations.iter().filter(applies) {
        for path in values(arguments, &declared.pointer) {
            let same = found.iter_mut().find(|(known, known_path)| {
                known.pointer == declared.pointer && *known_path == path
            });
            match same {
                Some(same) if rank(declared.access) > rank(same.0.access) => same.0 = declared,
                Some(_) => {}
                None => found.push((declared, path)),
            }
        }
    }
    found
}

/// Splits the pointer of a declared path at its first segment `-`, which stands for each item of an array. Returns the
/// pointer to the array, and the rest of the pointer for each item. `None`: no segment is `-`, as in `/-o`.
pub fn split_at_items(pointer: &str) -> Option<(&str, &str)> {
    let whole = pointer.match_indices("/-").map(|(at, sign)| (at, &pointer[at + sign.len()..]));
    let mut whole = whole.filter(|(_, rest)| rest.is_empty() || rest.starts_with('/'));
    whole.next().map(|(at, rest)| (&pointer[..at], rest))
}

/// The strings at a pointer, in which `-` stands for each item of an array.
fn values<'a>(arguments: &'a Value, pointer: &str) -> Vec<&'a str> {
    match split_at_items(pointer) {
        Some((array, rest)) => {
            let items = arguments.pointer(array).and_then(Value::as_array);
            items.into_iter().flatten().flat_map(|item| values(item, rest)).collect()
        }
        None => arguments.pointer(pointer).and_then(Value::as_str).into_iter().collect(),
    }
}

/// The directories that the grant itself opens.
pub(super) fn granted(loaded: &LoadedPlugin, roots: &Roots) -> Result<Vec<Preopen>, CallFailure> {
    let Some(grant) = &loaded.plugin.terms.policy.grants.files else { return Ok(Vec::new()) };
    let host =
        |error: std::io::Error| CallFailure::Host(format!("opening a granted folder: {error}"));
    let mut preopens = Vec::new();
    if grant.scope == Scope::Roots {
        for root in roots.iter() {
            let handle = root.dir().map_err(host)?.into_std_file();
            let (directory, guard) = (root.path().to_owned(), root.guard().clone());
            preopens.push(Preopen::whole(directory, handle, guard, Origin::Root, grant.access));
        }
    }
    // `outside_roots` creates writable directories that are missing.
    for (directory, access) in grant.outside_roots().map_err(host)? {
        let root = match Root::open(directory, roots.host_files()) {
            // A directory that is granted for reading only is skipped while it does not exist.
            Err(error) if access == Access::Read && error.kind() == ErrorKind::NotFound => continue,
            Err(error) => {
                let directory = directory.display();
                return Err(CallFailure::Host(format!(
                    "opening the granted folder {directory}: {error}"
                )));
            }
            Ok(root) => root,
        };
        let handle = root.dir().map_err(host)?.into_std_file();
        let (directory, guard) = (directory.to_owned(), root.guard().clone());
        preopens.push(Preopen::whole(directory, handle, guard, Origin::Directory, access));
    }
    Ok(preopens)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn path(pointer: &str, access: PathAccess, when: Option<&str>) -> PathArgument {
        PathArgument {
            pointer: pointer.into(),
            kind: PathKind::Directory,
            access,
            when: when.map(Into::into),
            nearest: Vec::new(),
        }
    }

    #[test]
    fn the_widest_access_that_applies_counts() {
        let paths = [
            path("/dir", PathAccess::Read, None),
            path("/dir", PathAccess::Write, Some("/fix")),
            path("/files/-", PathAccess::Read, None),
        ];
        let access = |arguments: Value| -> Vec<_> {
            paths_in(&arguments, &paths)
                .into_iter()
                .map(|(path, text)| (format!("{:?}", path.access), text.to_owned()))
                .collect()
        };
        let pair = |access: &str, text: &str| (access.to_owned(), text.to_owned());
        assert_eq!(access(json!({"dir": "/a"})), [pair("PathAccess::Read", "/a")]);
        assert_eq!(
            access(json!({"dir": "/a", "fix": true, "files": ["/b", "/c"]})),
            [
                pair("PathAccess::Write", "/a"),
                pair("PathAccess::Read", "/b"),
                pair("PathAccess::Read", "/c")
            ]
        );
        assert_eq!(access(json!({"dir": "/a", "fix": "true"})), [pair("PathAccess::Read", "/a")]);
        assert!(access(json!({"files": [1, null]})).is_empty());
    }

    #[test]
    fn the_name_of_a_member_may_begin_with_a_hyphen() {
        let arguments = json!({
            "-o": "/a",
            "list": [{"-o": "/b", "-": "/c"}, {"-o": "/d"}],
            "-x": {"y": "/e"},
            "": ["/f"],
        });
        for (pointer, expected) in [
            ("/-o", &["/a"][..]),
            ("/list/-/-o", &["/b", "/d"]),
            ("/-x/y", &["/e"]),
            ("//-", &["/f"]),
            ("/list/-", &[]),
        ] {
            assert_eq!(values(&arguments, pointer), expected, "{pointer}");
        }
    }
}
