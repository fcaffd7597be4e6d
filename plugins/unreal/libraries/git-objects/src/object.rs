//! Parses commits, tags, trees and pointers of Git LFS.

use crate::{fault::Fault, id::Id};

/// The kind of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Commit,
    Tree,
    Blob,
    Tag,
}

impl Kind {
    /// Git's word for the kind, such as `commit`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Tree => "tree",
            Self::Blob => "blob",
            Self::Tag => "tag",
        }
    }

    /// Parses the kind in the header of a loose object. `None` for an unknown word.
    pub fn of_word(word: &[u8]) -> Option<Self> {
        [Self::Commit, Self::Tree, Self::Blob, Self::Tag]
            .into_iter()
            .find(|kind| kind.word().as_bytes() == word)
    }
}

/// A git object: its kind and its content.
#[derive(Debug)]
pub struct Object {
    pub kind: Kind,
    pub bytes: Vec<u8>,
}

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// The commit's object name.
    pub id: Id,
    /// Time of the commit in seconds since 1970; 0 if it cannot be parsed.
    pub seconds: i64,
    /// The first non-empty line of the commit message. It is untrusted text.
    pub subject: String,
    pub(crate) tree: Id,
    pub(crate) parents: Vec<Id>,
}

impl Commit {
    /// The first nine digits of the commit's object name.
    pub fn short(&self) -> String {
        self.id.to_string().chars().take(9).collect()
    }

    pub(crate) fn parse(id: Id, bytes: &[u8]) -> Result<Self, Fault> {
        let text = String::from_utf8_lossy(bytes);
        let (head, message) = text.split_once("\n\n").unwrap_or((&text, ""));
        let length = id.bytes().len();
        let mut parents = Vec::new();
        let (mut tree, mut seconds) = (None, 0);
        for line in head.lines() {
            match line.split_once(' ') {
                Some(("tree", value)) if tree.is_none() => tree = Id::parse(value, length),
                Some(("parent", value)) => parents.extend(Id::parse(value, length)),
                Some(("committer", value)) => {
                    let mut words = value.rsplit(' ').skip(1);
                    seconds = words.next().and_then(|text| text.parse().ok()).unwrap_or(0);
                }
                Some(_) | None => {}
            }
        }
        let subject = message.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let subject = subject.trim().to_owned();
        match tree {
            Some(tree) => Ok(Self { id, seconds, subject, tree, parents }),
            None => Err(Fault::object(&id, "is a commit without a tree")),
        }
    }
}

/// The object that an annotated tag names. `None` if the tag is malformed.
pub fn tagged(bytes: &[u8], length: usize) -> Option<Id> {
    let line = bytes.split(|byte| *byte == b'\n').next()?;
    Id::parse(std::str::from_utf8(line.strip_prefix(b"object ")?).ok()?, length)
}

/// An entry of a tree.
#[derive(Debug, PartialEq, Eq)]
pub struct TreeEntry {
    pub name: String,
    pub id: Id,
    pub mode: TreeMode,
}

/// The kind of an entry of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeMode {
    Folder,
    File,
    Link,
    Submodule,
}

impl TreeMode {
    fn of(mode: &[u8]) -> Option<Self> {
        Some(match mode {
            b"40000" | b"040000" => Self::Folder,
            b"120000" => Self::Link,
            b"160000" => Self::Submodule,
            mode if mode.starts_with(b"100") => Self::File,
            _ => return None,
        })
    }

    /// Whether the entry is neither a folder nor a file: a path that leads to this entry ends there.
    pub fn ends_a_path(self) -> bool {
        matches!(self, Self::Link | Self::Submodule)
    }

    /// The word for this kind of entry in a message.
    pub fn word(self) -> &'static str {
        match self {
            Self::Folder => "folder",
            Self::File => "file",
            Self::Link => "symbolic link",
            Self::Submodule => "submodule",
        }
    }
}

/// The entries of a tree whose names `fits` accepts. `Err` if the tree is malformed.
pub fn entries(
    tree: &[u8],
    length: usize,
    fits: impl Fn(&str) -> bool,
) -> Result<Vec<TreeEntry>, Fault> {
    let fault = || Fault::Malformed("a tree has an incomplete entry".to_owned());
    let mut found = Vec::new();
    let mut rest = tree;
    while !rest.is_empty() {
        let space = rest.iter().position(|byte| *byte == b' ').ok_or_else(fault)?;
        let end = rest.iter().position(|byte| *byte == 0).ok_or_else(fault)?;
        let (mode, name) = (&rest[..space], rest.get(space + 1..end).ok_or_else(fault)?);
        let id = rest.get(end + 1..end + 1 + length).ok_or_else(fault)?;
        rest = &rest[end + 1 + length..];
        let name = String::from_utf8_lossy(name);
        if fits(&name) {
            let mode = TreeMode::of(mode).ok_or_else(fault)?;
            let id = Id::of(id, length).ok_or_else(fault)?;
            found.push(TreeEntry { name: name.into_owned(), id, mode });
        }
    }
    Ok(found)
}

/// Parses a pointer of Git LFS: the SHA-256 of the content, and its size in bytes. `None` for
/// other content. The format is specified in `docs/spec.md` of Git LFS' repository.
pub fn lfs_pointer(bytes: &[u8]) -> Option<(String, u64)> {
    if bytes.len() > 1024 {
        return None;
    }
    let text = std::str::from_utf8(bytes).ok()?;
    let rest = text.strip_prefix("version https://git-lfs.github.com/spec/v1\n")?;
    let field = |name: &str| rest.lines().find_map(|line| line.strip_prefix(name));
    let oid = field("oid sha256:")?;
    let is_hex = oid.len() == 64 && oid.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex.then_some((oid.to_owned(), field("size ")?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_a_tree() {
        let mut tree = Vec::new();
        for (mode, name, byte) in
            [("100644", "A.b", 1), ("40000", "content", 2), ("40000", "Content", 3)]
        {
            tree.extend_from_slice(format!("{mode} {name}\0").as_bytes());
            tree.extend_from_slice(&[byte; 20]);
        }
        let find = |name: &str| {
            let found = entries(&tree, 20, |it| it.eq_ignore_ascii_case(name)).expect("a tree");
            found.iter().map(|found| (found.id.bytes()[0], found.mode)).collect::<Vec<_>>()
        };
        assert_eq!(find("CONTENT"), [(2, TreeMode::Folder), (3, TreeMode::Folder)]);
        assert_eq!(find("a.B"), [(1, TreeMode::File)]);
        assert_eq!(find("b"), []);
        for cut in 1..tree.len() {
            // A truncated tree is refused or has fewer entries; `entries` never panics.
            let found = entries(&tree[..cut], 20, |_| true);
            assert!(found.map_or(0, |found| found.len()) < 3);
        }
        assert!(entries(&tree[..30], 20, |_| false).is_err());
    }

    #[test]
    fn a_pointer_of_git_lfs() {
        let oid = "ab".repeat(32);
        let text =
            format!("version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize 12\n");
        assert_eq!(lfs_pointer(text.as_bytes()), Some((oid, 12)));
        assert_eq!(lfs_pointer(text.replace("abab", "../a").as_bytes()), None, "a path");
        assert_eq!(lfs_pointer(b"\xc1\x83\x2a\x9e"), None);
    }
}
