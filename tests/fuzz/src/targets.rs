//! The targets: one module for each parser.

pub mod lines;
pub mod lock;
pub mod origin;
pub mod roots;
pub mod scrub;
pub mod trail;

/// A target: its name, its function, and texts that have a meaning for its parser.
pub type Target = (&'static str, fn(&[u8]), &'static [&'static str]);

/// Every target of this crate.
pub const ALL: &[Target] = &[
    ("lines", lines::target, lines::WORDS),
    ("lock", lock::target, lock::WORDS),
    ("origin", origin::target, origin::WORDS),
    ("roots", roots::target, roots::WORDS),
    ("scrub", scrub::target, scrub::WORDS),
    ("trail", trail::target, trail::WORDS),
];
