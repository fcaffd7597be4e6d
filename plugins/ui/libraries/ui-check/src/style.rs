//! Checks CSS: finds parts that load something from elsewhere, and features that are not allowed in a view.

/// The faults of a style sheet, or of the value of a `style` attribute.
pub fn check(css: &str) -> Vec<String> {
    // Within a string or a URL, `/*` does not begin a comment. So the style is checked with and without comments.
    let mut faults = read(&unescaped(css, true));
    faults.extend(read(&unescaped(css, false)));
    faults.dedup();
    faults
}

fn read(css: &str) -> Vec<String> {
    let css = css.to_ascii_lowercase();
    let mut faults = Vec::new();
    for (name, instead) in [
        ("@import", "write the rules themselves"),
        ("image-set(", "use one picture as `data:image/…`"),
        ("-moz-binding", "leave it out"),
        ("expression(", "leave it out"),
        ("@font-face", "use the fonts there are"),
        ("@namespace", "leave it out"),
        ("@property", "leave it out"),
        (":host", "use `html` or `:root`"),
        ("src(", "use one picture as `url(data:image/…)`"),
        (" image(", "use one picture as `url(data:image/…)`"),
        ("cross-fade(", "use one picture as `url(data:image/…)`"),
        ("element(", "leave it out"),
        ("paint(", "leave it out"),
    ] {
        if css.contains(name) {
            faults.push(format!("a style has `{name}`: {instead}"));
        }
    }
    let mut rest = css.as_str();
    while let Some(start) = rest.find("url(") {
        rest = rest[start + 4..].trim_start_matches([' ', '\t', '\n', '\r', '\u{c}', '"', '\'']);
        if !rest.starts_with("data:image/") && !rest.starts_with('#') {
            faults.push(
                "a style has a `url(…)` that leads elsewhere: use pictures as `data:image/…`"
                    .to_owned(),
            );
            break;
        }
    }
    faults
}

/// Decodes escapes. Also removes everything that looks like a comment, unless `keeps` is set.
fn unescaped(css: &str, keeps: bool) -> String {
    let mut out = String::with_capacity(css.len());
    let mut chars = css.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '/' if !keeps && chars.peek() == Some(&'*') => {
                chars.next();
                let mut last = ' ';
                for inner in chars.by_ref() {
                    if last == '*' && inner == '/' {
                        break;
                    }
                    last = inner;
                }
            }
            '\\' => {
                let mut code = 0;
                let mut digits = 0;
                while let Some(digit) =
                    chars.peek().and_then(|c| c.to_digit(16)).filter(|_| digits < 6)
                {
                    code = code * 16 + digit;
                    digits += 1;
                    chars.next();
                }
                if digits == 0 {
                    out.extend(chars.next().filter(|c| *c != '\n'));
                } else {
                    chars.next_if(|c| c.is_ascii_whitespace());
                    out.push(char::from_u32(code).unwrap_or('\u{fffd}'));
                }
            }
            other => out.push(other),
        }
    }
    out
}
