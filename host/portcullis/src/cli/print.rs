//! Prints to stdout: the host's own text, untrusted text, and JSON.

use std::io::{IsTerminal, Write};

use serde_json::Value;

use super::CommandEnd;

/// What commands say after they changed the configuration or the plugins.
pub const APPLIED: &str = "a running `portcullis serve` applies the change within seconds";

/// Prints the host's own text. Colours are removed if stdout is not a terminal. Untrusted text in it must have been
/// sanitised by [`visible`](portcullis_sanitize::visible).
pub fn print(text: &str) -> anyhow::Result<CommandEnd> {
    end_after(|| {
        let mut out = anstream::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    })
}

/// Prints untrusted text: sanitised to a terminal, unchanged to a file or another program.
pub fn untrusted(text: &str) -> anyhow::Result<CommandEnd> {
    if std::io::stdout().is_terminal() {
        return print_raw(&portcullis_sanitize::visible(text));
    }
    print_raw(text)
}

/// Prints a value as JSON. To a terminal, control characters are JSON escapes.
pub fn json(value: &Value) -> anyhow::Result<CommandEnd> {
    json_text(&format!("{value:#}"))
}

/// Prints text that is JSON, and a line end, as [`json`] does.
pub fn json_text(text: &str) -> anyhow::Result<CommandEnd> {
    if std::io::stdout().is_terminal() {
        return print_raw(&format!("{}\n", portcullis_sanitize::visible_json(text)));
    }
    print_raw(&format!("{text}\n"))
}

fn print_raw(text: &str) -> anyhow::Result<CommandEnd> {
    end_after(|| {
        let mut out = std::io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    })
}

/// Like [`print()`], for a command that continues. Returns false if the pipe is closed: then nothing reads further
/// output.
///
/// # Errors
///
/// Stdout cannot be written.
pub fn print_while_read(text: &str) -> anyhow::Result<bool> {
    let mut out = anstream::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(anyhow::Error::new(error).context("writing to stdout")),
    }
}

/// Calls `write` to print, and returns the end of the command. A closed pipe is not an error: the reader of the pipe
/// has read enough.
fn end_after(write: impl FnOnce() -> std::io::Result<()>) -> anyhow::Result<CommandEnd> {
    match write() {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(anyhow::Error::new(error).context("writing to stdout"))
        }
        _ => Ok(CommandEnd::Done),
    }
}
