//! The name of a field in JSON, as defined by serde's attributes.

use syn::{Attribute, LitStr, Token, meta::ParseNestedMeta, parenthesized, token};

/// The parts of an item's `#[serde(..)]` attributes that the macros need.
#[derive(Default)]
pub struct SerdeAttributes {
    /// `rename = ".."`, or the `deserialize` half of it.
    pub rename: Option<LitStr>,
    /// `rename_all = ".."`, or the `deserialize` half of it.
    pub rename_all: Option<LitStr>,
    /// The names of all other attributes, such as `flatten` and `default`, without their values.
    pub words: Vec<String>,
}

impl SerdeAttributes {
    /// Reads all `#[serde(..)]` attributes in `attributes`.
    pub fn of(attributes: &[Attribute]) -> syn::Result<Self> {
        let mut found = Self::default();
        for attribute in attributes.iter().filter(|a| a.path().is_ident("serde")) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("rename") {
                    found.rename = deserialize_name(&meta)?.or(found.rename.take());
                } else if meta.path.is_ident("rename_all") {
                    found.rename_all = deserialize_name(&meta)?.or(found.rename_all.take());
                } else {
                    if let Some(word) = meta.path.get_ident() {
                        found.words.push(word.to_string());
                    }
                    skip_value(&meta)?;
                }
                Ok(())
            })?;
        }
        Ok(found)
    }

    /// Whether the `#[serde(..)]` attributes contain `word`.
    pub fn has(&self, word: &str) -> bool {
        self.words.iter().any(|found| found == word)
    }
}

/// `rename = "x"` or `rename(deserialize = "x", serialize = "y")`.
fn deserialize_name(meta: &ParseNestedMeta) -> syn::Result<Option<LitStr>> {
    if meta.input.peek(Token![=]) {
        return Ok(Some(meta.value()?.parse()?));
    }
    let mut name = None;
    meta.parse_nested_meta(|half| {
        let value: LitStr = half.value()?.parse()?;
        if half.path.is_ident("deserialize") {
            name = Some(value);
        }
        Ok(())
    })?;
    Ok(name)
}

fn skip_value(meta: &ParseNestedMeta) -> syn::Result<()> {
    if meta.input.peek(Token![=]) {
        meta.value()?.parse::<syn::Expr>()?;
    } else if meta.input.peek(token::Paren) {
        let inside;
        parenthesized!(inside in meta.input);
        inside.parse::<proc_macro2::TokenStream>()?;
    }
    Ok(())
}

/// A naming convention for fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    Lower,
    Upper,
    Pascal,
    Camel,
    Snake,
    ScreamingSnake,
    Kebab,
    ScreamingKebab,
}

impl Case {
    /// Parses a value of serde's `rename_all`.
    pub fn parse(name: &LitStr) -> syn::Result<Self> {
        Ok(match name.value().as_str() {
            "lowercase" => Self::Lower,
            "UPPERCASE" => Self::Upper,
            "PascalCase" => Self::Pascal,
            "camelCase" => Self::Camel,
            "snake_case" => Self::Snake,
            "SCREAMING_SNAKE_CASE" => Self::ScreamingSnake,
            "kebab-case" => Self::Kebab,
            "SCREAMING-KEBAB-CASE" => Self::ScreamingKebab,
            other => {
                return Err(syn::Error::new(
                    name.span(),
                    format!("serde has no naming style `{other}`"),
                ));
            }
        })
    }

    /// Renames a field as serde does.
    pub fn apply(self, field: &str) -> String {
        match self {
            Self::Lower | Self::Snake => field.to_owned(),
            Self::Upper | Self::ScreamingSnake => field.to_ascii_uppercase(),
            Self::Pascal => pascal(field),
            Self::Camel => {
                let pascal = pascal(field);
                let mut characters = pascal.chars();
                characters.next().map_or_else(String::new, |first| {
                    first.to_ascii_lowercase().to_string() + characters.as_str()
                })
            }
            Self::Kebab => field.replace('_', "-"),
            Self::ScreamingKebab => field.to_ascii_uppercase().replace('_', "-"),
        }
    }
}

fn pascal(field: &str) -> String {
    let mut name = String::new();
    let mut capital = true;
    for character in field.chars() {
        if character == '_' {
            capital = true;
        } else if capital {
            name.push(character.to_ascii_uppercase());
            capital = false;
        } else {
            name.push(character);
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::parse_quote;

    #[test]
    fn cases_are_those_of_serde() {
        let table = [
            ("camelCase", "projectDir"),
            ("PascalCase", "ProjectDir"),
            ("snake_case", "project_dir"),
            ("lowercase", "project_dir"),
            ("UPPERCASE", "PROJECT_DIR"),
            ("SCREAMING_SNAKE_CASE", "PROJECT_DIR"),
            ("kebab-case", "project-dir"),
            ("SCREAMING-KEBAB-CASE", "PROJECT-DIR"),
        ];
        for (name, expected) in table {
            let name = LitStr::new(name, proc_macro2::Span::call_site());
            let case = Case::parse(&name).expect("serde knows it");
            assert_eq!(case.apply("project_dir"), expected);
        }
        assert_eq!(Case::Camel.apply("_hidden__twice"), "hiddenTwice");
    }

    #[test]
    fn attributes_that_rename_nothing_are_skipped() {
        let attributes: [Attribute; 2] = [
            parse_quote!(#[serde(default = "a::b", bound(deserialize = "T: X"), flatten)]),
            parse_quote!(#[serde(rename(serialize = "out", deserialize = "in"), alias = "other")]),
        ];
        let found = SerdeAttributes::of(&attributes).expect("they parse");
        assert!(found.has("flatten"));
        assert!(!found.has("skip"));
        assert_eq!(found.rename.expect("there is one").value(), "in");
    }
}
