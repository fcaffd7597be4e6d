//! The tool `read_editor_log`: the newest entries of the editor's log, from its file or from the editor.

use crate::{
    answer::{SourceKind, shown},
    live::{Editor, Fault, Kind, value::Reply},
    log_file,
    offline::Offline,
    source::SourceQuery,
};
use portcullis_plugin::prelude::*;
use std::{
    fs::File,
    io::{Read as _, Seek as _, SeekFrom},
    path::Path,
};

/// Maximum number of bytes of a log file that are read.
const MAX_READ_BYTES: u64 = 4 << 20;
/// Maximum number of entries asked of Epic's server, before they are filtered here.
const MAX_ASKED: u32 = 1_000;
/// Maximum length of an entry that is shown, in characters.
const MAX_ENTRY_CHARS: usize = 2_000;

/// The least severity of the listed entries.
#[data]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Severity {
    /// Entries of every severity
    #[default]
    All,
    /// Warnings and errors
    Warning,
    /// Errors
    Error,
}

about_project! {
    /// Read the newest entries of the editor's log, filtered by text, category and severity. The output of console commands is in this log.
    pub struct EditorLog {
        /// Only entries with this text, whatever its case.
        #[serde(default)]
        #[schemars(length(max = 256))]
        text: String,
        /// Only entries of this category, such as LogBlueprint.
        #[serde(default)]
        #[schemars(length(max = 128))]
        category: String,
        /// Only entries of this severity, or a higher one.
        #[serde(default)]
        severity: Severity,
        /// How many entries at most, from the end.
        #[serde(default = "usual_entries")]
        #[schemars(range(min = 1, max = 1_000))]
        max_entries: u32,
    }
}

fn usual_entries() -> u32 {
    30
}

tool_result! {
    /// Entries of a log, the oldest first.
    pub struct LogEntries {
        log_file_path: String,
        entries: Vec<String>,
        count: usize,
        /// Number of matching entries in the part of the log that was read
        total_count: usize,
        /// Whether the log has older entries that were not read, or not shown
        has_more: bool,
    }
}

read_only_tool!(EditorLog, "read_editor_log", "Editor log", LogEntries);

impl SourceQuery for EditorLog {
    type Answer = LogEntries;

    fn ask_editor(&self, editor: &Editor<'_>) -> Result<LogEntries, Fault> {
        let (path, entries, is_cut) = match editor.seen.kind {
            Kind::Epic => {
                // An empty category stands for all categories. It is sent explicitly, since the
                // server's default is a category that does not exist. The pattern ignores the case
                // of the category.
                let category = self.category.trim();
                let wanted = match category.is_empty() {
                    true => pattern(&self.text),
                    false => pattern(&format!("{category}: ")),
                };
                let arguments = json!({
                    "category": "",
                    "pattern": wanted,
                    "maxEntries": MAX_ASKED,
                });
                let listed = editor.epic_now("LogsToolset", "GetLogEntries", &arguments)?;
                let listed = Reply::of("GetLogEntries", &listed).list("")?;
                let entries: Result<Vec<String>, Fault> =
                    listed.iter().map(|entry| entry.raw("").map(str::to_owned)).collect();
                let is_cut = listed.len() >= MAX_ASKED as usize;
                (String::new(), entries?, is_cut)
            }
            Kind::UnrealMcpServer => {
                let path = log_file::told(editor)?;
                let tail = Tail::read(&editor.path_here(&path)).map_err(|error| {
                    Failure::new(format!(
                        "cannot read the log {} of the editor at {}: {error}",
                        shown(&path),
                        editor.url
                    ))
                })?;
                (path, tail.entries(), tail.is_cut)
            }
        };
        let warnings = editor.warnings(None);
        Ok(self.answer(&path, entries, is_cut, SourceKind::Live, editor.as_of(), warnings))
    }

    fn ask_files(&self, _request: &Request<'_>, offline: &Offline) -> Result<LogEntries, Failure> {
        let path = log_file::of_project(&offline.project);
        let tail = Tail::read(&path).or_fail(format!(
            "cannot read the log of {}, which the editor writes to {}",
            offline.project.name,
            shown(&path.display().to_string())
        ))?;
        let path = path.display().to_string();
        let (entries, is_cut) = (tail.entries(), tail.is_cut);
        let (source, as_of) = (SourceKind::Offline, offline.as_of.clone());
        Ok(self.answer(&path, entries, is_cut, source, as_of, offline.warnings_and(None)))
    }
}

impl EditorLog {
    fn answer(
        &self,
        path: &str,
        entries: Vec<String>,
        is_cut: bool,
        source: SourceKind,
        as_of: String,
        warnings: Vec<String>,
    ) -> LogEntries {
        let mut fitting: Vec<String> =
            entries.into_iter().filter(|entry| self.fits(entry)).collect();
        let total = fitting.len();
        let chosen = fitting.split_off(total.saturating_sub(self.max_entries as usize));
        let entries: Vec<String> = chosen.iter().map(|entry| shown_entry(entry)).collect();
        LogEntries {
            log_file_path: shown(path),
            count: entries.len(),
            total_count: total,
            has_more: is_cut || total > entries.len(),
            entries,
            source,
            as_of,
            warnings,
        }
    }

    fn fits(&self, entry: &str) -> bool {
        let head = Head::of(entry).unwrap_or_default();
        let category = self.category.trim();
        (category.is_empty() || head.category.eq_ignore_ascii_case(category))
            && head.severity as u8 >= self.severity as u8
            && entry.to_lowercase().contains(&self.text.to_lowercase())
    }
}

/// An entry of a log as it is shown: with its line breaks, without invisible characters.
pub fn shown_entry(entry: &str) -> String {
    unreal_package::visible(entry, MAX_ENTRY_CHARS, true).into_owned()
}

/// A regular expression that finds a text and ignores case, in ICU's syntax, which Epic's server
/// uses.
fn pattern(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let literal = text.chars().flat_map(|c| {
        let escape = (c.is_ascii_punctuation()).then_some('\\');
        escape.into_iter().chain([c])
    });
    format!("(?i){}", literal.collect::<String>())
}

/// The end of a log file.
pub struct Tail {
    text: String,
    /// Whether text before this end was asked for and not read.
    pub is_cut: bool,
}

impl Tail {
    /// Reads the end of a file, at most 4 MiB.
    ///
    /// # Errors
    ///
    /// The file cannot be opened or read.
    pub fn read(path: &Path) -> std::io::Result<Self> {
        Self::after(path, 0)
    }

    /// Reads the end of a file, at most 4 MiB, and nothing before the offset `mark`. If text after
    /// the mark is left out, the end begins with a whole line.
    ///
    /// # Errors
    ///
    /// The file cannot be opened or read.
    pub fn after(path: &Path, mark: u64) -> std::io::Result<Self> {
        let mut file = File::open(path)?;
        let start = mark.max(file.metadata()?.len().saturating_sub(MAX_READ_BYTES));
        let _position = file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        let _length = file.take(MAX_READ_BYTES).read_to_end(&mut bytes)?;
        let text = String::from_utf8_lossy(&bytes);
        let mut text = text.trim_start_matches('\u{feff}').to_owned();
        let is_cut = start > mark;
        if is_cut {
            // The first line may be incomplete.
            let line_start = text.find('\n').map_or(text.len(), |end| end + 1);
            text.drain(..line_start);
        }
        Ok(Self { text, is_cut })
    }

    /// The entries. A line that begins neither with a time nor with a category belongs to the entry
    /// before it, if there is one.
    pub fn entries(&self) -> Vec<String> {
        let mut entries: Vec<String> = Vec::new();
        for line in self.text.lines() {
            match entries.last_mut() {
                Some(last) if Head::of(line).is_none() => {
                    last.push('\n');
                    last.push_str(line);
                }
                Some(_) | None => entries.push(line.to_owned()),
            }
        }
        entries
    }
}

/// The beginning of an entry, such as `[2026.09.04-01.12.39:421][714]LogWorld: Warning: `. Entries
/// of the first seconds have no time.
#[derive(Debug, Default, PartialEq)]
struct Head<'e> {
    category: &'e str,
    severity: Severity,
}

impl<'e> Head<'e> {
    fn of(entry: &'e str) -> Option<Self> {
        let (mut rest, mut has_time) = (entry, false);
        while let Some((inside, after)) = rest.strip_prefix('[').and_then(|it| it.split_once(']')) {
            let is_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | ':' | ' ');
            if !inside.chars().all(is_number) {
                break;
            }
            (rest, has_time) = (after, true);
        }
        let category = rest.split_once(": ").filter(|(category, _)| {
            !category.is_empty() && category.chars().all(|c| c.is_alphanumeric() || c == '_')
        });
        match category {
            Some((category, message)) => Some(Self { category, severity: severity(message) }),
            // Some entries have a time and no category, since the display of their category is switched off.
            None => has_time.then(Self::default),
        }
    }
}

fn severity(message: &str) -> Severity {
    match message.split_once(": ").map(|(first, _)| first) {
        Some("Error" | "Fatal") => Severity::Error,
        Some("Warning") => Severity::Warning,
        Some(_) | None => Severity::All,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads() {
        let head = |entry| Head::of(entry).map(|head| (head.category, head.severity));
        let timed = "[2026.09.04-01.12.39:421][ 63]LogWorld: Warning: far away";
        assert_eq!(head(timed), Some(("LogWorld", Severity::Warning)));
        assert_eq!(head("LogInit: Build: 5.6"), Some(("LogInit", Severity::All)));
        assert_eq!(head("LogCore: Error: gone: twice"), Some(("LogCore", Severity::Error)));
        assert_eq!(head("[2026.09.04-01.12.39:421][ 63]Hello"), Some(("", Severity::All)));
        for line in ["    at 0x00", "and more: text", "", "[Callstack] 0x1"] {
            assert_eq!(head(line), None, "{line}");
        }
    }

    #[test]
    fn entries_have_their_lines() {
        let text = "LogA: one\n  more\nLogB: two\n".to_owned();
        let tail = Tail { text, is_cut: false };
        assert_eq!(tail.entries(), ["LogA: one\n  more", "LogB: two"]);
    }

    #[test]
    fn patterns_match_texts_literally() {
        assert_eq!(pattern("a.b (c)"), r"(?i)a\.b \(c\)");
        assert_eq!(pattern(""), "");
    }
}
