//! Hosts that grants and plugins name: one spelling for each place, and no place that is not written.

use portcullis_egress::Origin;
use url::Url;

/// Texts that mean something here.
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

/// Reads a host. Panics where its own spelling is read as another place, or where it is not a place at all.
pub fn target(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(origin) = text.parse::<Origin>() else {
        assert!(
            Origin::try_from(text.to_owned()).is_err(),
            "a grant knows no more hosts: {text:?}"
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
    // A grant reads a host as a request does, or not at all.
    if let Ok(granted) = Origin::try_from(text.to_owned()) {
        assert_eq!(granted, origin, "{text:?}");
    }
}
