//! Whether the folder that an editor names is the folder of a project on this disk.

use std::path::Path;

/// Whether an editor that says `theirs` has the project in this folder open. The engine says where a
/// project is relative to its own binaries, or in full.
pub fn is_same(theirs: &str, ours: &Path) -> bool {
    let theirs = plain(theirs);
    let ours = plain(&ours.display().to_string());
    if theirs.is_empty() || ours.is_empty() {
        return false;
    }
    // Of a drive of Windows the names of folders have no case.
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

/// With plain slashes, and none at the end.
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
