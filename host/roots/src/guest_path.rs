//! Translates between this system's paths and the paths that guests see.
//!
//! Guests know only POSIX paths. On Windows, `C:\game` is `/C:/game` for guests
//! ([`windows_path`](super::windows_path)). On other systems, guests see the paths as they are.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use super::folded_name::fold;
use super::{Refusal, windows_path};

/// An absolute path in its normal form. On Windows, the normal form begins with the letter of a drive and has no
/// verbatim prefix (`\\?\`).
///
/// # Errors
///
/// [`Refusal`], on Windows only: the path is relative, is a UNC path, has `..`, is not Unicode, or has a name that no
/// file can have.
pub fn normal_path(path: &Path) -> Result<PathBuf, Refusal> {
    if !cfg!(windows) {
        return Ok(path.components().collect());
    }
    let text = path.to_str().ok_or(Refusal::Malformed("it is not Unicode"))?;
    windows_path::normal(text).map(PathBuf::from)
}

/// The path as guests see it.
pub fn guest_path(path: &Path) -> String {
    let text = path.display().to_string();
    if cfg!(windows) { windows_path::of_guest(&text).unwrap_or(text) } else { text }
}

/// The path on this system for a path that a guest names.
///
/// # Errors
///
/// As for [`normal_path`].
pub fn native_path(guest: &str) -> Result<PathBuf, Refusal> {
    if cfg!(windows) { windows_path::normal(guest).map(PathBuf::from) } else { Ok(guest.into()) }
}

/// The value of a setting for a guest. On Windows, a value that is an absolute path is translated to the guest's
/// form.
pub fn guest_setting(value: &str) -> String {
    let path = if cfg!(windows) { windows_path::of_guest(value) } else { None };
    path.unwrap_or_else(|| value.to_owned())
}

/// Whether a text is an absolute path of this system, or of Windows. Such a text is not a path relative to a
/// directory.
pub fn is_absolute_somewhere(text: &str) -> bool {
    let in_guest_form = cfg!(windows) && windows_path::normal(text).is_ok();
    Path::new(text).is_absolute() || windows_path::is_meant(text) || in_guest_form
}

/// Why a guest's path relative to a directory cannot be used on this system. On Windows, names of streams and
/// devices are refused, for example.
pub fn refused_name(relative: &Path) -> Option<&'static str> {
    if !cfg!(windows) {
        return None;
    }
    if relative.as_os_str().as_encoded_bytes().contains(&b'\\') {
        return Some("it contains `\\`: a guest must separate names by `/`");
    }
    let names = relative.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name),
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => {
            None
        }
    });
    names.into_iter().find_map(|name| match name.to_str() {
        Some(name) => windows_path::name_fault(name),
        None => Some("it is not Unicode"),
    })
}

/// The path relative to a root, if the path is beneath the root. No link is resolved, and a path with `..` is
/// beneath no root. On Windows, names are compared without case.
pub fn beneath<'a>(root: &Path, path: &'a Path) -> Option<&'a Path> {
    let has_way_up = path.components().any(|part| part == Component::ParentDir);
    match has_way_up {
        true => None,
        false if cfg!(windows) => beneath_without_case(root, path),
        false => path.strip_prefix(root).ok(),
    }
}

fn beneath_without_case<'a>(root: &Path, path: &'a Path) -> Option<&'a Path> {
    let is_same = |a: &OsStr, b: &OsStr| fold(a) == fold(b);
    let mut rest = path.components();
    for part in root.components() {
        if !is_same(part.as_os_str(), rest.next()?.as_os_str()) {
            return None;
        }
    }
    Some(rest.as_path())
}

/// The path of a file beneath a root, for guests. On Windows, it begins with the root's own spelling, so that guests
/// see one spelling of each root. On other systems, it is the path `as_written`.
pub(super) fn spelled(root: &Path, rest: &Path, as_written: PathBuf) -> PathBuf {
    match (cfg!(windows), rest.as_os_str().is_empty()) {
        (true, true) => root.to_owned(),
        (true, false) => root.join(rest),
        (false, _) => as_written,
    }
}

/// The directories of a call. Paths beneath them are translated in texts of the guest that are shown to users.
#[derive(Debug, Clone, Default)]
pub struct GuestDirectories(Vec<String>);

impl GuestDirectories {
    /// These directories. On systems where guests see the paths as they are, the list is empty, because texts need no
    /// change.
    pub fn of<'p>(directories: impl IntoIterator<Item = &'p Path>) -> Self {
        match cfg!(windows) {
            true => Self(directories.into_iter().map(guest_path).collect()),
            false => Self::default(),
        }
    }

    /// These directories, as guests see them on Windows.
    pub fn on_windows(directories: &[&str]) -> Self {
        Self(directories.iter().map(|&directory| directory.to_owned()).collect())
    }

    /// Whether the list is empty, so that no text needs a change.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A text of the guest, with the paths in these directories as users write them (`C:/game` for `/C:/game`). The
    /// text may be JSON.
    pub fn shown<'t>(&self, text: &'t str) -> Cow<'t, str> {
        windows_path::shown(text, &self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_without_case_where_the_system_does() {
        let rest = |root: &str, path: &str| {
            beneath_without_case(Path::new(root), Path::new(path))
                .map(|rest| rest.display().to_string())
        };
        assert_eq!(rest("/C:/PROJ", "/C:/proj/a/B").as_deref(), Some("a/B"));
        assert_eq!(rest("/C:/Sp\u{c4}ter", "/C:/SP\u{e4}ter").as_deref(), Some(""));
        assert_eq!(rest("/C:/proj", "/C:/proj2"), None);
        assert_eq!(rest("/C:/proj", "/C:/"), None);
        assert_eq!(rest("/C:/proj", "/D:/proj"), None);
        let here = beneath(Path::new("/C:/PROJ"), Path::new("/C:/proj/a"));
        assert_eq!(here.is_some(), cfg!(windows));
        assert_eq!(beneath(Path::new("/a"), Path::new("/a/../b")), None);
    }

    #[cfg(not(windows))]
    #[test]
    fn on_other_systems_guests_see_paths_as_they_are() {
        let path = Path::new("/home/a:b/x\\y");
        assert_eq!(guest_path(path), "/home/a:b/x\\y");
        assert_eq!(native_path("/home/a:b/x\\y").unwrap(), path);
        assert_eq!(
            (refused_name(Path::new("a:b")), guest_setting("C:\\a").as_str()),
            (None, "C:\\a")
        );
        assert!(GuestDirectories::of([Path::new("/C:/game")]).is_empty());
        assert!(
            is_absolute_somewhere("/a")
                && is_absolute_somewhere("D:\\a")
                && !is_absolute_somewhere("a")
        );
    }

    #[cfg(windows)]
    #[test]
    fn on_windows_guests_see_drives_beneath_the_root() {
        assert_eq!(guest_path(Path::new(r"C:\game\a")), "/C:/game/a");
        assert_eq!(native_path("/c:/game/a").unwrap(), Path::new(r"C:\game\a"));
        assert_eq!(refused_name(Path::new("a/b:c")), Some("it names a stream of a file (`:`)"));
        assert!(
            refused_name(Path::new(r"a\b")).is_some() && refused_name(Path::new("a/b")).is_none()
        );
        assert_eq!(guest_setting(r"C:\a\b"), "/C:/a/b");
        assert_eq!(GuestDirectories::of([Path::new(r"C:\a")]).shown("in /C:/a/b"), "in C:/a/b");
    }
}
