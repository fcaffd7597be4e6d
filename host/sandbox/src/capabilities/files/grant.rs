//! The grant of files, and the check whether it covers a use of a file.

use std::fmt;
use std::path::{Path, PathBuf};

use portcullis_files::{Access, FileUse, Origin};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::capabilities::{Capability, Grants, InvalidWant, listed};
use crate::gate::Ask;

/// The part of the session's roots that is granted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// The paths that the arguments of the call name.
    #[default]
    Arguments,
    /// All of the session's roots.
    Roots,
}

/// The files that a plugin may use.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FilesGrant {
    /// The most that the plugin may do with files of the roots.
    pub access: Access,
    /// The part of the roots that the plugin may use.
    #[serde(default)]
    #[schemars(extend("default" = "arguments"))]
    pub scope: Scope,
    /// Directories outside the roots that the plugin may read: absolute paths, or `~/…`.
    #[serde(default, deserialize_with = "read_absolute_paths")]
    pub directories: Vec<PathBuf>,
    /// Directories outside the roots that the plugin may read and write: absolute paths, or `~/…`. Missing
    /// directories are created.
    #[serde(default, deserialize_with = "read_absolute_paths")]
    pub writable: Vec<PathBuf>,
}

/// Reads absolute paths, and normalises them. `~` at the beginning is the user's home.
fn read_absolute_paths<'de, D: serde::Deserializer<'de>>(
    from: D,
) -> Result<Vec<PathBuf>, D::Error> {
    let mut paths = Vec::<PathBuf>::deserialize(from)?;
    for path in &mut paths {
        *path = portcullis_confine::at_home(path);
        if !path.is_absolute() {
            let path = path.display();
            return Err(serde::de::Error::custom(format!("{path} is not an absolute path")));
        }
        let normal = portcullis_roots::normal_path(path);
        *path =
            normal.map_err(|why| serde::de::Error::custom(format!("{}: {why}", path.display())))?;
    }
    Ok(paths)
}

impl FilesGrant {
    /// The granted directories outside the roots. Missing writable directories are created.
    ///
    /// # Errors
    ///
    /// A directory cannot be created.
    pub fn outside_roots(&self) -> std::io::Result<Vec<(&Path, Access)>> {
        for directory in &self.writable {
            portcullis_checked_files::create_private_folder(directory)?;
        }
        let read = self.directories.iter().map(|directory| (&**directory, Access::Read));
        let write = self.writable.iter().map(|directory| (&**directory, Access::Write));
        Ok(read.chain(write).collect())
    }
}

/// Each part of the grant: the part of the roots, and each directory outside the roots.
pub(super) fn targets(grant: &FilesGrant) -> Vec<String> {
    let roots_target = match grant.scope {
        Scope::Arguments => format!("{} the paths a call names", grant.access),
        Scope::Roots => format!("{} all of the session's roots", grant.access),
    };
    let outside = |access: &'static str| {
        move |directory: &PathBuf| format!("{access} {}", directory.display())
    };
    let read = grant.directories.iter().map(outside("read"));
    let write = grant.writable.iter().map(outside("write"));
    [roots_target].into_iter().chain(read).chain(write).collect()
}

impl fmt::Display for FilesGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&targets(self).join(", "))
    }
}

impl Grants {
    /// Grants reading and writing of a directory outside the roots. If no files are granted yet, reading and
    /// writing of the paths that a call names is granted, too.
    pub fn add_writable_directory(&mut self, directory: PathBuf) {
        let files = self.files.get_or_insert_with(|| FilesGrant {
            access: Access::Write,
            scope: Scope::default(),
            directories: Vec::new(),
            writable: Vec::new(),
        });
        files.writable.push(directory);
    }
}

/// Adds a want of the manifest to the plugin's wants.
pub(super) fn want(
    wants: &mut Option<FilesGrant>,
    target: &str,
    access: &str,
) -> Result<(), InvalidWant> {
    let access = match access {
        "read" => Access::Read,
        "write" => Access::Write,
        _ => return Err(InvalidWant::Unexpected("the access must be \"read\" or \"write\"")),
    };
    let grant = wants.get_or_insert_with(|| FilesGrant {
        access: Access::Read,
        scope: Scope::Arguments,
        directories: Vec::new(),
        writable: Vec::new(),
    });
    match target {
        "arguments" => {}
        "roots" => grant.scope = Scope::Roots,
        directory if Path::new(directory).is_absolute() => {
            match access {
                Access::Read => grant.directories.push(directory.into()),
                Access::Write => grant.writable.push(directory.into()),
            }
            return Ok(());
        }
        // A setting may hold a directory or a URL. A URL needs no grant of files.
        address if address.contains("://") => return Ok(()),
        _ => {
            return Err(InvalidWant::Unexpected(
                "the target must be \"arguments\", \"roots\" or an absolute path",
            ));
        }
    }
    grant.access = grant.access.max(access);
    Ok(())
}

impl Ask for FileUse {
    type Grant = FilesGrant;
    const CAPABILITY: Capability = Capability::Files;

    fn grant(grants: &Grants) -> Option<&FilesGrant> {
        grants.files.as_ref()
    }

    fn is_within(&self, grant: &FilesGrant) -> bool {
        let is_place_granted = match self.origin {
            Origin::Argument => self.access <= grant.access,
            Origin::Root => self.access <= grant.access && grant.scope == Scope::Roots,
            Origin::Directory => {
                let is_in = |list: &[PathBuf]| {
                    list.iter().any(|directory| self.path.starts_with(directory))
                };
                is_in(&grant.writable) || (self.access == Access::Read && is_in(&grant.directories))
            }
            Origin::Beside => false,
        };
        is_place_granted && self.access <= self.opened_for
    }

    /// No grant can allow writing to a file that was opened for reading, or using a file beside a designated file.
    fn is_grantable(&self) -> bool {
        self.origin != Origin::Beside && self.access <= self.opened_for
    }

    fn subject(&self) -> String {
        format!("{} {}", self.access, self.path.display())
    }

    fn remedy(&self, granted: Option<&FilesGrant>) -> String {
        let granted_access = granted.map_or(Access::Read, |granted| granted.access);
        let is_outside_roots = matches!(self.origin, Origin::Directory | Origin::Beside);
        let access =
            if is_outside_roots { granted_access } else { granted_access.max(self.access) };
        let mut text = format!("access = \"{access}\"");
        let has_all_roots = granted.is_some_and(|granted| granted.scope == Scope::Roots);
        if has_all_roots || self.origin == Origin::Root {
            text += "\nscope = \"roots\"";
        }
        let folder = self.path.parent().unwrap_or(&self.path).display().to_string();
        for (key, list_access) in [("directories", Access::Read), ("writable", Access::Write)] {
            let directories = granted.map_or(&[][..], |granted| match list_access {
                Access::Read => granted.directories.as_slice(),
                Access::Write => granted.writable.as_slice(),
            });
            let directories = directories.iter().map(|directory| directory.display());
            if is_outside_roots && list_access == self.access {
                text += &format!("\n{key} = {}", listed(directories, &folder));
            } else if directories.len() > 0 {
                let directories: Vec<_> =
                    directories.map(|directory| directory.to_string()).collect();
                text += &format!("\n{key} = {directories:?}");
            }
        }
        text
    }
}
