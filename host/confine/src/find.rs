//! Finds programs by their names, as a shell does, and the folders in which the system keeps its programs.

use std::path::{Path, PathBuf};

/// The endings of names that Windows can start as programs, in the order in which it looks for them. `PATHEXT` may name
/// others, which only a shell starts.
const ENDINGS: [&str; 4] = ["com", "exe", "bat", "cmd"];

/// The file of a program: an absolute path, or a name that is looked for in the folders of `PATH`. On Windows, the
/// ending of the name may be missing: `npx` is found as `npx.cmd`.
pub fn find(program: &Path) -> Option<PathBuf> {
    let is_file = |path: &PathBuf| path.is_file();
    if program.is_absolute() {
        return spellings(program, cfg!(windows)).into_iter().find(is_file);
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .flat_map(|folder| spellings(&folder.join(program), cfg!(windows)))
        .find(is_file)
}

/// The paths at which a program may be. On Windows, a name without a known ending may have any of [`ENDINGS`].
fn spellings(program: &Path, on_windows: bool) -> Vec<PathBuf> {
    let ending = program.extension().and_then(|ending| ending.to_str());
    let is_whole =
        ending.is_some_and(|ending| ENDINGS.iter().any(|known| known.eq_ignore_ascii_case(ending)));
    if !on_windows || is_whole {
        return vec![program.to_owned()];
    }
    let with_ending = |ending: &&str| {
        let mut name = program.as_os_str().to_owned();
        name.push(".");
        name.push(ending);
        PathBuf::from(name)
    };
    ENDINGS.iter().map(with_ending).collect()
}

/// The folders in which a child looks for programs, after the folder of its own program.
pub(crate) fn system_path() -> Vec<PathBuf> {
    #[cfg(not(windows))]
    {
        ["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from).into()
    }
    #[cfg(windows)]
    {
        let root = std::env::var_os("SystemRoot").map(PathBuf::from);
        root.map(|root| vec![root.join("System32"), root]).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_windows_a_program_is_found_without_its_ending() {
        let names = |program: &str, on_windows: bool| -> Vec<String> {
            let all = spellings(Path::new(program), on_windows);
            all.into_iter().map(|path| path.display().to_string()).collect()
        };
        assert_eq!(names("npx", true), ["npx.com", "npx.exe", "npx.bat", "npx.cmd"]);
        assert_eq!(names("node.EXE", true), ["node.EXE"]);
        assert_eq!(names("python3.12", true)[1], "python3.12.exe");
        assert_eq!(names("npx", false), ["npx"]);
    }

    #[test]
    fn only_files_in_absolute_folders_are_programs() {
        let folder = tempfile::tempdir().unwrap();
        let name = if cfg!(windows) { "tool.cmd" } else { "tool" };
        std::fs::write(folder.path().join(name), "").unwrap();
        let found = find(&folder.path().join("tool"));
        assert_eq!(found, Some(folder.path().join(name)));
        assert_eq!(find(folder.path()), None, "it is a folder");
        assert_eq!(find(&folder.path().join("other")), None);
    }
}
