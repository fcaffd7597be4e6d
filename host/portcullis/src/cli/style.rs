//! Colours of the command line's text.

use anstyle::{AnsiColor, Style};

fn coloured(text: &str, colour: AnsiColor) -> String {
    let style = Style::new().fg_color(Some(colour.into()));
    format!("{style}{text}{style:#}")
}

/// Text about something wrong, in red. The escape sequences are removed where the output is not a terminal.
pub fn red(text: &str) -> String {
    coloured(text, AnsiColor::Red)
}

/// Text about something right, in green. The escape sequences are removed where the output is not a terminal.
pub fn green(text: &str) -> String {
    coloured(text, AnsiColor::Green)
}

/// Text of less weight, dimmed. The escape sequences are removed where the output is not a terminal.
pub fn faint(text: &str) -> String {
    let style = Style::new().dimmed();
    format!("{style}{text}{style:#}")
}
