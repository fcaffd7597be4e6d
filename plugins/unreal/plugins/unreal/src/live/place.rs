//! Determines which project an editor has open, compares it with the project on this disk, and
//! translates paths between the editor and this plugin.
//!
//! An editor on Windows writes `D:/Games/MyGame` or `D:\Games\MyGame`. For this plugin, the same
//! folder is `/D:/Games/MyGame` if the host runs on Windows, too, and `/mnt/d/Games/MyGame` if the
//! host runs in WSL.
//!
//! Only an absolute folder identifies a project. Relative to the engine, the folders of two
//! projects can have the same name.

use std::path::{Path, PathBuf};

/// The absolute folder of the project, as UnrealMCPServer's `get_project_config` names it. If that
/// name is not absolute, the folder in the path of the log. `None` if neither is absolute.
pub fn of_plugin(project_dir: &str, log: &str) -> Option<String> {
    if is_absolute(&plain(project_dir)) {
        return Some(plain(project_dir));
    }
    let log = plain(log);
    let at = match drive(&log) {
        Some(_) => log.to_ascii_lowercase().rfind("/saved/logs/"),
        None => log.rfind("/Saved/Logs/"),
    };
    let folder = &log[..at?];
    is_absolute(folder).then(|| folder.to_owned())
}

/// The absolute folder of the project in the refusal of Epic's `AssetTools.read_file`. The refusal
/// lists the readable folders as a Python list: first the project's `Content`, then its `Saved`.
/// `None` for another text.
pub fn of_refusal(said: &str) -> Option<String> {
    let (_, list) = said.split_once("Allowed roots: [")?;
    let mut roots = list.split(", ").map(unquoted);
    let (content, saved) = (roots.next()??, roots.next()??);
    let folder = without_end(&content, "/content")?;
    let same = without_end(&saved, "/saved")?;
    (folder == same && is_absolute(folder)).then(|| folder.to_owned())
}

/// The path in a string literal of Python, with forward slashes.
fn unquoted(text: &str) -> Option<String> {
    let text = text.trim().trim_end_matches(']');
    let inner = ['\'', '"']
        .into_iter()
        .find_map(|quote| text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)))?;
    Some(plain(&inner.replace("\\\\", "\\").replace("\\'", "'")))
}

fn without_end<'p>(path: &'p str, end: &str) -> Option<&'p str> {
    let (start, rest) = path.split_at_checked(path.len().checked_sub(end.len())?)?;
    rest.eq_ignore_ascii_case(end).then_some(start)
}

/// Whether the absolute folder `theirs`, as the editor writes it, is the folder `ours`. Paths on a
/// Windows drive ignore case.
pub fn is_same(theirs: &str, ours: &Path) -> bool {
    let theirs = plain(theirs);
    let ours = plain(&ours.display().to_string());
    if ours.is_empty() {
        return false;
    }
    match drive(&theirs) {
        Some(_) => of_windows(&ours).is_some_and(|ours| same_letters(&ours, &theirs)),
        None => theirs.starts_with('/') && theirs == ours,
    }
}

/// Translates a path of this plugin to a path of the editor. `theirs` is the folder of the editor's
/// project, as the editor writes it. `Err` has the reason if the editor runs on Windows and the
/// path is on no drive.
pub fn for_editor(path: &str, theirs: Option<&str>) -> Result<String, &'static str> {
    let on_drive = path.strip_prefix('/').filter(|rest| drive(rest).is_some());
    match (on_drive, theirs.is_some_and(|theirs| drive(&plain(theirs)).is_some())) {
        (Some(path), _) => Ok(path.to_owned()),
        (None, true) => of_windows(path).ok_or(
            "the editor runs on Windows and finds only files on its drives: give a path on a drive, in WSL below /mnt",
        ),
        (None, false) => Ok(path.to_owned()),
    }
}

/// Translates a path that the editor names to a path of this plugin. `theirs` is the folder of the
/// editor's project, as the editor writes it; `ours` is the same folder for this plugin.
pub fn of_editor(path: &str, theirs: Option<&str>, ours: &Path) -> PathBuf {
    let path = plain(path);
    let Some((letter, rest)) = drive(&path) else { return path.into() };
    let within = theirs.and_then(|theirs| {
        let theirs = plain(theirs);
        let (start, rest) = path.split_at_checked(theirs.len())?;
        (same_letters(start, &theirs) && rest.starts_with('/')).then(|| rest[1..].to_owned())
    });
    match within {
        // On this disk, the folders above the project may be written in another case.
        Some(rest) => ours.join(rest),
        None if ours.starts_with("/mnt") => {
            format!("/mnt/{}{rest}", letter.to_ascii_lowercase()).into()
        }
        None => format!("/{}:{rest}", letter.to_ascii_uppercase()).into(),
    }
}

/// A path of this plugin as Windows writes it, with forward slashes. `None` if the path is on no
/// drive.
fn of_windows(path: &str) -> Option<String> {
    if let Some(on_drive) = [path, path.strip_prefix('/').unwrap_or_default()]
        .into_iter()
        .find(|path| drive(path).is_some())
    {
        return Some(on_drive.to_owned());
    }
    let (letter, rest) = path.strip_prefix("/mnt/")?.split_at_checked(1)?;
    let on_drive =
        format!("{}:{}", letter.to_ascii_uppercase(), if rest.is_empty() { "/" } else { rest });
    drive(&on_drive).is_some().then_some(on_drive)
}

/// Whether two paths are the same on Windows, which ignores case.
fn same_letters(a: &str, b: &str) -> bool {
    a.to_lowercase() == b.to_lowercase()
}

/// Whether a folder that is relative to the engine cannot be the folder `ours`, since their last
/// names differ.
pub fn contradicts(relative: &str, ours: &Path) -> bool {
    let relative = plain(relative);
    let theirs = relative.rsplit('/').next().unwrap_or_default();
    let ours = plain(&ours.display().to_string());
    let ours = ours.rsplit('/').next().unwrap_or_default();
    !matches!(theirs, "" | "." | "..") && !theirs.eq_ignore_ascii_case(ours)
}

/// The path with forward slashes, without spaces around it, a prefix `\\?\`, or slashes at its end.
fn plain(path: &str) -> String {
    let path = path.trim().replace('\\', "/");
    let path = path.strip_prefix("//?/").unwrap_or(&path);
    path.trim_end_matches('/').to_owned()
}

/// Whether a path begins with a single slash or with a drive, and has no part `.` or `..`.
fn is_absolute(path: &str) -> bool {
    let is_rooted = drive(path).is_some() || (path.starts_with('/') && !path.starts_with("//"));
    is_rooted && !path.split('/').any(|part| part == ".." || part == ".")
}

fn drive(path: &str) -> Option<(char, &str)> {
    let (drive, rest) = path.split_once(':')?;
    let mut letters = drive.chars();
    let letter = letters.next().filter(char::is_ascii_alphabetic)?;
    (letters.next().is_none() && rest.starts_with('/')).then_some((letter, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_folder() {
        for (theirs, ours) in [
            ("/home/ada/MyGame/", "/home/ada/MyGame"),
            ("D:/Games/MyGame/", "/mnt/d/games/mygame"),
            ("D:\\Games\\MyGame\\", "d:/Games/MyGame"),
            ("d:\\games\\mygame", "D:\\Games\\MyGame"),
            ("D:\\Games\\MyGame\\", "/D:/Games/MyGame"),
            ("d:/games/mygame/", "/D:/Games/MyGame"),
            ("\\\\?\\D:\\Games\\MyGame", "/D:/Games/MyGame"),
            ("D:/Sp\u{c4}ter/", "/D:/sp\u{e4}ter"),
        ] {
            assert!(is_same(theirs, Path::new(ours)), "{theirs}");
        }
    }

    #[test]
    fn another_folder() {
        for (theirs, ours) in [
            ("/home/ada/MyGame2/", "/home/ada/MyGame"),
            ("/home/eve/MyGame/", "/home/ada/MyGame"),
            ("/home/ada/mygame/", "/home/ada/MyGame"),
            ("../../../../home/ada/MyGame/", "/home/ada/MyGame"),
            ("MyGame/", "/home/ada/MyGame"),
            ("", "/home/ada/MyGame"),
            ("E:/Games/MyGame/", "/mnt/d/Games/MyGame"),
            ("E:/Games/MyGame/", "/D:/Games/MyGame"),
            ("/D:/Games/MyGame/", "/d:/games/mygame"),
            ("D:/Games/MyGame/", "/home/d/Games/MyGame"),
        ] {
            assert!(!is_same(theirs, Path::new(ours)), "{theirs}");
        }
    }

    #[test]
    fn paths_for_the_editor_and_of_the_editor() {
        let on_drive = Some("D:/Games/MyGame/");
        for (path, theirs, expected) in [
            ("/D:/Art/door.png", on_drive, Some("D:/Art/door.png")),
            ("/D:/Art/door.png", None, Some("D:/Art/door.png")),
            ("/mnt/d/Art/door.png", on_drive, Some("D:/Art/door.png")),
            ("/mnt/d/Art/door.png", Some("/mnt/d/MyGame"), Some("/mnt/d/Art/door.png")),
            ("/home/ada/door.png", Some("/home/ada/MyGame"), Some("/home/ada/door.png")),
            ("/home/ada/door.png", None, Some("/home/ada/door.png")),
            ("/home/ada/door.png", on_drive, None),
            ("/mnt/wsl/door.png", on_drive, None),
        ] {
            assert_eq!(for_editor(path, theirs).ok().as_deref(), expected, "{path}");
        }
        for (path, theirs, ours, expected) in [
            (
                "d:/games/MYGAME/Saved/Logs/x.log",
                on_drive,
                "/D:/Games/MyGame",
                "/D:/Games/MyGame/Saved/Logs/x.log",
            ),
            (
                r"D:\Games\MyGame\Saved\x.log",
                on_drive,
                "/mnt/d/Games/MyGame",
                "/mnt/d/Games/MyGame/Saved/x.log",
            ),
            (
                r"D:\Games\MyGame2\x.log",
                on_drive,
                "/mnt/d/Games/MyGame",
                "/mnt/d/Games/MyGame2/x.log",
            ),
            (r"e:\Logs\x.log", on_drive, "/D:/Games/MyGame", "/E:/Logs/x.log"),
            (r"e:\Logs\x.log", None, "", "/E:/Logs/x.log"),
            ("/home/ada/x.log", Some("/home/ada"), "/home/ada", "/home/ada/x.log"),
        ] {
            assert_eq!(of_editor(path, theirs, Path::new(ours)), Path::new(expected), "{path}");
        }
    }

    #[test]
    fn only_an_absolute_folder_identifies() {
        let log = "/home/ada/MyGame/Saved/Logs/MyGame.log";
        for (dir, log, project) in [
            ("../../../../../home/ada/MyGame/", log, Some("/home/ada/MyGame")),
            ("D:/Games/MyGame/", "", Some("D:/Games/MyGame")),
            (
                "../../../MyGame/",
                "D:/Games/MyGame/Saved/Logs/MyGame_2.log",
                Some("D:/Games/MyGame"),
            ),
            (
                "../../../MyGame/",
                r"\\?\d:\games\mygame\saved\logs\MyGame.log",
                Some("d:/games/mygame"),
            ),
            ("../../../MyGame/", "/home/ada/MyGame/saved/logs/MyGame.log", None),
            ("../../../MyGame/", "", None),
            ("../../../MyGame/", "/var/log/unreal.log", None),
            ("../../../MyGame/", "../../../MyGame/Saved/Logs/MyGame.log", None),
            ("../../../MyGame/", "/opt/../MyGame/Saved/Logs/MyGame.log", None),
            ("/home/ada/../eve/MyGame", "", None),
            ("//server/MyGame", "", None),
        ] {
            assert_eq!(of_plugin(dir, log).as_deref(), project, "{dir} {log}");
        }
        assert!(contradicts("../../../Other/", Path::new("/home/ada/MyGame")));
        assert!(!contradicts("../../../mygame/", Path::new("/home/ada/MyGame")));
        assert!(!contradicts("../../../", Path::new("/home/ada/MyGame")));
    }

    #[test]
    fn the_refusal_names_the_folders_of_the_project() {
        let said = |roots: &str| {
            format!(
                "Error: ValueError: Path \"/x\" is not within an allowed root. Allowed roots: {roots}"
            )
        };
        for (roots, project) in [
            ("['/home/ada/My Game/Content', '/home/ada/My Game/Saved']", Some("/home/ada/My Game")),
            ("['/a/Content', '/a/Saved', '/a/Plugins/X/Content', '/opt/Engi", Some("/a")),
            (
                "['d:\\\\games\\\\mygame\\\\content', 'd:\\\\games\\\\mygame\\\\saved']",
                Some("d:/games/mygame"),
            ),
            ("[\"/a/Ada's/Content\", \"/a/Ada's/Saved\"]", Some("/a/Ada's")),
            ("['/a/Content', '/b/Saved']", None),
            ("['/a/Saved', '/a/Content']", None),
            ("['/a/Content']", None),
            ("[]", None),
            ("", None),
        ] {
            assert_eq!(of_refusal(&said(roots)).as_deref(), project, "{roots}");
        }
        assert_eq!(of_refusal("no such file"), None);
    }
}
