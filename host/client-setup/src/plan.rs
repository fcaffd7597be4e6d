//! One change of one client's file: planned, shown, and written whole or not at all.

use std::io;
use std::path::{Path, PathBuf};

use portcullis_checked_files::{
    EditedFileError, remove_edited, replace, replace_like, write_edited,
};
use serde_json::Value;

use crate::clients::Client;
use crate::document::Document;
use crate::entry::{Keys, PortcullisEntry, Server};
use crate::machine::Machine;
use crate::text::Unparsable;

/// The end of the name of a backup, beside the file.
pub const BACKUP: &str = ".portcullis-backup";

/// Maximum size of a configuration file, in bytes.
const MAX_BYTES: u64 = 64 << 20;

/// Why a file is not changed.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The file cannot be read.
    #[error("{} cannot be read", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        cause: io::Error,
    },
    /// The file does not have the format of its client's configuration.
    #[error("{} cannot be parsed, so it is not changed: {cause}\n  hint: correct the file, and run the command again", path.display())]
    Unparsable {
        /// The file.
        path: PathBuf,
        /// The place and the reason.
        cause: Unparsable,
    },
    /// The key of the servers has a value of another type.
    #[error("`{key}` in {} is not a collection of servers, so the file is not changed", path.display())]
    NoServers {
        /// The file.
        path: PathBuf,
        /// The key.
        key: &'static str,
    },
    /// The file lists no servers.
    #[error("{} lists no MCP servers (looked for `{}`)", path.display(), looked_for.join("`, `"))]
    NoneListed {
        /// The file.
        path: PathBuf,
        /// The keys under which servers could be.
        looked_for: Vec<&'static str>,
    },
    /// The name belongs to the entry of another program.
    #[error("`{name}` in {} is the name of another program: {program}\n  hint: choose another name with --name", path.display())]
    Taken {
        /// The file.
        path: PathBuf,
        /// The name.
        name: String,
        /// The program or the address.
        program: String,
    },
    /// The file is written in a way in which the entry cannot be changed alone.
    #[error("{} is written in a way in which the entry `{name}` cannot be changed alone: edit the file by hand", path.display())]
    Unusual {
        /// The file.
        path: PathBuf,
        /// The name of the entry.
        name: String,
    },
    /// The file was not written.
    #[error(transparent)]
    NotWritten(#[from] EditedFileError),
    /// The backup was not written, so neither was the file.
    #[error("the backup {} cannot be written, so nothing is changed", path.display())]
    NoBackup {
        /// The backup.
        path: PathBuf,
        /// The cause.
        #[source]
        cause: io::Error,
    },
}

impl Refusal {
    /// Whether the file was changed by another program meanwhile, so that the change can be planned again.
    pub fn is_race(&self) -> bool {
        matches!(self, Self::NotWritten(EditedFileError::Changed(_)))
    }
}

/// What a plan does.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Nothing: the file is as it should be.
    Nothing,
    /// Adds an entry.
    Add,
    /// Corrects keys of an entry: each with the value before, where there was one, and the value after.
    Correct(Vec<(String, Option<Value>, Value)>),
    /// Removes an entry.
    Remove,
    /// Removes the file, because it contains nothing but the entry.
    RemoveFile,
}

/// A change of one file that is not written yet.
#[derive(Debug)]
pub struct Plan {
    /// The file.
    pub path: PathBuf,
    /// What is done.
    pub change: Change,
    /// The text before. `None`: there is no file.
    pub before: Option<String>,
    /// The text after.
    pub after: String,
    /// The entry of the plan, as it would be written in a file of its own. This entry has only the keys that setup
    /// writes.
    pub entry: String,
    /// Whether no backup has to be written, for example because the backup already holds the text without the entry.
    keeps_backup: bool,
}

/// What was written.
#[derive(Debug, Default)]
pub struct Written {
    /// The backup, if there is one now.
    pub backup: Option<PathBuf>,
    /// The metadata that the file could not keep.
    pub lost: portcullis_checked_files::LostMetadata,
}

impl Plan {
    /// A plan that makes a client start a server.
    ///
    /// # Errors
    ///
    /// [`Refusal`]. The name is taken, or the file cannot be read, parsed or edited.
    pub fn add(client: &Client, machine: &Machine, server: &Server) -> Result<Self, Refusal> {
        let path = client.file(machine);
        let before = read(&path)?;
        let text = before.clone().unwrap_or_default();
        let document = parse(client, &path, &text)?;
        let unusual = || Refusal::Unusual { path: path.clone(), name: server.name.clone() };
        let entry = entry_alone(client, server);
        let Some(found) = entry_of(&document, &path, &server.name)? else {
            let new = client.shape.entry(server);
            let after = document.add(&server.name, &new).ok_or_else(unusual)?;
            let change = Change::Add;
            return Ok(Self { path, change, before, after, entry, keeps_backup: false });
        };
        if client.shape.portcullis_entry(&server.name, found).is_none() {
            let program = client.shape.shown(found);
            return Err(Refusal::Taken { path, name: server.name.clone(), program });
        }
        let corrections = client.shape.corrections(found, server);
        if corrections.is_empty() {
            let (change, after) = (Change::Nothing, text.clone());
            return Ok(Self { path, change, before, after, entry, keeps_backup: true });
        }
        let after = document.correct(&server.name, &corrections).ok_or_else(unusual)?;
        let keeps_backup = original_text(client, &path, &server.name, &text, found).is_some();
        let with_before = |(key, new): (String, Value)| {
            let old = found.get(&key).cloned();
            (key, old, new)
        };
        let change = Change::Correct(corrections.into_iter().map(with_before).collect());
        Ok(Self { path, change, before, after, entry, keeps_backup })
    }

    /// A plan that removes the entry of a name. If nothing else changed since the entry was added, the file is then as
    /// it was before.
    ///
    /// # Errors
    ///
    /// [`Refusal`]. The entry starts another program, or the file cannot be read, parsed or edited.
    pub fn remove(client: &Client, machine: &Machine, name: &str) -> Result<Self, Refusal> {
        let path = client.file(machine);
        let before = read(&path)?;
        let text = before.clone().unwrap_or_default();
        let document = parse(client, &path, &text)?;
        let Some(found) = entry_of(&document, &path, name)? else {
            let (change, after, entry) = (Change::Nothing, text.clone(), String::new());
            return Ok(Self { path, change, before, after, entry, keeps_backup: true });
        };
        let Some(own) = client.shape.portcullis_entry(name, found) else {
            let program = client.shape.shown(found);
            return Err(Refusal::Taken { path, name: name.to_owned(), program });
        };
        let (command, args) = (own.command, Some(own.args));
        let entry = entry_alone(client, &Server { name: name.to_owned(), command, args });
        if let Some(after) = original_text(client, &path, name, &text, found) {
            let change = Change::Remove;
            return Ok(Self { path, change, before, after, entry, keeps_backup: true });
        }
        let is_alone = with_entry(client, "", name, found).as_ref() == Some(&text);
        if is_alone && !backup_of(&path).exists() {
            let (change, after) = (Change::RemoveFile, String::new());
            return Ok(Self { path, change, before, after, entry, keeps_backup: true });
        }
        let after = document
            .remove(name)
            .ok_or_else(|| Refusal::Unusual { path: path.clone(), name: name.to_owned() })?;
        Ok(Self { path, change: Change::Remove, before, after, entry, keeps_backup: false })
    }

    /// The entries of a client that start Portcullis. Empty if the client has no file.
    ///
    /// # Errors
    ///
    /// [`Refusal`]. The file cannot be read or parsed.
    pub fn installed(client: &Client, machine: &Machine) -> Result<Vec<PortcullisEntry>, Refusal> {
        let path = client.file(machine);
        let Some(text) = read(&path)? else { return Ok(Vec::new()) };
        let document = parse(client, &path, &text)?;
        let entries = document.entries().into_iter().flatten();
        Ok(entries.filter_map(|(name, entry)| client.shape.portcullis_entry(name, entry)).collect())
    }

    /// Writes the file. Before that, backs up its text, unless a backup has this text already or the file is removed.
    ///
    /// # Errors
    ///
    /// [`Refusal`]. The file is then as it was. It may have been changed meanwhile ([`Refusal::is_race`]).
    pub fn write(&self) -> Result<Written, Refusal> {
        let backup = backup_of(&self.path);
        match (&self.change, self.before.as_deref()) {
            (Change::Nothing, _) => return Ok(Written::default()),
            (Change::RemoveFile, Some(before)) => {
                remove_edited(&self.path, before)?;
                return Ok(Written::default());
            }
            (_, Some(before)) if !self.keeps_backup => {
                write_backup(&self.path, &backup, before)
                    .map_err(|cause| Refusal::NoBackup { path: backup.clone(), cause })?;
            }
            _ => {}
        }
        let lost = write_edited(&self.path, self.before.as_deref(), &self.after)?;
        if self.change == Change::Remove && self.keeps_backup {
            // The file equals the backup again, so the backup is removed. It may have been removed already.
            let _gone = remove_edited(&backup, &self.after);
            return Ok(Written { backup: None, lost });
        }
        Ok(Written { backup: backup.exists().then_some(backup), lost })
    }
}

/// The text of a file. `None`: there is no file.
pub(crate) fn read(path: &Path) -> Result<Option<String>, Refusal> {
    let failed = |cause| Refusal::Unreadable { path: path.to_owned(), cause };
    let file = match std::fs::File::open(path) {
        Ok(file) => file,
        // A link whose target is missing is not a missing file.
        Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => {
            return Ok(None);
        }
        Err(error) => return Err(failed(error)),
    };
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() || metadata.len() > MAX_BYTES {
        return Err(failed(io::Error::other(
            "it is not a regular file, or it is larger than 64 MiB",
        )));
    }
    io::read_to_string(file).map(Some).map_err(failed)
}

fn parse<'a>(client: &Client, path: &Path, text: &'a str) -> Result<Document<'a>, Refusal> {
    Document::parse(client.format, text)
        .map_err(|cause| Refusal::Unparsable { path: path.to_owned(), cause })
}

fn entry_of<'a>(
    document: &'a Document<'_>,
    path: &Path,
    name: &str,
) -> Result<Option<&'a Value>, Refusal> {
    let no_servers = || Refusal::NoServers { path: path.to_owned(), key: document.key() };
    let entries = document.entries().ok_or_else(no_servers)?;
    Ok(entries.into_iter().find(|(found, _)| *found == name).map(|(_, entry)| entry))
}

/// The text of the backup, if `text` is the text of the backup with this entry added and nothing else changed.
fn original_text(
    client: &Client,
    path: &Path,
    name: &str,
    text: &str,
    entry: &Value,
) -> Option<String> {
    let backup = read(&backup_of(path)).ok()??;
    (with_entry(client, &backup, name, entry)? == text).then_some(backup)
}

/// A text with an entry added that it does not have.
fn with_entry(client: &Client, text: &str, name: &str, entry: &Value) -> Option<String> {
    let document = Document::parse(client.format, text).ok()?;
    if document.entries()?.iter().any(|(found, _)| *found == name) {
        return None;
    }
    let entry: &Keys = entry.as_object()?;
    document.add(name, entry)
}

/// A file with the entry of a server and nothing else.
fn entry_alone(client: &Client, server: &Server) -> String {
    let entry = Value::Object(client.shape.entry(server));
    with_entry(client, "", &server.name, &entry).unwrap_or_default()
}

fn backup_of(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(BACKUP);
    path.with_file_name(name)
}

/// Writes the backup. A user who cannot read the file cannot read the backup either.
fn write_backup(path: &Path, backup: &Path, text: &str) -> io::Result<()> {
    let metadata = std::fs::File::open(path)?.metadata()?;
    match replace_like(backup, text.as_bytes(), &metadata) {
        // Some file systems have neither owners nor permissions.
        Err(error) if error.kind() == io::ErrorKind::Unsupported => {
            replace(backup, text.as_bytes())
        }
        kept => kept.map(drop),
    }
}
