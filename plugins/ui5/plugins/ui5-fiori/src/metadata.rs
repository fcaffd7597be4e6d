//! The local copy of a service's metadata, by which context paths are checked.

use roxmltree::{Document, Node, ParsingOptions};
use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::Path,
};

/// Maximum size of metadata, in bytes; far above real ones.
const MAX_METADATA_BYTES: u64 = 8 * 1024 * 1024;

/// Maximum number of XML nodes in metadata.
const MAX_NODES: u32 = 2_000_000;

/// Maximum number of types in a chain of base types: the chain may be cyclic.
const MAX_CHAIN: usize = 32;

/// Maximum number of names in one message.
const MAX_NAMES: usize = 20;

/// Entity sets and navigation properties of a service.
#[derive(Debug, Default)]
pub struct Metadata {
    /// The entity type of each entity set.
    sets: BTreeMap<String, String>,
    types: HashMap<String, EntityType>,
}

#[derive(Debug, Default)]
struct EntityType {
    base: Option<String>,
    /// The entity type of each navigation property, and whether it leads to many entities.
    navigation: BTreeMap<String, (String, bool)>,
}

impl Metadata {
    /// Reads a file. `None` if it is missing, is too large, or is not metadata of OData V4.
    pub fn read(path: &Path) -> Option<Self> {
        if fs::metadata(path).ok()?.len() > MAX_METADATA_BYTES {
            return None;
        }
        Self::parse(&fs::read_to_string(path).ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        let options = ParsingOptions { nodes_limit: MAX_NODES, ..ParsingOptions::default() };
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let document = Document::parse_with_options(text, options).ok()?;
        let is_v4 = document.root_element().attribute("Version")?.starts_with('4');
        if !is_v4 {
            return None;
        }
        let mut metadata = Self::default();
        for node in document.descendants() {
            match (node.tag_name().name(), node.attribute("Name")) {
                ("EntityType", Some(name)) => {
                    for namespace in namespaces(node) {
                        metadata
                            .types
                            .insert(format!("{namespace}.{name}"), EntityType::read(node));
                    }
                }
                ("EntitySet", Some(name)) => {
                    let entity_type = node.attribute("EntityType").unwrap_or_default();
                    metadata.sets.insert(name.to_owned(), entity_type.to_owned());
                }
                _ => {}
            }
        }
        Some(metadata)
    }

    /// Checks a path such as `/Books/chapters`. The error about an unknown name lists the names that exist.
    pub fn check(&self, context_path: &str) -> Result<(), String> {
        let mut parts = context_path.trim_start_matches('/').split('/');
        let set = parts.next().unwrap_or_default();
        let Some(mut entity_type) = self.sets.get(set).map(String::as_str) else {
            return Err(format!(
                "The local metadata have no entity set '{set}'. The entity sets are: {}. Nothing was written.",
                listed(self.sets.keys())
            ));
        };
        for part in parts {
            let navigation = self.navigation(entity_type);
            match navigation.get(part).copied() {
                Some((next, true)) => entity_type = next,
                Some((_, false)) => {
                    return Err(format!(
                        "The navigation property '{part}' leads to one entity, not to a list from which \
                         a user could choose. Nothing was written."
                    ));
                }
                None => {
                    return Err(format!(
                        "In the local metadata, the entity type has no navigation property '{part}'. Its \
                         navigation properties are: {}. Nothing was written.",
                        listed(navigation.keys())
                    ));
                }
            }
        }
        Ok(())
    }

    /// The navigation properties of a type and of its base types.
    fn navigation(&self, name: &str) -> BTreeMap<&str, (&str, bool)> {
        let mut found = BTreeMap::new();
        let mut next = self.types.get(name);
        for _ in 0..MAX_CHAIN {
            let Some(entity_type) = next else {
                break;
            };
            for (name, (to, is_many)) in &entity_type.navigation {
                found.entry(name.as_str()).or_insert((to.as_str(), *is_many));
            }
            next = entity_type.base.as_ref().and_then(|base| self.types.get(base));
        }
        found
    }
}

impl EntityType {
    fn read(node: Node<'_, '_>) -> Self {
        let mut navigation = BTreeMap::new();
        for child in node.children().filter(|child| child.tag_name().name() == "NavigationProperty")
        {
            let (Some(name), Some(to)) = (child.attribute("Name"), child.attribute("Type")) else {
                continue;
            };
            let item_type = to.strip_prefix("Collection(").and_then(|to| to.strip_suffix(')'));
            let target = (item_type.unwrap_or(to).to_owned(), item_type.is_some());
            navigation.insert(name.to_owned(), target);
        }
        Self { base: node.attribute("BaseType").map(str::to_owned), navigation }
    }
}

/// The schema's namespace, and its alias.
fn namespaces<'x>(node: Node<'x, '_>) -> impl Iterator<Item = &'x str> {
    let schema = node.ancestors().find(|ancestor| ancestor.tag_name().name() == "Schema");
    let names = schema.map(|schema| [schema.attribute("Namespace"), schema.attribute("Alias")]);
    names.into_iter().flatten().flatten()
}

/// Names for a message: at most [`MAX_NAMES`], and the number of the others. Names that are not plain ASCII identifiers
/// are among the others.
fn listed<'n>(names: impl Iterator<Item = impl AsRef<str> + 'n>) -> String {
    let is_plain = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let (mut shown, mut others) = (Vec::new(), 0);
    for name in names {
        if is_plain(name.as_ref()) && shown.len() < MAX_NAMES {
            shown.push(name.as_ref().to_owned());
        } else {
            others += 1;
        }
    }
    match (shown.join(", "), others) {
        (shown, 0) if shown.is_empty() => "none".to_owned(),
        (shown, others) if shown.is_empty() => format!("{others} that cannot be named here"),
        (shown, 0) => shown,
        (shown, others) => format!("{shown} and {others} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHOP: &str = r#"<e:Edmx Version="4.0" xmlns:e="http://docs.oasis-open.org/odata/ns/edmx"><e:DataServices>
 <Schema Namespace="shop" Alias="S" xmlns="http://docs.oasis-open.org/odata/ns/edm">
  <EntityType Name="Thing" BaseType="shop.Thing">
   <NavigationProperty Name="texts" Type="Collection(shop.Text)"/></EntityType>
  <EntityType Name="Book" BaseType="S.Thing">
   <NavigationProperty Name="chapters" Type="Collection(shop.Chapter)"/>
   <NavigationProperty Name="author" Type="shop.Author"/></EntityType>
  <EntityType Name="Chapter"/>
  <EntityContainer Name="C"><EntitySet Name="Books" EntityType="S.Book"/></EntityContainer>
 </Schema></e:DataServices></e:Edmx>"#;

    #[test]
    fn wrong_paths_are_refused_with_the_existing_names() {
        let metadata = Metadata::parse(SHOP).expect("they are metadata");
        for path in ["/Books", "/Books/chapters", "/Books/texts"] {
            assert_eq!(metadata.check(path), Ok(()), "{path}");
        }
        for (path, expected) in [
            ("/Cooks", "no entity set 'Cooks'. The entity sets are: Books."),
            ("/Books/pages", "'pages'. Its navigation properties are: author, chapters, texts."),
            ("/Books/author", "'author' leads to one entity"),
            ("/Books/chapters/x", "properties are: none."),
        ] {
            let refused = metadata.check(path).expect_err(path);
            assert!(refused.contains(expected), "{refused}");
        }
    }

    #[test]
    fn names_that_a_message_does_not_show_are_counted() {
        let of = |names: &[&str]| listed(names.iter());
        assert_eq!(of(&[]), "none");
        assert_eq!(of(&["B\u{FC}cher", "a b"]), "2 that cannot be named here");
        assert_eq!(of(&["Books", "B\u{FC}cher"]), "Books and 1 more");
        let many: Vec<_> = (0..MAX_NAMES + 3).map(|at| format!("S{at}")).collect();
        let shown = listed(many.iter());
        assert!(shown.starts_with("S0, S1,") && shown.ends_with("S19 and 3 more"), "{shown}");
    }

    #[test]
    fn other_files_than_metadata_of_odata_v4_are_not_used() {
        for text in ["", "<a/>", "<Edmx Version=\"1.0\"/>"] {
            assert!(Metadata::parse(text).is_none(), "{text}");
        }
    }
}
