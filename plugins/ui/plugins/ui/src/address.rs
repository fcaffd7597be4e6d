//! The URIs of views: `ui://portcullis/TOOL/DIGEST.html`.

const BEFORE: &str = "ui://portcullis/";
const AFTER: &str = ".html";

/// The URI of a tool's view. The URI changes when the view changes.
pub fn of(tool: &str, digest: &str) -> String {
    format!("{BEFORE}{}/{digest}{AFTER}", encoded(tool))
}

/// The tool of a view's URI, or `None` for other URIs. The digest does not matter: an old URI leads to the
/// newest view.
pub fn tool(address: &str) -> Option<String> {
    let (tool, digest) = address.strip_prefix(BEFORE)?.strip_suffix(AFTER)?.split_once('/')?;
    let is_digest =
        (1..=64).contains(&digest.len()) && digest.bytes().all(|b| b.is_ascii_hexdigit());
    is_digest.then(|| decoded(tool))?
}

/// Encodes a name as one path segment that every URI parser reads alike.
pub fn encoded(name: &str) -> String {
    // "." and ".." have a meaning in paths, even percent-encoded. Other names never contain a "~" that is not
    // percent-encoded, so it marks these two names.
    if matches!(name, "." | "..") {
        return format!("~{name}");
    }
    let mut out = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

fn decoded(segment: &str) -> Option<String> {
    if let Some(dots @ ("." | "..")) = segment.strip_prefix('~') {
        return Some(dots.to_owned());
    }
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                u8::try_from(digit()? * 16 + digit()?).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_survives_encoding_and_decoding() {
        for name in [
            "get_weather",
            "files/read",
            "a b",
            "server:tool",
            "x@y",
            "köln",
            "..",
            ".",
            "~.",
            "%2E",
            "a?b#c",
            "</script>",
        ] {
            let address = of(name, "0123456789abcdef");
            assert_eq!(tool(&address).as_deref(), Some(name), "{address}");
            let segment = &address[BEFORE.len()..];
            assert_eq!(segment.matches('/').count(), 1, "{address}");
            assert!(
                address.bytes().all(|b| b.is_ascii_graphic() && !b"?#<>@\"\\".contains(&b)),
                "{address}"
            );
        }
    }

    #[test]
    fn uris_of_others_have_no_tool() {
        for address in [
            "ui://portcullis/a",
            "ui://other/a/1.html",
            "ui://portcullis/a/x/1.html",
            "ui://portcullis/a/.html",
            "ui://portcullis/%f/1.html",
            "ui://portcullis/%ff/1.html",
            "ui://portcullis/a/<b>.html",
            "",
        ] {
            assert_eq!(tool(address), None, "{address}");
        }
    }
}
