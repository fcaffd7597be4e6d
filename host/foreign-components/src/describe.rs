//! Writes the comments of WIT packages into a component, in the section that [`Docs`](crate::Docs) reads.
//!
//! The tools that make components from JavaScript, Python and Go leave this section out.

use std::path::Path;

use wit_parser::{Docs, PackageId, PackageMetadata, Resolve, TypeDefKind, WorldItem};

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
    /// Nothing in the WIT files has a comment that a tool shows.
    #[error(
        "no function and no field of a record in the WIT files has a comment\n  hint: write `/// …` above each function"
    )]
    NoComments,
}

/// A component with the comments of WIT files.
pub struct Described {
    /// The bytes of the component.
    pub bytes: Vec<u8>,
    /// What has a comment.
    pub commented: Commented,
}

/// What has a comment in WIT files, of what tools show comments of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Commented {
    /// The number of functions.
    pub functions: usize,
    /// The number of fields of records.
    pub fields: usize,
}

/// Returns the component with the comments of the WIT package at `wit`: a folder, a file of WIT, or a package in the
/// binary format. Comments that the component had are replaced.
///
/// # Errors
///
/// The bytes are not a component or are damaged, the WIT files cannot be read, or none of their functions and fields
/// of records has a comment.
pub fn describe(component: &[u8], wit: &Path) -> Result<Described, DescribeError> {
    let mut bytes = without_comments(component)?;
    let (comments, commented) = comments(wit)?;
    if commented == Commented::default() {
        return Err(DescribeError::NoComments);
    }
    let name = SECTION.as_bytes();
    bytes.push(CUSTOM);
    write_length(&mut bytes, 1 + name.len() + comments.len());
    bytes.push(u8::try_from(name.len()).expect("the name is short"));
    bytes.extend(name);
    bytes.extend(comments);
    Ok(Described { bytes, commented })
}

/// The contents of the section (a version byte, then JSON), and what has a comment.
fn comments(wit: &Path) -> Result<(Vec<u8>, Commented), DescribeError> {
    let mut resolve = Resolve { all_features: true, ..Resolve::default() };
    let parsed = resolve.push_path(wit);
    let (package, _) = parsed.map_err(|error| DescribeError::Wit(format!("{error:#}")))?;
    let comments = PackageMetadata::extract(&resolve, package);
    let bytes = comments.encode().map_err(|error| DescribeError::Wit(format!("{error:#}")))?;
    Ok((bytes, count(&resolve, package)))
}

/// Counts what has a comment: functions of the package's interfaces, functions that its worlds export, and fields of
/// the records in its interfaces.
fn count(resolve: &Resolve, package: PackageId) -> Commented {
    let has_text =
        |docs: &&Docs| docs.contents.as_ref().is_some_and(|text| !text.trim().is_empty());
    let package = &resolve.packages[package];
    let interfaces = package.interfaces.values().map(|interface| &resolve.interfaces[*interface]);
    let interfaces: Vec<_> = interfaces.collect();
    let inner = interfaces.iter().flat_map(|interface| interface.functions.values());
    let exports = package.worlds.values().flat_map(|world| resolve.worlds[*world].exports.values());
    let outer = exports.filter_map(|item| match item {
        WorldItem::Function(function) => Some(function),
        WorldItem::Interface { .. } | WorldItem::Type { .. } => None,
    });
    let types = interfaces.iter().flat_map(|interface| interface.types.values());
    let records = types.filter_map(|ty| {
        let TypeDefKind::Record(record) = &resolve.types[*ty].kind else { return None };
        Some(&record.fields)
    });
    Commented {
        functions: inner.chain(outer).map(|function| &function.docs).filter(has_text).count(),
        fields: records.flatten().map(|field| &field.docs).filter(has_text).count(),
    }
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

    /// A file with this text.
    fn file(text: &str) -> tempfile::NamedTempFile {
        use std::io::Write as _;
        let mut file = tempfile::Builder::new().suffix(".wit").tempfile().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file
    }

    /// A WIT package with one function, and this comment.
    fn wit(comment: &str) -> tempfile::NamedTempFile {
        file(&format!(
            "package a:b;\ninterface time {{\n{comment}\nnow: func() -> u64;\n}}\nworld w {{ export time; }}\n"
        ))
    }

    #[test]
    fn comments_are_written_and_replaced() {
        let other = [CUSTOM, 3, 1, b'x', 7];
        let component = [COMPONENT, &other].concat();
        let long = "very ".repeat(100);
        let first = describe(&component, wit(&format!("/// The {long}time.")).path()).unwrap();
        assert_eq!(first.commented, Commented { functions: 1, fields: 0 });
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
    fn comments_of_fields_only_are_written_too() {
        let text = "package a:b;\ninterface time {\nrecord zone {\n/// Such as Europe/Rome.\nname: string,\nplain: u8,\n}\n\
                    now: func(zone: zone) -> u64;\n}\nworld w { export time; export f: func(); }\n";
        let described = describe(COMPONENT, file(text).path()).unwrap();
        assert_eq!(described.commented, Commented { functions: 0, fields: 1 });
        let docs = Docs::of_component(&described.bytes);
        let zone = docs.of_type("a:b/time", "zone").unwrap();
        assert_eq!(zone["items"]["name"], "Such as Europe/Rome.");
        let both = text.replace("export f", "\n/// Does it.\nexport f");
        let described = describe(COMPONENT, file(&both).path()).unwrap();
        assert_eq!(described.commented, Commented { functions: 1, fields: 1 });
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
