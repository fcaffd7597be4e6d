//! Translates paths between clients and guests on Windows: `C:\game` in arguments becomes `/C:/game` for the guest,
//! and `/C:/game` in the guest's texts becomes `C:/game` for the client. On other systems, nothing changes.

use portcullis_files::Preopen;
use portcullis_roots::{GuestDirectories, Roots};
use serde_json::Value;

use super::designate::paths_in;
use crate::bindings::PathArgument;
use crate::bindings::types::{
    Ask, Content, ContentBody, Need, ResourceContents, ResourceData, ResourceInfo,
};
use crate::sandbox::{CallNotification, GuestAnswer};

/// The arguments for the guest, with each declared path as the guest sees it. `None`: nothing changes. A path
/// outside the roots stays as the client wrote it, and is refused when it is to be opened.
pub(super) fn arguments(
    arguments: &Value,
    declared: &[PathArgument],
    roots: &Roots,
) -> Option<Value> {
    if !cfg!(windows) {
        return None;
    }
    let as_guest = |path: &str| roots.locate(path).ok().map(|located| located.guest_path());
    translated(arguments, declared, as_guest)
}

/// The arguments, with each declared path as `translate` returns it. `None`: nothing changes.
fn translated(
    arguments: &Value,
    declared: &[PathArgument],
    translate: impl Fn(&str) -> Option<String>,
) -> Option<Value> {
    let mut changed = None;
    for (declaration, path) in paths_in(arguments, declared) {
        if let Some(other) = translate(path).filter(|other| other != path) {
            let changed = changed.get_or_insert_with(|| arguments.clone());
            replace(changed, &declaration.pointer, path, &other);
        }
    }
    changed
}

/// Replaces a string at a pointer, in which `-` stands for each item of an array.
fn replace(value: &mut Value, pointer: &str, path: &str, other: &str) {
    let is_item = |at: &usize| pointer[at + 2..].is_empty() || pointer[at + 2..].starts_with('/');
    let Some(item) = pointer.match_indices("/-").map(|(at, _)| at).find(is_item) else {
        if let Some(found) = value.pointer_mut(pointer).filter(|found| **found == *path) {
            *found = other.into();
        }
        return;
    };
    let (array, rest) = (&pointer[..item], &pointer[item + 2..]);
    let items = value.pointer_mut(array).and_then(Value::as_array_mut);
    items.into_iter().flatten().for_each(|item| replace(item, rest, path, other));
}

/// The directories of a call, whose paths are translated in the texts of the guest.
pub(super) fn directories(preopens: &[Preopen]) -> GuestDirectories {
    GuestDirectories::of(preopens.iter().map(Preopen::directory))
}

/// Writes the paths in a text of the guest as users write them.
pub(super) fn show(directories: &GuestDirectories, text: &mut String) {
    if let std::borrow::Cow::Owned(shown) = directories.shown(text) {
        *text = shown;
    }
}

/// As [`show`], for the texts of an answer. URIs, state and binary data stay as they are.
pub(super) fn show_answer(directories: &GuestDirectories, answer: &mut GuestAnswer) {
    if directories.is_empty() {
        return;
    }
    let mut show = |text: &mut String| show(directories, text);
    match answer {
        GuestAnswer::Tool(result) => {
            result.content.iter_mut().for_each(|content| in_content(content, &mut show));
            result.structured.iter_mut().chain(&mut result.extra).for_each(show);
        }
        GuestAnswer::Resources(page) => {
            page.resources.iter_mut().for_each(|info| in_info(info, &mut show));
        }
        GuestAnswer::Resource(result) => {
            result.contents.iter_mut().for_each(|contents| in_contents(contents, &mut show));
        }
        GuestAnswer::Prompt(result) => {
            result.description.iter_mut().for_each(&mut show);
            let messages = result.messages.iter_mut();
            messages.for_each(|message| in_content(&mut message.content, &mut show));
        }
        GuestAnswer::Completion(found) => found.values.iter_mut().for_each(show),
        GuestAnswer::NeedInput(need) => in_questions(need, &mut show),
        GuestAnswer::Version(_)
        | GuestAnswer::Views(_)
        | GuestAnswer::Job
        | GuestAnswer::Background(_) => {}
    }
}

fn in_content(content: &mut Content, show: &mut impl FnMut(&mut String)) {
    match &mut content.body {
        ContentBody::Text(text) | ContentBody::Other(text) => show(text),
        ContentBody::Resource(contents) => in_contents(contents, show),
        ContentBody::Link(info) => in_info(info, show),
        ContentBody::Image(_) | ContentBody::Audio(_) => {}
    }
    content.extra.iter_mut().for_each(show);
}

fn in_contents(contents: &mut ResourceContents, show: &mut impl FnMut(&mut String)) {
    match &mut contents.data {
        ResourceData::Text(text) => show(text),
        ResourceData::Bytes(_) => {}
    }
    contents.extra.iter_mut().for_each(show);
}

fn in_info(info: &mut ResourceInfo, show: &mut impl FnMut(&mut String)) {
    show(&mut info.name);
    info.title.iter_mut().chain(&mut info.description).chain(&mut info.extra).for_each(show);
}

/// Changes the texts of questions. The operator's advance consent is compared with the changed texts, so the
/// operator writes paths as users do.
fn in_questions(need: &mut Need, show: &mut impl FnMut(&mut String)) {
    for (_, ask) in &mut need.asks {
        match ask {
            Ask::Form(form) => {
                show(&mut form.message);
                show(&mut form.schema);
            }
            Ask::Visit(visit) => show(&mut visit.message),
            Ask::Consent(consent) => {
                show(&mut consent.action);
                show(&mut consent.subject);
                consent.overwrites.iter_mut().for_each(&mut *show);
            }
            Ask::Sample(json) | Ask::Other(json) => show(json),
            Ask::Roots => {}
        }
    }
}

/// As [`show`], for a notification.
pub(super) fn show_notice(
    directories: &GuestDirectories,
    mut notice: CallNotification,
) -> CallNotification {
    if directories.is_empty() {
        return notice;
    }
    match &mut notice {
        CallNotification::Progress { message, .. } => {
            message.iter_mut().for_each(|text| show(directories, text));
        }
        CallNotification::Log { data, .. } => in_value(directories, data),
    }
    notice
}

fn in_value(directories: &GuestDirectories, value: &mut Value) {
    match value {
        Value::String(text) => show(directories, text),
        Value::Array(items) => items.iter_mut().for_each(|item| in_value(directories, item)),
        Value::Object(members) => {
            members.values_mut().for_each(|member| in_value(directories, member));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::bindings::types::Consent;
    use crate::bindings::{PathAccess, PathKind, ToolResult};

    fn declared(pointer: &str, when: Option<&str>) -> PathArgument {
        PathArgument {
            pointer: pointer.into(),
            kind: PathKind::File,
            access: PathAccess::Read,
            when: when.map(Into::into),
            nearest: Vec::new(),
        }
    }

    /// Translates a path as a host on Windows with the root `C:\game` does.
    fn as_guest(path: &str) -> Option<String> {
        let path = path.replace('\\', "/");
        path.to_lowercase().starts_with("c:/game").then(|| format!("/C:/game{}", &path[7..]))
    }

    #[test]
    fn declared_paths_are_translated_for_the_guest() {
        let declared = [
            declared("/file", None),
            declared("/more/-", None),
            declared("/items/-/path", None),
            declared("/target", Some("/fix")),
        ];
        let call = json!({
            "file": r"c:\GAME\a",
            "more": ["C:/game/b", "/C:/game/c", r"D:\other", 1],
            "items": [{"path": r"C:\game\d"}, {}],
            "target": r"C:\game\e",
            "text": r"C:\game\f",
        });
        let guest = translated(&call, &declared, as_guest).unwrap();
        assert_eq!(
            guest,
            json!({
                "file": "/C:/game/a",
                "more": ["/C:/game/b", "/C:/game/c", r"D:\other", 1],
                "items": [{"path": "/C:/game/d"}, {}],
                // Unchanged: the declaration of `target` does not apply, and `text` is not declared as a path.
                "target": r"C:\game\e",
                "text": r"C:\game\f",
            })
        );
        assert_eq!(translated(&guest, &declared, as_guest), None, "there is nothing to change");
        assert_eq!(translated(&json!({"text": "C:/game"}), &declared, as_guest), None);
    }

    #[cfg(not(windows))]
    #[test]
    fn on_other_systems_arguments_do_not_change() {
        let call = json!({"file": "/tmp//a/"});
        assert_eq!(arguments(&call, &[declared("/file", None)], &Roots::default()), None);
    }

    fn text(text: &str) -> Content {
        Content { body: ContentBody::Text(text.into()), annotations: None, extra: None }
    }

    #[test]
    fn a_key_that_begins_with_a_hyphen_is_not_an_item() {
        let mut call = json!({"-o": "C:\\a", "list": [{"-o": "C:\\a"}, "C:\\a"]});
        for pointer in ["/-o", "/list/-/-o", "/list/-"] {
            replace(&mut call, pointer, "C:\\a", "/C:/a");
        }
        assert_eq!(call, json!({"-o": "/C:/a", "list": [{"-o": "/C:/a"}, "/C:/a"]}));
    }

    #[test]
    fn answers_and_questions_name_paths_as_users_do() {
        let directories = GuestDirectories::on_windows(&["/C:/game"]);
        let mut answer = GuestAnswer::Tool(ToolResult {
            content: vec![text("wrote /C:/game/a; see file:///C:/game/a and /D:/x")],
            structured: Some(r#"{"path":"/C:/game/a","log":"x\n/C:/game"}"#.into()),
            is_error: false,
            extra: None,
        });
        show_answer(&directories, &mut answer);
        let GuestAnswer::Tool(result) = answer else { unreachable!("the answer is a result") };
        let ContentBody::Text(told) = &result.content[0].body else { unreachable!("a text") };
        assert_eq!(told, "wrote C:/game/a; see file:///C:/game/a and /D:/x");
        let structured = result.structured.unwrap();
        assert_eq!(structured, r#"{"path":"C:/game/a","log":"x\nC:/game"}"#);

        let consent = Consent {
            kind: "import".into(),
            action: "import a file".into(),
            subject: "/C:/game/a.png to /Game/A".into(),
            overwrites: Some("/C:/game/b".into()),
        };
        let asks = vec![("k".to_owned(), Ask::Consent(consent))];
        let mut answer = GuestAnswer::NeedInput(Need { asks, state: None });
        show_answer(&directories, &mut answer);
        let GuestAnswer::NeedInput(need) = answer else { unreachable!("the answer is a question") };
        let Ask::Consent(consent) = &need.asks[0].1 else { unreachable!("a question for consent") };
        assert_eq!(consent.subject, "C:/game/a.png to /Game/A");
        assert_eq!(consent.overwrites.as_deref(), Some("C:/game/b"));
    }

    #[test]
    fn notifications_name_paths_as_users_do() {
        let directories = GuestDirectories::on_windows(&["/C:/game"]);
        let log = |data: Value| CallNotification::Log {
            level: crate::bindings::portcullis::plugin::request::Level::Info,
            logger: None,
            data,
        };
        let told = show_notice(&directories, log(json!({"a": ["in /C:/game/x", 1]})));
        assert_eq!(told, log(json!({"a": ["in C:/game/x", 1]})));
        let progress = |message: &str| CallNotification::Progress {
            done: 1.0,
            total: None,
            message: Some(message.to_owned()),
        };
        assert_eq!(show_notice(&directories, progress("/C:/game/x")), progress("C:/game/x"));
    }
}
