//! Reads a package's header: everything except its objects.

use crate::{
    cursor::Cursor,
    fault::{CursorStop, Fault, Warning},
    registry::{self, Asset, Dependency, Flags},
    summary::Summary,
    tables::{self, Export, Import, Index, Name},
    version::ue5,
};
use std::borrow::Cow;

/// Number of further bytes to request while the needed size is unknown.
const STEP_BYTES: u64 = 16 * 1024;
/// Maximum depth of nested objects.
const MAX_NESTING: usize = 64;

/// The header of a package.
#[derive(Debug, Default)]
pub struct Header<'a> {
    /// Versions, flags and engine.
    pub summary: Summary<'a>,
    /// The name table.
    pub names: Vec<Cow<'a, str>>,
    /// The import table: objects of other packages.
    pub imports: Vec<Import>,
    /// The export table: objects of this package.
    pub exports: Vec<Export>,
    /// The assets that the asset registry data list.
    pub assets: Vec<Asset<'a>>,
    /// The dependencies.
    pub dependencies: Vec<Dependency<'a>>,
    /// A warning for each part that could not be read.
    pub warnings: Vec<Warning>,
    pub(crate) soft_paths: Vec<SoftPath<'a>>,
}

/// An entry of the soft object path table.
#[derive(Clone, Debug)]
pub struct SoftPath<'a> {
    pub package: Name,
    pub asset: Name,
    pub inner: Cow<'a, str>,
}

impl<'a> Header<'a> {
    /// Reads the header of a file of `file_len` bytes. `bytes` is the start of the file; if it is
    /// too short, [`Fault::NeedMore`] states the needed size. 16 KiB suffice for most packages.
    ///
    /// # Errors
    ///
    /// When the file cannot be read at all. An error in one table is a warning.
    pub fn read(bytes: &'a [u8], file_len: u64) -> Result<Self, Fault> {
        let summary = Summary::read(bytes, file_len).map_err(|fault| {
            // The size of the header is not known yet.
            if let Fault::NeedMore { bytes } = fault {
                return Fault::NeedMore { bytes: bytes.saturating_add(STEP_BYTES).min(file_len) };
            }
            fault
        })?;
        Self::tables(bytes, summary)
    }

    /// Reads the tables to which a summary points.
    pub(crate) fn tables(bytes: &'a [u8], summary: Summary<'a>) -> Result<Self, Fault> {
        let file_len = summary.file_len;
        let whole = Cursor::new(bytes, file_len);
        let mut header = Self { summary, ..Self::default() };
        let names = tables::names(&whole, &header.summary);
        header.names = header.keep("names", names)?;
        let imports = tables::imports(&whole, &header.summary);
        header.imports = header.keep("imports", imports)?;
        let exports = tables::exports(&whole, &header.summary);
        header.exports = header.keep("exports", exports)?;
        let soft_paths = soft_paths(&whole, &header.summary);
        header.soft_paths = header.keep("soft object paths", soft_paths)?;
        let registry = registry::read(&whole, &header.summary);
        let registry = header.keep("asset registry data", registry)?;
        header.assets = registry.assets;
        let flags = match registry.dependencies {
            Some(at) => Flags::read(&whole, &header.summary, at),
            None => Ok(Flags::default()),
        };
        let flags = header.keep("flags of the dependencies", flags)?;
        let soft = registry::soft_packages(&whole, &header.summary);
        let soft = header.keep("soft references", soft)?;
        header.dependencies = registry::dependencies(&header, &soft, &flags);
        Ok(header)
    }

    /// Returns a section. If the section is damaged, adds a warning and returns an empty section.
    /// `Err` only if bytes of the section are not in memory.
    fn keep<T: Default>(
        &mut self,
        section: &'static str,
        read: Result<T, CursorStop>,
    ) -> Result<T, Fault> {
        match read {
            Ok(section) => Ok(section),
            Err(stop @ CursorStop::Damaged { .. }) => {
                self.warnings.push(stop.in_section(section));
                Ok(T::default())
            }
            Err(stop @ CursorStop::Short { .. }) => Err(self.need(stop)),
        }
    }

    /// Requests the whole header at once, rather than table by table.
    fn need(&self, stop: CursorStop) -> Fault {
        match stop {
            CursorStop::Short { until } => {
                let header = self.summary.header_size.min(self.summary.file_len);
                Fault::NeedMore { bytes: until.max(header) }
            }
            CursorStop::Damaged { what, at } => Fault::Damaged { what, at },
        }
    }

    /// The text of a name; the text `None` for a name outside the table.
    pub fn name(&self, name: Name) -> Cow<'a, str> {
        match (self.names.get(name.index as usize), name.number) {
            (None, _) => Cow::Borrowed("None"),
            (Some(text), 0) => text.clone(),
            (Some(text), number) => Cow::Owned(format!("{text}_{}", number - 1)),
        }
    }

    /// Whether a name has this text and no number.
    pub fn is_named(&self, name: Name, text: &str) -> bool {
        name.number == 0 && self.names.get(name.index as usize).is_some_and(|name| name == text)
    }

    /// The name of an object; empty if there is no such object.
    pub fn object_name(&self, object: Index) -> Cow<'a, str> {
        self.own_name(object).map_or(Cow::Borrowed(""), |name| self.name(name))
    }

    fn own_name(&self, object: Index) -> Option<Name> {
        match (object.export(), object.import()) {
            (Some(export), _) => self.exports.get(export).map(|export| export.name),
            (_, Some(import)) => self.imports.get(import).map(|import| import.name),
            (None, None) => None,
        }
    }

    /// The outer of an object; the index 0 if it has none.
    pub fn outer(&self, object: Index) -> Index {
        match (object.export(), object.import()) {
            (Some(export), _) => self.exports.get(export).map_or(Index(0), |export| export.outer),
            (_, Some(import)) => self.imports.get(import).map_or(Index(0), |import| import.outer),
            (None, None) => Index(0),
        }
    }

    /// The name of an object's class, such as `K2Node_CallFunction`.
    pub fn class_name(&self, object: Index) -> Cow<'a, str> {
        match (object.export(), object.import()) {
            (Some(export), _) => match self.exports.get(export) {
                Some(export) if export.class.0 == 0 => Cow::Borrowed("Class"),
                Some(export) => self.object_name(export.class),
                None => Cow::Borrowed(""),
            },
            (_, Some(import)) => {
                self.imports.get(import).map_or(Cow::Borrowed(""), |import| self.name(import.class))
            }
            (None, None) => Cow::Borrowed(""),
        }
    }

    /// The path of an object's class, such as `/Script/Engine.Blueprint`.
    pub fn class_path(&self, object: Index, package: &str) -> String {
        match (object.export(), object.import()) {
            (Some(export), _) => match self.exports.get(export) {
                Some(export) if export.class.0 == 0 => "/Script/CoreUObject.Class".to_owned(),
                Some(export) => self.path(export.class, package),
                None => String::new(),
            },
            (_, Some(import)) => self.imports.get(import).map_or_else(String::new, |import| {
                format!("{}.{}", self.name(import.class_package), self.name(import.class))
            }),
            (None, None) => String::new(),
        }
    }

    /// The path of an object, such as `/Game/Doors/BP_Door.BP_Door:EventGraph`; empty for the index
    /// 0. `package` is the name of this package.
    pub fn path(&self, object: Index, package: &str) -> String {
        let mut chain = Vec::new();
        let mut at = object;
        while at.0 != 0 && chain.len() < MAX_NESTING {
            chain.push(at);
            at = self.outer(at);
        }
        let mut path = String::new();
        let in_package = object.export().is_some();
        if in_package {
            path.push_str(package);
        }
        for (depth, object) in chain.iter().rev().enumerate() {
            // The outermost object of an import is its package.
            match depth + usize::from(in_package) {
                0 => {}
                1 => path.push('.'),
                2 => path.push(':'),
                _ => path.push('.'),
            }
            path.push_str(&self.object_name(*object));
        }
        path
    }

    /// The path of an object inside this package: `BP_Door:EventGraph`.
    pub fn path_within(&self, object: Index) -> String {
        let path = self.path(object, "");
        path.strip_prefix('.').map_or_else(|| path.clone(), str::to_owned)
    }
}

fn soft_paths<'a>(
    whole: &Cursor<'a>,
    summary: &Summary<'a>,
) -> Result<Vec<SoftPath<'a>>, CursorStop> {
    let what = "soft object paths";
    if summary.versions.ue5 < ue5::SOFT_PATH_TABLE || summary.soft_paths.count == 0 {
        return Ok(Vec::new());
    }
    let mut cursor = whole.from(what, summary.soft_paths.offset.into())?;
    let count = cursor.checked_count(what, summary.soft_paths.count, 20)?;
    let mut paths = Vec::with_capacity(count);
    for _ in 0..count {
        paths.push(SoftPath {
            package: Name::read(&mut cursor, what)?,
            asset: Name::read(&mut cursor, what)?,
            inner: cursor.string(what)?,
        });
    }
    Ok(paths)
}
