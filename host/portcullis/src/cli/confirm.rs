//! Asks the user on the terminal before something is changed.

use std::io::{BufRead, IsTerminal, Write};

use anyhow::{Context as _, bail};

/// How a command that changes something gets the user's consent.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct Consent {
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

impl Consent {
    /// Asks a question that is answered with yes or no. With `--yes`, returns `true` without asking.
    ///
    /// # Errors
    ///
    /// `--yes` was not given, and there is no terminal to ask on, or the terminal cannot be read or written.
    pub fn ask(self, question: &str) -> anyhow::Result<bool> {
        if self.yes {
            return Ok(true);
        }
        let input = std::io::stdin();
        if !input.is_terminal() {
            bail!(
                "{question}\nthere is no terminal to ask on: nothing was changed\n  hint: if you agree, add `--yes`"
            );
        }
        let mut error = std::io::stderr().lock();
        write!(error, "{question} [y/N] ").and_then(|()| error.flush()).context("asking")?;
        let mut answer = String::new();
        input.lock().read_line(&mut answer).context("reading the answer")?;
        Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
    }
}
