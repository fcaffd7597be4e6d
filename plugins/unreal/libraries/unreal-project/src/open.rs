//! Opens the package of an object's path.

use crate::{
    classes::class_path,
    entry::{Entry, State},
    find::Project,
    index::Index,
};
use std::{error::Error, fmt, fs, io};
use unreal_package::{Fault, Index as Object, Package};

/// Maximum size of a package that is read completely, in bytes: limited by the plugin's memory.
const MAX_SIZE: u64 = 96 << 20;
/// Maximum number of redirectors that are followed.
const MAX_REDIRECTS: usize = 16;

/// A package in memory.
#[derive(Clone, Debug)]
pub struct Opened {
    /// Its name.
    pub package: String,
    /// Its file, relative to the project.
    pub file: String,
    /// The requested object: `BP_Door_C`, or empty for the main asset.
    pub object: String,
    /// The redirectors that were followed.
    pub redirected_from: Vec<String>,
    /// The content of the file.
    pub bytes: Vec<u8>,
}

/// The reason why a package cannot be opened.
#[derive(Debug)]
pub enum OpenFault {
    /// The package is missing, but its mount point exists.
    Missing(String),
    /// The package belongs to the engine or to a plugin outside the project.
    Elsewhere(String),
    /// The text is not the path of a package.
    NoPath(String),
    /// The file is larger than 96 MiB: the package and the size in bytes.
    TooLarge(String, u64),
    /// More than 16 redirectors follow each other, as in a cycle.
    Circle(String),
    /// The file cannot be read.
    Unreadable(String, io::Error),
    /// The file is not a readable package.
    Fault(String, Fault),
}

impl fmt::Display for OpenFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(package) => write!(f, "there is no package {package} in this project"),
            Self::Elsewhere(package) => write!(
                f,
                "{package} is not a package of this project: without the editor only /Game and the \
                 project's own plugins can be read"
            ),
            Self::NoPath(text) => match asset_of_file(text) {
                Some(asset) => write!(
                    f,
                    "`{text}` is the path of a file: give the path of the asset, which may be {asset}"
                ),
                None => write!(
                    f,
                    "`{text}` is not a path of an asset: write it like /Game/Folder/Asset or \
                     /Game/Folder/Asset.Asset"
                ),
            },
            Self::TooLarge(package, size) => {
                write!(f, "{package} has {size} bytes: at most {MAX_SIZE} are read")
            }
            Self::Circle(package) => {
                write!(
                    f,
                    "{package} is still a redirector after {MAX_REDIRECTS} redirectors: they may form a circle"
                )
            }
            Self::Unreadable(package, error) => write!(f, "{package} cannot be read: {error}"),
            Self::Fault(package, fault) => write!(f, "{package}: {fault}"),
        }
    }
}

impl Error for OpenFault {}

/// The package and the object of a path such as `Class'/Game/A.A_C'`, `/Game/A.A:Graph` or `/Game/A`.
/// The object is empty if the path has none. `None` if the text is not such a path.
pub fn object_path(text: &str) -> Option<(&str, &str)> {
    let path = class_path(text.trim());
    if !path.starts_with('/') || path.len() < 3 || path.contains("//") || path.ends_with('/') {
        return None;
    }
    let name = path.rfind('/')?;
    match path[name..].find('.') {
        Some(dot) => Some((&path[..name + dot], &path[name + dot + 1..])),
        None => Some((path, "")),
    }
}

/// The path of the asset in a file, by the usual folders: `/Game/Doors/BP_Door` for
/// `D:\MyGame\Content\Doors\BP_Door.uasset`. `None` if the text is not the path of such a file.
fn asset_of_file(text: &str) -> Option<String> {
    let path = text.trim().trim_matches('"').replace('\\', "/");
    let (stem, end) = path.rsplit_once('.')?;
    let is_package = ["uasset", "umap"].into_iter().any(|known| end.eq_ignore_ascii_case(known));
    let folders: Vec<&str> = stem.split('/').collect();
    let content = folders.iter().position(|folder| folder.eq_ignore_ascii_case("Content"))?;
    let is_plugin = folders[..content].iter().any(|it| it.eq_ignore_ascii_case("Plugins"));
    let mount = if is_plugin { *folders.get(content.checked_sub(1)?)? } else { "Game" };
    let inside = folders.get(content + 1..).filter(|inside| !inside.is_empty())?;
    is_package.then(|| format!("/{mount}/{}", inside.join("/")))
}

impl Index {
    /// Reads the package of an object, and follows redirectors.
    ///
    /// # Errors
    ///
    /// When the text is not a path, or the package is missing, too large, unreadable, or behind too many redirectors.
    pub fn open(&self, project: &Project, path: &str) -> Result<Opened, OpenFault> {
        let (package, object) = object_path(path)
            .filter(|(package, _)| self.has_mount_of(package) || asset_of_file(path).is_none())
            .ok_or_else(|| OpenFault::NoPath(path.to_owned()))?;
        let (mut package, mut object) = (package.to_owned(), object.to_owned());
        let mut redirected_from = Vec::new();
        loop {
            let Some(entry) = self.find(&package) else {
                return Err(if self.has_mount_of(&package) {
                    OpenFault::Missing(package)
                } else {
                    OpenFault::Elsewhere(package)
                });
            };
            let Some(target) = self.redirected(entry) else {
                return self.read(project, entry, object, redirected_from);
            };
            if redirected_from.len() >= MAX_REDIRECTS {
                return Err(OpenFault::Circle(package));
            }
            let target = target.to_owned();
            redirected_from.push(std::mem::replace(&mut package, target));
            object.clear();
        }
    }

    fn read(
        &self,
        project: &Project,
        entry: &Entry,
        object: String,
        redirected_from: Vec<String>,
    ) -> Result<Opened, OpenFault> {
        let package = self.text(entry.package).to_owned();
        if entry.size > MAX_SIZE {
            return Err(OpenFault::TooLarge(package, entry.size));
        }
        let file = self.text(entry.file).to_owned();
        match fs::read(project.dir.join(&file)) {
            Ok(bytes) => Ok(Opened { package, file, object, redirected_from, bytes }),
            Err(error) => Err(OpenFault::Unreadable(package, error)),
        }
    }

    /// The problem with an entry, if any.
    pub fn problem(&self, entry: &Entry) -> Option<&'static str> {
        (entry.state != State::Read).then(|| entry.state.words())
    }
}

impl Opened {
    /// Parses the package.
    ///
    /// # Errors
    ///
    /// When the file is not a readable package.
    pub fn package(&self) -> Result<Package<'_>, OpenFault> {
        Package::read(&self.bytes).map_err(|fault| OpenFault::Fault(self.package.clone(), fault))
    }

    /// The requested object; by default the main asset.
    pub fn find(&self, package: &Package<'_>) -> Option<Object> {
        let header = &package.header;
        let all = || (0..header.exports.len()).map(Object::of_export);
        if !self.object.is_empty() {
            let wanted = self.object.replace(':', ".");
            let same = |object: &Object| {
                header.path_within(*object).replace(':', ".").eq_ignore_ascii_case(&wanted)
            };
            return all().find(same);
        }
        let name = self.package.rsplit('/').next().unwrap_or_default();
        let outermost = || all().filter(|object| header.outer(*object).0 == 0);
        let named = outermost().find(|o| header.object_name(*o).eq_ignore_ascii_case(name));
        let listed = || {
            let first = header.assets.first()?;
            outermost().find(|object| header.object_name(*object) == first.path)
        };
        named.or_else(listed).or_else(|| outermost().next())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_asset_is_derived_from_a_file_path() {
        for (text, expected) in [
            (r"D:\MyGame\Content\Doors\BP_Door.uasset", Some("/Game/Doors/BP_Door")),
            ("d:/mygame/content/Doors/BP_Door.UASSET", Some("/Game/Doors/BP_Door")),
            ("\"/home/ada/MyGame/Content/Maps/Main.umap\"", Some("/Game/Maps/Main")),
            (r"D:\MyGame\Plugins\Doors\Content\X.uasset", Some("/Doors/X")),
            (r"D:\MyGame\Content\X.png", None),
            (r"D:\MyGame\X.uasset", None),
            ("/Game/Doors/BP_Door.BP_Door", None),
            ("Content.uasset", None),
            ("", None),
        ] {
            assert_eq!(asset_of_file(text).as_deref(), expected, "{text}");
        }
        let told = OpenFault::NoPath(r"D:\MyGame\Content\A.uasset".to_owned()).to_string();
        assert!(told.ends_with("which may be /Game/A"), "{told}");
    }

    #[test]
    fn paths_of_objects() {
        for (text, expected) in [
            ("/Game/A/B", Some(("/Game/A/B", ""))),
            ("/Game/A/B.B", Some(("/Game/A/B", "B"))),
            (" /Game/A.d/B.B_C:Graph.Node ", Some(("/Game/A.d/B", "B_C:Graph.Node"))),
            ("Blueprint'/Game/A.A'", Some(("/Game/A", "A"))),
            ("/Script/Engine.Class'\"/Game/A.A\"'", Some(("/Game/A", "A"))),
            ("Game/A", None),
            ("", None),
            ("/Game/", None),
            ("/Game//A", None),
        ] {
            assert_eq!(object_path(text), expected, "{text}");
        }
    }
}
