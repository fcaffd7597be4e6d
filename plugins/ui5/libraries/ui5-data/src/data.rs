//! Opens the API data of one version: a directory of `api.json` files with two indexes.

use super::{
    index::{Draft, Entry, File, Index, Stamp},
    scan,
};
use serde_json::{Map, Value, json};
use std::{
    collections::HashMap,
    fs,
    io::{self, Cursor, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

/// The name of this crate's index; other programs ignore the file.
const INDEX: &str = "portcullis.index";

/// The name of the UI5 MCP server's index.
pub const THEIRS: &str = "index.json";

/// Maximum size of an `api.json`, in bytes; an `index.json` may have a quarter of this.
const MAX_API_BYTES: u64 = 256 * 1024 * 1024;

trait Source: Read + Seek {}
impl<T: Read + Seek> Source for T {}

/// The API data of one version.
pub struct Data {
    directory: PathBuf,
    index: Index<Box<dyn Source>>,
}

/// A symbol with its content.
#[derive(Clone, Debug, PartialEq)]
pub struct Symbol {
    /// The content from `api.json`.
    pub content: Map<String, Value>,
    /// The library of the symbol.
    pub library: String,
    /// The number of the file.
    pub file: u32,
}

impl Data {
    /// Opens the data in a directory; builds the index if it is missing, unreadable or outdated.
    pub fn open(directory: &Path) -> Result<Self, String> {
        let stamp = stamp(&directory.join(THEIRS)).map_err(|error| {
            let path = directory.join(THEIRS);
            format!("Failed to read API reference index at {}: {error}", path.display())
        })?;
        let file = fs::File::open(directory.join(INDEX));
        let opened = file.and_then(|file| Index::open(Box::new(file) as Box<dyn Source>));
        match opened {
            Ok(index) if index.stamp == stamp => {
                Ok(Self { directory: directory.to_owned(), index })
            }
            Ok(_) | Err(_) => Self::make(directory),
        }
    }

    /// Builds the index, and `index.json` if it is missing.
    pub fn make(directory: &Path) -> Result<Self, String> {
        let failed = |error: io::Error| {
            format!("Failed to index the API reference in {}: {error}", directory.display())
        };
        let theirs = directory.join(THEIRS);
        let known = if theirs.exists() { Some(read_theirs(&theirs)?) } else { None };
        let drafted = draft(directory, known.as_deref()).map_err(failed)?;
        if let Some(text) = &drafted.theirs {
            fs::write(&theirs, text).map_err(failed)?;
        }
        let stamp = stamp(&theirs).map_err(failed)?;
        let bytes = drafted.draft.finish(stamp).map_err(failed)?;
        // If the directory is read-only, the index is built again next time.
        let _ = keep(directory, &bytes);
        let source: Box<dyn Source> = Box::new(Cursor::new(bytes));
        let index = Index::open(source).map_err(failed)?;
        Ok(Self { directory: directory.to_owned(), index })
    }

    /// The symbol of a key; the key is in lower case, with dots.
    pub fn find(&mut self, key: &str) -> Result<Option<Symbol>, String> {
        self.or_anew(|data| match data.index.find(key)? {
            Some(number) => data.read(number).map(Some),
            None => Ok(None),
        })
    }

    /// The numbers of the symbols of a module in a file; the module's name is in lower case.
    pub fn module(&mut self, file: u32, module: &str) -> Result<Vec<u32>, String> {
        self.index.module(file, module).map_err(|error| self.failed(&error))
    }

    /// The lengths of the symbols with these numbers, in bytes and in this order.
    pub fn lengths(&mut self, numbers: &[u32]) -> Result<Vec<u32>, String> {
        let entries = self.index.entries(numbers).map_err(|error| self.failed(&error))?;
        Ok(entries.into_iter().map(|entry| entry.length).collect())
    }

    /// The symbols with these numbers, in this order, each read on demand.
    pub fn symbols<'d>(
        &'d mut self,
        numbers: &[u32],
    ) -> Result<impl Iterator<Item = Result<Symbol, String>> + use<'d>, String> {
        let entries = self.index.entries(numbers).map_err(|error| self.failed(&error))?;
        let mut last: Option<Opened> = None;
        Ok(entries.into_iter().map(move |entry| {
            let opened = match last.take().filter(|last| last.number == entry.file) {
                Some(last) => Ok(last),
                None => self.opened(entry.file),
            };
            let symbol = opened.and_then(|opened| last.insert(opened).symbol(&entry));
            symbol.map_err(|error| self.failed(&error))
        }))
    }

    /// Rebuilds the index if it is damaged. Returns whether it was damaged.
    pub fn mend(&mut self) -> Result<bool, String> {
        let is_broken = !self.index.is_whole().unwrap_or(false);
        if is_broken {
            self.index = Self::make(&self.directory)?.index;
        }
        Ok(is_broken)
    }

    /// The name of the symbol of a key.
    pub fn name(&mut self, key: &str) -> Option<String> {
        let number = self.index.find(key).ok()??;
        self.index.entry(number).ok().map(|entry| entry.name)
    }

    /// All keys.
    pub fn keys(&mut self) -> Result<Vec<String>, String> {
        self.index.keys().map_err(|error| self.failed(&error))
    }

    /// Runs a query. If it fails, rebuilds the index, which may be damaged or outdated, and runs
    /// the query again.
    fn or_anew<T>(&mut self, mut run: impl FnMut(&mut Self) -> io::Result<T>) -> Result<T, String> {
        if let Ok(result) = run(self) {
            return Ok(result);
        }
        self.index = Self::make(&self.directory)?.index;
        run(self).map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &io::Error) -> String {
        let directory = self.directory.display();
        format!("{error}. Delete the directory {directory} to have it fetched anew")
    }

    fn read(&mut self, number: u32) -> io::Result<Symbol> {
        let entry = self.index.entry(number)?;
        self.opened(entry.file)?.symbol(&entry)
    }

    /// Opens a file, if it is unchanged since it was indexed.
    fn opened(&mut self, number: u32) -> io::Result<Opened> {
        let File { name, library, stamp: known } = self.index.file(number)?;
        let path = self.directory.join(&name);
        let Some(known) = known else {
            return Err(broken(&path, &why_not(&path)));
        };
        if stamp(&path).map_err(|error| broken(&path, &error.to_string()))? != known {
            return Err(broken(&path, "it has changed since it was indexed"));
        }
        let file = fs::File::open(&path)?;
        Ok(Opened { number, library, path, file, size: known.size })
    }
}

/// A file with symbols, opened for reading.
struct Opened {
    number: u32,
    library: String,
    path: PathBuf,
    file: fs::File,
    size: u64,
}

impl Opened {
    fn symbol(&mut self, entry: &Entry) -> io::Result<Symbol> {
        let Entry { name, file: _, start, length } = entry;
        if *length == 0 {
            let file = self.path.file_name().unwrap_or_default().display();
            return Err(io::Error::other(format!(
                "Failed to find indexed symbol '{name}' in API JSON file '{file}'"
            )));
        }
        let moved = || broken(&self.path, &format!("'{name}' is no longer where it was indexed"));
        if start.checked_add((*length).into()).is_none_or(|end| end > self.size) {
            return Err(moved());
        }
        let mut text = vec![0; *length as usize];
        self.file.seek(SeekFrom::Start(*start))?;
        self.file.read_exact(&mut text)?;
        let content: Map<String, Value> = serde_json::from_slice(&text)
            .map_err(|error| broken(&self.path, &error.to_string()))?;
        if content.get("name").is_none_or(|found| found != name) {
            return Err(moved());
        }
        Ok(Symbol { content, library: self.library.clone(), file: self.number })
    }
}

fn broken(path: &Path, why: &str) -> io::Error {
    io::Error::other(format!("Failed to read API JSON file at {}: {why}", path.display()))
}

/// Size and time of a file.
fn stamp(path: &Path) -> io::Result<Stamp> {
    let metadata = fs::metadata(path)?;
    let time = metadata.modified().ok().and_then(since_1970);
    Ok(Stamp { size: metadata.len(), time: time.unwrap_or(0) })
}

fn since_1970(time: SystemTime) -> Option<u64> {
    u64::try_from(time.duration_since(UNIX_EPOCH).ok()?.as_nanos()).ok()
}

/// Writes the index atomically.
fn keep(directory: &Path, bytes: &[u8]) -> io::Result<()> {
    let unique = since_1970(SystemTime::now()).unwrap_or(0);
    let draft = directory.join(format!("{INDEX}.{unique}"));
    let kept = fs::write(&draft, bytes).and_then(|()| fs::rename(&draft, directory.join(INDEX)));
    if kept.is_err() {
        let _ = fs::remove_file(&draft);
    }
    kept
}

/// A key, the name of the symbol, and its file.
type IndexLine = (String, String, String);

/// The entries of an `index.json`.
fn read_theirs(path: &Path) -> Result<Vec<IndexLine>, String> {
    let failed = |why: String| {
        format!(
            "Failed to read API reference index at {}: {why}. Delete its directory to have it \
             fetched anew",
            path.display()
        )
    };
    let size = fs::metadata(path).map_err(|error| failed(error.to_string()))?.len();
    if size > MAX_API_BYTES / 4 {
        return Err(failed("it is too large".to_owned()));
    }
    let text = fs::read(path).map_err(|error| failed(error.to_string()))?;
    let entries: Map<String, Value> =
        serde_json::from_slice(&text).map_err(|error| failed(error.to_string()))?;
    let mut result = Vec::with_capacity(entries.len());
    for (key, entry) in entries {
        let text = |name| entry.get(name).and_then(Value::as_str).map(str::to_owned);
        let (Some(name), Some(file)) = (text("name"), text("filePath")) else {
            return Err(failed(format!("its entry '{key}' has no name or no file")));
        };
        if !is_file_name(&file) {
            return Err(failed(format!("its entry '{key}' is in a file elsewhere: '{file}'")));
        }
        result.push((key, name, file));
    }
    Ok(result)
}

/// Whether the name is safe as the name of a file directly in a directory: only ASCII letters, digits, `.`,
/// `_` and `-`, without a leading dot.
pub fn is_file_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('.')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

struct Drafted {
    draft: Draft,
    /// The content of a missing `index.json`.
    theirs: Option<String>,
}

/// Scans the files. The keys are those of `index.json`. If it is missing, they are computed by its rules.
fn draft(directory: &Path, known: Option<&[IndexLine]>) -> io::Result<Drafted> {
    let mut names: Vec<String> = match known {
        Some(known) => known.iter().map(|(_, _, file)| file.clone()).collect(),
        None => fs::read_dir(directory)?
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| name.ends_with(".api.json") && is_file_name(name))
            .collect(),
    };
    names.sort();
    names.dedup();
    let mut draft = Draft::default();
    let mut made = ComputedEntries::default();
    let mut numbers: HashMap<(String, String), u32> = HashMap::new();
    for name in &names {
        let file = number(draft.files.len())?;
        let path = directory.join(name);
        let scanned = scan_file(&path);
        let (library, stamp) = match scanned {
            Ok((library, stamp)) => (library, Some(stamp)),
            Err(_) => (scan::Library::default(), None),
        };
        draft.files.push(File { name: name.clone(), library: library.name, stamp });
        let mut modules: Vec<(String, Vec<u32>)> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for scan::Symbol { name: symbol, module, start, length } in library.symbols {
            made.add(&symbol, module.as_deref(), name);
            let entry = Entry { name: symbol.clone(), file, start, length };
            // If several symbols have the same name, the last one counts, at the position of the first.
            let id = (name.clone(), symbol);
            if let Some(number) = numbers.get(&id) {
                draft.symbols[*number as usize] = entry;
                continue;
            }
            let symbol = number(draft.symbols.len())?;
            numbers.insert(id, symbol);
            draft.symbols.push(entry);
            if let Some(module) = module.map(|module| module.to_lowercase()) {
                let place = *places.entry(module.clone()).or_insert_with(|| {
                    modules.push((module, Vec::new()));
                    modules.len() - 1
                });
                modules[place].1.push(symbol);
            }
        }
        draft.modules.extend(modules.into_iter().map(|(module, all)| ((file, module), all)));
    }
    for (key, name, file) in known.unwrap_or(&made.entries) {
        let id = (file.clone(), name.clone());
        let symbol = match numbers.get(&id) {
            Some(number) => *number,
            None => {
                let file = names.binary_search(file).expect("they are the files of the entries");
                let symbol = number(draft.symbols.len())?;
                let entry = Entry { name: name.clone(), file: number(file)?, start: 0, length: 0 };
                draft.symbols.push(entry);
                numbers.insert(id, symbol);
                symbol
            }
        };
        draft.keys.push((key.clone(), symbol));
    }
    let theirs = if known.is_none() { Some(made.text()?) } else { None };
    Ok(Drafted { draft, theirs })
}

/// Computes the entries of `index.json` like the UI5 MCP server.
#[derive(Default)]
struct ComputedEntries {
    entries: Vec<IndexLine>,
    places: HashMap<String, usize>,
}

impl ComputedEntries {
    fn add(&mut self, symbol: &str, module: Option<&str>, file: &str) {
        let lower = symbol.to_lowercase();
        let key = match lower.strip_prefix("module:") {
            Some(path) => path.replace('/', "."),
            None => lower,
        };
        let entry = (key.clone(), symbol.to_owned(), file.to_owned());
        match self.places.get(&key) {
            None => {
                self.places.insert(key, self.entries.len());
                self.entries.push(entry);
            }
            // The first entry stays, unless the key is the name of the new symbol's module.
            Some(place) if module == Some(&key) => self.entries[*place] = entry,
            Some(_) => {}
        }
    }

    fn text(&self) -> io::Result<String> {
        let entries: Map<String, Value> = self
            .entries
            .iter()
            .map(|(key, name, file)| (key.clone(), json!({ "name": name, "filePath": file })))
            .collect();
        let mut text = Vec::new();
        let form = serde_json::ser::PrettyFormatter::with_indent(b"    ");
        let mut serializer = serde_json::Serializer::with_formatter(&mut text, form);
        serde::Serialize::serialize(&entries, &mut serializer)?;
        String::from_utf8(text).map_err(io::Error::other)
    }
}

fn scan_file(path: &Path) -> Result<(scan::Library, Stamp), String> {
    let stamp = stamp(path).map_err(|error| error.to_string())?;
    if stamp.size > MAX_API_BYTES {
        return Err(format!("it is larger than {} MiB", MAX_API_BYTES >> 20));
    }
    let file = fs::File::open(path).map_err(|error| error.to_string())?;
    Ok((scan::scan(file)?, stamp))
}

fn why_not(path: &Path) -> String {
    scan_file(path).err().unwrap_or_else(|| "it has changed since it was indexed".to_owned())
}

fn number(value: usize) -> io::Result<u32> {
    u32::try_from(value).map_err(io::Error::other)
}
