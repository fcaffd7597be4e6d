//! Sends a message to a worker, confined as its definition says, and prints the answer:
//! `cargo run -p portcullis-confine --example ask -- COMMAND.toml DIRECTORY read|write MESSAGE [NAME=SCRIPT]`.

use std::{error::Error, fs, path::PathBuf, process::ExitCode};

use portcullis_confine::{Command, Commands, SUBCOMMAND, WorkingDirectory};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|first| first == SUBCOMMAND) {
        eprintln!("{}", portcullis_sanitize::error_chain(&portcullis_confine::main()));
        return ExitCode::from(127);
    }
    match ask().await {
        Ok(answer) => {
            println!("{answer}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

async fn ask() -> Result<String, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [definition, directory, access, message, scripts @ ..] = &arguments[..] else {
        return Err("COMMAND.toml DIRECTORY read|write MESSAGE [NAME=SCRIPT]".into());
    };
    let read = |path: &str| fs::read_to_string(path).map_err(|error| format!("{path}: {error}"));
    let scripts = scripts.iter().filter_map(|script| script.split_once('='));
    let scripts: Result<Vec<_>, Box<dyn Error>> =
        scripts.map(|(name, path)| Ok((name, read(path)?))).collect();
    let scripts = scripts?;
    let scripts: Vec<(&str, &str)> =
        scripts.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let definition = toml::from_str(&read(definition)?)?;
    let commands = Commands::new([Command::new("example", definition, &scripts)?]);
    let command = commands.get("example").expect("it is the only command");
    let path = PathBuf::from(directory);
    let handle = fs::File::open(&path).map_err(|error| format!("{directory}: {error}"))?;
    let directory = WorkingDirectory { path, handle, writable: access == "write" };
    Ok(commands.request(&command, Some(&directory), message).await?)
}
