//! Stores the token of a login in a file for each server, readable only by its owner.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use http::HeaderValue;
use portcullis_checked_files::{create_private_folder, lock, replace_durably};
use serde::{Deserialize, Serialize};

use crate::client::{Client, HiddenText};
use crate::discovery::DiscoveryResult;
use crate::token_endpoint::{IssuedToken, header, now};

/// Time before its expiry at which a token is renewed, in seconds.
const RENEW_BEFORE_SECONDS: u64 = 30;

/// Maximum size of the file.
const MAX_FILE_BYTES: u64 = 256 * 1024;

/// The file of one server.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    path: PathBuf,
}

/// Why the file of a login could not be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The lock file of the login cannot be made or locked.
    #[error("cannot lock {}: {cause}", path.display())]
    Lock {
        /// The lock file.
        path: PathBuf,
        /// The error of the system.
        #[source]
        cause: io::Error,
    },
    /// The file exists and cannot be read.
    #[error("cannot read {}: {cause}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        #[source]
        cause: io::Error,
    },
    /// The file cannot be written.
    #[error("cannot write {}: {cause}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        #[source]
        cause: io::Error,
    },
    /// The file exists and cannot be removed.
    #[error("cannot remove {}: {cause}", path.display())]
    Remove {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        #[source]
        cause: io::Error,
    },
}

/// Time of the last change and size of a file, to notice that it was replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileStamp(SystemTime, u64);

/// The content of the file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct StoredLogin {
    /// The address of the server. The content is not used for another address.
    pub(crate) url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) granted: Option<StoredToken>,
    /// The server's demand for a token when it last refused a request; for the next login.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) wanted: Option<Demand>,
}

/// A token, and the data to renew it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct StoredToken {
    pub(crate) issuer: String,
    pub(crate) resource: String,
    pub(crate) token_endpoint: String,
    pub(crate) client: Client,
    pub(crate) access: HiddenText,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) refresh: Option<HiddenText>,
    /// When the access token expires, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expires: Option<u64>,
    /// Its scopes, as far as they are known.
    #[serde(default)]
    pub(crate) scopes: Vec<String>,
}

impl StoredToken {
    /// A token that was issued. `asked`: the requested scopes.
    pub(crate) fn new(
        found: DiscoveryResult,
        client: Client,
        asked: Vec<String>,
        issued: IssuedToken,
    ) -> Self {
        Self {
            issuer: found.issuer.name,
            resource: found.resource,
            token_endpoint: found.issuer.token.into(),
            client,
            access: issued.access,
            refresh: issued.refresh,
            expires: issued.expires,
            scopes: issued.scopes.unwrap_or(asked),
        }
    }

    /// This token after its renewal.
    pub(crate) fn with(self, issued: IssuedToken) -> Self {
        Self {
            access: issued.access,
            refresh: issued.refresh,
            expires: issued.expires,
            scopes: issued.scopes.unwrap_or(self.scopes),
            ..self
        }
    }

    /// The value of `Authorization`. `None`: the token cannot be sent in a header.
    pub(crate) fn header(&self) -> Option<HeaderValue> {
        header(&self.access)
    }

    /// Whether the token has expired, or expires within [`RENEW_BEFORE_SECONDS`] seconds.
    pub(crate) fn ends_soon(&self) -> bool {
        self.expires.is_some_and(|expires| expires <= now() + RENEW_BEFORE_SECONDS)
    }
}

/// A server's demand for a token: the address of its resource metadata, and the scopes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Demand {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) metadata: Option<String>,
    #[serde(default)]
    pub(crate) scopes: Vec<String>,
}

impl Store {
    /// The file of the server with this name, in a folder. The first write creates the folder.
    pub(crate) fn new(folder: &Path, name: &str) -> Self {
        Self { path: folder.join(format!("{name}.json")) }
    }

    /// The content of the file. `None`: there is no file, it cannot be read, or it is for a server at another
    /// address. A file that cannot be read is logged.
    pub(crate) fn read(&self, url: &str) -> Option<StoredLogin> {
        let kept = self.load().unwrap_or_else(|error| {
            tracing::warn!("the stored login is not used: {error}");
            None
        })?;
        (kept.url == url).then_some(kept)
    }

    /// The content of the file, for any server. `None`: there is no file.
    ///
    /// # Errors
    ///
    /// [`StoreError::Read`]: the file cannot be read, or its content is too long or malformed.
    fn load(&self) -> Result<Option<StoredLogin>, StoreError> {
        let failed = |cause| StoreError::Read { path: self.path.clone(), cause };
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let mut text = String::new();
        io::Read::read_to_string(&mut io::Read::take(file, MAX_FILE_BYTES), &mut text)
            .map_err(failed)?;
        serde_json::from_str(&text).map(Some).map_err(|error| failed(error.into()))
    }

    /// Time and size of the file. `None`: there is no file.
    pub(crate) fn stamp(&self) -> Option<FileStamp> {
        let metadata = self.path.metadata().ok()?;
        Some(FileStamp(metadata.modified().ok()?, metadata.len()))
    }

    /// Replaces the content of the file. The caller holds the lock of the file: see [`Store::lock`].
    ///
    /// # Errors
    ///
    /// [`StoreError::Write`].
    pub(crate) fn write(&self, kept: &StoredLogin) -> Result<(), StoreError> {
        let write = || {
            create_private_folder(self.folder()?)?;
            // A new temporary file is readable only by its owner.
            replace_durably(&self.path, &serde_json::to_vec_pretty(kept).map_err(io::Error::other)?)
        };
        write().map_err(|cause| StoreError::Write { path: self.path.clone(), cause })
    }

    /// Removes the file. Returns whether there was one. The caller holds the lock of the file.
    ///
    /// # Errors
    ///
    /// [`StoreError::Remove`]: the file still exists.
    #[expect(clippy::disallowed_methods, reason = "this file is about a file")]
    pub(crate) fn remove(&self) -> Result<bool, StoreError> {
        match std::fs::remove_file(&self.path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(cause) => Err(StoreError::Remove { path: self.path.clone(), cause }),
        }
    }

    /// Waits on a blocking thread for the lock of the file. The lock is held until the result is dropped. Without the
    /// lock, two processes could use the same refresh token, which authorization servers treat as theft.
    ///
    /// # Errors
    ///
    /// [`StoreError::Lock`].
    pub(crate) async fn lock(&self) -> Result<File, StoreError> {
        let path = self.path.with_extension("held");
        let failed = |cause| StoreError::Lock { path: path.clone(), cause };
        let locking = {
            let (folder, path) = (self.folder().map_err(failed)?.to_owned(), path.clone());
            move || create_private_folder(&folder).and_then(|()| lock(&path))
        };
        let locked = tokio::task::spawn_blocking(locking).await;
        locked.unwrap_or_else(|error| Err(io::Error::other(error))).map_err(failed)
    }

    fn folder(&self) -> io::Result<&Path> {
        self.path.parent().ok_or_else(|| io::ErrorKind::InvalidInput.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(url: &str) -> StoredLogin {
        StoredLogin { url: url.into(), wanted: Some(Demand::default()), ..StoredLogin::default() }
    }

    #[test]
    fn a_login_is_readable_by_its_owner_and_used_for_one_address() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(&folder.path().join("logins"), "a");
        assert_eq!(store.read("https://a.example/"), None);
        store.write(&kept("https://a.example/")).unwrap();
        assert_eq!(store.read("https://a.example/"), Some(kept("https://a.example/")));
        assert_eq!(store.read("https://b.example/"), None);
        #[cfg(unix)]
        for path in [&store.path, store.path.parent().unwrap()] {
            use std::os::unix::fs::PermissionsExt;
            let mode = path.symlink_metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0, "{}", path.display());
        }
        assert!(store.remove().unwrap());
        assert!(!store.remove().unwrap());
    }

    #[test]
    fn a_file_that_cannot_be_read_counts_as_none_and_the_error_says_why() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path(), "a");
        assert!(store.load().unwrap().is_none(), "a missing file is not an error");
        for text in ["", "nonsense", "{}", &format!("{{\"url\": \"{}\"", "x".repeat(1 << 20))] {
            io::Write::write_all(&mut File::create(&store.path).unwrap(), text.as_bytes()).unwrap();
            assert_eq!(store.read("https://a.example/"), None, "{text:.20}");
            let error = store.load().unwrap_err();
            let cause = std::error::Error::source(&error).expect("the cause").to_string();
            assert!(error.to_string().ends_with(&cause), "{error}");
        }
    }
}
