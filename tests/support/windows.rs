//! Runs the Windows binary as the binary under test, in Wine. `tests/platforms/windows.sh` builds the binary and the
//! helper programs, and sets the environment variables that this module reads.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Wine's loader, and the folder with programs for Windows.
pub struct Wine {
    /// The loader of Wine.
    loader: PathBuf,
    /// The folder with `portcullis.exe`, `stand-in.exe` and `with-environment.exe`.
    programs: PathBuf,
}

/// Wine, if the Windows binary is tested. `None`: the binary of this system is tested.
pub fn wine() -> Option<&'static Wine> {
    static WINE: OnceLock<Option<Wine>> = OnceLock::new();
    let find = || {
        let programs = PathBuf::from(std::env::var_os("PORTCULLIS_WINDOWS")?);
        let loader = std::env::var_os("WINELOADER").expect("windows.sh sets WINELOADER");
        Some(Wine { loader: loader.into(), programs })
    };
    WINE.get_or_init(find).as_ref()
}

impl Wine {
    /// The path on this system of a program for Windows, by its name without `.exe`.
    pub fn program(&self, name: &str) -> PathBuf {
        self.programs.join(format!("{name}.exe"))
    }

    /// A command that starts `portcullis.exe` in this home, with these further variables.
    pub fn command(&self, home: &Path, variables: &[(String, String)]) -> Command {
        let mut command = Command::new(&self.loader);
        // Wine takes names of files for ASCII unless the locale says more.
        command.env_clear().env("WINEDEBUG", "-all").env("LC_ALL", "C.UTF-8");
        command.envs(std::env::var_os("WINEPREFIX").map(|prefix| ("WINEPREFIX", prefix)));
        // The helper program sets environment variables that Wine would otherwise replace by its own.
        command.arg(self.program("with-environment"));
        for (name, folder) in
            [("USERPROFILE", ""), ("APPDATA", ROAMING), ("LOCALAPPDATA", LOCAL), ("TEMP", "")]
        {
            command.arg(format!("{name}={}", path(&home.join(folder)).replace('/', "\\")));
        }
        command.args(variables.iter().map(|(name, value)| format!("{name}={value}")));
        command.arg("--").arg(self.program("portcullis"));
        command
    }
}

/// The cases that cannot run with the Windows binary in Wine, with the reasons.
pub const CANNOT_RUN: &[(&str, &[&str])] = &[
    (
        "their commands are scripts of `/bin/sh`; `unconfined.rs` runs a command of Windows",
        &[
            "process-may-not-run-anything-else-or-anywhere-else",
            "process-may-run-what-is-granted-where-a-call-says",
        ],
    ),
    (
        "Wine shows a link of this system as what it leads to, and has neither FIFOs nor devices of files",
        &[
            "files-may-be-named-through-a-root-that-is-a-link",
            "files-may-not-be-fifos-or-devices",
            "files-may-not-be-linked-or-carried-across",
            "files-may-not-be-reached-through-links-that-lead-out",
            "files-may-not-be-written-through-a-directory-to-read",
        ],
    ),
    (
        "Windows does not let anybody move a folder that is open; Linux, beneath Wine, does",
        &["files-may-not-be-reached-when-a-root-is-replaced"],
    ),
    (
        "they name files of Unix, such as `/etc/passwd`; `on_windows.rs` names those of Windows",
        &[
            "a-guest-finds-nothing-around-it",
            "client-roots-never-widen-those-of-the-operator",
            "client-roots-outside-leave-nothing",
            "files-may-not-be-reached-outside-the-roots",
            "files-may-read-all-beside-a-file-where-the-tool-says-so",
            "files-may-read-all-roots-with-that-scope",
            "files-may-read-the-one-file-that-is-named",
        ],
    ),
];

/// Why a case cannot run with the binary under test. `None`: it can.
pub fn cannot_run(case: &str) -> Option<&'static str> {
    wine()?;
    CANNOT_RUN.iter().find(|(_, cases)| cases.contains(&case)).map(|(reason, _)| *reason)
}

/// The folder of configuration and data in a home folder of Windows.
pub const ROAMING: &str = "AppData/Roaming";

/// The folder of caches in a home folder of Windows.
pub const LOCAL: &str = "AppData/Local";

/// A path of this system in the form that the binary under test uses: for Windows, on the drive `Z:`, with `/`.
pub fn path(path: &Path) -> String {
    let text = path.to_str().expect("a temporary path is UTF-8");
    let drive = if wine().is_some() { "Z:" } else { "" };
    format!("{drive}{text}").trim_end_matches('/').to_owned()
}

/// A path of this system as guests of the binary under test see it: for Windows, beneath the folder `/Z:`.
pub fn guest_path(path: &Path) -> String {
    let text = self::path(path);
    if wine().is_some() { format!("/{text}") } else { text }
}

/// Converts a path that the binary under test uses to a path of this system.
pub fn own(path: &Path) -> PathBuf {
    path.to_str().and_then(|text| text.strip_prefix("Z:")).map_or(path.to_owned(), PathBuf::from)
}

/// Makes the folders of a Windows home. Links let tests find the host's files at the same paths as on this system.
pub fn lay_out(home: &Path) {
    for (folder, names) in
        [(ROAMING, &[".config", ".local/share", ".local/state"][..]), (LOCAL, &[".cache"][..])]
    {
        let folder = home.join(folder).join("portcullis");
        std::fs::create_dir_all(&folder).expect("a home can be written");
        for name in names {
            let name = home.join(name);
            std::fs::create_dir_all(&name).expect("a home can be written");
            let link = name.join("portcullis");
            std::os::unix::fs::symlink(&folder, link).expect("a home can be written");
        }
    }
}

/// Converts a text of the Windows binary to the text that the binary of this system would write. `names` are folders,
/// each with its placeholder, such as `$FILES`.
pub fn as_here(text: &str, names: &[(&Path, &str)]) -> String {
    let mut text = text.to_owned();
    for (folder, short) in names {
        let slashes = path(folder);
        let back = slashes.replace('/', "\\");
        // Guests see a drive as a folder.
        let guest = format!("/{slashes}");
        for long in [back.replace('\\', "\\\\"), back, guest, slashes] {
            text = text.replace(&long, short);
        }
        text = with_slashes(&text, short);
    }
    for (of_windows, here) in [
        ("Roaming/portcullis/portcullis.toml", ".config/portcullis/portcullis.toml"),
        ("Roaming/portcullis/plugins", ".local/share/portcullis/plugins"),
        ("Roaming/portcullis/audit", ".local/state/portcullis/audit"),
        ("Local/portcullis", ".cache/portcullis"),
    ] {
        text = text.replace(&format!("$HOME/AppData/{of_windows}"), &format!("$HOME/{here}"));
    }
    text
}

/// Replaces backslashes by `/` in paths that begin with `name`.
fn with_slashes(text: &str, name: &str) -> String {
    let mut parts = text.split(name);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let ends = |c: char| c.is_whitespace() || "\"'`|,;<>()".contains(c);
        let (path, rest) = part.split_at(part.find(ends).unwrap_or(part.len()));
        out += &format!("{name}{}{rest}", path.replace("\\\\", "/").replace('\\', "/"));
    }
    out
}
