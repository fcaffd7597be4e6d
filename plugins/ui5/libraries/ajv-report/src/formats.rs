//! The string formats of ajv-formats.

use crate::CannotValidate;
use jsonschema::ValidationOptions;

/// Whether the format is checked. Ajv ignores unknown formats. Fails for a format that ajv-formats
/// checks and this crate does not.
pub fn is_checked(format: &str) -> Result<bool, CannotValidate> {
    match format {
        "uri" | "uri-reference" | "uri-template" | "uuid" => Ok(true),
        // The `jsonschema` crate checks these formats. In rare cases, its verdicts may differ from those of
        // ajv-formats.
        "date"
        | "date-time"
        | "email"
        | "hostname"
        | "ipv4"
        | "ipv6"
        | "json-pointer"
        | "regex"
        | "relative-json-pointer"
        | "time" => Ok(true),
        "byte"
        | "double"
        | "duration"
        | "float"
        | "int32"
        | "int64"
        | "iso-date-time"
        | "iso-time"
        | "json-pointer-uri-fragment"
        | "url" => Err(CannotValidate::new(format!(
            "the schema uses the format {format}, which is not supported"
        ))),
        _ => Ok(false),
    }
}

/// Registers the formats that this crate checks itself, by the rules of ajv-formats.
pub fn register(options: ValidationOptions<'_>) -> ValidationOptions<'_> {
    options
        .with_format("uri", is_uri)
        .with_format("uri-reference", is_uri_reference)
        .with_format("uri-template", is_uri_template)
        .with_format("uuid", is_uuid)
}

fn is_uri(text: &str) -> bool {
    after_scheme(text).is_some_and(|rest| {
        is_reference(rest, ExtraCharacters::NONE) && !hierarchy(rest).is_empty()
    })
}

fn is_uri_reference(text: &str) -> bool {
    after_scheme(text).is_some_and(|rest| is_reference(rest, ExtraCharacters::QUOTES))
        || is_reference(text, ExtraCharacters::QUOTES)
}

/// The characters that ajv-formats allows in a URI although RFC 3986 forbids them.
#[derive(Clone, Copy)]
struct ExtraCharacters {
    has_quotes: bool,
}

impl ExtraCharacters {
    const NONE: Self = Self { has_quotes: false };
    const QUOTES: Self = Self { has_quotes: true };
}

fn after_scheme(text: &str) -> Option<&str> {
    let (scheme, rest) = text.split_once(':')?;
    let mut bytes = scheme.bytes();
    let is_start_valid = bytes.next()?.is_ascii_alphabetic();
    let is_rest_valid = bytes.all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    (is_start_valid && is_rest_valid).then_some(rest)
}

/// The part before query and fragment.
fn hierarchy(text: &str) -> &str {
    text.split(['?', '#']).next().unwrap_or(text)
}

/// Whether the text is a URI without its scheme.
fn is_reference(text: &str, extra: ExtraCharacters) -> bool {
    let (before, fragment) = text.split_once('#').unwrap_or((text, ""));
    let (path, query) = before.split_once('?').unwrap_or((before, ""));
    let is_tail =
        |text| consists_of(text, |byte| in_path(byte, extra) || byte == b'/' || byte == b'?');
    is_tail(query) && is_tail(fragment) && is_hierarchy(path, extra)
}

fn is_hierarchy(path: &str, extra: ExtraCharacters) -> bool {
    let is_path = |path| consists_of(path, |byte| in_path(byte, extra) || byte == b'/');
    // ajv-formats accepts one slash before an authority.
    let has_authority =
        [path.strip_prefix("//"), path.strip_prefix('/')].into_iter().flatten().any(|rest| {
            let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            is_authority(authority, extra) && is_path(path)
        });
    has_authority || (is_path(path) && !path.starts_with("//"))
}

fn is_authority(authority: &str, extra: ExtraCharacters) -> bool {
    let (user, host) = authority.split_once('@').unwrap_or(("", authority));
    let (is_host, port) = match host.strip_prefix('[').and_then(|host| host.split_once(']')) {
        Some((literal, port)) => (is_ip_literal(literal), port),
        None => {
            let (name, port) = host.split_at(host.find(':').unwrap_or(host.len()));
            (consists_of(name, |byte| in_name(byte, extra)), port)
        }
    };
    let is_port = port.is_empty()
        || port
            .strip_prefix(':')
            .is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()));
    is_host
        && is_port
        && consists_of(user, |byte| in_name(byte, ExtraCharacters::NONE) || byte == b':')
}

fn is_ip_literal(literal: &str) -> bool {
    let future = literal.strip_prefix(['v', 'V']).and_then(|rest| rest.split_once('.'));
    if let Some((version, address)) = future {
        return !version.is_empty()
            && version.bytes().all(|byte| byte.is_ascii_hexdigit())
            && !address.is_empty()
            && address.bytes().all(|byte| in_name(byte, ExtraCharacters::NONE) || byte == b':');
    }
    match literal.split_once("::") {
        Some((left, right)) => {
            let groups = match (groups(left, false), groups(right, true)) {
                (Some(left), Some(right)) => left + right,
                _ => return false,
            };
            groups <= 7
        }
        None => groups(literal, true) == Some(8),
    }
}

/// Counts the 16-bit groups; an IPv4 address at the end counts as two.
fn groups(text: &str, may_end_in_ipv4: bool) -> Option<usize> {
    if text.is_empty() {
        return Some(0);
    }
    let parts: Vec<&str> = text.split(':').collect();
    let mut count = 0;
    for (index, part) in parts.iter().enumerate() {
        let is_group =
            (1..=4).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_group {
            count += 1;
        } else if may_end_in_ipv4 && index + 1 == parts.len() && is_ipv4(part) {
            count += 2;
        } else {
            return None;
        }
    }
    Some(count)
}

fn is_ipv4(text: &str) -> bool {
    let octets: Vec<&str> = text.split('.').collect();
    octets.len() == 4
        && octets.iter().all(|octet| {
            octet.len() <= 3
                && octet.bytes().all(|byte| byte.is_ascii_digit())
                && octet.parse::<u16>().is_ok_and(|value| value <= 255)
        })
}

fn in_name(byte: u8, extra: ExtraCharacters) -> bool {
    byte.is_ascii_alphanumeric()
        || b"-._~!$&'()*+,;=".contains(&byte)
        || (extra.has_quotes && byte == b'"')
}

fn in_path(byte: u8, extra: ExtraCharacters) -> bool {
    in_name(byte, extra) || byte == b':' || byte == b'@'
}

/// Whether each byte is allowed or part of a `%` escape.
fn consists_of(text: &str, allowed: impl Fn(u8) -> bool) -> bool {
    let mut rest = text.as_bytes();
    loop {
        rest = match rest {
            [] => return true,
            [b'%', high, low, rest @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                rest
            }
            [byte, rest @ ..] if allowed(*byte) => rest,
            _ => return false,
        };
    }
}

fn is_uri_template(text: &str) -> bool {
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let Some((expression, after)) = rest[open + 1..].split_once('}') else { return false };
        if !is_template_literal(&rest[..open]) || !is_template_expression(expression) {
            return false;
        }
        rest = after;
    }
    is_template_literal(rest)
}

fn is_template_literal(text: &str) -> bool {
    consists_of(text, |byte| byte > b' ' && !b"\"'<>%\\^`{|}".contains(&byte))
}

fn is_template_expression(expression: &str) -> bool {
    let operators = ['+', '#', '.', '/', ';', '?', '&', '=', ',', '!', '@', '|'];
    let variables = expression.strip_prefix(operators).unwrap_or(expression);
    variables.split(',').all(|variable| {
        let name = match variable.split_once(':') {
            Some((name, length)) => {
                let is_length = (1..=4).contains(&length.len())
                    && !length.starts_with('0')
                    && length.bytes().all(|byte| byte.is_ascii_digit());
                if !is_length {
                    return false;
                }
                name
            }
            None => variable.strip_suffix('*').unwrap_or(variable),
        };
        !name.is_empty() && consists_of(name, |byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

fn is_uuid(text: &str) -> bool {
    let prefix = text.get(..9).filter(|prefix| prefix.eq_ignore_ascii_case("urn:uuid:"));
    let groups: Vec<&str> = text[prefix.map_or(0, str::len)..].split('-').collect();
    groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12])
        && groups.iter().all(|group| group.bytes().all(|byte| byte.is_ascii_hexdigit()))
}
