//! Tests which files a program in `PATH` may read: in layouts of real installers, with secrets planted beside them.
//!
//! Each layout is a home directory of its own. The host is another process of this test, with this home directory and
//! this `PATH`. The host starts the program and prints the files that the confined program could read.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use portcullis_confine::{Command, Commands};

/// A script that prints those files of its arguments that it can read.
const PROGRAM: &str = "#!/bin/sh\nfor file in \"$@\"; do [ -f \"$file\" ] && cat \"$file\" >/dev/null \
                       2>&1 && echo \"$file\"; done; exit 0\n";

/// The layout of an installer, and the files that its program may read.
struct Layout {
    name: &'static str,
    /// The folder in `PATH`.
    path: &'static str,
    /// The target, if the file `tool` in this folder is a link.
    links_to: Option<&'static str>,
    /// Files beside the program that the program must be able to read.
    open: &'static [&'static str],
    /// Files that the program must not be able to read.
    closed: &'static [&'static str],
}

/// Files in every home directory that no program may read.
const SECRETS: &[&str] = &[
    ".npmrc",
    ".ssh/id_ed25519",
    ".cargo/credentials.toml",
    ".config/gh/hosts.yml",
    ".local/share/keyrings/login.keyring",
    ".local/state/token",
    "notes.txt",
];

const LAYOUTS: &[Layout] = &[
    Layout { name: "~/bin", path: "bin", links_to: None, open: &[], closed: &["bin/other"] },
    Layout {
        name: "~/.local/bin of one file",
        path: ".local/bin",
        links_to: None,
        open: &[],
        closed: &[".local/bin/other", ".local/lib/other"],
    },
    Layout {
        name: "npm config set prefix ~/.local",
        path: ".local/bin",
        links_to: Some(".local/lib/node_modules/tool/bin/tool.js"),
        open: &[
            ".local/lib/node_modules/tool/package.json",
            ".local/lib/node_modules/dep/index.js",
        ],
        closed: &[".local/lib/other"],
    },
    Layout {
        name: "npm config set prefix ~/.npm-global",
        path: ".npm-global/bin",
        links_to: Some(".npm-global/lib/node_modules/tool/bin/tool.js"),
        open: &[".npm-global/lib/node_modules/dep/index.js"],
        closed: &[".npm-global/etc/npmrc"],
    },
    Layout {
        name: "nvm",
        path: ".nvm/versions/node/v20.1.0/bin",
        links_to: Some(".nvm/versions/node/v20.1.0/lib/node_modules/tool/bin/tool.js"),
        open: &[".nvm/versions/node/v20.1.0/lib/node_modules/npm/index.js"],
        closed: &[".nvm/versions/node/v20.1.0/etc/npmrc", ".nvm/alias/default"],
    },
    Layout {
        name: "fnm",
        path: ".local/share/fnm/node-versions/v20.1.0/installation/bin",
        links_to: None,
        open: &[".local/share/fnm/node-versions/v20.1.0/installation/lib/node_modules/npm/x.js"],
        closed: &[".local/share/fnm/other"],
    },
    Layout {
        name: "Volta",
        path: ".volta/bin",
        links_to: None,
        open: &[".volta/tools/image/node/20.1.0/bin/node"],
        closed: &[".volta/other"],
    },
    Layout {
        name: "asdf",
        path: ".asdf/shims",
        links_to: None,
        open: &[".asdf/installs/nodejs/20.1.0/bin/node", ".asdf/lib/utils.sh"],
        closed: &[".asdf/other"],
    },
    Layout {
        name: "cargo install",
        path: ".cargo/bin",
        links_to: None,
        open: &[],
        closed: &[".cargo/registry/index", ".cargo/bin/other"],
    },
    Layout {
        name: "pipx",
        path: ".local/bin",
        links_to: Some(".local/share/pipx/venvs/tool/bin/tool"),
        open: &[
            ".local/share/pipx/venvs/tool/pyvenv.cfg",
            ".local/share/pipx/venvs/tool/lib/site/tool.py",
        ],
        closed: &[".local/share/pipx/venvs/other/pyvenv.cfg"],
    },
    Layout {
        name: "node_modules in the home",
        path: "node_modules/.bin",
        links_to: Some("node_modules/tool/tool.js"),
        open: &["node_modules/dep/index.js"],
        closed: &["package.json"],
    },
    Layout {
        name: "a home that looks like an installation",
        path: "bin",
        links_to: None,
        open: &["lib/node_modules/npm/index.js"],
        closed: &["pyvenv.cfg", "package.json", "other"],
    },
];

/// The host of one layout: starts its program, confined, and returns the files that the program can read.
pub fn host(arguments: &[String]) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let definition = serde_json::json!({"program": "tool", "args": arguments});
        let definition = serde_json::from_value(definition).expect("a definition");
        let commands = Commands::new([Command::new("tool", definition, &[]).expect("a command")]);
        let command = commands.get("tool").expect("it is the one");
        let child = command.start(None, &[]).await.expect("it starts");
        let output = command.finish(child, &[]).await.expect("it ends");
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).lines().map(ToOwned::to_owned).collect()
    })
}

/// Builds each layout, and compares the files that its program can read with the expected ones.
pub fn check() {
    for layout in LAYOUTS {
        let folder = tempfile::tempdir().expect("a folder");
        let home = folder.path().canonicalize().expect("it was just made");
        let all = SECRETS.iter().chain(layout.open).chain(layout.closed);
        let all: Vec<_> = all.map(|name| home.join(name)).collect();
        for file in &all {
            write(file, "content");
        }
        let tool = home.join(layout.path).join("tool");
        match layout.links_to {
            None => write(&tool, PROGRAM),
            Some(real) => {
                write(&home.join(real), PROGRAM);
                write(&tool, "");
                fs::remove_file(&tool).expect("it was just made");
                symlink(home.join(real), &tool).expect("a link");
            }
        }
        let ran = std::process::Command::new(std::env::current_exe().expect("this program"))
            .arg("scope-host")
            .args(&all)
            .env("HOME", &home)
            .env("PATH", home.join(layout.path))
            .output()
            .expect("this program runs");
        assert!(ran.status.success(), "{}: {ran:?}", layout.name);
        let read = String::from_utf8_lossy(&ran.stdout).into_owned();
        let expected: Vec<_> = layout.open.iter().map(|name| home.join(name)).collect();
        let mut read: Vec<_> =
            read.lines().filter(|line| !line.is_empty()).map(Path::new).collect();
        read.sort();
        read.dedup();
        let mut expected: Vec<_> = expected.iter().map(|path| path.as_path()).collect();
        expected.sort();
        assert_eq!(read, expected, "{}", layout.name);
    }
}

fn write(file: &Path, text: &str) {
    fs::create_dir_all(file.parent().expect("it has a folder")).expect("a folder");
    fs::write(file, text).expect("a file");
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).expect("a mode");
}
