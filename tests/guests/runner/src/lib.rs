//! A test plugin that runs commands, also without a grant and in forbidden directories.

use portcullis_plugin::prelude::*;

/// Runs a command to its end.
#[arguments]
struct Run {
    /// Where.
    #[path(directory, read)]
    #[path(directory, write, when = "write")]
    directory: String,
    /// Whether the command may write there.
    #[serde(default)]
    #[expect(dead_code, reason = "the host looks at it")]
    write: bool,
    /// What is added to the directory's path.
    #[serde(default)]
    beneath: String,
    command: String,
    #[serde(default)]
    arguments: Vec<String>,
    #[serde(default)]
    input: String,
}

impl Tool for Run {
    const NAME: &'static str = "run";
    type Output = String;

    fn call(self, _request: &Request) -> Result<String, Failure> {
        let mut command = process::command(&self.command)
            .directory(self.directory + &self.beneath)
            .input(self.input);
        for argument in self.arguments {
            command = command.argument(argument);
        }
        let output = command.run(|_| true)?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        Ok(format!("{:?}\n{}\n{}", output.status, output.text().trim_end(), said.trim_end()))
    }
}

/// Has a worker answer one message.
#[arguments]
struct Ask {
    /// Where.
    #[path(directory, read)]
    directory: String,
    command: String,
    message: String,
}

impl Tool for Ask {
    const NAME: &'static str = "ask";
    type Output = String;

    fn call(self, _request: &Request) -> Result<String, Failure> {
        let command = process::command(&self.command).directory(self.directory);
        let answer: serde_json::Value = command.request(&self.message)?;
        Ok(answer.to_string())
    }
}

plugin! {
    name: "runner",
    tools: [Run, Ask],
    wants: [
        Want::process("shell", "to run what the test says"),
        Want::process("count", "to see whether a worker stays"),
        Want::process("missing", "to see what is said of a program that is not there"),
        Want::process("slow", "to be ended"),
    ],
}
