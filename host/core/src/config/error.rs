//! Why a configuration is refused: the file, the place, the key, and what to write instead.

use std::error::Error;
use std::fmt;
use std::path::PathBuf;

use super::defaults::InvalidVariable;
use super::file::UnreadableFile;

/// Maximum length of a value in an error.
const MAX_FOUND_CHARS: usize = 80;

/// Why a configuration is refused, and where. The text of the error contains no value that may be secret.
///
/// The errors of the TOML parser are not kept as causes: their texts show lines of the file.
#[derive(Debug)]
pub struct ConfigError {
    /// The file of the configuration.
    pub file: Option<PathBuf>,
    /// The line and the column in the file, both from 1.
    pub place: Option<(usize, usize)>,
    /// The key, with the tables that it is in.
    pub key: Option<String>,
    /// What is wrong.
    pub fault: Box<Fault>,
    /// How to correct a common mistake.
    pub hint: Option<String>,
}

/// What is wrong with a configuration.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The file cannot be found or read.
    #[error(transparent)]
    Unreadable(UnreadableFile),
    /// The default configuration cannot be completed from the environment.
    #[error("the default configuration cannot be used")]
    Defaults(#[source] InvalidVariable),
    /// The file is not TOML. The text comes from the parser.
    #[error("{0}")]
    Toml(String),
    /// The table at this place does not have this key.
    #[error("there is no such key{} The keys here are {}", suggestion(.similar.as_deref()), list(.known))]
    UnknownKey {
        /// A key that the operator may have meant.
        similar: Option<String>,
        /// The keys that the table can have.
        known: Vec<String>,
    },
    /// A table lacks a key that it must have.
    #[error("`{key}` is missing: write {expected}")]
    MissingKey {
        /// The key that is missing.
        key: String,
        /// The type of its value.
        expected: String,
    },
    /// A value has the wrong type, or is out of range.
    #[error("write {expected}, instead of {found}")]
    Type {
        /// The right type.
        expected: String,
        /// The value, or its type.
        found: String,
    },
    /// The code that uses the value refuses it, for this reason.
    #[error("{0}")]
    Value(String),
    /// A text is not of the form that its key needs.
    #[error("{reason}: write {meaning}")]
    Syntax {
        /// What is wrong with the text.
        reason: String,
        /// The meaning of the key.
        meaning: String,
    },
    /// The value is a list, and the key needs a table.
    #[error("expected a table, found a list: write each value with its key")]
    ListForTable,
    /// A grant has a placeholder from a hint, such as `<host>`, instead of a value.
    #[error("`{0}` is a placeholder: write the value that you grant instead")]
    Placeholder(String),
    /// A value for an upstream server refers to an environment variable in the way of MCP clients, such as `${TOKEN}`.
    /// The message does not repeat the value, because a secret may stand beside the variable.
    #[error(
        "variables such as `${{NAME}}` are not replaced here: write {{ env = \"NAME\" }}, or {{ bearer-env = \"NAME\" }} for `Bearer` and a token"
    )]
    Variable,
    /// A path is an example from documentation, such as `/path/to/folder`.
    #[error("`{0}` is from an example: write your own path instead")]
    PlaceholderPath(&'static str),
    /// A path has a wildcard.
    #[error("`{0}` is a pattern: write the folder itself; its contents are included")]
    Pattern(String),
    /// A program is written together with its arguments.
    #[error(
        "`{0}` is a program with its arguments: write the program alone, and its arguments in `args = [\"…\"]`"
    )]
    CommandLine(String),
    /// Only earlier versions had the key `host.audit-file`.
    #[error("the audit is a folder now; write instead: audit-dir = {folder:?}")]
    AuditFile {
        /// The folder to write.
        folder: String,
    },
    /// A path is relative, so its meaning depends on where the host is started.
    #[error(
        "{0} is not an absolute path: its meaning would depend on where portcullis is started; write \
         the whole path"
    )]
    RelativePath(String),
    /// A name or a prefix is not made of 1 to 64 ASCII letters, digits, `-` and `_`.
    #[error("a name consists of 1 to 64 ASCII letters, digits, `-` and `_`: write another name")]
    Name,
    /// An upstream server has the name of a plugin.
    #[error("a plugin has this name already: give the server another name")]
    NameOfPlugin,
    /// Two profiles name the same client or caller.
    #[error("`{member}` is in the profile `{other}` already: name it in one profile only")]
    TwoProfiles {
        /// The client or the caller.
        member: String,
        /// The other profile.
        other: String,
    },
    /// A grant names a command that is not defined.
    #[error("`{0}` is not a command: define it as [commands.{0}]")]
    UndefinedCommand(String),
}

impl ConfigError {
    /// An error about a key.
    pub(super) fn key(key: impl Into<String>, fault: Fault) -> Self {
        Self { file: None, place: None, key: Some(key.into()), fault: Box::new(fault), hint: None }
    }

    /// This error with a hint, if there is one.
    pub(super) fn mended(mut self, hint: Option<String>) -> Self {
        self.hint = self.hint.or(hint);
        self
    }

    /// This error with `hide` applied to all of its texts that may quote the configuration.
    pub(super) fn with_hidden(mut self, hide: impl Fn(&str) -> String) -> Self {
        let texts: Vec<&mut String> = match &mut *self.fault {
            Fault::Toml(text)
            | Fault::Value(text)
            | Fault::RelativePath(text)
            | Fault::Pattern(text)
            | Fault::CommandLine(text)
            | Fault::UndefinedCommand(text)
            | Fault::Placeholder(text)
            | Fault::AuditFile { folder: text }
            | Fault::Syntax { reason: text, .. }
            | Fault::Type { found: text, .. } => vec![text],
            Fault::TwoProfiles { member, other } => vec![member, other],
            Fault::Unreadable(_)
            | Fault::Variable
            | Fault::Defaults(_)
            | Fault::UnknownKey { .. }
            | Fault::MissingKey { .. }
            | Fault::ListForTable
            | Fault::PlaceholderPath(_)
            | Fault::Name
            | Fault::NameOfPlugin => Vec::new(),
        };
        for text in texts.into_iter().chain(&mut self.key).chain(&mut self.hint) {
            *text = hide(text);
        }
        // Shortened only after hiding, because a part of a secret value would not be recognised.
        if let Fault::Type { found, .. } = &mut *self.fault {
            *found = found.chars().take(MAX_FOUND_CHARS).collect();
        }
        self
    }
}

impl From<Fault> for ConfigError {
    fn from(fault: Fault) -> Self {
        Self { file: None, place: None, key: None, fault: Box::new(fault), hint: None }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{}: ", file.display())?;
        }
        if let Some((line, column)) = self.place {
            write!(f, "line {line}, column {column}: ")?;
        }
        if let Some(key) = &self.key {
            write!(f, "`{key}`: ")?;
        }
        self.fault.fmt(f)?;
        match &self.hint {
            Some(hint) => write!(f, "\n  hint: {hint}"),
            None => Ok(()),
        }
    }
}

impl Error for ConfigError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.fault.source()
    }
}

fn suggestion(similar: Option<&str>) -> String {
    similar.map_or_else(|| ".".to_owned(), |key| format!("; did you mean `{key}`?"))
}

fn list(keys: &[String]) -> String {
    keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")
}
