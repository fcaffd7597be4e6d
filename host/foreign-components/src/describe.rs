//! Writes the comments of WIT packages into a component, in the section that [`Docs`](crate::Docs) reads.
//!
//! The tools that make components from JavaScript, Python and Go leave this section out.

use std::path::Path;

use serde_json::Value;
use wit_parser::{PackageMetadata, Resolve};

use crate::docs::SECTION;

/// The first bytes of a component in the binary format: the magic number, the version 13 and the layer 1.
const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

/// The id of custom sections.
const CUSTOM: u8 = 0;

/// Why a component is not described.
#[derive(Debug, thiserror::Error)]
pub enum DescribeError {
    /// The bytes are not a component.
    #[error("the file is not a component")]
    NoComponent,
    /// The bytes end inside a section.
    #[error("the file is damaged: it ends inside a section")]
    Damaged,
    /// The WIT files cannot be read. The text comes from the parser.
    #[error("cannot read the WIT files: {0}")]
    Wit(String),
    /// No function of the WIT files has a comment.
    #[error(
        "no function of the WIT files has a comment\n  hint: write `/// …` above each function"
    )]
    NoComments,
}

/// A component with the comments of WIT files.
pub struct Described {
    /// The bytes of the component.
    pub bytes: Vec<u8>,
    /// The number of functions that have a comment.
    pub functions: usize,
}

/// Returns the component with the comments of the WIT package at `wit`: a folder, a file of WIT, or a package in the
/// binary format. Comments that the component had are replaced.
///
/// # Errors
///
/// The bytes are not a component or are damaged, the WIT files cannot be read, or none of their functions has a
/// comment.
pub fn describe(component: &[u8], wit: &Path) -> Result<Described, DescribeError> {
    let mut bytes = without_comments(component)?;
    let (comments, functions) = comments(wit)?;
    if functions == 0 {
        return Err(DescribeError::NoComments);
    }
    let name = SECTION.as_bytes();
    bytes.push(CUSTOM);
    write_length(&mut bytes, 1 + name.len() + comments.len());
    bytes.push(u8::try_from(name.len()).expect("the name is short"));
    bytes.extend(name);
    bytes.extend(comments);
    Ok(Described { bytes, functions })
}

/// The contents of the section (a version byte, then JSON), and the number of functions with a comment.
fn comments(wit: &Path) -> Result<(Vec<u8>, usize), DescribeError> {
    let mut resolve = Resolve { all_features: true, ..Resolve::default() };
    let parsed = resolve.push_path(wit);
    let (package, _) = parsed.map_err(|error| DescribeError::Wit(format!("{error:#}")))?;
    let comments = PackageMetadata::extract(&resolve, package);
    let bytes = comments.encode().map_err(|error| DescribeError::Wit(format!("{error:#}")))?;
    let values = serde_json::to_value(&comments);
    Ok((bytes, count(&values.map_err(|error| DescribeError::Wit(error.to_string()))?)))
}

/// The number of functions with a comment.
fn count(package: &Value) -> usize {
    let of = |items: &Value, functions: &str| {
        let items = items.as_object().into_iter().flat_map(|items| items.values());
        items
            .filter_map(|item| item[functions].as_object())
            .map(serde_json::Map::len)
            .sum::<usize>()
    };
    of(&package["interfaces"], "funcs") + of(&package["worlds"], "func_exports")
}

/// The component without the sections that have the name [`SECTION`].
fn without_comments(component: &[u8]) -> Result<Vec<u8>, DescribeError> {
    let mut rest = component.strip_prefix(COMPONENT).ok_or(DescribeError::NoComponent)?;
    let mut bytes = COMPONENT.to_vec();
    while let Some((id, after)) = rest.split_first() {
        let (length, contents) = read_length(after).ok_or(DescribeError::Damaged)?;
        let (contents, next) = contents.split_at_checked(length).ok_or(DescribeError::Damaged)?;
        let is_ours = *id == CUSTOM
            && read_length(contents)
                .is_some_and(|(length, named)| named.get(..length) == Some(SECTION.as_bytes()));
        if !is_ours {
            bytes.extend(&rest[..rest.len() - next.len()]);
        }
        rest = next;
    }
    Ok(bytes)
}

/// Reads a number in LEB128. Returns the number and what follows it.
fn read_length(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut length = 0;
    for (index, byte) in bytes.iter().enumerate().take(5) {
        length |= usize::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return Some((length, &bytes[index + 1..]));
        }
    }
    None
}

/// Writes a number in LEB128.
fn write_length(bytes: &mut Vec<u8>, mut length: usize) {
    loop {
        let low = u8::try_from(length & 0x7f).expect("seven bits fit");
        length >>= 7;
        if length == 0 {
            bytes.push(low);
            return;
        }
        bytes.push(low | 0x80);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Docs;

    /// A WIT package with one function, and this comment.
    fn wit(comment: &str) -> tempfile::NamedTempFile {
        use std::io::Write as _;
        let mut file = tempfile::Builder::new().suffix(".wit").tempfile().unwrap();
        let text = format!(
            "package a:b;\ninterface time {{\n{comment}\nnow: func() -> u64;\n}}\nworld w {{ export time; }}\n"
        );
        file.write_all(text.as_bytes()).unwrap();
        file
    }

    #[test]
    fn comments_are_written_and_replaced() {
        let other = [CUSTOM, 3, 1, b'x', 7];
        let component = [COMPONENT, &other].concat();
        let long = "very ".repeat(100);
        let first = describe(&component, wit(&format!("/// The {long}time.")).path()).unwrap();
        assert_eq!(first.functions, 1);
        let second = describe(&first.bytes, wit("/// Another time.").path()).unwrap();
        assert!(second.bytes.starts_with(&component) && second.bytes.len() < first.bytes.len());
        for (bytes, expected) in
            [(first.bytes, format!("The {long}time.")), (second.bytes, "Another time.".to_owned())]
        {
            let docs = Docs::of_component(&bytes);
            assert_eq!(docs.of(Some("a:b/time"), "now"), Some(expected));
        }
    }

    #[test]
    fn what_cannot_be_described_is_refused() {
        let with = |bytes: &[u8], comment: &str| {
            describe(bytes, wit(comment).path()).err().map(|error| error.to_string())
        };
        let refused = with(b"\0asm\x01\0\0\0", "/// A").unwrap();
        assert!(refused.contains("not a component"), "{refused}");
        let refused = with(&[COMPONENT, &[1, 9, 0]].concat(), "/// A").unwrap();
        assert!(refused.contains("damaged"), "{refused}");
        let refused = with(COMPONENT, "").unwrap();
        assert!(refused.contains("has a comment"), "{refused}");
        let refused = with(COMPONENT, "/// A\n!").unwrap();
        assert!(refused.contains("cannot read the WIT files"), "{refused}");
    }
}
