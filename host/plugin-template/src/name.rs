//! Checks the names of projects.

use crate::Language;

/// Maximum length of a name in characters, which is also that of a plugin's name.
const MAX_CHARS: usize = 64;

/// Names of devices, which cannot be names of files on Windows.
const DEVICES: &[&str] = &["aux", "con", "nul", "prn"];

/// The name of a project: that of its folder, of its package, and of the plugin. A plugin of the language `rust` has
/// `_` in place of `-`, as Cargo names its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectName(String);

/// Why a text cannot be the name of a project.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The text has characters that a name cannot have.
    #[error(
        "`{name}` cannot be the name of a project: a name has lowercase letters, digits, `-` and `_`, and begins with a \
         letter\n  hint: write {}", .suggestion.as_deref().map_or("another name".to_owned(), |name| format!("`{name}`"))
    )]
    Characters {
        /// The text.
        name: String,
        /// A similar name.
        suggestion: Option<String>,
    },
    /// The text is too long.
    #[error("the name has more than {MAX_CHARS} characters\n  hint: write a shorter name")]
    TooLong,
    /// Windows has a device of this name.
    #[error("`{0}` cannot be a file on Windows\n  hint: write another name")]
    Device(String),
    /// The language or its tools use the name.
    #[error(
        "`{name}` is a reserved name of {language}\n  hint: write another name, such as `{name}-tools`"
    )]
    Reserved {
        /// The text.
        name: String,
        /// The word for the language.
        language: &'static str,
    },
}

impl ProjectName {
    /// Checks a name for a project in a language.
    ///
    /// # Errors
    ///
    /// The text cannot be such a name.
    pub fn new(text: &str, language: &Language) -> Result<Self, NameError> {
        if !is_name(text) {
            let name = text.to_owned();
            let suggestion = Some(similar(text)).filter(|name| is_name(name));
            return Err(NameError::Characters { name, suggestion });
        }
        if text.len() > MAX_CHARS {
            return Err(NameError::TooLong);
        }
        let port = text.strip_prefix("com").or(text.strip_prefix("lpt"));
        let is_port = port.is_some_and(|port| {
            port.len() == 1 && port != "0" && port.as_bytes()[0].is_ascii_digit()
        });
        if is_port || DEVICES.contains(&text) {
            return Err(NameError::Device(text.to_owned()));
        }
        if language.reserved.contains(&text) {
            return Err(NameError::Reserved { name: text.to_owned(), language: language.id });
        }
        Ok(Self(text.to_owned()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name with `_` in place of `-`.
    pub fn snake(&self) -> String {
        self.0.replace('-', "_")
    }
}

/// Whether a text has the characters of a name: words of lowercase letters and digits, with `-` or `_` between them.
fn is_name(text: &str) -> bool {
    let is_word = |word: &str| {
        !word.is_empty()
            && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    text.starts_with(|first: char| first.is_ascii_lowercase())
        && text.split(['-', '_']).all(is_word)
}

/// A name that is similar to the text. The result may still have a form that is not allowed.
fn similar(text: &str) -> String {
    let mut name = String::new();
    for (index, letter) in text.chars().enumerate() {
        if letter.is_ascii_alphanumeric() {
            let begins_word = letter.is_ascii_uppercase()
                && text
                    .chars()
                    .nth(index.wrapping_sub(1))
                    .is_some_and(|before| before.is_ascii_lowercase());
            if begins_word {
                name.push('-');
            }
            name.push(letter.to_ascii_lowercase());
        } else if !name.ends_with('-') {
            name.push('-');
        }
    }
    name.trim_matches('-').chars().take(MAX_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked_for_every_language() {
        let check = |text: &str, id: &str| ProjectName::new(text, Language::named(id).unwrap());
        for good in ["a", "word-count", "word_count", "utf8", "a-2"] {
            assert!(check(good, "rust").is_ok(), "{good}");
        }
        for (bad, suggestion) in [
            ("", None),
            ("Word Count", Some("word-count")),
            ("wordCount", Some("word-count")),
            ("../up", Some("up")),
            ("a--b", Some("a-b")),
            ("a-", Some("a")),
            ("1a", None),
            ("a.b/c", Some("a-b-c")),
            ("été", Some("t")),
        ] {
            let expected = NameError::Characters {
                name: bad.to_owned(),
                suggestion: suggestion.map(str::to_owned),
            };
            assert_eq!(check(bad, "js"), Err(expected), "{bad}");
        }
        assert_eq!(check(&"a".repeat(65), "js"), Err(NameError::TooLong));
        assert!(check(&"a".repeat(64), "js").is_ok());
        for device in ["con", "com1", "lpt9"] {
            assert!(matches!(check(device, "js"), Err(NameError::Device(_))), "{device}");
        }
        assert!(check("com0", "js").is_ok() && check("comx", "js").is_ok());
        for (name, id) in [
            ("fn", "rust"),
            ("sdk", "rust"),
            ("fs", "js"),
            ("node_modules", "ts"),
            ("lambda", "python"),
            ("wit_world", "python"),
            ("package", "go"),
        ] {
            assert!(matches!(check(name, id), Err(NameError::Reserved { .. })), "{name}");
        }
    }
}
