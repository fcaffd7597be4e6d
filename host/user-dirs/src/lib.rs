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

/// A configuration that is part of this program, with environment variables expanded.
///
/// - `${NAME:-OTHERWISE}` in a string stands for the variable, or for `OTHERWISE` where it is not set;
///   of `NAME|OTHER`, the first that is set counts.
/// - `${origin NAME:-OTHERWISE}` stands for the origin (scheme, host and port) of the URL that the
///   variable holds.
/// - `"${set NAME}"` as a whole value stands for `true` where the variable is set and not empty, and for
///   `false` otherwise; `"${unset NAME}"` stands for the opposite.
///
/// An operator's own file is not expanded: what it grants is written in it.
///
/// # Errors
///
/// Where a variable that should hold a URL does not: which.
///
/// # Panics
///
/// Where the text is not of this form: a fault of this program.
#[expect(clippy::disallowed_methods, reason = "bundled defaults name environment variables")]
pub fn filled(text: &str) -> Result<String, String> {
    let (mut filled, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("${") {
        let (place, behind) = after.split_once('}').expect("each place ends");
        if let Some((want, name)) = flag(place) {
            let is_set = std::env::var_os(name).is_some_and(|value| !value.is_empty());
            filled += before.strip_suffix('"').expect("a flag is a whole value");
            filled += if is_set == want { "true" } else { "false" };
            rest = behind.strip_prefix('"').expect("a flag is a whole value");
            continue;
        }
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

/// Reads `set NAME` and `unset NAME`: whether the variable has to be set for `true`, and its name.
fn flag(place: &str) -> Option<(bool, &str)> {
    let set = place.strip_prefix("set ").map(|name| (true, name));
    set.or_else(|| place.strip_prefix("unset ").map(|name| (false, name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_true_or_false_as_variables_are_set() {
        let text = "a = \"${set PORTCULLIS_TEST_NONE}\"\nb = \"${unset PORTCULLIS_TEST_NONE}\"\n\
                    c = \"${set PATH}\"\nd = \"${unset PATH}\"\n";
        assert_eq!(filled(text).unwrap(), "a = false\nb = true\nc = true\nd = false\n");
    }

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
