//! Hints about common mistakes in `portcullis.toml`.
//!
//! Each function `of_…` gets the data of the error and returns a hint. `None`: the mistake is not a common one. A hint
//! may quote a value, because `ConfigError::with_hidden` hides all values that may be secret.

use serde_json::Value;

use super::error::Fault;

/// Names that people know from elsewhere, for keys of this configuration.
const SYNONYMS: &[(&str, &str)] = &[
    ("network", "http"),
    ("net", "http"),
    ("url", "http"),
    ("filesystem", "files"),
    ("file", "files"),
    ("fs", "files"),
    ("paths", "files"),
    ("exec", "process"),
    ("shell", "process"),
    ("run", "process"),
    ("kv", "store"),
    ("storage", "store"),
    ("timeout", "wall-ms"),
    ("timeout-ms", "wall-ms"),
    ("memory", "memory-bytes"),
    ("mem", "memory-bytes"),
    ("directories", "roots"),
    ("allowed-directories", "roots"),
    ("mcpservers", "upstreams"),
    ("mcp-servers", "upstreams"),
    ("mcp", "upstreams"),
    ("servers", "upstreams"),
    ("context-servers", "upstreams"),
    ("environment", "env"),
    ("arguments", "args"),
    ("program", "command"),
    ("cmd", "command"),
    ("working-directory", "cwd"),
    ("http-headers", "headers"),
    ("type", "transport"),
    ("disabled", "enabled"),
];

/// A key as this configuration spells keys: `memoryBytes` and `memory_bytes` are `memory-bytes`.
pub(super) fn spelled(key: &str) -> String {
    let mut spelled = String::new();
    for letter in key.chars() {
        if letter.is_uppercase() && spelled.ends_with(|last: char| last.is_lowercase()) {
            spelled.push('-');
        }
        spelled.extend(letter.to_lowercase());
    }
    spelled.replace(['_', ' ', '.'], "-")
}

/// The known key that `key` means: `key` may be another word for it, or the same word in another style.
pub(super) fn synonym(key: &str, known: &[String]) -> Option<String> {
    let key = spelled(key);
    let is_known = |word: &str| known.iter().any(|one| one == word);
    if is_known(&key) {
        return Some(key);
    }
    let flat = key.replace('-', "");
    let words = SYNONYMS.iter().filter(|(word, _)| *word == key || *word == flat);
    words.map(|(_, own)| (*own).to_owned()).find(|own| is_known(own))
}

/// The hint about an unknown key: where the key belongs, or what to write instead.
pub(super) fn of_key(schema: &Value, path: &[String]) -> Option<String> {
    let (key, tables) = path.split_last()?;
    let top = schema["properties"].as_object()?;
    let own_key = spelled(key);
    if tables.is_empty() {
        let meant = synonym(key, &["upstreams".to_owned()]);
        if meant.is_some() {
            return Some(
                "other MCP servers are written as [upstreams.NAME]; `portcullis import FILE` translates the file of an MCP client"
                    .to_owned(),
            );
        }
        let has_key = |table: &Value| table["properties"].get(&own_key).is_some();
        let (table, _) = top.iter().find(|(_, table)| has_key(table))?;
        return Some(format!(
            "`{own_key}` is a key of the table [{table}]: write it below that header"
        ));
    }
    let own = top.get(&own_key)?;
    Some(if own["type"] == "object" || own["properties"].is_object() {
        let name = if own["properties"].is_object() { "" } else { ".NAME" };
        format!(
            "`{own_key}` is no part of another table: write it with a header of its own, [{own_key}{name}]"
        )
    } else {
        format!(
            "`{own_key}` belongs at the top of the file: write it before the first [header], because a header applies up to the next one"
        )
    })
}

/// The hint about a value of the wrong type.
pub(super) fn of_type(path: &[String], fault: &Fault) -> Option<String> {
    let Fault::Type { expected, found } = fault else { return None };
    let key = path.last()?;
    let text = found.strip_prefix(['"', '\'']).and_then(|text| text.strip_suffix(['"', '\'']));
    match text {
        Some(_) if expected.starts_with("a list") => {
            Some(format!("write a single value in brackets, too: {key} = [\"…\"]"))
        }
        Some(text) if expected.contains("true") => {
            let flag = text.parse::<bool>().ok()?;
            Some(format!("without quotes: {key} = {flag}"))
        }
        Some(text) if expected.contains("integer") => match amount(key, text) {
            Some(number) => Some(format!(
                "a number without a unit and without quotes: {key} = {}",
                grouped(number)
            )),
            None => Some("a number has no unit and no quotes; `_` may group its digits".to_owned()),
        },
        None if expected.starts_with("a string") && found == "a list" && key == "command" => Some(
            "the program alone; its arguments are a list of their own: args = [\"…\"]".to_owned(),
        ),
        None if expected.starts_with("a string") && found.starts_with("a list") => {
            Some(format!("one value, without brackets: {key} = \"…\""))
        }
        None if expected.starts_with("a string") => Some(format!("in quotes: {key} = \"…\"")),
        Some(_) if expected.starts_with("a table") => {
            Some(format!("a table has keys: {key} = {{ NAME = … }}, or a section of its own"))
        }
        _ => None,
    }
}

/// The number that a text with a unit means, in the unit of a key: `-bytes`, `-ms`, `-seconds`, `-days`.
fn amount(key: &str, text: &str) -> Option<u64> {
    let text = text.trim().replace(['_', ','], "");
    let digits = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text.get(..digits)?.parse().ok()?;
    let unit = text.get(digits..)?.trim().to_ascii_lowercase();
    let size = |unit: &str| {
        Some(match unit {
            "" | "b" => 1,
            "k" | "kb" => 1_000,
            "m" | "mb" => 1_000_000,
            "g" | "gb" => 1_000_000_000,
            "kib" => 1 << 10,
            "mib" => 1 << 20,
            "gib" => 1 << 30,
            _ => return None,
        })
    };
    let time = |unit: &str, unit_of_key: u64| {
        let in_ms: u64 = match unit {
            "" => return Some(unit_of_key),
            "ms" => 1,
            "s" | "sec" | "second" | "seconds" => 1_000,
            "m" | "min" | "minute" | "minutes" => 60_000,
            "h" | "hour" | "hours" => 3_600_000,
            "d" | "day" | "days" => 86_400_000,
            _ => return None,
        };
        Some(in_ms)
    };
    if key == "bytes" || key.ends_with("-bytes") {
        return number.checked_mul(size(&unit)?);
    }
    let units_of_keys = [("-ms", 1), ("-seconds", 1_000), ("-days", 86_400_000)];
    match units_of_keys.iter().find(|(end, _)| key.ends_with(end)) {
        Some((_, in_ms)) => Some(number.checked_mul(time(&unit, *in_ms)?)? / in_ms),
        None => unit.is_empty().then_some(number),
    }
}

/// A number with `_` between groups of three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push('_');
        }
        grouped.push(digit);
    }
    grouped
}

/// The hint about a path that is not absolute.
pub(super) fn of_path(path: &str) -> Option<String> {
    let drive = path.as_bytes();
    if drive.first().is_some_and(u8::is_ascii_alphabetic) && drive.get(1) == Some(&b':') {
        return Some(
            "this is a Windows path, which this machine cannot have: write a path of this machine"
                .to_owned(),
        );
    }
    if path.contains('$') || path.contains('%') {
        return Some("environment variables are not replaced here: write the whole path, or `~/…` for your home folder".to_owned());
    }
    if path.starts_with('~') {
        return Some(
            "only `~/…`, your own home folder, is replaced: write the whole path".to_owned(),
        );
    }
    None
}

/// The part of a path that was copied from an example in documentation.
pub(super) fn placeholder(path: &str) -> Option<&'static str> {
    const PREFIXES: [&str; 7] = [
        "/path/to",
        "/absolute/path",
        "/full/path",
        "/your/",
        "C:\\path\\to",
        "C:/path/to",
        "~/path/to",
    ];
    const PARTS: [&str; 3] = ["YOUR_", "your-username", "yourname"];
    const WHOLE: [&str; 5] =
        ["/Users/username", "/home/username", "/home/user", "/Users/you", "/home/you"];
    let lower = path.to_ascii_lowercase();
    let has_prefix = |begin: &&&str| lower.starts_with(&begin.to_ascii_lowercase());
    let found = PREFIXES.iter().find(has_prefix);
    let found = found.or_else(|| PARTS.iter().find(|part| path.contains(**part)));
    let found = found.or_else(|| WHOLE.iter().find(|whole| **whole == path)).copied();
    found.or_else(|| (path.starts_with('<') && path.ends_with('>')).then_some("<…>"))
}

/// Whether a path is a pattern for several paths.
pub(super) fn is_pattern(path: &str) -> bool {
    path.contains(['*', '?']) || (path.contains('{') && path.contains('}'))
}

/// The hint about a text that is not TOML, by the line in which the parser stopped.
pub(super) fn of_toml(text: &str, line: usize, reason: &str) -> Option<&'static str> {
    let found = text.lines().nth(line.saturating_sub(1)).unwrap_or_default().trim();
    let first = text.trim_start_matches('\u{feff}').trim_start();
    let value = found.split_once('=').map_or(found, |(_, value)| value.trim());
    let is_json = |text: &str| {
        text.starts_with('{') || (text.starts_with('[') && text[1..].trim_start().starts_with('{'))
    };
    if is_json(first) {
        return Some(
            "this is JSON, and portcullis.toml is TOML: `portcullis import FILE` translates the file of an MCP client",
        );
    }
    if reason.contains("duplicate key") {
        return Some(
            "a key or a [header] may appear only once: keep one of them, and move the values of the other one there",
        );
    }
    if found.starts_with("//") || found.starts_with("/*") {
        return Some("a comment begins with `#`");
    }
    if found.contains(['“', '”', '‘', '’', '„', '«', '»']) {
        return Some("use straight quotes: \"…\"");
    }
    if reason.contains("escape") || (reason.contains("unicode") && value.contains(":\\")) {
        return Some(
            "in double quotes, `\\` begins an escape: write paths of Windows in single quotes, as 'C:\\Users\\me', or with `/`",
        );
    }
    if matches!(value, "True" | "False" | "yes" | "no" | "on" | "off" | "TRUE" | "FALSE") {
        return Some("write `true` or `false`, in lower case");
    }
    if !found.contains('=') && found.starts_with('"') && found.contains("\":") {
        return Some("this is JSON: TOML writes KEY = VALUE, without commas between the lines");
    }
    if !found.contains('=') && !found.starts_with('[') && found.contains(':') {
        return Some("TOML writes KEY = VALUE, with `=` instead of `:`");
    }
    if found.starts_with('[')
        && found.matches('[').count() > found.matches(']').count()
        && !found.contains('=')
    {
        return Some("a header ends with `]`");
    }
    let is_open = |quote: char| value.matches(quote).count() == 1;
    if is_open('"') || is_open('\'') {
        return Some("a string ends with the quote that it begins with, on the same line");
    }
    if value.is_empty() && found.contains('=') {
        return Some("a value follows `=`; leave out a key that has no value");
    }
    if value.ends_with(',') && !value.starts_with('[') {
        return Some("a line ends without a comma");
    }
    let begins_as_text = value
        .starts_with(|letter: char| letter.is_alphabetic() || matches!(letter, '/' | '~' | '.'));
    if found.contains('=') && begins_as_text && !matches!(value, "true" | "false" | "inf" | "nan") {
        return Some("a string needs quotes: \"…\"");
    }
    let unit = value.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '_');
    if unit.len() < value.len()
        && unit.starts_with(|letter: char| letter.is_alphabetic() || letter == ' ')
    {
        return Some(
            "a number has no unit: the key says whether it counts bytes, milliseconds or seconds",
        );
    }
    None
}
