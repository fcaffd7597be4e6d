//! Where one user's files are, and what their environment says.

use std::path::{Path, PathBuf};

use portcullis_egress::Origin;

/// Where this user's files go, by the system's custom.
#[derive(Debug, Clone)]
pub struct Folders {
    /// The configuration's file.
    pub config: PathBuf,
    /// Plugins that the user dropped in.
    pub plugins: PathBuf,
    /// What plugins keep.
    pub store: PathBuf,
    /// The audit's folder.
    pub audit: PathBuf,
    /// Journals of changes to files that have begun.
    pub journals: PathBuf,
    /// What was approved.
    pub lock: PathBuf,
    /// Logins at other servers.
    pub logins: PathBuf,
    /// What may be deleted at any time.
    pub cache: PathBuf,
    /// The key that what is kept in the cache is sealed with. It never lies in the cache itself.
    pub key: PathBuf,
}

impl Folders {
    /// The user's folders.
    ///
    /// # Errors
    ///
    /// Where the user has no home.
    pub fn of_user() -> Result<Self, String> {
        use etcetera::BaseStrategy;
        let base = etcetera::choose_base_strategy()
            .map_err(|error| format!("finding the user's folders: {error}"))?;
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

    /// The folders that hold all of this, where they are as this user's system has it.
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

/// Finds and reads the configuration's file: the one given, or `$PORTCULLIS_CONFIG`, or
/// `portcullis.toml` in the user's configuration folder. Never one of the working directory: a
/// cloned repository must not be able to grant anything. No text: the last of them is not there.
///
/// # Errors
///
/// In words for the operator. A file that was named must be there.
#[expect(clippy::disallowed_methods, reason = "reading the configuration is this file's job")]
pub fn find(given: Option<&Path>, folders: &Folders) -> Result<(PathBuf, Option<String>), String> {
    let named = given.map(Path::to_owned).or_else(|| {
        std::env::var_os("PORTCULLIS_CONFIG").filter(|name| !name.is_empty()).map(PathBuf::from)
    });
    let path = named.clone().unwrap_or_else(|| folders.config.clone());
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok((path, Some(text))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && named.is_none() => {
            Ok((path, None))
        }
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}

/// A configuration that is part of this program, with the variables of the environment that it names
/// filled in: `${NAME:-OTHERWISE}` in a string, and `${origin NAME:-OTHERWISE}` for the host of an
/// address; of `NAME|OTHER`, the first that is set counts. An operator's own file has no such thing: what it
/// grants stands in it.
///
/// # Errors
///
/// Where a variable that should hold an address does not: which.
///
/// # Panics
///
/// Where the text is not of this form: a fault of this program.
#[expect(clippy::disallowed_methods, reason = "the variables that the UI5 MCP server has, too")]
pub fn filled(text: &str) -> Result<String, String> {
    let (mut filled, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("${") {
        let (place, behind) = after.split_once('}').expect("each place ends");
        let (name, otherwise) = place.split_once(":-").expect("each place has another value");
        let (as_origin, name) = match name.strip_prefix("origin ") {
            Some(name) => (true, name),
            None => (false, name),
        };
        let value = match name.split('|').find_map(|name| std::env::var(name).ok()) {
            Some(value) if as_origin => {
                let origin = value.parse().map(|origin: Origin| origin.to_string());
                origin.map_err(|error| format!("the variable {name}: {error}"))?
            }
            Some(value) => value,
            None => otherwise.to_owned(),
        };
        let value = match value.starts_with("~/") {
            true => portcullis_confine::at_home(Path::new(&value)).display().to_string(),
            false => value,
        };
        filled += before;
        filled += &value.replace('\\', "\\\\").replace('"', "\\\"");
        rest = behind;
    }
    Ok(filled + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_environment_does_not_say_is_as_written() {
        let text =
            "a = \"${PORTCULLIS_TEST_NONE:-b}\"\nc = \"${origin PORTCULLIS_TEST_NONE:-d.example}\"";
        assert_eq!(filled(text).unwrap(), "a = \"b\"\nc = \"d.example\"");
        assert_eq!(filled("nothing").unwrap(), "nothing");
    }

    #[test]
    fn all_that_is_the_hosts_lies_in_folders_of_its_own() {
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

    #[test]
    fn a_file_that_was_named_must_be_there() {
        let folders = Folders::of_user().unwrap();
        assert!(find(Some(Path::new("/nowhere/portcullis.toml")), &folders).is_err());
    }
}
