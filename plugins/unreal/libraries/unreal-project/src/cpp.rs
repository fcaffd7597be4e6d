//! Finds the classes that a project declares in C++: `UCLASS` and `UINTERFACE` in the headers of `Source` folders.
//!
//! A header is scanned, not compiled: conditions of the preprocessor are ignored, and macros are
//! not expanded. Any words are allowed between `class` and the name of the class.

use crate::{
    disk::{Disk, Kind},
    find::Project,
};
use serde_json::json;
use std::collections::HashMap;

/// Maximum number of headers of a project.
const MAX_HEADERS: usize = 20_000;
/// Maximum number of folders that are listed.
const MAX_FOLDERS: usize = 10_000;
/// Maximum depth of folders.
const MAX_DEPTH: usize = 24;
/// Maximum size of a header that is read, in bytes.
const MAX_HEADER_BYTES: u64 = 4 << 20;
/// Maximum number of words of a class, and of its parent, that are read between `class` and the body.
const MAX_WORDS: usize = 64;
/// Folders that contain no headers of the project.
const SKIPPED_FOLDERS: &[&str] =
    &["Binaries", "Config", "Content", "DerivedDataCache", "Intermediate", "Resources", "Saved"];

/// A class declared in C++.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CppClass {
    /// Its name with the prefix, such as `ADoor`.
    pub name: String,
    /// The name of its parent, such as `AActor`; empty if there is none.
    pub parent: String,
    /// The module, such as `MyGame`.
    pub module: String,
    /// The header, relative to the project.
    pub file: String,
    /// The line of the name, from 1.
    pub line: u32,
}

impl CppClass {
    /// The path of the class in packages: `/Script/MyGame.Door`.
    pub fn path(&self) -> String {
        format!("/Script/{}.{}", self.module, without_prefix(&self.name))
    }
}

/// The name of a class in packages: `Door` for `ADoor`.
pub fn without_prefix(name: &str) -> &str {
    match name.strip_prefix(['A', 'U']) {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_uppercase()) => rest,
        Some(_) | None => name,
    }
}

/// The path of a class outside of the project, by its name in C++. The module in the path is a guess.
fn guessed_path(name: &str) -> String {
    match without_prefix(name) {
        "" => String::new(),
        short @ ("Object" | "Interface") => format!("/Script/CoreUObject.{short}"),
        short => format!("/Script/Engine.{short}"),
    }
}

/// The C++ classes of a project, by header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CppClasses {
    headers: Vec<HeaderFile>,
    /// Whether classes may be missing: a limit was reached, the search was stopped, or a header could not be read.
    pub cut: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct HeaderFile {
    file: String,
    module: String,
    size: u64,
    modified: u64,
    classes: Vec<Declared>,
}

impl CppClasses {
    /// Finds the classes. The classes of unchanged headers are taken from `old`. `go_on` is called
    /// before a header is read, with the number of headers read and the number of headers to read. If
    /// it returns `false`, the remaining headers are left out. Also returns whether something
    /// changed.
    pub fn update(
        old: Option<Self>,
        project: &Project,
        mut go_on: impl FnMut(usize, usize) -> bool,
    ) -> (Self, bool) {
        let old = old.unwrap_or_default();
        let known: HashMap<&str, &HeaderFile> =
            old.headers.iter().map(|header| (header.file.as_str(), header)).collect();
        let (disk, mut new) = (Disk::default(), Self::default());
        let mut walk = Walk { disk: &disk, project, headers: Vec::new(), folders: 0, cut: false };
        walk.list_folder("", "", false, 0);
        let mut found = walk.headers;
        new.cut = walk.cut;
        found.sort_by(|one, other| one.file.cmp(&other.file));
        let unchanged = |header: &HeaderFile| {
            let known = known.get(header.file.as_str())?;
            let is_same = known.size == header.size && known.modified == header.modified;
            is_same.then_some(*known)
        };
        let to_read = found.iter().filter(|header| unchanged(header).is_none()).count();
        let mut read = 0;
        for mut header in found {
            match unchanged(&header) {
                Some(known) => header = HeaderFile { module: header.module, ..known.clone() },
                None => {
                    if !go_on(read, to_read) {
                        new.cut = true;
                        break;
                    }
                    read += 1;
                    match read_header(&disk, project, &header) {
                        Some(text) => header.classes = classes(&text),
                        // With the time 0, the next update reads the header again.
                        None => (header.modified, new.cut) = (0, true),
                    }
                }
            }
            new.headers.push(header);
        }
        let changed = new != old;
        (new, changed)
    }

    /// All classes.
    pub fn all(&self) -> impl Iterator<Item = CppClass> {
        self.headers.iter().flat_map(|header| {
            header.classes.iter().map(|(name, parent, line)| CppClass {
                name: name.clone(),
                parent: parent.clone(),
                module: header.module.clone(),
                file: header.file.clone(),
                line: *line,
            })
        })
    }

    /// All classes, each with the path of its parent. The path is empty if the class has no parent.
    pub fn with_parents(&self) -> Vec<(CppClass, String)> {
        let own: Vec<CppClass> = self.all().collect();
        let by_name: HashMap<&str, String> =
            own.iter().map(|class| (class.name.as_str(), class.path())).collect();
        let parent = |class: &CppClass| match by_name.get(class.parent.as_str()) {
            Some(path) => path.clone(),
            None => guessed_path(&class.parent),
        };
        let parents: Vec<String> = own.iter().map(parent).collect();
        own.into_iter().zip(parents).collect()
    }

    /// Serializes the classes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let headers = self.headers.iter().map(|header| {
            json!([header.file, header.module, header.size, header.modified, header.classes])
        });
        json!([VERSION, self.cut, headers.collect::<Vec<_>>()]).to_string().into_bytes()
    }

    /// Parses serialized classes; `None` if the bytes have another form.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let stored: (u32, bool, Vec<StoredHeader>) = serde_json::from_slice(bytes).ok()?;
        let (VERSION, cut, headers) = stored else { return None };
        let headers = headers.into_iter().map(|(file, module, size, modified, classes)| {
            HeaderFile { file, module, size, modified, classes }
        });
        Some(Self { headers: headers.collect(), cut })
    }
}

/// The serialized form of a header: path, module, size, time, classes.
type StoredHeader = (String, String, u64, u64, Vec<Declared>);

/// A class that a header declares: name, parent and line.
type Declared = (String, String, u32);

/// The version of the serialized form.
const VERSION: u32 = 1;

fn read_header(disk: &Disk, project: &Project, header: &HeaderFile) -> Option<String> {
    let mut file = disk.file(&project.dir.join(&header.file)).ok()?;
    let mut bytes = Vec::new();
    file.start(usize::try_from(header.size).ok()?, &mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Lists the headers below the `Source` folders of a project and its plugins.
struct Walk<'p> {
    disk: &'p Disk,
    project: &'p Project,
    headers: Vec<HeaderFile>,
    folders: usize,
    cut: bool,
}

impl Walk<'_> {
    /// Lists the headers in a folder. `inside` is the folder relative to the project: empty, or
    /// `Source/MyGame/`.
    fn list_folder(&mut self, inside: &str, module: &str, is_source: bool, depth: usize) {
        self.folders += 1;
        if depth > MAX_DEPTH || self.folders > MAX_FOLDERS {
            self.cut = true;
            return;
        }
        let path = self.project.dir.join(inside);
        let open = self.disk.folder(&path);
        let Ok(entries) = open.list() else { return };
        let rules = entries.iter().find_map(|entry| entry.name.strip_suffix(".Build.cs"));
        let module = rules.filter(|_| is_source).unwrap_or(module).to_owned();
        let mut folders = Vec::new();
        for entry in &entries {
            let name = &entry.name;
            if entry.kind == Kind::Folder {
                let may_lead =
                    is_source || depth > 0 || ["Source", "Plugins"].contains(&name.as_str());
                let is_hidden = name.starts_with('.') || SKIPPED_FOLDERS.contains(&name.as_str());
                if may_lead && !is_hidden {
                    folders.push(name.clone());
                }
            } else if is_source
                && name.ends_with(".h")
                && let Some(found) = open.stat(name).filter(|found| found.is_file)
            {
                if found.size > MAX_HEADER_BYTES || self.headers.len() >= MAX_HEADERS {
                    self.cut = true;
                    continue;
                }
                self.headers.push(HeaderFile {
                    file: format!("{inside}{name}"),
                    module: module.clone(),
                    size: found.size,
                    modified: found.modified,
                    classes: Vec::new(),
                });
            }
        }
        folders.sort();
        for name in folders {
            // Without a `.Build.cs`, the module has the name of the folder in `Source`.
            let module = if is_source && module.is_empty() { name.clone() } else { module.clone() };
            let is_source = is_source || name == "Source";
            self.list_folder(&format!("{inside}{name}/"), &module, is_source, depth + 1);
        }
    }
}

/// The classes that a header declares with `UCLASS` or `UINTERFACE`.
fn classes(text: &str) -> Vec<Declared> {
    let text = without_comments(text);
    let mut found = Vec::new();
    for macro_name in ["UCLASS", "UINTERFACE"] {
        for (at, _) in text.match_indices(macro_name) {
            let is_word = !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
            if let Some(rest) = text[at + macro_name.len()..].trim_start().strip_prefix('(')
                && is_word
                && let Some(rest) = after_parentheses(rest)
                && let Some((name, parent)) = parse_class(rest)
            {
                let line = text[..text.len() - rest.len()].matches('\n').count();
                let before = rest.find(name).map_or(0, |at| rest[..at].matches('\n').count());
                let line = u32::try_from(line + before + 1).unwrap_or(u32::MAX);
                found.push((name.to_owned(), parent.to_owned(), line));
            }
        }
    }
    found.sort_by_key(|(_, _, line)| *line);
    found
}

/// The text after the closing parenthesis. The opening parenthesis is before `text`. `None` if the
/// closing parenthesis is missing.
fn after_parentheses(text: &str) -> Option<&str> {
    let mut depth = 1;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return text.get(at + 1..);
        }
    }
    None
}

/// Name and parent of `class MYGAME_API ADoor final : public AActor, public IKnock {`.
fn parse_class(text: &str) -> Option<(&str, &str)> {
    let head = text.trim_start().strip_prefix("class")?;
    let head = &head[..head.find(['{', ';'])?];
    let colon = head
        .match_indices(':')
        .find(|(at, _)| !head[..*at].ends_with(':') && !head[at + 1..].starts_with(':'));
    let (own, parents) = match colon {
        Some((at, _)) => (&head[..at], &head[at + 1..]),
        None => (head, ""),
    };
    let words = |text| {
        let split = str::split(text, |c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
        split.filter(|word| !word.is_empty()).take(MAX_WORDS)
    };
    let name = words(own).filter(|word| *word != "final").last()?;
    let first = parents.split([',', '<']).next().unwrap_or_default();
    let access = ["public", "protected", "private", "virtual"];
    let parent = words(first).find(|word| !access.contains(word)).unwrap_or_default();
    Some((name, parent.rsplit("::").next().unwrap_or_default()))
}

/// Replaces comments and the contents of strings by spaces. Line ends stay.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    let blank = |c: char| if c == '\n' { '\n' } else { ' ' };
    while let Some(c) = rest.next() {
        match (c, rest.peek()) {
            ('/', Some('/')) => {
                while let Some(c) = rest.next_if(|c| *c != '\n') {
                    out.push(blank(c));
                }
            }
            ('/', Some('*')) => {
                let mut before = ' ';
                rest.next();
                for c in rest.by_ref() {
                    out.push(blank(c));
                    if before == '*' && c == '/' {
                        break;
                    }
                    before = c;
                }
            }
            ('"', _) => {
                out.push('"');
                let mut is_escaped = false;
                while let Some(c) = rest.next_if(|c| *c != '\n') {
                    if c == '"' && !is_escaped {
                        out.push('"');
                        break;
                    }
                    is_escaped = c == '\\' && !is_escaped;
                    out.push(' ');
                }
            }
            (c, _) => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_a_header() {
        let text = r#"
// UCLASS() class ACommented : public AActor {};
/* UCLASS()
class UAlso : public UObject {}; */
UCLASS(Blueprintable, meta = (DisplayName = "A ) door {"))
class MYGAME_API ADoor final : public AActor, public IKnock
{
    GENERATED_BODY()
};

UINTERFACE(MinimalAPI) class UKnock : public UInterface { };
class FPlain : public FOther {};
UCLASS()
class
UThing
    : public Game::UBase<int>
{ };
UCLASS() class AForward;
UCLASS(
"#;
        let found = classes(text);
        let wanted = [
            ("ADoor", "AActor", 6),
            ("UKnock", "UInterface", 11),
            ("UThing", "UBase", 15),
            ("AForward", "", 18),
        ];
        let wanted: Vec<_> =
            wanted.iter().map(|(n, p, l)| ((*n).to_owned(), (*p).to_owned(), *l)).collect();
        assert_eq!(found, wanted);
    }

    #[test]
    fn names_without_their_prefix() {
        for (name, wanted) in
            [("ADoor", "Door"), ("UThing", "Thing"), ("Apple", "Apple"), ("A", "A")]
        {
            assert_eq!(without_prefix(name), wanted);
        }
    }

    #[test]
    fn stored_classes_are_restored() {
        let header = HeaderFile {
            file: "Source/A.h".to_owned(),
            module: "A".to_owned(),
            size: 7,
            modified: 8,
            classes: vec![("AOne".to_owned(), "AActor".to_owned(), 3)],
        };
        let all = CppClasses { headers: vec![header], cut: true };
        assert_eq!(CppClasses::from_bytes(&all.to_bytes()), Some(all));
        assert_eq!(CppClasses::from_bytes(b"[2,true,[]]"), None);
    }
}
