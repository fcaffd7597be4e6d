//! Fuzzes the segments of the audit: any bytes can be parsed, and a damaged chain is recognised.

use portcullis_audit::parse;

/// Texts that have a meaning for this parser.
pub const WORDS: &[&str] = &[
    "\n",
    "{\"n\":0,\"prev\":\"0000000000000000000000000000000000000000000000000000000000000000\"",
    "\"event\":\"opened\"",
    "\"event\":\"ask\"",
    "\"event\":\"call\"",
    "\"event\":\"more\"",
    "\"event\":\"sealed\"",
    "\"event\":\"dropped\"",
    "\"verdict\":\"denied\"",
    "\"lines\":1",
    "\"n\":18446744073709551615",
    "\"prev\":\"\"",
    "\\ud800",
];

/// Parses a segment. Panics if there are more lines than line ends, or if a removed first line is not noticed.
pub fn target(bytes: &[u8]) {
    let parsed = parse(bytes);
    let ends = bytes.iter().filter(|byte| **byte == b'\n').count();
    assert!(parsed.lines.len() <= ends, "each line has an end");
    let behind = bytes.rsplit(|byte| *byte == b'\n').next().map_or(0, <[u8]>::len);
    assert_eq!(parsed.torn, behind, "the bytes after the last line end are not a line");
    assert_eq!(parse(bytes), parsed, "the same bytes are parsed to the same result");
    // Without its first line, a whole chain is damaged.
    if parsed.flaws.is_empty()
        && parsed.lines.len() > 1
        && let Some(first) = bytes.iter().position(|byte| *byte == b'\n')
    {
        let rest = parse(&bytes[first + 1..]);
        assert!(!rest.flaws.is_empty(), "a removed line is noticed");
    }
}
