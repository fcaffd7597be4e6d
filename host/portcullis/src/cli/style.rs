//! Colours of the command line's text.

use anstyle::{AnsiColor, Style};

fn coloured(text: &str, colour: AnsiColor) -> String {
    let style = Style::new().fg_color(Some(colour.into()));
    format!("{style}{text}{style:#}")
}

/// Text about a problem, in red. The escape sequences are removed where the output is not a terminal.
pub fn red(text: &str) -> String {
    coloured(text, AnsiColor::Red)
}

/// Text about a success, or a name, in green. The escape sequences are removed where the output is not a terminal.
pub fn green(text: &str) -> String {
    coloured(text, AnsiColor::Green)
}

/// Less important text, dimmed. The escape sequences are removed where the output is not a terminal.
pub fn faint(text: &str) -> String {
    let style = Style::new().dimmed();
    format!("{style}{text}{style:#}")
}
