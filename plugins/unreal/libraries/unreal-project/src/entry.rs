//! Reads the data that the index stores of a package.

use crate::{
    disk::Disk,
    strings::{Id, Strings},
};
use std::{borrow::Cow, collections::HashMap, path::Path};
use unreal_package::{DependencyKind, Fault, Header, Index as Object, flags};

/// Bytes of a file read first: enough for most headers.
const FIRST_BYTES: usize = 16 * 1024;
/// Maximum size of a header, in bytes.
const MAX_HEADER_BYTES: u64 = 64 << 20;
/// Maximum length of a tag's value, in bytes; longer values are left out.
const MAX_TAG_BYTES: usize = 1024;

/// The result of reading a package.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// The header was read.
    #[default]
    Read,
    /// The header was read, except for damaged parts.
    Partly,
    /// The time limit ended before the file was read.
    Unread,
    /// A Git LFS pointer.
    LfsPointer,
    /// Cooked without version numbers.
    Unversioned,
    /// Encrypted, or not a package.
    NotAPackage,
    /// Saved by an engine before 4.0, or for a big-endian console.
    TooOld,
    /// Saved by an engine newer than the reader.
    TooNew,
    /// Damaged or truncated.
    Damaged,
    /// The file cannot be opened or read.
    Unreadable,
}

impl State {
    pub(crate) const ALL: [Self; 10] = [
        Self::Read,
        Self::Partly,
        Self::Unread,
        Self::LfsPointer,
        Self::Unversioned,
        Self::NotAPackage,
        Self::TooOld,
        Self::TooNew,
        Self::Damaged,
        Self::Unreadable,
    ];

    /// A message for the user.
    pub fn words(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Partly => "only in part: some tables are damaged",
            Self::Unread => "not read yet",
            Self::LfsPointer => "a Git LFS pointer: run `git lfs pull`",
            Self::Unversioned => "cooked without versions: it has no editor data",
            Self::NotAPackage => "encrypted, damaged or not a package",
            Self::TooOld => "saved before 4.0, or for a big-endian console",
            Self::TooNew => "saved by an engine newer than 5.8",
            Self::Damaged => "damaged or cut off",
            Self::Unreadable => "cannot be opened",
        }
    }
}

impl From<&Fault> for State {
    fn from(fault: &Fault) -> Self {
        match fault {
            Fault::LfsPointer { .. } => Self::LfsPointer,
            Fault::NotAPackage => Self::NotAPackage,
            Fault::Unversioned => Self::Unversioned,
            Fault::BigEndian | Fault::TooOld { .. } => Self::TooOld,
            Fault::TooNew { .. } => Self::TooNew,
            Fault::Damaged { .. } | Fault::NeedMore { .. } => Self::Damaged,
        }
    }
}

/// A package in the index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// Its name, such as `/Game/Doors/BP_Door`.
    pub package: Id,
    /// Its file, relative to the project.
    pub file: Id,
    /// Size in bytes.
    pub size: u64,
    /// Time of modification in nanoseconds since 1970; 0 if unknown.
    pub modified: u64,
    /// The result of reading the package.
    pub state: State,
    /// Whether it is a map.
    pub is_map: bool,
    /// Whether it was cooked.
    pub is_cooked: bool,
    /// Whether it holds one external actor or object of a map.
    pub is_external: bool,
    /// Major, minor and patch version of the engine, and the changelist.
    pub engine: [u32; 4],
    /// Range of its assets in the index: start and count.
    pub(crate) assets: (u32, u32),
    /// Range of its links in the index: start and count.
    pub(crate) links: (u32, u32),
}

/// An asset in a package.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asset {
    /// Path relative to the package, or complete for an external actor.
    pub path: Id,
    /// The path of its class, or only the name if the path is unknown.
    pub class: Id,
    /// The tag `ParentClass`.
    pub parent: Id,
    /// The tag `NativeParentClass`.
    pub native_parent: Id,
    /// The label of an actor.
    pub label: Id,
    /// Target of a redirector.
    pub target: Id,
}

/// A dependency on another package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The other package.
    pub package: Id,
    /// The kind of dependency.
    pub strength: DependencyKind,
    /// Whether only the editor needs it, if known.
    pub editor_only: Option<bool>,
}

/// The index data of one header.
#[derive(Default)]
pub struct HeaderData {
    pub entry: Entry,
    pub assets: Vec<Asset>,
    pub links: Vec<Link>,
}

/// Reads the header of a file. `buffer` is reused between calls.
pub fn read(
    disk: &Disk,
    path: &Path,
    size: u64,
    buffer: &mut Vec<u8>,
    strings: &mut Strings,
) -> HeaderData {
    let Ok(mut file) = disk.file(path) else { return of_state(State::Unreadable) };
    buffer.clear();
    let mut wanted_len = usize::try_from(size).unwrap_or(usize::MAX).min(FIRST_BYTES);
    loop {
        if file.start(wanted_len, buffer).is_err() {
            return of_state(State::Unreadable);
        }
        // The file may have shrunk since it was listed. If fewer bytes than wanted are read, the
        // file ends there.
        let len = if buffer.len() < wanted_len { buffer.len() as u64 } else { size };
        match Header::read(buffer, len) {
            Ok(header) => return of_header(&header, strings),
            Err(Fault::NeedMore { bytes })
                if bytes <= MAX_HEADER_BYTES && bytes > wanted_len as u64 =>
            {
                wanted_len = usize::try_from(bytes).unwrap_or(usize::MAX);
            }
            Err(fault) => return of_state(State::from(&fault)),
        }
    }
}

fn of_state(state: State) -> HeaderData {
    HeaderData { entry: Entry { state, ..Entry::default() }, ..HeaderData::default() }
}

fn of_header(header: &Header<'_>, strings: &mut Strings) -> HeaderData {
    let summary = &header.summary;
    let engine = &summary.engine;
    let state = if header.warnings.is_empty() { State::Read } else { State::Partly };
    let mut found = HeaderData {
        entry: Entry {
            state,
            is_map: summary.flags & flags::MAP != 0,
            is_cooked: summary.is_cooked(),
            engine: [
                engine.major.into(),
                engine.minor.into(),
                engine.patch.into(),
                engine.changelist,
            ],
            ..Entry::default()
        },
        ..HeaderData::default()
    };
    for dependency in &header.dependencies {
        found.links.push(Link {
            package: strings.add(&dependency.package),
            strength: dependency.strength,
            editor_only: dependency.editor_only,
        });
    }
    let objects = outermost(header);
    for asset in &header.assets {
        let mut tag = |key| {
            let value =
                asset.tag(key).filter(|value| value.len() <= MAX_TAG_BYTES && *value != "None");
            value.map_or(Id(0), |value| strings.add(value))
        };
        let (parent, native_parent) = (tag("ParentClass"), tag("NativeParentClass"));
        let label = tag("ActorLabel");
        let mut target = tag("DestinationObject");
        let class = match objects.get(asset.path.as_ref()) {
            Some(object) if !asset.class.starts_with('/') => header.class_path(*object, ""),
            Some(_) | None => asset.class.clone().into_owned(),
        };
        if class.ends_with(".ObjectRedirector") {
            if target == Id(0) {
                target = strings.add(&redirected(header));
            }
        } else {
            target = Id(0);
        }
        if class.ends_with(".World") {
            found.entry.is_map = true;
        }
        found.assets.push(Asset {
            path: strings.add(&asset.path),
            class: strings.add(&class),
            parent,
            native_parent,
            label,
            target,
        });
    }
    found
}

/// The outermost objects by name, for files whose assets lack the path of their class: until 5.0
/// only the name of the class was stored.
fn outermost<'a>(header: &Header<'a>) -> HashMap<Cow<'a, str>, Object> {
    if header.assets.iter().all(|asset| asset.class.starts_with('/')) {
        return HashMap::new();
    }
    let exports = header.exports.iter().enumerate();
    let outermost = exports.filter(|(_, export)| export.outer.0 == 0);
    outermost
        .map(|(position, export)| (header.name(export.name), Object::of_export(position)))
        .collect()
}

/// The target of a redirector: the object that is imported from a package of assets. If there are
/// several, the object with the longest path.
fn redirected(header: &Header<'_>) -> String {
    let imports = (1..=i32::try_from(header.imports.len()).unwrap_or(0)).map(|n| Object(-n));
    let paths = imports
        .filter(|import| header.outer(*import).0 != 0)
        .map(|import| header.path(import, ""))
        .filter(|path| !path.starts_with("/Script/") && path.contains('.'));
    paths.max_by_key(String::len).unwrap_or_default()
}
