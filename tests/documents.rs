//! Tests of the documentation: examples are valid, every capability has a page, and generated pages
//! are up to date.

mod configuration;
mod links;

use std::fs;
use std::path::{Path, PathBuf};

use portcullis_core::capabilities::Capability;
use portcullis_core::config::Config;
use portcullis_engine::Limits;

use crate::support::home::Home;
use crate::support::workspace;

/// The folder of the capabilities. Each has its page in its own folder.
const CAPABILITIES: &str = "host/sandbox/src/capabilities";

/// Every document: the README, all that is in `docs`, and the pages of the capabilities.
fn documents() -> Vec<(PathBuf, String)> {
    let mut files = vec![workspace().join("README.md")];
    collect(&workspace().join("docs"), &mut files);
    collect(&workspace().join(CAPABILITIES), &mut files);
    let read = |file: PathBuf| {
        let text =
            fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        (file, text)
    };
    files.into_iter().map(read).collect()
}

fn collect(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("there are documents") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            into.push(path);
        }
    }
}

/// The blocks of code in this language, each with the number of its first line.
fn blocks(text: &str, language: &str) -> Vec<(usize, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (number, line) in text.lines().enumerate() {
        let fence = line.trim_start().strip_prefix("```");
        match (&mut open, fence) {
            (None, Some(found)) => open = Some((number + 2, format!("{}\n", found.trim()))),
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some((_, block)), None) => *block += &format!("{line}\n"),
            (None, None) => {}
        }
    }
    let of_language = |(number, block): (usize, String)| {
        let (found, code) = block.split_once('\n')?;
        (found == language).then(|| (number, code.to_owned()))
    };
    blocks.into_iter().filter_map(of_language).collect()
}

/// Replaces the variables and files that an example names by ones that exist on this machine.
fn with_secrets_at_hand(code: &str) -> String {
    // A file with one line, as the value of a header requires.
    let secret = workspace().join("tests/fuzz/corpus/roots/1").display().to_string();
    let replaced = replace_values(code, "env = \"", "PATH");
    replace_values(&replaced, "file = \"", &secret)
}

fn replace_values(text: &str, before: &str, value: &str) -> String {
    let mut parts = text.split(before);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.split_once('"').map_or("", |(_, rest)| rest);
        out += &format!("{before}{value}\"{rest}");
    }
    out
}

#[test]
fn every_toml_block_is_a_configuration() {
    let mut seen = 0;
    let mut faults = Vec::new();
    for (file, text) in documents() {
        for (line, code) in blocks(&text, "toml") {
            seen += 1;
            // If an example is not for `portcullis.toml`, its first line names the file.
            let parsed = if code.starts_with("# Cargo.toml") {
                toml::from_str::<toml::Table>(&code).map(drop).map_err(|error| error.to_string())
            } else {
                let parsed = Config::parse(&with_secrets_at_hand(&code)).map(drop);
                parsed.map_err(|error| error.to_string())
            };
            if let Err(error) = parsed {
                faults.push(format!("{}:{line}: {error}", file.display()));
            }
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
    assert!(seen > 0, "there are examples");
}

#[test]
fn the_first_command_of_the_readme_works() {
    let readme = fs::read_to_string(workspace().join("README.md")).expect("there is a README");
    let (_, commands) = blocks(&readme, "sh").into_iter().next().expect("it has commands");
    let first = commands.lines().next().expect("it has a first command");
    let typed = first.strip_prefix("cargo run --release -- ").expect("cargo runs the binary");
    let home = Home::new();
    // Runs the command like `cargo run`, with the binary under test.
    let mut shell = home.command(&[]);
    let script = format!("exec {} {typed}", shell.get_program().display());
    shell = std::process::Command::new("sh");
    shell.args(["-c", &script]).env_clear().env("HOME", home.path()).current_dir(workspace());
    let ran = shell.output().expect("there is a shell");
    let (stdout, stderr) =
        (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert_eq!(ran.status.code(), Some(0), "{stdout}{stderr}");
    let (_, shown) = blocks(&readme, "json").into_iter().next().expect("its answer follows");
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("it is JSON");
    assert_eq!(json(&stdout), json(&shown));
}

#[test]
fn every_json_block_is_json() {
    let mut faults = Vec::new();
    for (file, text) in documents() {
        for (line, code) in blocks(&text, "json") {
            let is_json = |code: &str| serde_json::from_str::<serde_json::Value>(code).is_ok();
            // Lines of JSON are valid, too, as in the audit.
            if !is_json(&code) && !code.lines().all(is_json) {
                faults.push(format!("{}:{line}: this is no JSON", file.display()));
            }
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// The text of every Rust source in these folders.
fn sources(folders: &[&str]) -> String {
    fn collect(folder: &Path, text: &mut String) {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().unwrap_or_default();
            if path.is_dir() && name != "node_modules" && name != "target" {
                collect(&path, text);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                *text += &fs::read_to_string(&path).expect("a source is text");
            }
        }
    }
    let mut text = String::new();
    for folder in folders {
        collect(&workspace().join(folder), &mut text);
    }
    text
}

#[test]
fn every_test_that_the_security_page_names_exists() {
    let page = workspace().join("docs/security.md");
    let page = fs::read_to_string(page).expect("there is a page");
    let sources = sources(&["host", "plugins", "tests"]);
    let is_there = |name: &str| {
        let paths = [name.to_owned(), format!("tests/{name}"), format!("tests/cases/{name}")];
        paths.iter().any(|path| workspace().join(path).exists())
            || sources.contains(&format!("fn {name}("))
    };
    let (mut rows, mut faults) = (0, Vec::new());
    let table = page.split("| attack | what stops it | shown by |").skip(1);
    for row in
        table.flat_map(|table| table.lines().skip(2).take_while(|line| line.starts_with('|')))
    {
        let shown_by = row.trim_end_matches(['|', ' ']).rsplit('|').next().expect("it has cells");
        let names: Vec<_> = shown_by.split('`').skip(1).step_by(2).collect();
        if names.is_empty() {
            faults.push(format!("nothing shows: {row}"));
        }
        faults.extend(names.iter().filter(|name| !is_there(name)).map(|name| format!("no {name}")));
        rows += 1;
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
    assert!(rows > 50, "there are {rows} attacks");
}

#[test]
fn every_capability_has_a_page() {
    let names = Capability::ALL.iter().map(ToString::to_string).chain(["settings".to_owned()]);
    for name in names {
        let page = workspace().join(CAPABILITIES).join(name).join("README.md");
        assert!(page.is_file(), "{} is missing", page.display());
    }
}

/// Compares a generated page, or writes it if `UPDATE` is set.
fn check_page(name: &str, text: &str) {
    let page = workspace().join("docs/reference").join(name);
    if std::env::var_os("UPDATE").is_some() {
        fs::create_dir_all(page.parent().expect("it has a folder")).expect("docs can be written");
        fs::write(&page, text).expect("docs can be written");
    }
    let found = fs::read_to_string(&page).unwrap_or_default();
    assert!(
        found == text,
        "{} is not what the binary says now; to write it anew:\n\n    UPDATE=1 cargo test -p \
         portcullis --test blackbox documents\n",
        page.display()
    );
}

const GENERATED: &str =
    "<!-- Generated by tests/documents.rs from the source: do not edit. -->\n\n";

#[test]
fn the_page_of_commands_is_current() {
    let mut command = portcullis::cli::reference().term_width(100);
    command.build();
    let mut text = format!("{GENERATED}# Commands\n");
    describe(&mut command, "portcullis", &mut text);
    check_page("commands.md", &text);
}

fn describe(command: &mut clap::Command, name: &str, text: &mut String) {
    let help = command.clone().term_width(100).render_long_help().to_string();
    let help: Vec<_> = help.lines().map(str::trim_end).collect();
    *text += &format!("\n## `{name}`\n\n```text\n{}\n```\n", help.join("\n").trim_end());
    for sub in command.get_subcommands_mut() {
        if sub.is_hide_set() || sub.get_name() == "help" {
            continue;
        }
        let name = format!("{name} {}", sub.get_name());
        describe(sub, &name, text);
    }
}

#[test]
fn the_page_of_limits_is_current() {
    let mut text = format!(
        "{GENERATED}# Limits\n\nWhat one call may use up. Each can be set for all plugins, under \
         `[limits]`, and for one, under\n`[plugins.NAME.limits]`; \"no limit\" cannot be said.\n\n\
         | limit | default | why |\n|---|---|---|\n"
    );
    for (name, value, unit, why) in Limits::default().lines() {
        text += &format!("| `{name}` | {} {unit} | {why} |\n", grouped(value));
    }
    check_page("limits.md", &text);
}

/// A number with separators, as in TOML: 1_000_000.
fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push('_');
        }
        text.push(digit);
    }
    text
}

#[test]
fn the_page_of_the_default_configuration_is_current() {
    let text = format!(
        "{GENERATED}# The default configuration\n\nWhat counts where there is no \
         `portcullis.toml`; `portcullis config show` prints it.\n\n```text\n{}```\n",
        portcullis_core::config::DEFAULT
    );
    check_page("default-configuration.md", &text);
}
