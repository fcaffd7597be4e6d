//! Runs a program in JavaScript or TypeScript that calls tools.
//!
//! The program is the body of an asynchronous function: it may `await` and `return`. [`types`] removes the types of
//! TypeScript, and [`engine`] runs the JavaScript that remains. Only `engine` depends on the JavaScript engine, Boa.

pub mod engine;
mod names;
pub mod types;

use std::fmt;

/// The functions outside the engine that a program can call.
pub trait HostFunctions {
    /// The names of the tools, each with its source. The engine asks once for the tools that are ready, and once more
    /// if the program uses a name that is not among them: then this function waits for plugins that are being compiled.
    fn names(&mut self) -> Vec<(String, String)>;
    /// Starts a call of a tool and returns its number. The arguments are a JSON object.
    fn start(&mut self, tool: &str, arguments: &str) -> u32;
    /// Waits until a call has ended. `None`: no call is under way.
    fn next(&mut self) -> Option<FinishedCall>;
    /// Takes a line that the program logs, at a level of MCP: `debug`, `info`, `warning` or `error`.
    fn log(&mut self, level: &str, line: &str);
    /// Searches the tools. Returns a JSON array of at most `limit` tools, the best first.
    fn search(&mut self, query: &str, limit: usize) -> String;
    /// The declarations of these tools, in TypeScript.
    fn describe(&mut self, names: &[String]) -> String;
}

/// A call that has ended.
#[derive(Debug, Clone, PartialEq)]
pub struct FinishedCall {
    /// The number of the call.
    pub call: u32,
    /// When the call ended, in milliseconds since 1970.
    pub milliseconds: u64,
    /// The value of the answer as JSON, or the kind and the message of the failure.
    pub answer: Result<String, (String, String)>,
}

/// Time and seed of a run. A run that has to wait for the client's answer to a question is repeated from its beginning
/// with the same time and seed, so that the program makes the same calls.
#[derive(Debug, Clone, Copy)]
pub struct RunSeed {
    /// When the run began, in milliseconds since 1970.
    pub milliseconds: u64,
    /// The seed of the program's random numbers.
    pub seed: u64,
}

/// The reason why a program returned no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ProgramError {
    /// The name of the error's class, such as `TypeError`. Empty: the program threw a value that is not an error.
    pub name: String,
    /// The message.
    pub message: String,
    /// Line and column in the program, from 1, if they are known.
    pub place: Option<(u32, u32)>,
}

impl fmt::Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, message, place } = self;
        match name.as_str() {
            "" => write!(f, "the program threw {message}")?,
            name => write!(f, "{name}: {message}")?,
        }
        match place {
            Some((line, column)) => write!(f, " (line {line}, column {column})"),
            None => Ok(()),
        }
    }
}

/// Removes the Markdown code fence that models often write around a program. Without a fence, returns the
/// text as it is.
pub fn without_fences(text: &str) -> &str {
    let trimmed = text.trim();
    let Some(inside) = trimmed.strip_prefix("```") else { return text };
    let Some(inside) = inside.strip_suffix("```") else { return text };
    match inside.split_once('\n') {
        Some((language, program)) if language.trim().chars().all(char::is_alphanumeric) => program,
        Some(_) | None => text,
    }
}

/// Runs a program. Returns the value as JSON.
///
/// # Errors
///
/// See [`types::removed`] and [`engine::run`].
pub fn run(
    program: &str,
    beginning: RunSeed,
    surroundings: impl HostFunctions + 'static,
) -> Result<String, ProgramError> {
    let program = types::removed(without_fences(program))?;
    engine::run(&program, beginning, surroundings)
}

#[cfg(test)]
mod tests;
