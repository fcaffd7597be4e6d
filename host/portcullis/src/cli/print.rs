//! Output on stdout: the host's own text, untrusted text, and data.

use std::io::{IsTerminal, Write};

use serde_json::Value;

use super::End;

/// Writes the host's own text. Its colours are for terminals. What is quoted in it from outside has to be
/// [`visible`](portcullis_sanitize::visible) already.
pub fn print(text: &str) -> Result<End, String> {
    ended(|| {
        let mut out = anstream::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    })
}

/// Writes text from outside: to a terminal with everything written out that could act there; to a file or
/// another program byte for byte.
pub fn outside(text: &str) -> Result<End, String> {
    if std::io::stdout().is_terminal() {
        return raw(&portcullis_sanitize::visible(text));
    }
    raw(text)
}

/// Writes a value as JSON. To a terminal, everything that could act there is an escape of JSON.
pub fn json(value: &Value) -> Result<End, String> {
    json_text(&format!("{value:#}"))
}

/// Writes a line of JSON, as [`json`] does.
pub fn json_text(text: &str) -> Result<End, String> {
    if std::io::stdout().is_terminal() {
        return raw(&format!("{}\n", portcullis_sanitize::visible_json(text)));
    }
    raw(&format!("{text}\n"))
}

fn raw(text: &str) -> Result<End, String> {
    ended(|| {
        let mut out = std::io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    })
}

/// A reader that has gone away has read enough.
fn ended(written: impl FnOnce() -> std::io::Result<()>) -> Result<End, String> {
    match written() {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(format!("writing the answer: {error}"))
        }
        _ => Ok(End::Done),
    }
}
