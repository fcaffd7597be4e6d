//! Every tool, prompt and resource, and where it comes from; no collisions.

use std::collections::HashMap;
use std::sync::Arc;

use crate::bindings::types::ResourceInfo;
use crate::bindings::{Prompt, ResourceTemplate};
use crate::plugins::{Loaded, Plugins, Tool as OwnTool};
use crate::sandbox::Feature;
use portcullis_names::{Names, Things};
use portcullis_upstream::{Object, Prompt as OtherPrompt, Tool as OtherTool};
use portcullis_wrap::{Offered, views};

/// What clients can see: the same for every one, and in an order that does not change.
#[derive(Default)]
pub struct Catalog {
    /// Where plugins come from.
    pub plugins: Arc<Plugins>,
    /// What other servers offer.
    pub others: Vec<Offered>,
    /// What the operator should know: names that had to be changed or hidden.
    pub remarks: Vec<String>,
    tools: Names,
    prompts: Names,
    resources: HashMap<String, usize>,
}

/// A tool, and whose.
#[derive(Clone, Copy)]
pub enum Tool<'a> {
    /// Of a plugin.
    Own(&'a Arc<Loaded>, &'a OwnTool),
    /// Of another server.
    Other(&'a Offered, &'a OtherTool),
}

impl Tool<'_> {
    /// Whose it is, by the operator's name.
    pub fn source(&self) -> &str {
        match self {
            Self::Own(loaded, _) => &loaded.plugin.name,
            Self::Other(other, _) => &other.source.name,
        }
    }
}

/// A prompt, and whose.
#[derive(Clone, Copy)]
pub enum PromptOf<'a> {
    /// Of a plugin.
    Own(&'a Arc<Loaded>, &'a Prompt),
    /// Of another server.
    Other(&'a Offered, &'a OtherPrompt),
}

impl Catalog {
    /// Lists what these plugins and other servers offer.
    pub fn new(plugins: Arc<Plugins>, others: Vec<Offered>) -> Self {
        let mut remarks = Vec::new();
        let own = plugins.loaded.iter().map(|loaded| {
            let shown = loaded.tools.iter().enumerate().filter(|(_, tool)| tool.on);
            let tools = shown.map(|(place, tool)| (place, tool.definition.name.clone())).collect();
            of_plugin(loaded, tools)
        });
        let foreign = others.iter().map(|other| {
            let tools = other.tools().map(|(place, tool)| (place, tool.name.clone())).collect();
            of_other(other, tools)
        });
        let tools = Names::of("tool", own.chain(foreign).collect(), &mut remarks);
        let own = plugins.loaded.iter().map(|loaded| {
            let prompts = loaded.manifest.prompts.iter().enumerate();
            of_plugin(loaded, prompts.map(|(at, one)| (at, one.name.clone())).collect())
        });
        let foreign = others.iter().map(|other| {
            let prompts = other.listing.prompts.iter().enumerate();
            of_other(other, prompts.map(|(at, one)| (at, one.name.clone())).collect())
        });
        let prompts = Names::of("prompt", own.chain(foreign).collect(), &mut remarks);
        let mut resources = HashMap::new();
        for (index, loaded) in plugins.loaded.iter().enumerate() {
            for resource in &loaded.manifest.resources {
                let first = *resources.entry(resource.uri.clone()).or_insert(index);
                if first != index {
                    remarks.push(format!(
                        "the resource {} of `{}` is hidden: `{}` has one of that address",
                        portcullis_text::line(&resource.uri, 200),
                        loaded.plugin.name,
                        plugins.loaded[first].plugin.name,
                    ));
                }
            }
        }
        for other in &others {
            let held = other.held.iter().map(|tool| {
                format!("the tool `{tool}` of `{}` is held back until approved", other.source.name)
            });
            remarks.extend(held);
        }
        Self { plugins, others, remarks, tools, prompts, resources }
    }

    /// The tool that clients know by this name.
    ///
    /// A view that another server brings calls that server's tools by their own names: those count
    /// where no other tool has them.
    pub fn tool(&self, name: &str) -> Option<Tool<'_>> {
        let named = self.tools.find(name).map(|(source, place)| self.tool_at(source, place));
        named.or_else(|| {
            let own = |tool: &Tool<'_>| matches!(tool, Tool::Other(_, one) if one.name == name);
            let mut own = self.tools().map(|(_, tool)| tool).filter(own);
            own.next().filter(|_| own.next().is_none())
        })
    }

    fn tool_at(&self, source: usize, place: usize) -> Tool<'_> {
        match self.plugins.loaded.get(source) {
            Some(loaded) => Tool::Own(loaded, &loaded.tools[place]),
            None => {
                let other = &self.others[source - self.plugins.loaded.len()];
                Tool::Other(other, &other.listing.tools[place])
            }
        }
    }

    /// Every tool, with the name that clients know it by.
    pub fn tools(&self) -> impl Iterator<Item = (&str, Tool<'_>)> {
        self.tools.iter().map(|(name, source, place)| (name, self.tool_at(source, place)))
    }

    /// The prompt that clients know by this name.
    pub fn prompt(&self, name: &str) -> Option<PromptOf<'_>> {
        self.prompts.find(name).map(|(source, place)| self.prompt_at(source, place))
    }

    fn prompt_at(&self, source: usize, place: usize) -> PromptOf<'_> {
        match self.plugins.loaded.get(source) {
            Some(loaded) => PromptOf::Own(loaded, &loaded.manifest.prompts[place]),
            None => {
                let other = &self.others[source - self.plugins.loaded.len()];
                PromptOf::Other(other, &other.listing.prompts[place])
            }
        }
    }

    /// Every prompt, with the name that clients know it by.
    pub fn prompts(&self) -> impl Iterator<Item = (&str, PromptOf<'_>)> {
        self.prompts.iter().map(|(name, source, place)| (name, self.prompt_at(source, place)))
    }

    /// The other server that lists this resource, or has the closest template for it.
    pub fn other_with(&self, uri: &str) -> Option<&Offered> {
        let of_view = |other: &&Offered| views::inward(&other.source.name, uri).is_some();
        if let Some(other) = self.others.iter().find(of_view) {
            return Some(other);
        }
        let text = |object: &Object, key: &str| -> String {
            object.get(key).and_then(|value| value.as_str()).unwrap_or_default().to_owned()
        };
        let lists = |other: &&Offered| {
            other.listing.resources.iter().any(|resource| text(resource, "uri") == uri)
        };
        self.others.iter().find(lists).or_else(|| {
            let closest = |other: &Offered| {
                let templates = other.listing.templates.iter();
                templates.filter_map(|one| closeness(&text(one, "uriTemplate"), uri)).max()
            };
            let fitting = self.others.iter().filter_map(|other| Some((closest(other)?, other)));
            fitting.max_by_key(|(closeness, _)| *closeness).map(|(_, other)| other)
        })
    }

    /// The other server that has this template.
    pub fn other_of_template(&self, template: &str) -> Option<&Offered> {
        let has = |one: &Object| one.get("uriTemplate").is_some_and(|value| value == template);
        self.others.iter().find(|other| other.listing.templates.iter().any(has))
    }

    /// Every resource that a manifest names.
    pub fn resources(&self) -> impl Iterator<Item = &ResourceInfo> {
        self.plugins.loaded.iter().enumerate().flat_map(move |(index, loaded)| {
            let own = move |one: &&ResourceInfo| self.resources.get(&one.uri) == Some(&index);
            loaded.manifest.resources.iter().filter(own)
        })
    }

    /// The plugin that serves this template.
    pub fn template(&self, template: &str) -> Option<&Arc<Loaded>> {
        let has = |loaded: &&Arc<Loaded>| {
            loaded.manifest.templates.iter().any(|one| one.uri_template == template)
        };
        self.plugins.loaded.iter().find(has)
    }

    /// Every resource template.
    pub fn templates(&self) -> impl Iterator<Item = &ResourceTemplate> {
        self.plugins.loaded.iter().flat_map(|loaded| &loaded.manifest.templates)
    }

    /// The plugins that may have a resource of this address, the likeliest first: the one whose
    /// manifest names it; those with a template for it, the closest first; those that list more
    /// than their manifest does.
    pub fn resource(&self, uri: &str) -> Vec<&Arc<Loaded>> {
        if let Some(index) = self.resources.get(uri) {
            return vec![&self.plugins.loaded[*index]];
        }
        let mut fitting: Vec<(usize, &Arc<Loaded>)> = Vec::new();
        for loaded in self.with(Feature::Resources) {
            let templates = &loaded.manifest.templates;
            let closest =
                templates.iter().filter_map(|one| closeness(&one.uri_template, uri)).max();
            fitting.push((closest.unwrap_or(0), loaded));
        }
        // A stable sort: of several equals, the first plugin.
        fitting.sort_by_key(|(closeness, _)| std::cmp::Reverse(*closeness));
        fitting.into_iter().map(|(_, loaded)| loaded).collect()
    }

    /// The plugins that offer a feature.
    pub fn with(&self, feature: Feature) -> impl Iterator<Item = &Arc<Loaded>> {
        self.plugins.loaded.iter().filter(move |loaded| loaded.features.contains(&feature))
    }
}

fn of_plugin(loaded: &Loaded, own: Vec<(usize, String)>) -> Things {
    Things { source: loaded.plugin.name.clone(), prefix: loaded.prefix.clone(), own }
}

fn of_other(other: &Offered, own: Vec<(usize, String)>) -> Things {
    Things { source: other.source.name.clone(), prefix: other.source.prefix.clone(), own }
}

/// Whether what a plugin says of a resource counts: it lists the resource, one of its templates fits, or it
/// has no templates, and may know more than it lists.
pub fn answers_for(loaded: &Loaded, uri: &str) -> bool {
    let templates = &loaded.manifest.templates;
    templates.is_empty()
        || loaded.manifest.resources.iter().any(|one| one.uri == uri)
        || templates.iter().any(|one| closeness(&one.uri_template, uri).is_some())
}

/// How many characters of an address a template (RFC 6570) gives as they are, before its first
/// variable and behind its last. `None`: it does not fit. What lies between is for the plugin to
/// judge: it is the one that knows what its variables may hold.
fn closeness(template: &str, uri: &str) -> Option<usize> {
    let (before, rest) = template.split_once('{')?;
    let behind = rest.rsplit_once('}').map_or("", |(_, behind)| behind);
    let fits = uri.len() >= before.len() + behind.len()
        && uri.starts_with(before)
        && uri.ends_with(behind);
    fits.then_some(before.len() + behind.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_template_counts() {
        let table = [
            ("notes://{folder}/{+path}", "notes://a/b/c", Some(8)),
            ("notes://{folder}/index.md", "notes://a/index.md", Some(17)),
            ("notes://{folder}/index.md", "notes://a/other.md", None),
            ("notes://{?page}", "files://a", None),
            ("a{x}a", "a", None),
            ("plain", "plain", None),
        ];
        for (template, uri, expected) in table {
            assert_eq!(closeness(template, uri), expected, "{template} {uri}");
        }
    }
}
