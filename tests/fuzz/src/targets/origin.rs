//! Fuzzes the origins that grants and requests name: each origin has one spelling, which is parsed as the same
//! origin.

use portcullis_egress::Origin;
use url::Url;

/// Texts that have a meaning for this parser.
pub const WORDS: &[&str] = &[
    "https://",
    "http://",
    "HTTP://",
    "ftp://",
    "a.example",
    ".",
    "..",
    "*",
    "*.",
    "@",
    "user:password@",
    "[::1]",
    "127.0.0.1",
    "0x7f.1",
    "2130706433",
    ":443",
    ":80",
    ":0",
    ":65536",
    "/",
    "?",
    "#",
    "\\",
    "%2e",
    "%40",
    "\u{fc}",
    "\u{3002}",
    "\u{ff0e}",
    "xn--",
    "\t",
    "\n",
];

/// Parses an origin. Panics if the origin's own spelling is parsed as another origin, or if its host is not a plain
/// host name.
pub fn target(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(origin) = text.parse::<Origin>() else {
        assert!(
            Origin::try_from(text.to_owned()).is_err(),
            "a grant accepts an origin that the parser refuses: {text:?}"
        );
        return;
    };
    for shown in [origin.to_string(), origin.url()] {
        assert_eq!(shown.parse::<Origin>().as_ref(), Ok(&origin), "{text:?} is shown as {shown:?}");
        assert_eq!(Origin::try_from(shown.clone()).as_ref(), Ok(&origin), "{text:?}: {shown:?}");
    }
    let url = Url::parse(&origin.url()).expect("an origin is an address");
    assert_eq!(Origin::of(&url).as_ref(), Ok(&origin), "{text:?}");
    let host = origin.host();
    assert!(
        !host.is_empty() && host == host.to_ascii_lowercase() && host.is_ascii(),
        "{text:?}: {host:?}"
    );
    assert!(
        !host.contains(|c: char| c.is_whitespace() || "*@/?#\\%".contains(c)),
        "{text:?}: {host:?}"
    );
    // A grant parses the text as the same origin as a request does, or refuses it.
    if let Ok(granted) = Origin::try_from(text.to_owned()) {
        assert_eq!(granted, origin, "{text:?}");
    }
}
