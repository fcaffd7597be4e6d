//! Escapes values for the file they are written to: a quote in an author's name must not end a string.

use std::fmt::Write as _;

/// The syntax at a place of a file, which decides how a value is escaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// JSON: within a string.
    Json,
    /// JavaScript or TypeScript: within a string, with any quotes.
    Script,
    /// HTML or XML: within an attribute or between tags.
    Markup,
    /// YAML: within double quotes.
    Yaml,
    /// The value of a Java properties file.
    Properties,
    /// Markdown: running text.
    Markdown,
    /// Any other text: anywhere on a line.
    Text,
}

impl Syntax {
    /// All syntaxes.
    pub const ALL: [Self; 7] = [
        Self::Json,
        Self::Script,
        Self::Markup,
        Self::Yaml,
        Self::Properties,
        Self::Markdown,
        Self::Text,
    ];

    /// The syntax of a file, by its name.
    pub fn of(file: &str) -> Self {
        match file.rsplit_once('.').map_or("", |(_, extension)| extension) {
            "json" => Self::Json,
            "js" | "mjs" | "ts" => Self::Script,
            "html" | "xml" => Self::Markup,
            "yaml" => Self::Yaml,
            "properties" => Self::Properties,
            "md" => Self::Markdown,
            _ => Self::Text,
        }
    }

    /// The name in templates.
    pub fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Script => "script",
            Self::Markup => "markup",
            Self::Yaml => "yaml",
            Self::Properties => "properties",
            Self::Markdown => "markdown",
            Self::Text => "text",
        }
    }

    /// The syntax with that name in templates.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|syntax| syntax.name() == name)
    }

    /// The escaped value.
    pub fn escape(self, value: &str) -> String {
        match self {
            Self::Json | Self::Yaml => json(value),
            Self::Script => script(value),
            Self::Markup => markup(value),
            Self::Properties => properties(value),
            Self::Markdown => markdown(value),
            Self::Text => value.chars().map(printable).collect(),
        }
    }
}

/// Escapes a value for JSON and for YAML: a JSON string is a valid YAML string in double quotes.
fn json(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for c in value.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if is_hidden(c) => push_units(&mut out, c),
            c => out.push(c),
        }
    }
    out
}

fn script(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for c in value.chars() {
        match c {
            // The value may be in any kind of quotes, and the script may be in an HTML page.
            '"' | '\'' | '`' | '\\' | '$' | '<' | '>' | '&' => push_units(&mut out, c),
            c if is_hidden(c) => push_units(&mut out, c),
            c => out.push(c),
        }
    }
    out
}

fn markup(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for c in value.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' | '\r' => {
                write!(out, "&#{};", u32::from(c)).expect("a String takes any text");
            }
            // XML cannot represent most other control characters.
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

fn properties(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for c in value.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            // Readers skip white space at the start of a value.
            ' ' if out.is_empty() => out.push_str("\\ "),
            ' '..='~' => out.push(c),
            c => push_units(&mut out, c),
        }
    }
    out
}

fn markdown(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for c in value.chars().map(printable) {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' | '!' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}

/// The content of a Markdown code span that the template opens and closes with one backtick. If the text has
/// backticks itself, the result adds more backticks to the fence.
pub fn code_span(value: &str) -> String {
    let mut longest = 0;
    let mut run = 0;
    for c in value.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let text: String = value.chars().map(printable).collect();
    match longest {
        0 => text,
        // The template has written one backtick on each side already.
        _ => {
            let fence = "`".repeat(longest);
            format!("{fence} {text} {fence}")
        }
    }
}

fn printable(c: char) -> char {
    if is_hidden(c) { ' ' } else { c }
}

/// Invisible characters, line breaks, and characters that change the writing direction.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// Writes a character as `\uXXXX` escapes, one for each UTF-16 code unit.
fn push_units(out: &mut String, c: char) {
    for unit in c.encode_utf16(&mut [0; 2]) {
        write!(out, "\\u{unit:04x}").expect("a String takes any text");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NASTY: &str = "a\"b'c`d\\e${f}<g>&h\n\u{2028}i\u{202e}j ü 😀 [= k =]{{l}}*_|#";

    #[test]
    fn json_reads_back() {
        let read = |text: String| serde_json::from_str::<String>(&text).expect("it is JSON");
        assert_eq!(read(format!("\"{}\"", Syntax::Json.escape(NASTY))), NASTY);
        assert_eq!(read(format!("\"{}\"", Syntax::Yaml.escape(NASTY))), NASTY);
        // All escapes of this text are valid in JSON, too.
        assert_eq!(read(format!("\"{}\"", Syntax::Script.escape(NASTY))), NASTY);
    }

    #[test]
    fn escaped_scripts_cannot_end_a_string() {
        let escaped = Syntax::Script.escape(NASTY);
        assert!(!escaped.contains(['"', '\'', '`', '$', '<', '\n', '\u{2028}']), "{escaped}");
    }

    #[test]
    fn markup_reads_back() {
        let text = format!("<a b=\"{}\"/>", Syntax::Markup.escape(NASTY));
        let document = roxmltree::Document::parse(&text).expect("it is XML");
        assert_eq!(document.root_element().attribute("b"), Some(NASTY));
        assert_eq!(Syntax::Markup.escape("\0\u{1b}"), "\u{fffd}\u{fffd}");
    }

    #[test]
    fn properties_are_ascii_and_on_one_line() {
        assert_eq!(Syntax::Properties.escape(" ü=😀\n\\"), "\\ \\u00fc=\\ud83d\\ude00\\u000a\\\\");
    }

    #[test]
    fn markdown_stays_text() {
        assert_eq!(Syntax::Markdown.escape("[a](b)<c>\nd_e"), "\\[a\\](b)&lt;c> d\\_e");
        assert_eq!(code_span("a``b\n"), "`` a``b  ``");
        assert_eq!(code_span("/a/b"), "/a/b");
    }

    #[test]
    fn every_syntax_has_a_name() {
        for syntax in Syntax::ALL {
            assert_eq!(Syntax::named(syntax.name()), Some(syntax));
        }
        assert_eq!(Syntax::of("webapp/manifest.json"), Syntax::Json);
        assert_eq!(Syntax::of("LICENSE"), Syntax::Text);
    }
}
