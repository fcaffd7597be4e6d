//! Windows paths as text: their normal form, and the form in which guests see them.
//!
//! Guests know only POSIX paths: for guests, `C:\game` is `/C:/game`. All functions work on text alone, so they
//! behave alike on every system.

use std::borrow::Cow;

use super::Refusal;

/// Reserved names of devices, except those with a number such as `COM1`. Windows recognises them in every directory and
/// with every extension. Source: "Naming Files, Paths, and Namespaces" in Microsoft's documentation of Win32.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];

/// Maximum length of a name in the file systems of Windows, in UTF-16 code units.
const MAX_NAME_UNITS: usize = 255;

/// The normal form of an absolute path on a drive: `C:\game\Content`. Each separator in `text` may be `/` or `\`.
/// The path may also begin as guests write it (`/C:/game`), or with the verbatim prefix (`\\?\C:\game`).
///
/// # Errors
///
/// The path is relative, is a UNC path, names a device or a volume, has `..`, or has a name that no file can have: see
/// [`name_fault`].
pub(super) fn normal(text: &str) -> Result<String, Refusal> {
    let is_separator = |letter: char| matches!(letter, '/' | '\\');
    let (rest, is_verbatim) = match text.strip_prefix(r"\\?\") {
        Some(rest) => (rest, true),
        None => (text, false),
    };
    let in_guest_form = rest.strip_prefix('/').filter(|_| !is_verbatim).and_then(split_drive);
    let (drive, rest) = match (in_guest_form, split_drive(rest)) {
        (Some(found), _) => found,
        (None, Some((drive, rest))) if rest.starts_with(is_separator) => (drive, rest),
        (None, Some(_)) if !is_verbatim => return Err(Refusal::NotAbsolute),
        (None, _) => return Err(without_drive(text, is_verbatim)),
    };
    if !(rest.is_empty() || rest.starts_with(is_separator)) {
        return Err(Refusal::NotAbsolute);
    }
    // After the verbatim prefix, `.` and `..` are names like any other, and `/` is part of a name.
    let is_detour = |name: &str| matches!(name, "." | "..");
    if is_verbatim && (rest.contains('/') || rest.split('\\').any(is_detour)) {
        return Err(Refusal::Malformed(r"after `\\?\`, it contains `/`, `.` or `..`"));
    }
    let mut names = Vec::new();
    for name in rest.split(is_separator) {
        match name {
            "" | "." => {}
            ".." => return Err(Refusal::Malformed("it contains `..`: write the path without it")),
            _ => match name_fault(name) {
                Some(why) => return Err(Refusal::Malformed(why)),
                None => names.push(name),
            },
        }
    }
    Ok(format!(r"{}:\{}", drive.to_ascii_uppercase(), names.join(r"\")))
}

/// The refusal of a path that does not begin with a drive.
fn without_drive(text: &str, is_verbatim: bool) -> Refusal {
    let begins_with = |start: &str| text.replace('/', r"\").starts_with(start);
    if is_verbatim || [r"\\?\", r"\\.\", r"\??\"].into_iter().any(begins_with) {
        return Refusal::Malformed(
            "it names a device or a volume: begin it with a drive, as in `C:\\`",
        );
    }
    if begins_with(r"\\") {
        return Refusal::Malformed(
            "it is a network path: map the share to a drive letter, and write the path with that letter",
        );
    }
    Refusal::NotAbsolute
}

/// The letter of the drive that a path begins with, and the rest after the colon.
fn split_drive(path: &str) -> Option<(char, &str)> {
    let mut letters = path.chars();
    let letter = letters.next().filter(char::is_ascii_alphabetic)?;
    Some((letter, letters.as_str().strip_prefix(':')?))
}

/// Why no file can have this name on Windows: a stream, a reserved device, a forbidden character, a dot or a space
/// at the end, or more than 255 UTF-16 code units. `None`: a file can have the name.
pub(super) fn name_fault(name: &str) -> Option<&'static str> {
    if name.contains(':') {
        return Some("it names a stream of a file (`:`)");
    }
    if name.contains(|letter: char| letter < ' ' || r#"<>"|?*/\"#.contains(letter)) {
        return Some("it contains a character that is not allowed in a name on Windows");
    }
    if name.encode_utf16().count() > MAX_NAME_UNITS {
        return Some("a name in it is longer than 255 characters");
    }
    if name.ends_with(['.', ' ']) && !matches!(name, "." | "..") {
        return Some("a name in it ends with a dot or a space, which Windows leaves out");
    }
    let stem = name.split('.').next().unwrap_or_default().trim_end().to_lowercase();
    let numbered = ["com", "lpt"].into_iter().find_map(|device| stem.strip_prefix(device));
    let mut number = numbered.unwrap_or_default().chars();
    let is_number =
        number.next().is_some_and(|n| n.is_ascii_digit() || "\u{b9}\u{b2}\u{b3}".contains(n));
    if DEVICES.contains(&stem.as_str()) || (is_number && number.next().is_none()) {
        return Some("it names a device, such as `NUL` or `COM1`");
    }
    None
}

/// The form in which guests see a path: `/C:/game` for `C:\game`. `None`: the path has no [`normal`] form.
pub(super) fn of_guest(path: &str) -> Option<String> {
    Some(format!("/{}", normal(path).ok()?.replace('\\', "/")))
}

/// Whether a text looks like an absolute Windows path. Other systems use this to explain why the path is refused.
pub(super) fn is_meant(text: &str) -> bool {
    let is_separator = |rest: &str| rest.is_empty() || rest.starts_with(['/', '\\']);
    text.starts_with(r"\\") || split_drive(text).is_some_and(|(_, rest)| is_separator(rest))
}

/// A text of a guest with paths that users of Windows can use: `C:/game/x` instead of `/C:/game/x`. The slashes stay
/// as they are, because Windows accepts both kinds, and backslashes would need an escape in JSON. Only paths at or
/// beneath `directories` change. The directories are given as guests see them. URIs stay as they are.
pub(super) fn shown<'t>(text: &'t str, directories: &[String]) -> Cow<'t, str> {
    let mut shown = String::new();
    let mut copied = 0;
    for (at, _) in text.match_indices('/') {
        let is_path = split_drive(&text[at + 1..]).is_some()
            && is_start(&text[..at])
            && directories.iter().any(|directory| is_at_or_beneath(&text[at..], directory));
        if is_path {
            shown.push_str(&text[copied..at]);
            copied = at + 1;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    shown.push_str(&text[copied..]);
    Cow::Owned(shown)
}

/// Whether a path may begin directly after this text. A path does not begin within a name, a path or a URI. The text
/// may be JSON, in which `\n` stands for the end of a line.
fn is_start(before: &str) -> bool {
    let escaped = [r"\n", r"\r", r"\t"].into_iter().any(|escape| before.ends_with(escape));
    escaped
        || !before.ends_with(|letter: char| {
            letter.is_alphanumeric()
                || matches!(letter, '/' | '\\' | '.' | '_' | '-' | '~' | '%' | '@' | '+')
        })
}

/// Whether a text begins with the path of a directory, or with a path beneath the directory.
fn is_at_or_beneath(text: &str, directory: &str) -> bool {
    let directory = directory.trim_end_matches('/');
    text.strip_prefix(directory).is_some_and(|rest| {
        !rest.starts_with(|letter: char| {
            letter.is_alphanumeric() || matches!(letter, '_' | '-' | '~')
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_spellings_of_a_path_have_one_normal_form() {
        for text in [
            r"D:\Game\Content",
            "D:/Game/Content",
            "d:/Game/Content/",
            r"d:\Game/Content\",
            r"D:\\Game\.\Content",
            r"\\?\D:\Game\Content",
            r"\\?\d:\Game\Content\",
            "/D:/Game/Content",
            "/d:/Game//Content/",
        ] {
            assert_eq!(normal(text).unwrap(), r"D:\Game\Content", "{text}");
            assert_eq!(of_guest(text).unwrap(), "/D:/Game/Content", "{text}");
        }
        for drive in [r"c:\", "C:/", "/C:/", "/c:", r"\\?\C:\"] {
            assert_eq!(normal(drive).unwrap(), r"C:\", "{drive}");
        }
        assert_eq!(normal("C:/\u{e4}/\u{4e2d} x.y").unwrap(), "C:\\\u{e4}\\\u{4e2d} x.y");
    }

    #[test]
    fn relative_paths_have_no_normal_form() {
        for text in [
            "", "a", r"a\b", "C:", "C:a", r"\a", "/a/C:/b", "/c/Users", "CC:/a", "/CC:/a", "1:/a",
            "/C:a",
        ] {
            assert!(
                matches!(normal(text), Err(Refusal::NotAbsolute)),
                "{text}: {:?}",
                normal(text)
            );
        }
    }

    #[test]
    fn what_is_no_file_on_a_drive_is_refused() {
        for text in [
            r"C:\a\..\b",
            "/C:/a/../b",
            r"\\?\C:\a\..\b",
            r"\\?\C:\a\.\b",
            r"\\?\C:\a/b",
            r"C:\a\file.txt:stream",
            r"C:\a\file.txt::$DATA",
            r"C:\a::$INDEX_ALLOCATION\b",
            r"C:\a\C:\b",
            r"C:\a\NUL",
            r"C:\a\nul.txt",
            r"C:\a\Nul .txt",
            r"C:\aux\b",
            r"C:\com1",
            r"C:\LPT9.log",
            "C:\\COM\u{b2}",
            r"C:\CONIN$",
            r"C:\a.\b",
            r"C:\a \b",
            r"C:\a\b...",
            r"C:\a\b?",
            r"C:\a\*",
            "C:\\a\u{0}",
            "C:\\a\nb",
            r"\\server\share\a",
            "//server/share/a",
            r"\\wsl$\Ubuntu\home",
            r"\\.\pipe\x",
            r"\\.\C:\a",
            "//./C:/a",
            "//?/C:/a",
            r"\??\C:\a",
            r"\\?\UNC\server\share",
            r"\\?\GLOBALROOT\Device\HarddiskVolume1\a",
            r"\\?\Volume{b75e2c83-0000-0000-0000-602f00000000}\a",
            r"\\?\C:",
            r"\\?\/C:/a",
        ] {
            assert!(
                matches!(normal(text), Err(Refusal::Malformed(_))),
                "{text}: {:?}",
                normal(text)
            );
            assert_eq!(of_guest(text), None, "{text}");
        }
        assert!(normal(&format!(r"C:\{}", "\u{e4}".repeat(255))).is_ok());
        assert!(normal(&format!(r"C:\{}", "\u{e4}".repeat(256))).is_err());
        // These names only resemble reserved names.
        for text in
            [r"C:\com", r"C:\com10", r"C:\console", r"C:\nul1", r"C:\.git", r"C:\..a", r"C:\a~1"]
        {
            assert_eq!(normal(text).unwrap(), text);
        }
    }

    #[test]
    fn users_see_their_own_paths() {
        let directories = ["/C:/my game".to_owned(), "/D:/".to_owned()];
        for (told, expected) in [
            ("/C:/my game", "C:/my game"),
            ("/C:/my game/x.txt", "C:/my game/x.txt"),
            ("no file in /C:/my game, nor in (/D:/a)", "no file in C:/my game, nor in (D:/a)"),
            (
                r#"{"path":"/C:/my game/x","n":"a\n/D:/b"}"#,
                r#"{"path":"C:/my game/x","n":"a\nD:/b"}"#,
            ),
            ("file:///C:/my game/x", "file:///C:/my game/x"),
            ("http://a/D:/b and x/D:/b", "http://a/D:/b and x/D:/b"),
            ("/C:/my game2 and /C:/my", "/C:/my game2 and /C:/my"),
            ("/c:/my game", "/c:/my game"),
            ("/E:/x /Game/D: /", "/E:/x /Game/D: /"),
            ("", ""),
        ] {
            assert_eq!(shown(told, &directories), expected, "{told}");
        }
        assert_eq!(shown("/C:/my game", &[]), "/C:/my game");
    }

    #[test]
    fn other_systems_recognise_windows_paths() {
        for text in [r"D:\Game", "d:/game", "C:", r"\\server\share", r"\\?\C:\a"] {
            assert!(is_meant(text), "{text}");
        }
        for text in ["", "a", "/D:/Game", "a:b", "file:///C:/a", "CC:/a", r"\a"] {
            assert!(!is_meant(text), "{text}");
        }
    }
}
