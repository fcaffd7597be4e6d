//! Escapes untrusted text for HTML and SVG.

/// Sanitises a text, and escapes the characters that have a meaning in HTML.
pub fn escaped(text: &str) -> String {
    let visible = portcullis_sanitize::visible(text);
    let mut escaped = String::with_capacity(visible.len());
    for letter in visible.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            letter => escaped.push(letter),
        }
    }
    escaped
}
