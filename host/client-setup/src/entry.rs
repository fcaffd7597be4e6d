//! Entries of servers in the files of clients: how a client writes an entry, and whether an entry starts Portcullis.

use serde_json::{Map, Value, json};

/// The keys of an entry.
pub(crate) type Keys = Map<String, Value>;

/// The server that is written into a configuration.
#[derive(Debug, Clone)]
pub struct Server {
    /// The name of its entry.
    pub name: String,
    /// The absolute path of the binary.
    pub command: String,
    /// The arguments of the binary. `None`: an existing entry keeps its arguments, and a new entry gets `serve`.
    pub args: Option<Vec<String>>,
}

/// An entry that starts Portcullis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortcullisEntry {
    /// The name of the entry.
    pub name: String,
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
}

/// A value that is the same in each entry of a client.
#[derive(Debug, Clone, Copy)]
pub(crate) enum FixedField {
    Text(&'static str),
    Number(u32),
    Yes,
    NoKeys,
    NoItems,
    /// The name of the server.
    Name,
}

/// How a client writes an entry: its keys in their order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) before: &'static [(&'static str, FixedField)],
    /// The key of the program. The key `args` follows it.
    pub(crate) command: &'static str,
    pub(crate) after: &'static [(&'static str, FixedField)],
}

/// Programs that download a package and start it. The words after the package's name are its arguments.
const LAUNCHERS: [&str; 6] = ["npx", "bunx", "pnpm", "yarn", "uvx", "pipx"];

/// The program's name, and the name of its packages.
const PROGRAM_NAME: &str = "portcullis";

impl Shape {
    /// A new entry.
    pub(crate) fn entry(&self, server: &Server) -> Keys {
        let value = |fixed: &FixedField| match fixed {
            FixedField::Text(text) => json!(text),
            FixedField::Number(number) => json!(number),
            FixedField::Yes => json!(true),
            FixedField::NoKeys => json!({}),
            FixedField::NoItems => json!([]),
            FixedField::Name => json!(server.name),
        };
        let fixed = |keys: &'static [(&'static str, FixedField)]| {
            keys.iter().map(move |(key, fixed)| ((*key).to_owned(), value(fixed)))
        };
        let mut keys: Keys = fixed(self.before).collect();
        let args = server.args.clone().unwrap_or_else(|| vec!["serve".to_owned()]);
        keys.insert(self.command.to_owned(), json!(server.command));
        keys.insert("args".to_owned(), json!(args));
        keys.extend(fixed(self.after));
        keys
    }

    /// The program and the arguments of an entry, if it starts Portcullis. An entry that starts Portcullis by a package
    /// launcher counts, too: its arguments are those after the package's name.
    pub(crate) fn portcullis_entry(&self, name: &str, entry: &Value) -> Option<PortcullisEntry> {
        let (command, args) = self.parts(entry)?;
        let args_of = |args: &[&str]| args.iter().map(|arg| (*arg).to_owned()).collect();
        let (name, stem) = (name.to_owned(), stem(command));
        if stem == PROGRAM_NAME {
            return Some(PortcullisEntry {
                name,
                command: command.to_owned(),
                args: args_of(&args),
            });
        }
        let package = args.iter().position(|arg| is_own_package(arg));
        let rest =
            package.filter(|_| LAUNCHERS.contains(&stem)).and_then(|at| args.get(at + 1..))?;
        Some(PortcullisEntry { name, command: command.to_owned(), args: args_of(rest) })
    }

    /// The program, or the address, of any entry, in a few words.
    pub(crate) fn shown(&self, entry: &Value) -> String {
        let address =
            ["url", "httpUrl", "serverUrl", "uri"].iter().find_map(|key| entry.get(key)?.as_str());
        match (self.parts(entry), address) {
            (Some((command, args)), _) => {
                // Arguments may hold secrets: the first one is enough to recognise the program.
                let first =
                    args.iter().find(|arg| !arg.starts_with('-')).copied().unwrap_or_default();
                format!("{command} {first}").trim_end().chars().take(120).collect()
            }
            // Queries of addresses may hold secrets.
            (None, Some(url)) => {
                url.split('?').next().unwrap_or_default().chars().take(120).collect()
            }
            (None, None) => "something else".to_owned(),
        }
    }

    /// The program and the arguments. Zed's earlier form, `"command": { "path": …, "args": […] }`, counts too.
    fn parts<'a>(&self, entry: &'a Value) -> Option<(&'a str, Vec<&'a str>)> {
        let command = entry.get(self.command)?;
        let (command, holder) = match command.as_str() {
            Some(text) => (text, entry),
            None => (command.get("path")?.as_str()?, command),
        };
        let args = holder.get("args").and_then(Value::as_array).into_iter().flatten();
        Some((command, args.filter_map(Value::as_str).collect()))
    }

    /// The keys of an entry that have to change so that the entry starts this server, with their new values. All other
    /// keys stay.
    pub(crate) fn corrections(&self, entry: &Value, server: &Server) -> Vec<(String, Value)> {
        let Some(before) = self.portcullis_entry(&server.name, entry) else { return Vec::new() };
        let args = server.args.clone().unwrap_or(before.args);
        let wanted = [(self.command, json!(server.command)), ("args", json!(args))];
        let differs = |(key, value): &(&str, Value)| {
            let current = entry.get(key);
            current != Some(value) && !(current.is_none() && value == &json!([]))
        };
        wanted.into_iter().filter(differs).map(|(key, value)| (key.to_owned(), value)).collect()
    }
}

/// The name of a program without its folder and its extension, whichever system its path is written for.
fn stem(command: &str) -> &str {
    let name = command.rsplit(['/', '\\']).next().unwrap_or(command);
    let end = name.len().saturating_sub(4);
    match name.get(end..) {
        Some(extension) if [".exe", ".cmd", ".bat"].contains(&&*extension.to_ascii_lowercase()) => {
            name.get(..end).unwrap_or(name)
        }
        _ => name,
    }
}

/// Whether an argument of a launcher is the package of Portcullis, with or without a version.
fn is_own_package(argument: &str) -> bool {
    let name = argument.split(['@', '=']).find(|part| !part.is_empty()).unwrap_or_default();
    name == PROGRAM_NAME
}
