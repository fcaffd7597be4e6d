//! Collects context for findings of the linter: rules, API reference, guides and documentation.

use regex_lite::Regex;
use serde::Serialize;
use serde_json::Value;
use std::{collections::HashSet, hash::Hash, sync::LazyLock};

use crate::{
    guides::guides,
    report::FileFindings,
    rules,
    topics::{Page, page},
    type_info::TypeInfo,
};

/// The context of findings; in JSON, the tool's `contextInformation`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Context {
    /// The violated rules.
    pub rule_descriptions: Vec<RuleDescription>,
    /// Guides for findings that the linter cannot fix.
    pub migration_guides: Vec<Page>,
    /// The API that the findings use or recommend, as described by `lookup`.
    pub api_references: Vec<Value>,
    /// Documentation pages.
    pub documentation_resources: Vec<Page>,
    /// Number of API descriptions that did not fit.
    #[serde(skip)]
    pub api_references_left: usize,
}

/// A rule and its requirement.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleDescription {
    /// The rule's id in findings.
    pub rule_id: String,
    /// The requirement.
    pub description: String,
}

/// Collects the context of findings. `lookup` returns the descriptions for a name of API or a module, or none
/// for an unknown name. Descriptions are added as long as they fit in `budget` bytes of JSON.
pub fn context(
    files: &[FileFindings],
    mut lookup: impl FnMut(&str) -> Vec<Value>,
    budget: usize,
) -> Context {
    let mut mentions = Mentions::of(files);
    for rule in &mentions.rules.order {
        rules::topics(rule).iter().for_each(|topic| mentions.topics.add((*topic).to_owned()));
    }
    let (api_references, api_references_left) = mentions.describe_api(&mut lookup, budget);
    let describe =
        |id: &String| RuleDescription { rule_id: id.clone(), description: rules::describe(id) };
    Context {
        rule_descriptions: mentions.rules.order.iter().map(describe).collect(),
        migration_guides: guides(mentions.types.iter().copied()),
        api_references,
        documentation_resources: mentions
            .topics
            .order
            .iter()
            .filter_map(|topic| page(topic))
            .collect(),
        api_references_left,
    }
}

/// The names of the API that findings mention, then those of the modules, each in order of first
/// mention.
pub fn api_names(files: &[FileFindings]) -> Vec<String> {
    let mentions = Mentions::of(files);
    let mut names = Once::default();
    mentions.types.iter().filter_map(|info| info.api_name()).for_each(|name| names.add(name));
    mentions.modules.order.into_iter().for_each(|name| names.add(name));
    names.order
}

/// The rules, API, modules and topics that the findings mention, in order of first mention. Only `types` may have
/// duplicates.
struct Mentions<'f> {
    rules: Once<String>,
    types: Vec<&'f TypeInfo>,
    modules: Once<String>,
    topics: Once<String>,
}

impl<'f> Mentions<'f> {
    fn of(files: &'f [FileFindings]) -> Self {
        let mut mentions = Self {
            rules: Once::default(),
            types: Vec::new(),
            modules: Once::default(),
            topics: Once::default(),
        };
        for finding in files.iter().flat_map(|file| &file.messages) {
            mentions.rules.add(finding.rule_id.clone());
            if let Some(info) = &finding.type_info {
                mentions.types.push(info);
                info.module().into_iter().for_each(|name| mentions.modules.add(name.to_owned()));
            }
            if let Some(details) = &finding.message_details {
                mentions.read(details);
            }
        }
        mentions
    }

    fn read(&mut self, text: &str) {
        names_in(text).for_each(|name| self.modules.add(name.to_owned()));
        topics_in(text).for_each(|topic| self.topics.add(topic.to_owned()));
    }

    /// Descriptions of the API, then of the modules; and the number of those that did not fit.
    fn describe_api(
        &mut self,
        lookup: &mut impl FnMut(&str) -> Vec<Value>,
        budget: usize,
    ) -> (Vec<Value>, usize) {
        let mut references = References { bytes_left: budget, ..References::default() };
        let mut names = Once::default();
        self.types.iter().filter_map(|info| info.api_name()).for_each(|name| names.add(name));
        for name in &names.order {
            for reference in lookup(name) {
                for text in [&reference["deprecatedText"], &reference["deprecated"]["text"]] {
                    let replacement = text.as_str().unwrap_or_default();
                    names_in(replacement).for_each(|name| self.modules.add(name.to_owned()));
                }
                topics_in(&reference.to_string())
                    .for_each(|topic| self.topics.add(topic.to_owned()));
                references.add(reference);
            }
        }
        for name in self.modules.order.iter().filter(|name| !names.known.contains(*name)) {
            lookup(name).into_iter().for_each(|reference| references.add(reference));
        }
        (references.taken, references.left_out)
    }
}

/// Descriptions of API, without duplicates.
#[derive(Default)]
struct References {
    taken: Vec<Value>,
    known: HashSet<String>,
    bytes_left: usize,
    left_out: usize,
}

impl References {
    fn add(&mut self, reference: Value) {
        let part = |name: &str| reference[name].as_str().unwrap_or_default().to_owned();
        let key = [part("module"), part("kind"), part("name")].join("\n");
        if !self.known.insert(key) {
            return;
        }
        // One byte for the comma.
        let size = reference.to_string().len() + 1;
        if size > self.bytes_left {
            self.left_out += 1;
            return;
        }
        self.bytes_left -= size;
        self.taken.push(reference);
    }
}

/// A list in order of insertion, without duplicates.
struct Once<T> {
    order: Vec<T>,
    known: HashSet<T>,
}

impl<T> Default for Once<T> {
    fn default() -> Self {
        Self { order: Vec::new(), known: HashSet::new() }
    }
}

impl<T: Clone + Eq + Hash> Once<T> {
    fn add(&mut self, item: T) {
        if self.known.insert(item.clone()) {
            self.order.push(item);
        }
    }
}

/// The text's names of modules or API: `sap.m.Avatar`, `sap/ui/core/Component`.
fn names_in(text: &str) -> impl Iterator<Item = &str> {
    static NAME: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\bsap(?:[./][A-Za-z0-9_]+)+").expect("the pattern is valid"));
    // `sap.com` is the documentation's host, not a name.
    NAME.find_iter(text).map(|found| found.as_str()).filter(|name| !name.starts_with("sap.com"))
}

/// The ids of the documentation pages in the text's links.
fn topics_in(text: &str) -> impl Iterator<Item = &str> {
    static LINK: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"https://ui5\.sap\.com/#/topic/([A-Za-z0-9-]+)").expect("the pattern is valid")
    });
    LINK.captures_iter(text).filter_map(|found| found.get(1)).map(|id| id.as_str())
}
