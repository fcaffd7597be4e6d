//! Reads `Config/*.ini`: the project's layer of the configuration, with the line of each value.

use crate::descriptor::decode;
use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

/// Maximum size of a file that is used, in bytes.
const MAX_FILE_BYTES: u64 = 8 << 20;
/// Maximum number of files.
const MAX_FILES: usize = 256;

/// A line that contains a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The file, relative to the project.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The section, without brackets.
    pub section: String,
    /// `+`, `-`, `.`, `!`, or a space for none.
    pub operator: char,
    /// The key.
    pub key: String,
    /// The value, without surrounding quotation marks.
    pub value: String,
}

/// The values of a key after all lines of its file are applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// The file, relative to the project.
    pub file: String,
    /// The section.
    pub section: String,
    /// The key.
    pub key: String,
    /// The values with their lines; several if the key is a list.
    pub values: Vec<(String, usize)>,
}

/// The configuration of a project.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Every line with a setting, file by file.
    pub settings: Vec<Setting>,
    /// Messages about files that are left out.
    pub warnings: Vec<String>,
}

impl Config {
    /// Reads `Config/*.ini` and, for platforms, `Config/*/*.ini`.
    pub fn read(project: &Path) -> Self {
        let mut config = Self::default();
        let mut files = Vec::new();
        ini_files(&project.join("Config"), 1, &mut files);
        if files.len() > MAX_FILES {
            config
                .warnings
                .push(format!("only {MAX_FILES} of {} .ini files are read", files.len()));
            files.truncate(MAX_FILES);
        }
        for file in files {
            let name = file.strip_prefix(project).unwrap_or(&file).to_string_lossy().into_owned();
            match read_small(&file) {
                Ok(Some(bytes)) => config.settings.extend(lines_of(&name, &decode(&bytes))),
                Ok(None) => config.warnings.push(format!("{name} is larger than 8 MiB: left out")),
                Err(error) => config.warnings.push(format!("{name} cannot be read: {error}")),
            }
        }
        config
    }

    /// The values of each key of each section and file, in the order of the keys' first lines. Keys
    /// without a value are left out.
    pub fn values(&self) -> Vec<Value> {
        let mut values: Vec<Value> = Vec::new();
        let mut known = std::collections::HashMap::new();
        for setting in &self.settings {
            let Setting { file, section, key, .. } = setting;
            let place = *known.entry((file, section, key)).or_insert_with(|| {
                values.push(Value {
                    file: file.clone(),
                    section: section.clone(),
                    key: key.clone(),
                    values: Vec::new(),
                });
                values.len() - 1
            });
            apply(setting, &mut values[place].values);
        }
        values.retain(|value| !value.values.is_empty());
        values
    }

    /// The last line that sets a key; `None` if no line sets the key. Ignores the case of file,
    /// section and key.
    pub fn get(&self, file: &str, section: &str, key: &str) -> Option<&Setting> {
        self.settings.iter().rev().find(|setting| {
            setting.file.eq_ignore_ascii_case(file)
                && setting.section.eq_ignore_ascii_case(section)
                && setting.key.eq_ignore_ascii_case(key)
                && !matches!(setting.operator, '-' | '!')
        })
    }
}

/// Reads a file; `None` if it is larger than the limit. No more than the limit and one byte is read.
fn read_small(file: &Path) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    fs::File::open(file)?.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= MAX_FILE_BYTES).then_some(bytes))
}

/// Applies a line to the values of its key.
fn apply(setting: &Setting, values: &mut Vec<(String, usize)>) {
    let new = (setting.value.clone(), setting.line);
    match setting.operator {
        '+' if values.iter().any(|(value, _)| *value == new.0) => {}
        '+' | '.' => values.push(new),
        '-' => values.retain(|(value, _)| *value != new.0),
        '!' => values.clear(),
        _ => *values = vec![new],
    }
}

fn ini_files(folder: &Path, levels: usize, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut entries: Vec<_> = entries.flatten().collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let Ok(kind) = entry.file_type() else { continue };
        let path = entry.path();
        if kind.is_dir() && levels > 0 {
            ini_files(&path, levels - 1, files);
        } else if !kind.is_dir()
            && path.extension().is_some_and(|end| end.eq_ignore_ascii_case("ini"))
        {
            files.push(path);
        }
    }
}

/// The lines of a file that contain a setting.
pub(crate) fn lines_of(file: &str, text: &str) -> Vec<Setting> {
    let mut settings = Vec::new();
    let mut section = String::new();
    for (position, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with(';') {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            name.trim().clone_into(&mut section);
            continue;
        }
        let Some((key, value)) = line.split_once('=').or_else(|| {
            // The operator that clears a list needs no value.
            line.starts_with('!').then_some((line, ""))
        }) else {
            continue;
        };
        let key = key.trim();
        let (operator, key) = match key.chars().next() {
            Some(operator @ ('+' | '-' | '.' | '!')) => (operator, key[1..].trim()),
            _ => (' ', key),
        };
        let value = value.trim();
        let unquoted = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        settings.push(Setting {
            file: file.to_owned(),
            line: position + 1,
            section: section.clone(),
            operator,
            key: key.to_owned(),
            value: unquoted.unwrap_or(value).to_owned(),
        });
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
; a comment
[/Script/EngineSettings.GameMapsSettings]
GameDefaultMap=/Game/Maps/Start.Start
GameDefaultMap = \"/Game/Maps/Other.Other\"

[Core.System]
+Paths=../A
+Paths=../A
.Paths=../A
+Paths=../B
-Paths=../B
!Names
.Names=(Key=\"x=y\")
no value
";

    #[cfg(unix)]
    #[test]
    fn a_large_file_is_left_out_and_not_read_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        let config = folder.path().join("Config");
        fs::create_dir(&config).expect("it can be made");
        fs::write(config.join("A.ini"), "[S]\nKey=1\n").expect("it can be written");
        // A sparse file that would not fit into memory.
        let large = fs::File::create(config.join("B.ini")).expect("it can be made");
        large.set_len(1 << 42).expect("it takes no room");
        let read = Config::read(folder.path());
        assert_eq!(read.settings.len(), 1);
        let name = Path::new("Config").join("B.ini");
        assert_eq!(read.warnings, [format!("{} is larger than 8 MiB: left out", name.display())]);
    }

    #[test]
    fn lines_with_their_operators() {
        let config = Config { settings: lines_of("Config/X.ini", TEXT), warnings: vec![] };
        let values = config.values();
        let found: Vec<_> =
            values.iter().map(|value| (value.key.as_str(), value.values.as_slice())).collect();
        let pair = |text: &str, line| (text.to_owned(), line);
        assert_eq!(
            found,
            [
                ("GameDefaultMap", &[pair("/Game/Maps/Other.Other", 4)][..]),
                ("Paths", &[pair("../A", 7), pair("../A", 9)]),
                ("Names", &[pair("(Key=\"x=y\")", 13)]),
            ]
        );
        let map =
            config.get("Config/X.ini", "/Script/EngineSettings.GameMapsSettings", "gamedefaultmap");
        assert_eq!(
            map.map(|setting| (setting.line, setting.value.as_str())),
            Some((4, "/Game/Maps/Other.Other"))
        );
    }
}
