//! Writes values in a short form.

/// Maximum length of a value, in characters.
const MAX_VALUE_CHARS: usize = 100;

/// A value in a short form: an object as the path of its package, numbers without trailing zeros, and long values cut;
/// empty for `None`.
pub fn value(text: &str, kind: &str) -> String {
    if text.is_empty() || text == "None" {
        return String::new();
    }
    let object = text.split_once('\'').and_then(|(_, path)| path.strip_suffix('\''));
    if let Some(path) = object.filter(|path| path.starts_with('/')) {
        return shortened(path.split(['.', ':']).next().unwrap_or(path), MAX_VALUE_CHARS);
    }
    let is_text = ["string", "text", "FString", "FText"].contains(&kind);
    if is_text {
        format!("\"{}\"", shortened(text, MAX_VALUE_CHARS))
    } else {
        shortened(&trimmed(text), MAX_VALUE_CHARS)
    }
}

/// Removes trailing zeros of decimal numbers: `1.500000` becomes `1.5`.
fn trimmed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(dot) = rest.find('.') {
        let (before, after) = rest.split_at(dot);
        let digits = after[1..].bytes().take_while(u8::is_ascii_digit).count();
        out.push_str(before);
        if before.ends_with(|c: char| c.is_ascii_digit()) && digits > 0 {
            let part = after[..=digits].trim_end_matches('0').trim_end_matches('.');
            out.push_str(part);
        } else {
            out.push_str(&after[..=digits]);
        }
        rest = &after[digits + 1..];
    }
    out.push_str(rest);
    out
}

/// A text on one line, cut to a number of characters.
pub fn shortened(text: &str, max_chars: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// The last part of a path: `/Script/Engine.Actor` is `Actor`.
pub fn last(path: &str) -> &str {
    path.rsplit(['.', '/', ':']).next().unwrap_or(path)
}

/// The name of a pin as typed in the editor. Members of a structure that was made in the editor
/// have names such as `Speed_4_18F36A8B4C2D1E0F9A8B7C6D5E4F3A2B`: a number and a GUID follow the
/// typed name.
pub fn member(name: &str) -> &str {
    let is_guid =
        |text: &str| text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    name.rsplit_once('_')
        .filter(|(_, guid)| is_guid(guid))
        .and_then(|(rest, _)| rest.rsplit_once('_'))
        .filter(|(written, number)| !written.is_empty() && is_number(number))
        .map_or(name, |(written, _)| written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_structures_have_their_typed_names() {
        let guid = "18F36A8B4C2D1E0F9A8B7C6D5E4F3A2B";
        assert_eq!(member(&format!("Max Speed_4_{guid}")), "Max Speed");
        assert_eq!(member(&format!("My_Speed_12_{guid}")), "My_Speed");
        for name in ["Speed_4", "Speed", &format!("Speed_{guid}"), &format!("_4_{guid}"), guid] {
            assert_eq!(member(name), name);
        }
    }
}
