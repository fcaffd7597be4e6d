//! Translates JavaScript regular expressions for the `jsonschema` crate.

/// Translates the patterns of one excerpt.
#[derive(Default)]
pub struct Patterns {
    /// Whether a pattern has look-around or a backreference, which needs a backtracking engine.
    pub look_around: bool,
}

impl Patterns {
    /// Translates one pattern, and sets [`Patterns::look_around`] if the pattern needs it.
    pub fn adapt(&mut self, pattern: &str) -> String {
        let adapted = adapt(pattern);
        self.look_around |= needs_backtracking(&adapted);
        adapted
    }
}

/// Translates constructs that differ between JavaScript and the regular expressions of the `jsonschema` crate,
/// except those that the crate translates itself.
pub fn adapt(pattern: &str) -> String {
    let mut adapted = String::with_capacity(pattern.len());
    let mut rest = without_idle_look_ahead(pattern);
    let mut in_class = false;
    while let Some(character) = rest.chars().next() {
        let length = match character {
            '\\' => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            other => other.len_utf8(),
        };
        match character {
            '[' => in_class = true,
            ']' => in_class = false,
            _ => {}
        }
        match character {
            // JavaScript has more line terminators.
            '.' if !in_class => adapted.push_str(r"[^\n\r\u{2028}\u{2029}]"),
            _ => adapted.push_str(&rest[..length]),
        }
        rest = rest[length..].to_owned();
    }
    adapted
}

/// Drops `(?!\.)` before `\/`. The look-ahead has no effect there, since a slash is not a dot. Without the
/// look-ahead, the only such pattern of the manifest schemas needs no backtracking engine.
fn without_idle_look_ahead(pattern: &str) -> String {
    pattern.replace(r"(?!\.)\/", r"\/")
}

fn needs_backtracking(pattern: &str) -> bool {
    let mut characters = pattern.chars().peekable();
    while let Some(character) = characters.next() {
        if character == '\\' {
            if matches!(characters.next(), Some('1'..='9' | 'k')) {
                return true;
            }
        } else if character == '(' && characters.peek() == Some(&'?') {
            characters.next();
            let has_angle_bracket = characters.peek() == Some(&'<');
            if has_angle_bracket {
                characters.next();
            }
            if matches!(characters.peek(), Some('=' | '!')) {
                return true;
            }
        }
    }
    false
}
