//! Resolves collisions of names and URIs: each name and each URI has one owner among several sources.

pub mod uris;

use std::collections::HashMap;
use std::sync::Arc;

/// Maximum length of a name that all clients accept, in bytes.
const MAX_NAME_BYTES: usize = 128;

/// A remark for the operator about one source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// The source that the remark is about.
    pub source: Arc<str>,
    /// The text for the operator.
    pub text: String,
}

/// The names of all items of one kind (tools or prompts), as clients know them.
#[derive(Default)]
pub struct Names {
    /// The name, the index of the source, and the index among the source's own items.
    all: Vec<(String, usize, usize)>,
    by_name: HashMap<String, usize>,
}

impl Names {
    /// Gives every item its name. If items of several sources have the same name, the item of the source with the
    /// lowest `rank` keeps the name. The other items get the name of their source and `_` in front of that name.
    /// Names include the operator's prefixes. An item is hidden if its name is longer than 128 bytes or is already
    /// taken.
    ///
    /// `rank` gets the index of a source in `all`, and a name. Of sources with equal rank, the first in `all` keeps
    /// the name. Each renamed or hidden item adds a remark to `remarks`, which calls the item a `kind` (`tool` or
    /// `prompt`).
    pub fn of(
        kind: &str,
        all: &[SourceNames],
        rank: impl Fn(usize, &str) -> usize,
        remarks: &mut Vec<Remark>,
    ) -> Self {
        let items: Vec<(usize, usize, String)> = (all.iter().enumerate())
            .flat_map(|(source, names)| {
                names.named().map(move |(name, place)| (source, place, name))
            })
            .collect();
        let mut owners: HashMap<&str, (usize, usize)> = HashMap::new();
        for (source, _, name) in &items {
            let own_rank = (rank(*source, name), *source);
            let first = owners.entry(name).or_insert(own_rank);
            *first = own_rank.min(*first);
        }
        let mut shown: Vec<Option<String>> = vec![None; items.len()];
        let mut taken: HashMap<String, usize> = HashMap::new();
        // Owners first: a renamed item must not take an owner's name.
        for keeps in [true, false] {
            for (at, (source, _, name)) in items.iter().enumerate() {
                let owner = owners[name.as_str()].1;
                if (owner == *source) != keeps {
                    continue;
                }
                let source_name = &all[*source].source;
                let mut remark = |text| remarks.push(Remark { source: source_name.clone(), text });
                let own = if keeps { name.clone() } else { format!("{source_name}_{name}") };
                if own.len() > MAX_NAME_BYTES {
                    remark(format!(
                        "the {kind} `{own}` of `{source_name}` is hidden: its name has more than {MAX_NAME_BYTES} bytes"
                    ));
                } else if taken.contains_key(&own) {
                    remark(format!(
                        "the {kind} `{own}` of `{source_name}` is hidden: another {kind} has that name"
                    ));
                } else {
                    if !keeps {
                        let first = &all[owner].source;
                        remark(format!(
                            "the {kind} `{name}` of `{source_name}` is called `{own}`: \
                             `{first}` has that name"
                        ));
                    }
                    taken.insert(own.clone(), at);
                    shown[at] = Some(own);
                }
            }
        }
        let mut named = Self::default();
        for ((source, place, _), shown) in items.iter().zip(shown) {
            if let Some(name) = shown {
                named.by_name.insert(name.clone(), named.all.len());
                named.all.push((name, *source, *place));
            }
        }
        named
    }

    /// The item of this name: the index of its source, and its index among the source's own items.
    pub fn find(&self, name: &str) -> Option<(usize, usize)> {
        let (_, source, place) = &self.all[*self.by_name.get(name)?];
        Some((*source, *place))
    }

    /// All names, each with the index of the source and the index among the source's own items.
    pub fn iter(&self) -> impl Iterator<Item = (&str, usize, usize)> {
        self.all.iter().map(|(name, source, place)| (name.as_str(), *source, *place))
    }
}

/// The names of one source's items of one kind.
pub struct SourceNames {
    /// The name of the source.
    pub source: Arc<str>,
    /// The operator's prefix for the names. `_` separates the prefix from the name.
    pub prefix: Option<String>,
    /// The index and the source's own name of each item.
    pub own: Vec<(usize, String)>,
}

impl SourceNames {
    /// The names with the prefix, and the index of each item.
    pub fn named(&self) -> impl Iterator<Item = (String, usize)> {
        self.own.iter().map(|(place, name)| match &self.prefix {
            Some(prefix) => (format!("{prefix}_{name}"), *place),
            None => (name.clone(), *place),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn things(source: &str, prefix: Option<&str>, own: &[&str]) -> SourceNames {
        let own = own.iter().enumerate().map(|(place, &name)| (place, name.to_owned())).collect();
        SourceNames { source: source.into(), prefix: prefix.map(str::to_owned), own }
    }

    #[test]
    fn a_name_belongs_to_the_first_and_the_others_get_their_source_before_it() {
        let all = [things("a", None, &["x", "y"]), things("b", None, &["x"])];
        let mut remarks = Vec::new();
        let names = Names::of("tool", &all, |_, _| 0, &mut remarks);
        let shown: Vec<_> = names.iter().collect();
        assert_eq!(shown, [("x", 0, 0), ("y", 0, 1), ("b_x", 1, 0)]);
        assert_eq!(names.find("b_x"), Some((1, 0)));
        assert_eq!(remarks.len(), 1, "{remarks:?}");
        assert!(&*remarks[0].source == "b" && remarks[0].text.contains("`b_x`"), "{remarks:?}");

        let names = Names::of("tool", &all, |source, _| 1 - source, &mut Vec::new());
        let shown: Vec<_> = names.iter().collect();
        assert_eq!(shown, [("a_x", 0, 0), ("y", 0, 1), ("x", 1, 0)]);
    }

    #[test]
    fn a_renamed_item_takes_no_owners_name() {
        let all =
            [things("a", None, &["x"]), things("b", None, &["x"]), things("c", None, &["b_x"])];
        let mut remarks = Vec::new();
        let names = Names::of("tool", &all, |_, _| 0, &mut remarks);
        assert_eq!(names.find("b_x"), Some((2, 0)));
        assert!(
            remarks.iter().any(|one| one.text.contains("the tool `b_x` of `b` is hidden")),
            "{remarks:?}"
        );
    }

    #[test]
    fn an_item_without_a_free_name_is_hidden_with_a_remark() {
        let mut remarks = Vec::new();
        let long = "l".repeat(MAX_NAME_BYTES + 1);
        let all = [
            things("a", None, &["b_x", &long]),
            things("b", Some("b"), &["x"]),
            things("b", Some("b"), &["x"]),
        ];
        let names = Names::of("tool", &all, |_, _| 0, &mut remarks);
        assert!(names.find(&long).is_none());
        assert_eq!(names.find("b_x"), Some((0, 0)));
        assert!(remarks.iter().any(|one| one.text.contains("more than 128")), "{remarks:?}");
        assert!(
            remarks.iter().any(|one| one.text.contains("another tool has that name")),
            "{remarks:?}"
        );
    }
}
