//! Short forms of grants for the command line, such as `http=POST@api.example`, and how short forms change the keys of
//! a grant.
//!
//! A grant consists of *values*: texts that each name one part of it, such as `GET@api.example`. Adding and removing
//! values must not change any other value. The code that changes a grant compares all values before and after, to check
//! this rule.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Capability, Grants, Registered, settings};

/// The keys of one grant, as `portcullis.toml` has them.
pub type Table = serde_json::Map<String, Value>;

/// A form of a value after `CAPABILITY=`, and its meaning.
pub type Form = (&'static str, &'static str);

/// The short forms of a capability, implemented by the type of its grant.
pub(super) trait ShortForms: Sized {
    /// The forms that the command line takes. The first one is an example that can be typed.
    const FORMS: &'static [Form];

    /// The value that the name of the capability alone, without `=`, stands for. `None`: it stands for no value.
    const BARE: Option<&'static str> = None;

    /// Whether a grant has one value only, so that another value replaces it.
    const HAS_ONE_VALUE: bool = false;

    /// The values that a short form means.
    ///
    /// # Errors
    ///
    /// [`InvalidValue`]: the text is not a short form of this capability.
    fn parse(text: &str) -> Result<Vec<String>, InvalidValue>;

    /// The values of this grant.
    fn values(&self) -> Vec<String>;

    /// The further values that a grant with this value always has.
    fn implied(_value: &str) -> Vec<String> {
        Vec::new()
    }

    /// Adds values that the grant does not have. `table` is empty for a new grant.
    fn add(table: &mut Table, values: &[String]);

    /// Removes values of the grant. All other values stay.
    fn remove(table: &mut Table, values: &[String]);

    /// The things that the value lets a plugin do, for display: `send POST requests to api.example`.
    fn words(value: &str) -> String;

    /// Whether an ask with this subject in the audit may have used the value.
    fn may_be_used_by(_value: &str, _subject: &str) -> bool {
        true
    }

    /// Whether a plugin with these wants can use the value at all.
    fn is_wanted(value: &str, wants: &Self) -> bool {
        Self::HAS_ONE_VALUE || wants.values().iter().any(|wanted| wanted == value)
    }
}

/// Why a value of a grant is invalid.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum InvalidValue {
    /// The value is not one of those that the capability has.
    #[error("`{0}` is not a value of this capability")]
    Unknown(String),
    /// A text between two commas is empty.
    #[error("a value is empty")]
    Empty,
    /// The directory is relative.
    #[error("`{0}` is not an absolute path")]
    RelativePath(String),
    /// The method is empty or has other characters than capital letters.
    #[error("the method `{0}` does not consist of capital letters")]
    Method(String),
    /// The text is not a size.
    #[error("`{text}` is not a size in bytes")]
    Bytes {
        /// The text.
        text: String,
        /// The cause.
        #[source]
        cause: std::num::ParseIntError,
    },
    /// The size is 0, or too large for the configuration.
    #[error("the size must be at least 1 byte and less than 8 EiB")]
    BytesOutOfRange,
    /// The text is not a host.
    #[error(transparent)]
    Origin(#[from] portcullis_egress::ParseOriginError),
    /// The text is not a network.
    #[error("the network `{text}`: {cause}")]
    Network {
        /// The text.
        text: String,
        /// The cause.
        #[source]
        cause: ipnet::AddrParseError,
    },
}

/// Why an argument of `plugin grant` or `plugin revoke` is invalid.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum InvalidShortForm {
    /// The capability is unknown.
    #[error(
        "there is no capability `{text}`: write one of {}, or `{}`",
        Capability::ALL.map(Capability::as_str).join(", "), settings::FORM
    )]
    Capability {
        /// The text before `=`.
        text: String,
    },
    /// The capability needs a value.
    #[error("`{capability}` needs a value\n{}", forms(*capability))]
    NoValue {
        /// The capability.
        capability: Capability,
    },
    /// The value is invalid.
    #[error("`{text}`: {cause}\n{}", forms(*capability))]
    Value {
        /// The whole argument.
        text: String,
        /// The capability.
        capability: Capability,
        /// What is wrong with the value.
        #[source]
        cause: InvalidValue,
    },
    /// A setting has no key, or no value where it needs one.
    #[error("`{text}`: the form of a setting is `{}`", settings::FORM)]
    Setting {
        /// The whole argument.
        text: String,
    },
}

/// The accepted forms of a capability, a line for each.
fn forms(capability: Capability) -> String {
    let mut lines = vec![String::from("  the accepted forms are:")];
    let all = capability.short_forms().forms;
    lines.extend(all.iter().map(|(form, meaning)| format!("  {capability}={form}  {meaning}")));
    lines.push(format!("  {capability}=wanted  what the plugin wants of this capability"));
    lines.join("\n")
}

/// One argument of `plugin grant` or `plugin revoke`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShortForm {
    /// Everything that the plugin wants, or that it wants of one capability.
    Wanted(Option<Capability>),
    /// The whole capability. Only for `plugin revoke`.
    Whole(Capability),
    /// Values of a capability.
    Values(Capability, Vec<String>),
    /// A setting and its value. Without a value: the setting is removed, which only `plugin revoke` does.
    Setting(String, Option<String>),
}

impl ShortForm {
    /// Parses an argument of `plugin grant`.
    ///
    /// # Errors
    ///
    /// [`InvalidShortForm`]: the capability, its value or a setting is missing or invalid.
    pub fn to_grant(text: &str) -> Result<Self, InvalidShortForm> {
        match Self::parse(text)? {
            Self::Whole(capability) => match capability.short_forms().bare {
                Some(value) => Ok(Self::Values(capability, vec![value.to_owned()])),
                None => Err(InvalidShortForm::NoValue { capability }),
            },
            Self::Setting(_, None) => Err(InvalidShortForm::Setting { text: text.to_owned() }),
            other @ (Self::Wanted(_) | Self::Values(..) | Self::Setting(_, Some(_))) => Ok(other),
        }
    }

    /// Parses an argument of `plugin revoke`.
    ///
    /// # Errors
    ///
    /// [`InvalidShortForm`]: the capability, its value or a setting is missing or invalid.
    pub fn to_revoke(text: &str) -> Result<Self, InvalidShortForm> {
        Self::parse(text)
    }

    fn parse(text: &str) -> Result<Self, InvalidShortForm> {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        if let Some(key) = name.strip_prefix(settings::PREFIX) {
            if key.is_empty() {
                return Err(InvalidShortForm::Setting { text: text.to_owned() });
            }
            return Ok(Self::Setting(key.to_owned(), value.map(str::to_owned)));
        }
        if (name, value) == (WANTED, None) {
            return Ok(Self::Wanted(None));
        }
        let capability = Capability::ALL.into_iter().find(|one| one.as_str() == name);
        let capability =
            capability.ok_or_else(|| InvalidShortForm::Capability { text: name.to_owned() })?;
        match value {
            None => Ok(Self::Whole(capability)),
            Some(WANTED) => Ok(Self::Wanted(Some(capability))),
            Some(value) => {
                let values = (capability.short_forms().parse)(value).map_err(|cause| {
                    InvalidShortForm::Value { text: text.to_owned(), capability, cause }
                })?;
                Ok(Self::Values(capability, values))
            }
        }
    }
}

/// The word that stands for the plugin's wants: alone, for all of them; after `CAPABILITY=`, for those of the
/// capability.
const WANTED: &str = "wanted";

/// The short forms of one capability.
#[derive(Clone, Copy)]
pub struct FormsOf {
    /// The forms that the command line takes, and their meanings.
    pub forms: &'static [Form],
    bare: Option<&'static str>,
    has_one_value: bool,
    parse: fn(&str) -> Result<Vec<String>, InvalidValue>,
    implied: fn(&str) -> Vec<String>,
    add: fn(&mut Table, &[String]),
    remove: fn(&mut Table, &[String]),
    words: fn(&str) -> String,
    may_be_used_by: fn(&str, &str) -> bool,
}

impl FormsOf {
    pub(super) fn of<G: Registered>() -> Self {
        Self {
            forms: G::FORMS,
            bare: G::BARE,
            has_one_value: G::HAS_ONE_VALUE,
            parse: G::parse,
            implied: G::implied,
            add: G::add,
            remove: G::remove,
            words: G::words,
            may_be_used_by: G::may_be_used_by,
        }
    }

    /// The values of a grant that had the values `before`, after `asked` was granted.
    pub fn granted(&self, before: &BTreeSet<String>, asked: &[String]) -> BTreeSet<String> {
        let implied = asked.iter().flat_map(|value| (self.implied)(value));
        let asked = asked.iter().cloned().chain(implied);
        if self.has_one_value {
            // The last value counts, like the last of repeated options on a command line.
            return asked.last().into_iter().collect();
        }
        before.iter().cloned().chain(asked).collect()
    }

    /// The values of a grant that had the values `before`, after `asked` was removed. A value that implies a
    /// removed value is removed, too.
    pub fn revoked(&self, before: &BTreeSet<String>, asked: &[String]) -> BTreeSet<String> {
        let stays = |value: &&String| {
            !asked.contains(value)
                && !(self.implied)(value).iter().any(|implied| asked.contains(implied))
        };
        before.iter().filter(stays).cloned().collect()
    }

    /// Adds and removes values, so that a grant with the values `before` has the values `after`.
    pub fn change(&self, table: &mut Table, before: &BTreeSet<String>, after: &BTreeSet<String>) {
        let removed: Vec<_> = before.difference(after).cloned().collect();
        let added: Vec<_> = after.difference(before).cloned().collect();
        if !removed.is_empty() && !self.has_one_value {
            (self.remove)(table, &removed);
        }
        if !added.is_empty() {
            (self.add)(table, &added);
        }
    }

    /// The things that a value lets a plugin do, for display.
    pub fn words(&self, value: &str) -> String {
        (self.words)(value)
    }

    /// The further values that a grant with this value always has.
    pub fn implied(&self, value: &str) -> Vec<String> {
        (self.implied)(value)
    }

    /// Whether an ask with this subject in the audit may have used the value.
    pub fn may_be_used_by(&self, value: &str, subject: &str) -> bool {
        (self.may_be_used_by)(value, subject)
    }
}

impl Grants {
    /// The values of the grant of a capability, each of which a short form names. Empty: there is no grant.
    pub fn values(&self, capability: Capability) -> BTreeSet<String> {
        self.values_of(capability).into_iter().collect()
    }
}

/// The texts between commas.
pub(super) fn separated(text: &str) -> Result<Vec<String>, InvalidValue> {
    let all = text.split(',').map(|part| match part.trim() {
        "" => Err(InvalidValue::Empty),
        part => Ok(part.to_owned()),
    });
    all.collect()
}

/// The texts between commas, each of which is one of `known`.
pub(super) fn separated_of(text: &str, known: &[&str]) -> Result<Vec<String>, InvalidValue> {
    let all = separated(text)?;
    match all.iter().find(|value| !known.contains(&value.as_str())) {
        Some(unknown) => Err(InvalidValue::Unknown(unknown.clone())),
        None => Ok(all),
    }
}

/// The texts of a list. Empty: the table has no such list.
pub(super) fn texts(table: &Table, key: &str) -> Vec<String> {
    let list = table.get(key).and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Writes a list. An empty list is removed from the table.
pub(super) fn set_texts(table: &mut Table, key: &str, texts: Vec<String>) {
    if texts.is_empty() {
        table.remove(key);
    } else {
        table.insert(key.to_owned(), texts.into());
    }
}

/// Adds texts to a list.
pub(super) fn add_texts(table: &mut Table, key: &str, added: &[String]) {
    let mut all = texts(table, key);
    all.extend_from_slice(added);
    set_texts(table, key, all);
}

/// Removes texts from a list.
pub(super) fn remove_texts(table: &mut Table, key: &str, removed: &[String]) {
    let mut all = texts(table, key);
    all.retain(|text| !removed.contains(text));
    set_texts(table, key, all);
}

/// The units of sizes.
const UNITS: &[(&str, u64)] = &[
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("kB", 1_000),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("B", 1),
];

/// Converts a size, such as `1MiB` or `1_000_000`, to a number of bytes in decimal digits.
pub(super) fn bytes(text: &str) -> Result<String, InvalidValue> {
    let unit = UNITS.iter().find_map(|(unit, size)| Some((text.strip_suffix(unit)?, *size)));
    let (number, size) = unit.unwrap_or((text, 1));
    let number: u64 = number
        .trim()
        .replace('_', "")
        .parse()
        .map_err(|cause| InvalidValue::Bytes { text: text.to_owned(), cause })?;
    // TOML integers are signed 64-bit numbers.
    let bytes = number.checked_mul(size).filter(|bytes| (1..=i64::MAX as u64).contains(bytes));
    Ok(bytes.ok_or(InvalidValue::BytesOutOfRange)?.to_string())
}

/// Writes a size that [`bytes`] returned.
pub(super) fn set_bytes(table: &mut Table, bytes: &str) {
    if let Ok(bytes) = bytes.parse::<u64>() {
        table.insert("bytes".into(), bytes.into());
    }
}

#[cfg(test)]
#[path = "short_form_tests.rs"]
mod tests;
