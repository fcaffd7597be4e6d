//! Reads one package, and appends its contents to the stream of records.

use super::{
    State,
    record::{Record, Tag},
};
use crate::{
    disk::{Disk, File},
    entry::Entry,
    strings::{Id, Strings},
};
use std::path::Path;
use unreal_package::{
    Action, Contents, Fault, Header, Index as Object, Literal, Package, Variable,
};

/// Maximum size of a package that is read, in bytes.
const MAX_PACKAGE_BYTES: u64 = 64 << 20;
/// Number of bytes of a map that are read first. Most maps have no graph, so that the rest need not
/// be read.
const FIRST_BYTES: u64 = 64 << 10;

/// Reads a package and appends its records to the stream. Returns the state and the number of nodes
/// that were read only in part. `buffer` is reused between calls.
pub fn collect(
    disk: &Disk,
    path: &Path,
    package: &str,
    entry: &Entry,
    buffer: &mut Vec<u8>,
    (strings, stream): (&mut Strings, &mut Vec<u8>),
) -> (State, u32) {
    let Ok(mut file) = disk.file(path) else { return (State::Unreadable, 0) };
    if entry.is_map {
        match may_have_nodes(&mut file, entry.size, buffer) {
            Some(true) => {}
            Some(false) => return (State::Collected, 0),
            None => return (State::Unreadable, 0),
        }
    } else {
        buffer.clear();
    }
    if entry.size > MAX_PACKAGE_BYTES {
        return (State::TooLarge, 0);
    }
    let size = usize::try_from(entry.size).unwrap_or(usize::MAX);
    if file.start(size, buffer).is_err() {
        return (State::Unreadable, 0);
    }
    match Package::read(buffer) {
        Ok(read) => {
            let contents = read.contents(package);
            let state = if contents.cut { State::Partly } else { State::Collected };
            let nodes = contents.graphs.iter().flat_map(|graph| &graph.nodes);
            let faulty = nodes.filter(|node| node.faulty).count();
            write(&contents, strings, stream);
            (state, u32::try_from(faulty).unwrap_or(u32::MAX))
        }
        Err(_) => (State::Unreadable, 0),
    }
}

/// Whether a map has nodes, by its header; `None` if the header cannot be read.
fn may_have_nodes(file: &mut File, size: u64, buffer: &mut Vec<u8>) -> Option<bool> {
    buffer.clear();
    let mut wanted_len = size.min(FIRST_BYTES);
    loop {
        file.start(usize::try_from(wanted_len).ok()?, buffer).ok()?;
        let len = if (buffer.len() as u64) < wanted_len { buffer.len() as u64 } else { size };
        match Header::read(buffer, len) {
            Ok(header) => {
                let mut objects = (0..header.exports.len()).map(Object::of_export);
                return Some(objects.any(|object| header.is_node(object)));
            }
            Err(Fault::NeedMore { bytes }) if bytes <= MAX_PACKAGE_BYTES && bytes > wanted_len => {
                wanted_len = bytes;
            }
            Err(_) => return None,
        }
    }
}

fn write(contents: &Contents, strings: &mut Strings, out: &mut Vec<u8>) {
    let mut put = |tag, texts: &[&str], extra: &[u8]| {
        let mut ids = [Id(0); 6];
        ids.iter_mut().zip(texts).for_each(|(id, text)| *id = strings.add(text));
        Record::new(tag, &ids, extra).write(out);
    };
    for Variable { name, kind, value, .. } in &contents.variables {
        put(Tag::Variable, &[name, kind, value], &[]);
    }
    for graph in &contents.graphs {
        let is_declared = matches!(graph.role, "function" | "macro" | "signature");
        if graph.nodes.is_empty() && graph.variables.is_empty() && !is_declared {
            continue;
        }
        put(Tag::Graph, &[&graph.name], &[role_code(graph.role)]);
        for Variable { name, kind, value, .. } in &graph.variables {
            put(Tag::Local, &[name, kind, value], &[]);
        }
        for node in &graph.nodes {
            let mut extra = [0; 17];
            let guid = node.guid.0.iter().flat_map(|part| part.to_le_bytes());
            let parts = std::iter::once(action_code(node.action)).chain(guid);
            extra.iter_mut().zip(parts).for_each(|(byte, part)| *byte = part);
            let texts =
                [&node.name, &node.class, &node.title, &node.subject, &node.owner, &node.comment];
            put(Tag::Node, &texts.map(String::as_str), &extra);
            for Literal { at, value } in &node.literals {
                put(Tag::Pin, &[at, value], &[]);
            }
        }
    }
    for Literal { at, value } in &contents.texts {
        put(Tag::Text, &[at, value], &[]);
    }
}

/// The words for a graph's role, by their code.
const ROLES: [&str; 5] = ["graph", "events", "function", "macro", "signature"];

fn role_code(role: &str) -> u8 {
    let position = ROLES.iter().position(|known| *known == role).unwrap_or_default();
    u8::try_from(position).unwrap_or_default()
}

/// The kind of declaration of a graph with this role code: `function` or `macro`. `None` for other
/// roles.
pub fn declares(code: u8) -> Option<&'static str> {
    ROLES.get(usize::from(code)).copied().filter(|role| matches!(*role, "function" | "macro"))
}

fn action_code(action: Action) -> u8 {
    match action {
        Action::None => 0,
        Action::Call => 1,
        Action::Get => 2,
        Action::Set => 3,
        Action::Event => 4,
    }
}

/// The action with this code.
pub fn action(code: u8) -> Action {
    match code {
        1 => Action::Call,
        2 => Action::Get,
        3 => Action::Set,
        4 => Action::Event,
        _ => Action::None,
    }
}
