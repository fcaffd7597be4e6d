//! Workers that end without an answer, and the requests that end them.

use std::fs;
use std::path::Path;

use portcullis_confine::{Command, CommandError, Commands, WorkingDirectory};

/// A worker that ends at the request `crash`, and after the request `last`.
const PROGRAM: &str = "while read -r line; do
    case $line in
        crash) echo crashed >> crashes; exit 1 ;;
        last) echo answered; exit 0 ;;
        *) sleep 0.3; echo answered ;;
    esac
done";

/// Sends requests to the workers of one command, which write into this folder.
pub async fn check(folder: &Path) {
    let definition =
        serde_json::json!({"program": "/bin/sh", "args": ["-c", PROGRAM], "workers": 4});
    let definition = serde_json::from_value(definition).expect("a definition");
    let commands = Commands::new([Command::new("tool", definition, &[]).expect("a command")]);
    let command = commands.get("tool").expect("it is the one");
    let handle = fs::File::open(folder).expect("a folder");
    let place = WorkingDirectory { path: folder.to_owned(), handle, writable: true };
    let ask = |message: &'static str| commands.request(&command, Some(&place), message);
    // Four workers answer at the same time, and are idle afterwards.
    let (a, b, c, d) = tokio::join!(ask("a"), ask("b"), ask("c"), ask("d"));
    for answer in [a, b, c, d] {
        assert_eq!(answer.expect("it answers"), "answered");
    }
    let crashed = ask("crash").await;
    assert!(matches!(crashed, Err(CommandError::Ended(_))), "{crashed:?}");
    let crashes = fs::read_to_string(folder.join("crashes")).expect("it has crashed");
    assert!(crashes.lines().count() <= 2, "one request ended several idle workers: {crashes}");
    // The end of an idle worker does not make a request fail.
    for message in ["last", "last", "last", "last", "last", "e"] {
        assert_eq!(ask(message).await.expect("another worker answers"), "answered");
    }
}
