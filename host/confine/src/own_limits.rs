//! Options of programs that can limit themselves. The options tell the program what it may reach, in addition to the
//! confinement by the system.

use std::ffi::OsString;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::error::DefinitionError;

/// The placeholder for a path.
const PATH_PLACEHOLDER: &str = "{}";

/// The options of a program by which it limits itself.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct OwnLimits {
    /// The option by which the program limits itself: its names in different versions of the program. The host uses the
    /// first name that the program's `--help` shows. If `--help` shows none, the program gets none of these options.
    #[schemars(extend("minItems" = 1), inner(regex(pattern = "^-")))]
    pub switch: Vec<String>,
    /// The option that lets the program read a file or a directory, with `{}` for the path. The program gets it once for
    /// each of these paths: the working directory, which is `.`, the paths in `reads` and `writes`, and the programs in
    /// `find` with their packages. A path inside another one is left out.
    pub read: String,
    /// The option that lets the program write to a file or a directory, with `{}` for the path.
    pub write: String,
}

impl OwnLimits {
    /// Checks the options.
    ///
    /// # Errors
    ///
    /// `read` or `write` does not contain `{}` exactly once, `switch` is empty, or a name in `switch` does not
    /// begin with `-`.
    pub(crate) fn check(&self) -> Result<(), DefinitionError> {
        for (key, option) in [("read", &self.read), ("write", &self.write)] {
            if option.matches(PATH_PLACEHOLDER).count() != 1 {
                return Err(DefinitionError::OwnLimitsPath(key));
            }
        }
        match self.switch.iter().all(|switch| switch.starts_with('-')) {
            true if !self.switch.is_empty() => Ok(()),
            true | false => Err(DefinitionError::OwnLimitsSwitch),
        }
    }

    /// The options for a program with this `--help` text. Paths that may be written may also be read.
    pub(crate) fn options(&self, help: &str, read: &[PathBuf], write: &[PathBuf]) -> Vec<OsString> {
        let words = || help.split(|c: char| c.is_whitespace() || c == ',' || c == '=');
        let is_known = |switch: &&String| words().any(|word| word == **switch);
        let Some(switch) = self.switch.iter().find(is_known) else { return Vec::new() };
        let mut options = vec![OsString::from(switch)];
        let both: Vec<PathBuf> = read.iter().chain(write).cloned().collect();
        for (option, paths) in [(&self.read, outermost(&both)), (&self.write, outermost(write))] {
            let (before, after) = option
                .split_once(PATH_PLACEHOLDER)
                .expect("the option was checked when the configuration was loaded");
            options.extend(paths.into_iter().map(|path| {
                let mut option = OsString::from(before);
                option.push(path);
                option.push(after);
                option
            }));
        }
        options
    }
}

/// Each path once, and none inside another. Node.js 20 crashes where an option names a path twice.
fn outermost(paths: &[PathBuf]) -> Vec<&PathBuf> {
    let is_beneath_another =
        |path: &PathBuf| paths.iter().any(|other| path != other && path.starts_with(other));
    let mut outermost: Vec<&PathBuf> = Vec::new();
    for path in paths {
        if !is_beneath_another(path) && !outermost.contains(&path) {
            outermost.push(path);
        }
    }
    outermost
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> OwnLimits {
        OwnLimits {
            switch: vec!["--limit".to_owned(), "--try-limit".to_owned()],
            read: "--may-read={}".to_owned(),
            write: "--may-write={}".to_owned(),
        }
    }

    #[test]
    fn options_follow_the_help_text_and_name_each_path_once() {
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        let options = |help: &str, read: &[&str], write: &[&str]| {
            limits().options(help, &paths(read), &paths(write))
        };
        let none = <[OsString; 0]>::default();
        assert_eq!(options("  --limited  only\n  --no-limit", &["."], &["."]), none);
        assert_eq!(options("", &["."], &[]), none);
        assert_eq!(options("--limit, -l", &["."], &[]), ["--limit", "--may-read=."]);
        assert_eq!(options("--try-limit=x", &["."], &[]), ["--try-limit", "--may-read=."]);
        assert_eq!(
            options("--try-limit\n--limit", &["/a b/c", "/a b", "/a b"], &["."]),
            ["--limit", "--may-read=/a b", "--may-read=.", "--may-write=."]
        );
    }

    #[test]
    fn options_without_a_place_for_a_path_are_refused() {
        assert_eq!(limits().check(), Ok(()));
        for (wrong, expected) in [
            (OwnLimits { read: "--may-read".to_owned(), ..limits() }, "own-limits.read"),
            (OwnLimits { write: "{}={}".to_owned(), ..limits() }, "own-limits.write"),
            (OwnLimits { switch: vec![], ..limits() }, "own-limits.switch"),
            (OwnLimits { switch: vec!["limit".to_owned()], ..limits() }, "own-limits.switch"),
        ] {
            let failure = wrong.check().unwrap_err().to_string();
            assert!(failure.contains(expected), "{failure}");
        }
    }
}
