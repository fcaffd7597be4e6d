//! A git repository: its folders, references and objects.

use crate::{
    fault::Fault,
    id::{Id, Prefix},
    object::{Commit, Kind, Object, lfs_pointer, tagged},
    pack::{Inflate, Pack, inflated},
    revision::{Revision, Step, is_name},
};
use flate2::read::ZlibDecoder;
use std::{
    cell::OnceCell,
    fs::{self, File},
    io::{ErrorKind, Read, Seek},
    path::{Component, Path, PathBuf},
};

/// Maximum number of folders searched above a file.
const MAX_DEPTH: usize = 64;
/// Maximum size of a text file of a repository, in bytes: `packed-refs` may have half a million
/// references.
const MAX_TEXT_BYTES: u64 = 64 << 20;
/// Maximum size of a commit, tag or tree, in bytes.
const MAX_SMALL_BYTES: u64 = 32 << 20;
/// Maximum length of a chain of symbolic references, as in git. The same limit bounds chains of
/// packs, in which the deltas of one pack have their bases in the next pack.
const MAX_LINKS: usize = 5;
/// Maximum length of a chain of tags that name tags.
const MAX_TAGS: usize = 16;
/// Maximum number of steps to a parent in a revision: `HEAD~3^2` has four.
const MAX_STEPS: u32 = 100_000;
/// No further alternates are read once there are this many folders of objects.
const MAX_ALTERNATES: usize = 16;
/// The places where a reference is looked up, in git's order. A place is a text before the name and a text after the
/// name.
const PLACES: &[(&str, &str)] = &[
    ("", ""),
    ("refs/", ""),
    ("refs/tags/", ""),
    ("refs/heads/", ""),
    ("refs/remotes/", ""),
    ("refs/remotes/", "/HEAD"),
];

/// A git repository with a working tree.
pub struct Repository {
    /// The root of the working tree.
    work_tree: PathBuf,
    /// The folder with `HEAD` of this working tree.
    git_dir: PathBuf,
    /// The folder that all working trees of the repository share.
    common_dir: PathBuf,
    /// The folders of objects: the repository's own folder, then its alternates.
    objects: Vec<PathBuf>,
    /// Length of an object name in bytes.
    length: usize,
    packs: OnceCell<Vec<Pack>>,
}

/// The content of a file in a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob {
    /// The content.
    pub bytes: Vec<u8>,
    /// The path of the file in the commit, if it differs in case from the path asked for.
    pub other_name: Option<String>,
}

impl Repository {
    /// Opens the repository whose working tree contains a file. The file does not have to exist.
    ///
    /// # Errors
    ///
    /// When no repository is visible, or the repository cannot be read or has an unsupported
    /// format.
    pub fn around(file: &Path) -> Result<Self, Fault> {
        let mut above = file.ancestors().skip(1).take(MAX_DEPTH);
        let work_tree = above
            .find(|folder| folder.join(".git").exists())
            .ok_or_else(|| Fault::NoRepository(file.to_owned()))?
            .to_owned();
        let git_dir = linked_folder(&work_tree, &work_tree.join(".git"), "gitdir:")?;
        let common = git_dir.join("commondir");
        let common_dir =
            if common.exists() { linked_folder(&git_dir, &common, "")? } else { git_dir.clone() };
        if let Err(error) = fs::metadata(common_dir.join("HEAD")) {
            return Err(Fault::Elsewhere(common_dir, error));
        }
        let config = read_text(&common_dir.join("config"))?.unwrap_or_default();
        let length = length_of(&config)?;
        let objects = with_alternates(common_dir.join("objects"))?;
        Ok(Self { work_tree, git_dir, common_dir, objects, length, packs: OnceCell::new() })
    }

    /// The commit that a revision names, such as `HEAD~2`.
    ///
    /// # Errors
    ///
    /// When there is no such commit, or the repository cannot be read.
    pub fn commit(&self, revision: &str) -> Result<Commit, Fault> {
        let parsed = Revision::parse(revision)?;
        let mut commit = self.peel(parsed.name, self.resolve(parsed.name)?)?;
        let mut left = MAX_STEPS;
        for step in parsed.steps {
            let (times, parent) = match step {
                Step::Itself => continue,
                Step::Back(times) => (times, 1),
                Step::Parent(parent) => (1, parent),
            };
            for _ in 0..times {
                let next = commit.parents.get(parent as usize - 1).filter(|_| left > 0);
                let next = next.ok_or_else(|| Fault::NoParent(revision.trim().to_owned()))?;
                commit = self.peel(revision, next.clone())?;
                left -= 1;
            }
        }
        Ok(commit)
    }

    /// Reads a file of a commit. If git has only a pointer of Git LFS, the content is read from the
    /// folder of Git LFS. `None` if the commit does not have the file. If the exact path is missing, a
    /// path that differs only in case counts.
    ///
    /// # Errors
    ///
    /// When the path is a folder, a link or a submodule in the commit, or when several paths differ
    /// from it only in case. When the content has more than `most` bytes, or is missing in the folder
    /// of Git LFS. When the repository cannot be read.
    pub fn file(&self, commit: &Commit, file: &Path, most: u64) -> Result<Option<Blob>, Fault> {
        let inside = file.strip_prefix(&self.work_tree).unwrap_or(file);
        let Some(place) = self.place(commit, inside)? else { return Ok(None) };
        let is_exact = inside == Path::new(&place.path);
        let bytes = self.content(&place.id, most)?;
        Ok(Some(Blob { bytes, other_name: (!is_exact).then_some(place.path) }))
    }

    /// Length of an object name in bytes.
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    fn content(&self, id: &Id, most: u64) -> Result<Vec<u8>, Fault> {
        let object = self.read(id, most)?;
        if object.kind != Kind::Blob {
            return Err(Fault::object(id, "is not a blob"));
        }
        let Some((oid, size)) = lfs_pointer(&object.bytes) else { return Ok(object.bytes) };
        if size > most {
            return Err(Fault::TooLarge { size, most });
        }
        let path = self.common_dir.join("lfs/objects").join(&oid[..2]).join(&oid[2..4]).join(&oid);
        let mut bytes = Vec::new();
        let read = File::open(&path).and_then(|file| file.take(size + 1).read_to_end(&mut bytes));
        match read {
            Ok(_) if bytes.len() as u64 == size => Ok(bytes),
            Ok(_) => Err(Fault::Malformed(format!(
                "{} does not have the size that the Git LFS pointer states",
                path.display()
            ))),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Err(Fault::NotDownloaded(oid, size))
            }
            Err(error) => Err(Fault::Unreadable(path, error)),
        }
    }

    /// The object that a name stands for. The name is a reference, an object name, or its first digits.
    fn resolve(&self, name: &str) -> Result<Id, Fault> {
        if let Some(id) = Id::parse(name, self.length) {
            return Ok(id);
        }
        let packed = read_text(&self.common_dir.join("packed-refs"))?.unwrap_or_default();
        for (before, after) in PLACES {
            // With an empty prefix, the name is the path of a file beside `HEAD`, and not all of these files are
            // references.
            let is_reference = !before.is_empty() || name.starts_with("refs/") || is_upper(name);
            let full = format!("{before}{name}{after}");
            if is_reference && let Some(id) = self.reference(full, &packed)? {
                return Ok(id);
            }
        }
        let prefix = Prefix::parse(name, self.length)
            .ok_or_else(|| Fault::UnknownRevision(name.to_owned()))?;
        let mut found = self.loose_names(&prefix)?;
        for pack in self.packs()? {
            pack.collect(&prefix, &mut found)?;
        }
        found.sort();
        found.dedup();
        if found.len() > 1 {
            // If several objects match, only commits count. Git does the same where it expects a commit.
            found.retain(|id| {
                self.read(id, MAX_SMALL_BYTES).is_ok_and(|found| found.kind == Kind::Commit)
            });
        }
        match found.as_slice() {
            [] => Err(Fault::UnknownRevision(name.to_owned())),
            [id] => Ok(id.clone()),
            _ => Err(Fault::Ambiguous(name.to_owned())),
        }
    }

    /// The object of the reference with this full name. `None` if there is no such reference.
    /// `packed` is the text of `packed-refs`.
    fn reference(&self, name: String, packed: &str) -> Result<Option<Id>, Fault> {
        let mut name = name;
        for _ in 0..=MAX_LINKS {
            if !is_name(&name) {
                return Err(Fault::Malformed("a reference has a malformed name".to_owned()));
            }
            let own = read_text(&self.git_dir.join(&name))?;
            let found = match own {
                None => read_text(&self.common_dir.join(&name))?,
                Some(text) => Some(text),
            };
            let Some(found) = found else {
                let line = packed.lines().find_map(|line| {
                    let (id, full_name) = line.split_once(' ')?;
                    (full_name == name).then(|| Id::parse(id, self.length))
                });
                return Ok(line.flatten());
            };
            match found.trim().strip_prefix("ref:") {
                Some(next) => name = next.trim().to_owned(),
                None => return Ok(Id::parse(found.trim(), self.length)),
            }
        }
        Err(Fault::Malformed(format!("the reference {name} is in a chain of too many references")))
    }

    /// The commit of an object: the object itself, or the commit to which a tag leads.
    fn peel(&self, text: &str, id: Id) -> Result<Commit, Fault> {
        let mut id = id;
        for _ in 0..MAX_TAGS {
            let object = self.read(&id, MAX_SMALL_BYTES)?;
            match object.kind {
                Kind::Commit => return Commit::parse(id, &object.bytes),
                Kind::Tag => {
                    id = tagged(&object.bytes, self.length)
                        .ok_or_else(|| Fault::object(&id, "is a tag without a target"))?;
                }
                Kind::Tree | Kind::Blob => {
                    return Err(Fault::NotACommit(text.to_owned(), object.kind.word()));
                }
            }
        }
        Err(Fault::object(&id, "is a tag in a chain of too many tags"))
    }

    pub(crate) fn read_kind(&self, id: &Id, kind: Kind) -> Result<Vec<u8>, Fault> {
        let object = self.read(id, MAX_SMALL_BYTES)?;
        if object.kind == kind {
            return Ok(object.bytes);
        }
        Err(Fault::object(id, &format!("is a {}, not a {}", object.kind.word(), kind.word())))
    }

    /// Reads an object of at most `most` bytes.
    fn read(&self, id: &Id, most: u64) -> Result<Object, Fault> {
        self.read_within(id, most, MAX_LINKS)
    }

    /// Reads an object of at most `most` bytes. Bases of its deltas may be in other packs: `packs`
    /// is the maximum number of such further packs.
    fn read_within(&self, id: &Id, most: u64, packs: usize) -> Result<Object, Fault> {
        if let Some(object) = self.read_loose(id, most)? {
            return Ok(object);
        }
        for pack in self.packs()? {
            if let Some(position) = pack.position(id)? {
                return pack.read(id, position, most, &|base| match packs.checked_sub(1) {
                    Some(left) => self.read_within(base, most, left),
                    None => Err(Fault::object(
                        base,
                        "is the base of a chain of deltas through too many packs",
                    )),
                });
            }
        }
        Err(Fault::Missing(id.to_string()))
    }

    /// Reads a loose object, which has a file of its own. `None` if there is no such file.
    fn read_loose(&self, id: &Id, most: u64) -> Result<Option<Object>, Fault> {
        let name = id.to_string();
        for folder in &self.objects {
            let path = folder.join(&name[..2]).join(&name[2..]);
            let mut file = match File::open(&path) {
                Ok(file) => file,
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err(Fault::Unreadable(path, error)),
            };
            let malformed = || Fault::object(id, "has a file without the documented form");
            // The header is a text such as `blob 12` and a zero byte; the content follows.
            let mut head = Vec::new();
            let mut start = ZlibDecoder::new(&file).take(32);
            start.read_to_end(&mut head).map_err(|_| malformed())?;
            let end = head.iter().position(|byte| *byte == 0).ok_or_else(malformed)?;
            let mut words = head[..end].split(|byte| *byte == b' ');
            let kind = words.next().and_then(Kind::of_word).ok_or_else(malformed)?;
            let size = words.next().and_then(|text| std::str::from_utf8(text).ok()?.parse().ok());
            let size: u64 = size.ok_or_else(malformed)?;
            let before = end as u64 + 1;
            file.rewind().map_err(|error| Fault::Unreadable(path.clone(), error))?;
            let whole = size.checked_add(before).ok_or_else(malformed)?;
            let bytes = inflated(file, whole, most.saturating_add(before));
            let mut bytes = bytes.map_err(|fault| match fault {
                Inflate::TooLarge => Fault::TooLarge { size, most },
                Inflate::Failed => malformed(),
            })?;
            bytes.drain(..=end);
            return Ok(Some(Object { kind, bytes }));
        }
        Ok(None)
    }

    fn loose_names(&self, prefix: &Prefix) -> Result<Vec<Id>, Fault> {
        let digits = prefix.digits();
        let mut found = Vec::new();
        for folder in &self.objects {
            // A folder that is missing has no objects.
            for file in fs::read_dir(folder.join(&digits[..2])).into_iter().flatten().flatten() {
                let name = format!("{}{}", &digits[..2], file.file_name().to_string_lossy());
                found.extend(Id::parse(&name, self.length).filter(|id| prefix.matches(id.bytes())));
            }
        }
        Ok(found)
    }

    fn packs(&self) -> Result<&[Pack], Fault> {
        if let Some(packs) = self.packs.get() {
            return Ok(packs);
        }
        let mut packs = Vec::new();
        for folder in &self.objects {
            let mut indexes: Vec<PathBuf> = fs::read_dir(folder.join("pack"))
                .into_iter()
                .flatten()
                .flatten()
                .map(|file| file.path())
                .filter(|path| path.extension().is_some_and(|end| end == "idx"))
                .collect();
            indexes.sort();
            for index in indexes {
                packs.push(Pack::open(&index, self.length)?);
            }
        }
        Ok(self.packs.get_or_init(|| packs))
    }
}

/// Whether a name has the form of references in the repository's own folder, such as `HEAD` and
/// `ORIG_HEAD`.
fn is_upper(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
}

/// The folder at `path`. If `path` is a file, the folder that the file names after the text
/// `before`: in submodules and linked working trees, `.git` is such a file.
fn linked_folder(base: &Path, path: &Path, before: &str) -> Result<PathBuf, Fault> {
    if path.is_dir() {
        return Ok(path.to_owned());
    }
    let found = read_text(path)?.unwrap_or_default();
    let named = found.trim().strip_prefix(before).map(str::trim).filter(|named| !named.is_empty());
    let named = named
        .ok_or_else(|| Fault::Malformed(format!("{} does not name a folder", path.display())))?;
    resolve_folder(base, named)
}

/// The folder with the path `named`, from a file of the repository. A relative path begins at `base`.
fn resolve_folder(base: &Path, named: &str) -> Result<PathBuf, Fault> {
    // `..` is resolved here, since a folder on the way may lie outside of the sandbox.
    let mut folder = PathBuf::new();
    for component in base.join(named).components() {
        match component {
            Component::ParentDir => drop(folder.pop()),
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => {
                folder.push(component)
            }
        }
    }
    match fs::metadata(&folder) {
        Ok(_) => Ok(folder),
        Err(error) => Err(Fault::Elsewhere(folder, error)),
    }
}

/// The length of object names in bytes, as the text of `config` states it. `Err` if the repository
/// uses a format that is not supported.
fn length_of(config: &str) -> Result<usize, Fault> {
    let mut is_extensions = false;
    let mut length = 20;
    for line in config.lines().map(|line| line.trim().to_ascii_lowercase()) {
        if line.starts_with('[') {
            is_extensions = line.starts_with("[extensions]");
        } else if let Some((key, value)) = line.split_once('=').filter(|_| is_extensions) {
            match (key.trim(), value.trim()) {
                ("objectformat", "sha1") => {}
                ("objectformat", "sha256") => length = 32,
                ("objectformat", other) => {
                    return Err(Fault::Unsupported(format!("the object format `{other}`")));
                }
                ("refstorage", "files") => {}
                ("refstorage", other) => {
                    return Err(Fault::Unsupported(format!("the reference storage `{other}`")));
                }
                _ => {}
            }
        }
    }
    Ok(length)
}

/// The folder of objects and its alternates.
fn with_alternates(objects: PathBuf) -> Result<Vec<PathBuf>, Fault> {
    let mut folders = vec![objects];
    let mut at = 0;
    while let Some(folder) = folders.get(at).cloned().filter(|_| folders.len() < MAX_ALTERNATES) {
        let named = read_text(&folder.join("info/alternates"))?.unwrap_or_default();
        for line in named.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let other = resolve_folder(&folder, line)?;
            if !folders.contains(&other) {
                folders.push(other);
            }
        }
        at += 1;
    }
    Ok(folders)
}

/// Reads a text file of the repository. `None` if it is missing or a folder.
fn read_text(path: &Path) -> Result<Option<String>, Fault> {
    let unreadable = |error| Fault::Unreadable(path.to_owned(), error);
    match fs::metadata(path) {
        Ok(found) if found.is_file() && found.len() <= MAX_TEXT_BYTES => {}
        Ok(found) if found.is_file() => {
            return Err(Fault::TooLarge { size: found.len(), most: MAX_TEXT_BYTES });
        }
        Ok(_) => return Ok(None),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(unreadable(error)),
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(MAX_TEXT_BYTES).read_to_end(&mut bytes).map_err(unreadable)?;
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}
