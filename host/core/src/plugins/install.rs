//! Installs, replaces and removes the component of a plugin in the plugin folder.
//!
//! A component is written whole or not at all. If the process is killed between two steps, there may be an approval
//! without its component, which allows nothing, or a component without its approval, which is refused. To complete an
//! installation or a replacement, run the same command again.

use std::io;
use std::path::{Path, PathBuf};

use super::description::of_component;
use super::inspect::Inspection;
use super::open::{candidates, folders_of};
use crate::config::{Config, Folders, is_name};
use crate::lock::{ApprovalKey, LockError, LockFile, NewApproval, Provenance};
use crate::sandbox::{Origin, Sandbox};
use portcullis_checked_files::{create_durably, create_private_folder, replace_durably};

/// Where the plugin of a name is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlaceOf {
    /// There is no plugin of this name.
    Nowhere,
    /// In the binary.
    Binary,
    /// In a file.
    File(PathBuf),
}

/// Why a component was not installed, replaced or removed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The name cannot be that of a plugin.
    #[error(
        "`{0}` cannot be the name of a plugin: write 1 to 64 letters, digits, `-` and `_`; hint: `--name NAME`"
    )]
    Name(String),
    /// There is a plugin of this name.
    #[error(
        "there is a plugin `{name}` already, in {place}: no plugin file was changed\n  hint: `--name` gives the new plugin \
         another name; `portcullis plugin update {name}` replaces a plugin that is in a file"
    )]
    Taken {
        /// The name.
        name: String,
        /// Where the other plugin is, for display.
        place: String,
    },
    /// There is no plugin folder.
    #[error("`host.plugin-dirs` in portcullis.toml is empty: name a folder for plugins there")]
    NoFolder,
    /// The file cannot be written or removed.
    #[error("the plugin's file {}: {cause}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        cause: io::Error,
    },
    /// The lock file cannot be used.
    #[error(transparent)]
    Lock(#[from] LockError),
}

/// Where the plugin of this name is.
pub fn place_of(name: &str, config: &Config, folders: &Folders) -> PlaceOf {
    let mut all = candidates(config, folders, &mut Vec::new()).into_iter();
    match all.find(|one| one.name == name).map(|one| one.origin) {
        None => PlaceOf::Nowhere,
        Some(Origin::Bundled) => PlaceOf::Binary,
        Some(Origin::File(path)) => PlaceOf::File(path),
    }
}

/// A component that was inspected, to be installed as a plugin.
pub struct Installation<'a> {
    /// The name of the plugin.
    pub name: &'a str,
    /// The component.
    pub component: &'a [u8],
    /// The result of its inspection.
    pub inspection: &'a Inspection,
    /// Where it is from.
    pub from: Provenance,
    /// Why it is approved.
    pub reason: &'a str,
}

impl Installation<'_> {
    /// The path at which the component of a new plugin is installed.
    ///
    /// # Errors
    ///
    /// The name is invalid or taken, or there is no plugin folder.
    pub fn place(name: &str, config: &Config, folders: &Folders) -> Result<PathBuf, InstallError> {
        if !is_name(name) {
            return Err(InstallError::Name(name.to_owned()));
        }
        let place = match place_of(name, config, folders) {
            PlaceOf::Nowhere => {
                let folder = *folders_of(config, folders).first().ok_or(InstallError::NoFolder)?;
                return Ok(folder.join(format!("{name}.wasm")));
            }
            PlaceOf::Binary => "the binary".to_owned(),
            PlaceOf::File(path) => path.display().to_string(),
        };
        Err(InstallError::Taken { name: name.to_owned(), place })
    }

    /// Installs a new plugin. The approval is written before the file: an approval without its component allows
    /// nothing.
    ///
    /// # Errors
    ///
    /// [`InstallError`]. The component is not installed. The file of another plugin that has the name stays as it is.
    pub fn install(
        self,
        path: &Path,
        folders: &Folders,
        sandbox: &Sandbox,
    ) -> Result<(), InstallError> {
        let failed = |cause| InstallError::File { path: path.to_owned(), cause };
        let folder = path.parent().ok_or_else(|| failed(io::ErrorKind::InvalidInput.into()))?;
        create_private_folder(folder).map_err(failed)?;
        let taken = || {
            let (name, place) = (self.name.to_owned(), path.display().to_string());
            InstallError::Taken { name, place }
        };
        // Another plugin that has the name by now keeps its approval.
        if path.try_exists().map_err(failed)? {
            return Err(taken());
        }
        let new = self.approve(folders)?;
        if !create_durably(path, self.component).map_err(failed)? {
            return Err(taken());
        }
        self.finish(&new, folders, sandbox);
        Ok(())
    }

    /// Replaces the component of a plugin. The file is written before the approval: until then, the new component is
    /// refused as one that has changed.
    ///
    /// # Errors
    ///
    /// [`InstallError`]. The file holds the old component, or the new component, which is refused until it is approved.
    pub fn replace(
        self,
        path: &Path,
        folders: &Folders,
        sandbox: &Sandbox,
    ) -> Result<(), InstallError> {
        let failed = |cause| InstallError::File { path: path.to_owned(), cause };
        replace_durably(path, self.component).map_err(failed)?;
        let new = self.approve(folders)?;
        self.finish(&new, folders, sandbox);
        Ok(())
    }

    fn approve(&self, folders: &Folders) -> Result<NewApproval, LockError> {
        LockFile::at(folders.lock.clone()).approve_fetched(self.name, &self.from, self.reason)
    }

    /// Records the approval in the audit, and keeps the description of the component.
    fn finish(&self, new: &NewApproval, folders: &Folders, sandbox: &Sandbox) {
        let description = of_component(&self.inspection.info);
        let lock = LockFile::at(folders.lock.clone());
        lock.finish_approval(ApprovalKey::Plugin(self.name), new, &description, sandbox.audit());
    }
}

/// Removes the file of a plugin, and then the plugin's entries in the lock file.
///
/// # Errors
///
/// [`InstallError`].
#[expect(clippy::disallowed_methods, reason = "the file of the plugin that the operator removes")]
pub fn uninstall(name: &str, path: &Path, folders: &Folders) -> Result<(), InstallError> {
    match std::fs::remove_file(path) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
            return Err(InstallError::File { path: path.to_owned(), cause });
        }
        _ => {}
    }
    Ok(LockFile::at(folders.lock.clone()).forget_plugin(name)?)
}
