//! Compares the folder that an editor reports with a project's folder on this disk.

use std::path::Path;

/// Whether an editor that reports the folder `theirs` has the project in `ours` open. The engine
/// reports a path relative to its own binaries, or an absolute one.
pub fn is_same(theirs: &str, ours: &Path) -> bool {
    let theirs = plain(theirs);
    let ours = plain(&ours.display().to_string());
    if theirs.is_empty() || ours.is_empty() {
        return false;
    }
    // Paths on a Windows drive ignore case.
    if let Some((drive, rest)) = drive(&theirs) {
        let mounted = format!("/mnt/{}{rest}", drive.to_ascii_lowercase());
        return [&theirs, &mounted].iter().any(|same| same.eq_ignore_ascii_case(&ours));
    }
    if theirs.starts_with('/') {
        return theirs == ours;
    }
    let below = theirs.trim_start_matches("../");
    let is_relative = below.len() < theirs.len() && !below.is_empty() && !below.contains("..");
    is_relative && ours.strip_suffix(below).is_some_and(|above| above.ends_with('/'))
}

/// With forward slashes, and no trailing one.
fn plain(path: &str) -> String {
    let path = path.trim().replace('\\', "/");
    let path = path.strip_prefix("//?/").unwrap_or(&path);
    path.trim_end_matches('/').to_owned()
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
            ("../../../../home/ada/MyGame/", "/home/ada/MyGame"),
            ("../../../MyGame/", "/opt/MyGame"),
            ("D:/Games/MyGame/", "/mnt/d/games/mygame"),
            ("D:\\Games\\MyGame\\", "d:/Games/MyGame"),
        ] {
            assert!(is_same(theirs, Path::new(ours)), "{theirs}");
        }
    }

    #[test]
    fn another_folder() {
        for (theirs, ours) in [
            ("/home/ada/MyGame2/", "/home/ada/MyGame"),
            ("/home/eve/MyGame/", "/home/ada/MyGame"),
            ("../../../../home/eve/MyGame/", "/home/ada/MyGame"),
            ("../../../Game/", "/home/ada/MyGame"),
            ("MyGame/", "/home/ada/MyGame"),
            ("../../../", "/home/ada/MyGame"),
            ("../../../a/../MyGame", "/home/a/../MyGame"),
            ("", "/home/ada/MyGame"),
            ("E:/Games/MyGame/", "/mnt/d/Games/MyGame"),
        ] {
            assert!(!is_same(theirs, Path::new(ours)), "{theirs}");
        }
    }
}
