//! Reads the asset registry data of a package: assets, tags and dependencies.

use crate::{
    cursor::Cursor,
    fault::CursorStop,
    header::Header,
    summary::Summary,
    tables::Name,
    version::{ue4, ue5},
};
use std::borrow::Cow;

/// An asset in a package.
#[derive(Clone, Debug, Default)]
pub struct Asset<'a> {
    /// The name, such as `BP_Door`; for an external actor, the full path of the object.
    pub path: Cow<'a, str>,
    /// The class: `Blueprint` until 5.0, `/Script/Engine.Blueprint` since 5.1.
    pub class: Cow<'a, str>,
    /// Asset registry tags, such as `ParentClass`.
    pub tags: Vec<(Cow<'a, str>, Cow<'a, str>)>,
}

impl Asset<'_> {
    /// The value of a tag.
    pub fn tag(&self, key: &str) -> Option<&str> {
        self.tags.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_ref())
    }
}

/// The kind of dependency on another package.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DependencyKind {
    /// Loaded together with the package.
    Hard,
    /// Loaded on demand.
    Soft,
    /// Needed to build the package.
    Build,
}

/// Another package that this one depends on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dependency<'a> {
    /// The package's name, such as `/Game/Doors/BP_Door` or `/Script/Engine`.
    pub package: Cow<'a, str>,
    /// The kind of dependency.
    pub strength: DependencyKind,
    /// Whether only the editor needs the other package; `None` if the package does not store this
    /// fact, as before 4.26 and in cooked packages.
    pub editor_only: Option<bool>,
}

/// The asset registry section of a package.
#[derive(Debug, Default)]
pub struct Registry<'a> {
    pub assets: Vec<Asset<'a>>,
    /// Offset in the file of the flags of the dependencies, in bytes.
    pub dependencies: Option<i64>,
}

pub fn read<'a>(whole: &Cursor<'a>, summary: &Summary<'a>) -> Result<Registry<'a>, CursorStop> {
    let what = "asset registry data";
    if summary.registry <= 0 {
        return Ok(Registry::default());
    }
    let mut cursor = whole.from(what, summary.registry.into())?;
    let has_flags = summary.versions.ue4 >= ue4::DEPENDENCY_FLAGS && !summary.is_stripped();
    let dependencies = if has_flags { Some(cursor.i64(what)?) } else { None };
    let count = cursor.count(what, 12)?;
    let mut assets = Vec::with_capacity(count);
    for _ in 0..count {
        let path = cursor.string(what)?;
        let class = cursor.string(what)?;
        let tags = cursor.count(what, 8)?;
        let mut asset = Asset { path, class, tags: Vec::with_capacity(tags) };
        for _ in 0..tags {
            asset.tags.push((cursor.string(what)?, cursor.string(what)?));
        }
        assets.push(asset);
    }
    Ok(Registry { assets, dependencies })
}

/// One bit for each import or soft reference: whether the game uses it.
struct GameUse<'a> {
    /// Number of bits.
    count: usize,
    bytes: &'a [u8],
}

impl<'a> GameUse<'a> {
    fn read(cursor: &mut Cursor<'a>) -> Result<Self, CursorStop> {
        let what = "flags of the dependencies";
        let count = cursor.i32(what)?;
        let count = usize::try_from(count).map_err(|_| cursor.damaged(what))?;
        Ok(Self { count, bytes: cursor.take(what, count.div_ceil(32) * 4)? })
    }

    fn get(&self, bit: usize) -> Option<bool> {
        (bit < self.count).then(|| self.bytes[bit / 8] >> (bit % 8) & 1 == 1)
    }
}

/// Flags that state which dependencies the game needs.
#[derive(Default)]
pub struct Flags<'a> {
    imports: Option<GameUse<'a>>,
    soft: Option<GameUse<'a>>,
    build: Vec<Name>,
}

impl<'a> Flags<'a> {
    pub fn read(whole: &Cursor<'a>, summary: &Summary<'_>, at: i64) -> Result<Self, CursorStop> {
        let what = "flags of the dependencies";
        if at <= 0 {
            return Ok(Self::default());
        }
        let mut cursor = whole.from(what, at)?;
        let imports = Some(GameUse::read(&mut cursor)?);
        let soft = Some(GameUse::read(&mut cursor)?);
        let mut build = Vec::new();
        if summary.versions.ue5 >= ue5::BUILD_DEPENDENCIES {
            for _ in 0..cursor.count(what, 12)? {
                build.push(Name::read(&mut cursor, what)?);
                cursor.skip(what, 4)?;
            }
        }
        Ok(Self { imports, soft, build })
    }
}

/// Reads the soft package references, stored as names of packages or, before 4.18, as paths.
pub fn soft_packages<'a>(
    whole: &Cursor<'a>,
    summary: &Summary<'a>,
) -> Result<Vec<SoftPackage<'a>>, CursorStop> {
    let what = "soft references";
    if summary.soft_packages.count == 0 {
        return Ok(Vec::new());
    }
    let mut cursor = whole.from(what, summary.soft_packages.offset.into())?;
    let are_names = summary.versions.ue4 >= ue4::SOFT_OBJECT_PATH;
    let min_bytes = if are_names { 8 } else { 4 };
    let count = cursor.checked_count(what, summary.soft_packages.count, min_bytes)?;
    let mut packages = Vec::with_capacity(count);
    for _ in 0..count {
        packages.push(if are_names {
            SoftPackage::Name(Name::read(&mut cursor, what)?)
        } else {
            SoftPackage::Path(cursor.string(what)?)
        });
    }
    Ok(packages)
}

/// A stored soft reference.
pub enum SoftPackage<'a> {
    Name(Name),
    /// The path of a package, or of an object in the package.
    Path(Cow<'a, str>),
}

/// All dependencies, one for each package and strength.
pub fn dependencies<'a>(
    header: &Header<'a>,
    soft: &[SoftPackage<'a>],
    flags: &Flags<'_>,
) -> Vec<Dependency<'a>> {
    let mut found = Vec::new();
    let hard = header
        .imports
        .iter()
        .enumerate()
        .filter(|(_, import)| import.outer.0 == 0 && header.is_named(import.class, "Package"));
    for (position, import) in hard {
        let used = flags.imports.as_ref().and_then(|used| used.get(position));
        let package = header.name(import.name);
        found.push(Dependency {
            package,
            strength: DependencyKind::Hard,
            editor_only: used.map(|is_used| !is_used),
        });
    }
    for (position, soft) in soft.iter().enumerate() {
        let used = flags.soft.as_ref().and_then(|used| used.get(position));
        let package = match soft {
            SoftPackage::Name(name) => header.name(*name),
            SoftPackage::Path(path) => package_of(path),
        };
        found.push(Dependency {
            package,
            strength: DependencyKind::Soft,
            editor_only: used.map(|is_used| !is_used),
        });
    }
    for name in &flags.build {
        let package = header.name(*name);
        found.push(Dependency {
            package,
            strength: DependencyKind::Build,
            editor_only: Some(true),
        });
    }
    found.sort();
    found.dedup_by(|second, first| {
        second.package == first.package && second.strength == first.strength
    });
    found
}

/// The name of the package in an object's path.
fn package_of<'a>(path: &Cow<'a, str>) -> Cow<'a, str> {
    let end = path.find('.').unwrap_or(path.len());
    match path {
        Cow::Borrowed(path) => Cow::Borrowed(&path[..end]),
        Cow::Owned(path) => Cow::Owned(path[..end].to_owned()),
    }
}
