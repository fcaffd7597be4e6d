//! Converts between paths and `file:` URIs, by which MCP clients name their roots.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use super::normal_path;

/// Why a URI of a client is not a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidRoot {
    /// The URI does not begin with `file:///`, or has a host.
    NotAFileUri,
    /// The URI has a query or a fragment.
    QueryOrFragment,
    /// The URI has a control character or a backslash, which URL parsers remove or replace.
    ForbiddenCharacter,
    /// The text is not a URL.
    NotAUrl(url::ParseError),
    /// The URI names no absolute path of this system.
    NotAPath,
    /// The path has a `..` beside an encoded separator.
    ParentDirectory,
    /// The path is the root of the file system, or a whole drive.
    Everything,
}

impl fmt::Display for InvalidRoot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotAFileUri => {
                "a root is written file:///path, with three slashes and without a host"
            }
            Self::QueryOrFragment => {
                "a root has no query (?) and no fragment (#): write %3F and %23"
            }
            Self::ForbiddenCharacter => {
                "a root has no control character and no backslash: percent-encode them"
            }
            Self::NotAUrl(cause) => return write!(f, "the root is not a URL: {cause}"),
            Self::NotAPath => "the URI names no absolute path of this system",
            Self::ParentDirectory => {
                "the path contains `..` beside an encoded separator: write the path without it"
            }
            Self::Everything => "the whole machine cannot be a root: open a folder in the client",
        })
    }
}

impl std::error::Error for InvalidRoot {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::NotAUrl(cause) => Some(cause),
            Self::NotAFileUri
            | Self::QueryOrFragment
            | Self::ForbiddenCharacter
            | Self::NotAPath
            | Self::ParentDirectory
            | Self::Everything => None,
        }
    }
}

/// The path of a root that an MCP client names by a URI of the form `file:///path`.
///
/// The path is absolute. `.` and `..` in the URI are resolved. The path is neither `/` nor a whole drive.
///
/// # Errors
///
/// [`InvalidRoot`]. The host `localhost` is refused like any other host: no known client writes it.
pub fn path_of_uri(uri: &str) -> Result<PathBuf, InvalidRoot> {
    let path = any_path_of_uri(uri)?;
    if is_everything(&path) { Err(InvalidRoot::Everything) } else { Ok(path) }
}

/// As [`path_of_uri`], but accepts the root of the file system and a whole drive, too.
pub(super) fn any_path_of_uri(uri: &str) -> Result<PathBuf, InvalidRoot> {
    let rest = uri.strip_prefix("file:///").ok_or(InvalidRoot::NotAFileUri)?;
    if rest.starts_with(['/', '\\']) {
        return Err(InvalidRoot::NotAFileUri);
    }
    if rest.contains(['?', '#']) {
        return Err(InvalidRoot::QueryOrFragment);
    }
    // URL parsers remove tabs and line ends, and replace `\` by `/`.
    if rest.contains(|letter: char| letter.is_control() || letter == '\\') {
        return Err(InvalidRoot::ForbiddenCharacter);
    }
    let url = url::Url::parse(uri).map_err(InvalidRoot::NotAUrl)?;
    if url.scheme() != "file" || url.host().is_some() {
        return Err(InvalidRoot::NotAFileUri);
    }
    let path = url.to_file_path().map_err(|()| InvalidRoot::NotAPath)?;
    if path.as_os_str().as_encoded_bytes().contains(&0) || !path.is_absolute() {
        return Err(InvalidRoot::NotAPath);
    }
    let parts = || path.components();
    // Decoding has turned each `%2F` into a separator, so a component of the path can be `..` now.
    if parts().any(|part| matches!(part, Component::ParentDir)) {
        return Err(InvalidRoot::ParentDirectory);
    }
    normal_path(&path).map_err(|_| InvalidRoot::NotAPath)
}

/// Whether a path is the root of the file system or a whole drive.
pub(super) fn is_everything(path: &Path) -> bool {
    !path.components().any(|part| matches!(part, Component::Normal(_)))
}

/// The `file:` URI of an absolute path, with percent-encoding. `None`: the path is not absolute.
pub fn uri_of_path(path: &Path) -> Option<String> {
    url::Url::from_file_path(path).ok().map(String::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(windows)]
    #[test]
    fn on_windows_a_root_is_on_a_drive() {
        for uri in ["file:///c:/Users/me", "file:///c%3A/Users/me/", "file:///C:/Users/./me"] {
            assert_eq!(path_of_uri(uri).as_deref(), Ok(Path::new(r"C:\Users\me")), "{uri}");
        }
        assert_eq!(path_of_uri("file:///C:/"), Err(InvalidRoot::Everything));
        for uri in ["file:///a/b", "file:///C:/a%3Ab", "file:///C:/NUL", "file:///C:/a%5C..%5Cb"] {
            assert!(path_of_uri(uri).is_err(), "{uri}");
        }
        assert_eq!(uri_of_path(Path::new(r"C:\a b")).as_deref(), Some("file:///C:/a%20b"));
    }

    #[cfg(not(windows))]
    #[test]
    fn only_the_file_uri_of_a_folder_is_a_root() {
        use InvalidRoot::{
            Everything, ForbiddenCharacter, NotAFileUri, NotAPath, ParentDirectory, QueryOrFragment,
        };
        let root = |path: &str| Ok(PathBuf::from(path));
        for (uri, expected) in [
            ("file:///a/b", root("/a/b")),
            ("file:///a/b/", root("/a/b")),
            ("file:///a//b", root("/a/b")),
            ("file:///a%20b/%C3%A4", root("/a b/\u{e4}")),
            ("file:///a b/\u{e4}", root("/a b/\u{e4}")),
            ("file:///a/%2e%2e/b", root("/b")),
            ("file:///../b", root("/b")),
            ("file:", Err(NotAFileUri)),
            ("file:/", Err(NotAFileUri)),
            ("file:/a", Err(NotAFileUri)),
            ("file://", Err(NotAFileUri)),
            ("file:..", Err(NotAFileUri)),
            ("file:a", Err(NotAFileUri)),
            ("file:////a", Err(NotAFileUri)),
            ("file:///\\a", Err(NotAFileUri)),
            ("FILE:///a", Err(NotAFileUri)),
            (" file:///a", Err(NotAFileUri)),
            ("fi\tle:///a", Err(NotAFileUri)),
            ("file://localhost/a", Err(NotAFileUri)),
            ("file://elsewhere/a", Err(NotAFileUri)),
            ("vscode-remote://wsl/a", Err(NotAFileUri)),
            ("http://a/b", Err(NotAFileUri)),
            ("not an address", Err(NotAFileUri)),
            ("", Err(NotAFileUri)),
            ("file:///a?b", Err(QueryOrFragment)),
            ("file:///a#b", Err(QueryOrFragment)),
            ("file:///?", Err(QueryOrFragment)),
            ("file:///a\\b", Err(ForbiddenCharacter)),
            ("file:///a\nb", Err(ForbiddenCharacter)),
            ("file:///a\0", Err(ForbiddenCharacter)),
            ("file:///a%00", Err(NotAPath)),
            ("file:///a%2F..%2Fb", Err(ParentDirectory)),
            ("file:///", Err(Everything)),
            ("file:///.", Err(Everything)),
            ("file:///..", Err(Everything)),
            ("file:///a/..", Err(Everything)),
            ("file:///./%2e/", Err(Everything)),
            ("file:///%2F", Err(Everything)),
        ] {
            assert_eq!(path_of_uri(uri), expected, "{uri}");
        }
    }

    #[test]
    fn an_unparsable_uri_keeps_its_cause() {
        let error = InvalidRoot::NotAUrl(url::ParseError::Overflow);
        let cause = std::error::Error::source(&error).expect("the parser's error").to_string();
        assert_eq!(cause, url::ParseError::Overflow.to_string());
        assert!(error.to_string().ends_with(&cause), "{error}");
    }

    #[cfg(not(windows))]
    #[test]
    fn a_path_becomes_a_uri_and_the_uri_the_same_path() {
        for (path, uri) in [
            ("/a/b", "file:///a/b"),
            ("/with space/100%/a#b?c", "file:///with%20space/100%25/a%23b%3Fc"),
            ("/\u{e4}/\u{4e2d}", "file:///%C3%A4/%E4%B8%AD"),
        ] {
            let path = Path::new(path);
            assert_eq!(uri_of_path(path).as_deref(), Some(uri));
            assert_eq!(path_of_uri(uri).as_deref(), Ok(path));
        }
        assert_eq!(uri_of_path(Path::new("relative")), None);
    }
}
