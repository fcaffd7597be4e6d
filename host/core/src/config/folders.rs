//! The user's folders for the host's files, by the conventions of the operating system.

use std::path::{Path, PathBuf};

/// The folders and files of the host.
#[derive(Debug, Clone)]
pub struct Folders {
    /// The configuration file.
    pub config: PathBuf,
    /// The folder of the user's plugins.
    pub plugins: PathBuf,
    /// The folder in which plugins keep state.
    pub store: PathBuf,
    /// The folder of the audit.
    pub audit: PathBuf,
    /// The folder of journals of file transactions.
    pub journals: PathBuf,
    /// The lock file, with approvals.
    pub lock: PathBuf,
    /// The folder of OAuth logins at upstream servers.
    pub logins: PathBuf,
    /// The folder of caches, which may be deleted at any time.
    pub cache: PathBuf,
    /// The file of the key that seals files in the cache folder. By default, the key is not in the cache folder itself.
    pub key: PathBuf,
}

/// The user's folders are unknown, because the user has no home directory.
#[derive(Debug, thiserror::Error)]
#[error("finding the user's folders")]
pub struct NoHome(#[from] etcetera::HomeDirError);

impl Folders {
    /// The user's folders.
    ///
    /// # Errors
    ///
    /// The user has no home directory: [`NoHome`].
    pub fn of_user() -> Result<Self, NoHome> {
        use etcetera::BaseStrategy;
        let base = etcetera::choose_base_strategy()?;
        let state = base.state_dir().unwrap_or_else(|| base.data_dir());
        Ok(Self {
            config: base.config_dir().join("portcullis").join("portcullis.toml"),
            plugins: base.data_dir().join("portcullis").join("plugins"),
            store: base.data_dir().join("portcullis").join("store"),
            audit: state.join("portcullis").join("audit"),
            journals: state.join("portcullis").join("journals"),
            lock: state.join("portcullis").join("portcullis.lock"),
            logins: base.data_dir().join("portcullis").join("logins"),
            cache: base.cache_dir().join("portcullis"),
            key: state.join("portcullis").join("cache.key"),
        })
    }

    /// The folders that hold only files of the host. Call this for [`Folders::of_user`] only: a folder that the
    /// configuration names may hold other files, too.
    pub fn own(&self) -> Vec<PathBuf> {
        let all = [
            &self.config,
            &self.plugins,
            &self.store,
            &self.audit,
            &self.lock,
            &self.logins,
            &self.key,
        ];
        let mut folders: Vec<_> = all.iter().filter_map(|path| path.parent()).collect();
        folders.push(&self.cache);
        folders.sort_unstable();
        folders.dedup();
        folders.into_iter().map(Path::to_owned).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_files_of_the_host_are_in_folders_of_its_own() {
        let folders = Folders::of_user().unwrap();
        let own = folders.own();
        assert!(own.iter().all(|folder| folder.ends_with("portcullis")), "{own:?}");
        let Folders { config, plugins, store, audit, journals, lock, logins, cache, key } =
            &folders;
        for path in [config, plugins, store, audit, journals, lock, logins, cache, key] {
            assert!(own.iter().any(|folder| path.starts_with(folder)), "{}", path.display());
        }
        assert!(!key.starts_with(cache), "who can write the cache cannot read the key");
    }
}
