//! Names that are unlike each other, for things of several sources.

use std::collections::HashMap;
use std::sync::Arc;

/// Longest name that all clients take.
const MAX_NAME: usize = 64;

/// Names of one kind of thing, as clients know them.
#[derive(Default)]
pub struct Names {
    /// Name, source (the plugins, and then the others), and place among the source's own.
    all: Vec<(String, usize, usize)>,
    by_name: HashMap<String, usize>,
}

impl Names {
    /// Gives every thing its name: its own where only one has it, with its source's before it where
    /// several do.
    ///
    /// What had to be changed or hidden is said in `remarks`.
    pub fn of(kind: &str, all: Vec<Things>, remarks: &mut Vec<String>) -> Self {
        let mut times: HashMap<String, usize> = HashMap::new();
        for (name, ..) in all.iter().flat_map(Things::named) {
            *times.entry(name).or_default() += 1;
        }
        let mut named = Self::default();
        for (source, things) in all.iter().enumerate() {
            let whose = &things.source;
            for (name, place) in things.named() {
                let shown = if times[&name] > 1 {
                    let shown = format!("{whose}_{name}");
                    remarks.push(format!(
                        "several plugins have a {kind} `{name}`: that of `{whose}` is `{shown}`"
                    ));
                    shown
                } else {
                    name
                };
                if shown.len() > MAX_NAME {
                    remarks.push(format!("the {kind} `{shown}` is hidden: its name is too long"));
                } else if named.by_name.contains_key(&shown) {
                    remarks.push(format!("a second {kind} `{shown}`, of `{whose}`, is hidden"));
                } else {
                    named.by_name.insert(shown.clone(), named.all.len());
                    named.all.push((shown, source, place));
                }
            }
        }
        named
    }

    /// The source, by its place among those given, and the place there of the thing of this name.
    pub fn find(&self, name: &str) -> Option<(usize, usize)> {
        let (_, plugin, place) = &self.all[*self.by_name.get(name)?];
        Some((*plugin, *place))
    }

    /// All of them: name, source, and place among the source's own.
    pub fn iter(&self) -> impl Iterator<Item = (&str, usize, usize)> {
        self.all.iter().map(|(name, source, place)| (name.as_str(), *source, *place))
    }
}

/// Things of one kind and one source, by their own names.
pub struct Things {
    /// What the source is called.
    pub source: Arc<str>,
    /// What the operator puts before their names, with `_` between.
    pub prefix: Option<String>,
    /// The place of each, and its name.
    pub own: Vec<(usize, String)>,
}

impl Things {
    /// Their names, with the source's prefix.
    fn named(&self) -> impl Iterator<Item = (String, usize)> {
        self.own.iter().map(|(place, name)| match &self.prefix {
            Some(prefix) => (format!("{prefix}_{name}"), *place),
            None => (name.clone(), *place),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn things(source: &str, prefix: Option<&str>, own: &[&str]) -> Things {
        let own = own.iter().enumerate().map(|(place, &name)| (place, name.to_owned())).collect();
        Things { source: source.into(), prefix: prefix.map(str::to_owned), own }
    }

    #[test]
    fn a_name_that_two_have_gets_the_source_before_it_in_both() {
        let mut remarks = Vec::new();
        let all = vec![things("a", None, &["x", "y"]), things("b", None, &["x"])];
        let names = Names::of("tool", all, &mut remarks);
        let shown: Vec<_> = names.iter().collect();
        assert_eq!(shown, [("a_x", 0, 0), ("y", 0, 1), ("b_x", 1, 0)]);
        assert_eq!(names.find("b_x"), Some((1, 0)));
        assert_eq!(names.find("x"), None);
        assert_eq!(remarks.len(), 2, "{remarks:?}");
    }

    #[test]
    fn what_still_has_no_name_of_its_own_is_hidden_and_said_to_be() {
        let mut remarks = Vec::new();
        let long = "l".repeat(MAX_NAME + 1);
        let all = vec![
            things("a", None, &["b_x", &long]),
            things("b", Some("b"), &["x"]),
            things("b", Some("b"), &["x"]),
        ];
        let names = Names::of("tool", all, &mut remarks);
        assert!(names.find(&long).is_none());
        assert!(remarks.iter().any(|remark| remark.contains("too long")), "{remarks:?}");
        assert!(remarks.iter().any(|remark| remark.contains("a second tool")), "{remarks:?}");
    }
}
