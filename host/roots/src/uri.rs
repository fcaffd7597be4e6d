//! `file:` URIs, by which MCP clients name their roots.

use std::fmt;
use std::path::{Component, Path, PathBuf};

/// Why a URI of a client is not a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoRoot {
    /// It does not begin with `file:///`.
    NotAFile,
    /// It has a query or a fragment.
    HasMore,
    /// It is not the URI of a path.
    Malformed,
    /// It is the root of the file system, or a whole drive.
    Everything,
}

impl fmt::Display for NoRoot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotAFile => {
                "a root is written file:///path, with three slashes and without a host"
            }
            Self::HasMore => "a root has no query (?) and no fragment (#): write %3F and %23",
            Self::Malformed => "it is not the address of a path",
            Self::Everything => "the whole machine is no root: open a folder in the client",
        })
    }
}

/// The path of a root that an MCP client names, exactly as `file:///path`.
///
/// The path is absolute, `.` and `..` are resolved in it, and it is not `/` and not a whole drive.
///
/// # Errors
///
/// [`NoRoot`]: another scheme, another number of slashes, a host (also `localhost`, which no known client writes), a
/// query, a fragment, a control character, or the root of the file system.
pub fn path_of_uri(uri: &str) -> Result<PathBuf, NoRoot> {
    let path = any_path_of_uri(uri)?;
    if is_everything(&path) { Err(NoRoot::Everything) } else { Ok(path) }
}

/// As [`path_of_uri`], but the path may be the root of the file system.
pub(super) fn any_path_of_uri(uri: &str) -> Result<PathBuf, NoRoot> {
    let rest = uri.strip_prefix("file:///").ok_or(NoRoot::NotAFile)?;
    if rest.starts_with(['/', '\\']) {
        return Err(NoRoot::NotAFile);
    }
    if rest.contains(['?', '#']) {
        return Err(NoRoot::HasMore);
    }
    // URL parsers remove tabs and line ends, and replace `\` by `/`.
    if rest.contains(|letter: char| letter.is_control() || letter == '\\') {
        return Err(NoRoot::Malformed);
    }
    let url = url::Url::parse(uri).map_err(|_| NoRoot::Malformed)?;
    if url.scheme() != "file" || url.host().is_some() {
        return Err(NoRoot::NotAFile);
    }
    let path = url.to_file_path().map_err(|()| NoRoot::Malformed)?;
    if path.as_os_str().as_encoded_bytes().contains(&0) || !path.is_absolute() {
        return Err(NoRoot::Malformed);
    }
    let parts = || path.components();
    // `%2F` has become a separator.
    if parts().any(|part| matches!(part, Component::ParentDir)) {
        return Err(NoRoot::Malformed);
    }
    Ok(parts().collect())
}

/// Whether a path is the root of the file system or a whole drive.
pub(super) fn is_everything(path: &Path) -> bool {
    !path.components().any(|part| matches!(part, Component::Normal(_)))
}

/// The `file:` URI of an absolute path, with percent-encoding.
pub fn uri_of_path(path: &Path) -> Option<String> {
    url::Url::from_file_path(path).ok().map(String::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_address_of_a_folder_is_a_root() {
        use NoRoot::{Everything, HasMore, Malformed, NotAFile};
        let root = |path: &str| Ok(PathBuf::from(path));
        for (uri, expected) in [
            ("file:///a/b", root("/a/b")),
            ("file:///a/b/", root("/a/b")),
            ("file:///a//b", root("/a/b")),
            ("file:///a%20b/%C3%A4", root("/a b/\u{e4}")),
            ("file:///a b/\u{e4}", root("/a b/\u{e4}")),
            ("file:///a/%2e%2e/b", root("/b")),
            ("file:///../b", root("/b")),
            ("file:", Err(NotAFile)),
            ("file:/", Err(NotAFile)),
            ("file:/a", Err(NotAFile)),
            ("file://", Err(NotAFile)),
            ("file:..", Err(NotAFile)),
            ("file:a", Err(NotAFile)),
            ("file:////a", Err(NotAFile)),
            ("file:///\\a", Err(NotAFile)),
            ("FILE:///a", Err(NotAFile)),
            (" file:///a", Err(NotAFile)),
            ("fi\tle:///a", Err(NotAFile)),
            ("file://localhost/a", Err(NotAFile)),
            ("file://elsewhere/a", Err(NotAFile)),
            ("vscode-remote://wsl/a", Err(NotAFile)),
            ("http://a/b", Err(NotAFile)),
            ("not an address", Err(NotAFile)),
            ("", Err(NotAFile)),
            ("file:///a?b", Err(HasMore)),
            ("file:///a#b", Err(HasMore)),
            ("file:///?", Err(HasMore)),
            ("file:///a\\b", Err(Malformed)),
            ("file:///a\nb", Err(Malformed)),
            ("file:///a\0", Err(Malformed)),
            ("file:///a%00", Err(Malformed)),
            ("file:///a%2F..%2Fb", Err(Malformed)),
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
    fn a_path_and_its_address_are_two_ways_to_say_the_same() {
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
