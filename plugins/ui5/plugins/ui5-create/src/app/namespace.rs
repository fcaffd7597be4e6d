//! The namespace of an app, and the names derived from it.

/// A namespace such as `com.myorg.myapp`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Namespace(String);

/// Maximum length of an app's id in characters, by the manifest schema. File systems allow more.
const MAX_CHARACTERS: usize = 70;

impl Namespace {
    /// Parses a namespace. Fails with the reason.
    pub fn parse(text: &str) -> Result<Self, String> {
        let is_plain = |c: char| matches!(c, 'a'..='z' | '0'..='9' | '_' | '.');
        if !text.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
            || !text.chars().all(is_plain)
        {
            return Err(format!(
                "The namespace '{}' is not valid. Only lower-case letters, digits, underscores and dots \
                 are allowed, and the first character must be a letter or a digit.",
                text.escape_debug()
            ));
        }
        if text.len() > MAX_CHARACTERS {
            return Err(format!(
                "The namespace is too long: it has {} characters, and {MAX_CHARACTERS} is the limit. It becomes \
                 the id of the app, for which the schema of manifests allows no more, and the name of \
                 its directory.",
                text.len()
            ));
        }
        if text.split('.').any(str::is_empty) {
            return Err(format!(
                "The namespace '{text}' is not valid: between two dots, and after the last, there \
                 must be a name, as in com.myorg.myapp."
            ));
        }
        Ok(Self(text.to_owned()))
    }

    /// The namespace with dots.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The namespace with slashes, as in module names.
    pub fn path(&self) -> String {
        self.0.replace('.', "/")
    }

    /// The name for `ui5.yaml` and `package.json`, whose rules for names are stricter.
    pub fn project(&self) -> String {
        let is_start_valid = self.0.starts_with(|c: char| c.is_ascii_lowercase());
        let is_taken = matches!(self.0.as_str(), "node_modules" | "favicon.ico");
        if is_start_valid && self.0.len() >= 3 && !is_taken {
            self.0.clone()
        } else {
            format!("app-{}", self.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_derived_from_a_namespace() {
        let namespace = Namespace::parse("com.my_org.app1").expect("it is one");
        assert_eq!(namespace.path(), "com/my_org/app1");
        assert_eq!(namespace.project(), "com.my_org.app1");
        for (text, project) in
            [("1a", "app-1a"), ("ab", "app-ab"), ("favicon.ico", "app-favicon.ico")]
        {
            assert_eq!(Namespace::parse(text).expect(text).project(), project);
        }
        // The name of a UI5 project has at most 80 characters.
        let longest = Namespace::parse(&"1".repeat(MAX_CHARACTERS)).expect("it is not too long");
        assert_eq!(longest.project().len(), 74);
    }

    #[test]
    fn a_namespace_that_is_too_long_is_refused_with_the_limit() {
        let refused = Namespace::parse(&"a".repeat(300)).expect_err("it is too long");
        assert!(refused.contains("it has 300 characters, and 70 is the limit"), "{refused}");
    }

    #[test]
    fn invalid_namespaces_are_refused() {
        for text in
            ["", "Com.x", ".a", "_a", "a..b", "a.", "a/b", "a\n", "../a", "a-b", "[= id =]", "ä"]
        {
            Namespace::parse(text).expect_err(text);
        }
    }
}
