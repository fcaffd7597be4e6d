//! Every tool, prompt and resource, and where it comes from; no collisions.

use std::collections::HashMap;
use std::sync::Arc;

use crate::bindings::types::ResourceInfo;
use crate::bindings::{Prompt, ResourceTemplate};
use crate::plugins::{Loaded, Plugins, Tool};
use crate::sandbox::Feature;

/// Longest name that all clients take.
const MAX_NAME: usize = 64;

/// What clients can see: the same for every one, and in an order that does not change.
#[derive(Default)]
pub struct Catalog {
    /// Where everything comes from.
    pub plugins: Arc<Plugins>,
    /// What the operator should know: names that had to be changed or hidden.
    pub remarks: Vec<String>,
    tools: Named,
    prompts: Named,
    resources: HashMap<String, usize>,
}

impl Catalog {
    /// Lists what these plugins offer.
    pub fn new(plugins: Arc<Plugins>) -> Self {
        let mut remarks = Vec::new();
        let tools = Named::of("tool", &plugins, &mut remarks, |loaded| {
            let shown = loaded.tools.iter().enumerate().filter(|(_, tool)| tool.on);
            shown.map(|(place, tool)| (place, tool.definition.name.clone())).collect()
        });
        let prompts = Named::of("prompt", &plugins, &mut remarks, |loaded| {
            let prompts = loaded.manifest.prompts.iter().enumerate();
            prompts.map(|(place, prompt)| (place, prompt.name.clone())).collect()
        });
        let mut resources = HashMap::new();
        for (index, loaded) in plugins.loaded.iter().enumerate() {
            for resource in &loaded.manifest.resources {
                let first = *resources.entry(resource.uri.clone()).or_insert(index);
                if first != index {
                    remarks.push(format!(
                        "the resource {} of `{}` is hidden: `{}` has one of that address",
                        crate::text::line(&resource.uri, 200),
                        loaded.plugin.name,
                        plugins.loaded[first].plugin.name,
                    ));
                }
            }
        }
        Self { plugins, remarks, tools, prompts, resources }
    }

    /// The tool that clients know by this name, and its plugin.
    pub fn tool(&self, name: &str) -> Option<(&Arc<Loaded>, &Tool)> {
        let (plugin, place) = self.tools.find(name)?;
        let loaded = &self.plugins.loaded[plugin];
        Some((loaded, &loaded.tools[place]))
    }

    /// Every tool, with the name that clients know it by.
    pub fn tools(&self) -> impl Iterator<Item = (&str, &Arc<Loaded>, &Tool)> {
        self.tools.all.iter().map(|(name, plugin, place)| {
            let loaded = &self.plugins.loaded[*plugin];
            (name.as_str(), loaded, &loaded.tools[*place])
        })
    }

    /// The prompt that clients know by this name, and its plugin.
    pub fn prompt(&self, name: &str) -> Option<(&Arc<Loaded>, &Prompt)> {
        let (plugin, place) = self.prompts.find(name)?;
        let loaded = &self.plugins.loaded[plugin];
        Some((loaded, &loaded.manifest.prompts[place]))
    }

    /// Every prompt, with the name that clients know it by.
    pub fn prompts(&self) -> impl Iterator<Item = (&str, &Prompt)> {
        self.prompts.all.iter().map(|(name, plugin, place)| {
            (name.as_str(), &self.plugins.loaded[*plugin].manifest.prompts[*place])
        })
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

/// Names of one kind of thing, as clients know them.
#[derive(Default)]
struct Named {
    /// Name, plugin, and place among the plugin's own.
    all: Vec<(String, usize, usize)>,
    by_name: HashMap<String, usize>,
}

impl Named {
    /// Gives every thing its name: its own where only one has it, with its plugin's before it where
    /// several do.
    fn of(
        kind: &str,
        plugins: &Plugins,
        remarks: &mut Vec<String>,
        own: impl Fn(&Loaded) -> Vec<(usize, String)>,
    ) -> Self {
        let mut things = Vec::new();
        let mut times: HashMap<String, usize> = HashMap::new();
        for (plugin, loaded) in plugins.loaded.iter().enumerate() {
            for (place, name) in own(loaded) {
                let name = match &loaded.prefix {
                    Some(prefix) => format!("{prefix}_{name}"),
                    None => name,
                };
                *times.entry(name.clone()).or_default() += 1;
                things.push((name, plugin, place));
            }
        }
        let mut named = Self::default();
        for (name, plugin, place) in things {
            let source = &plugins.loaded[plugin].plugin.name;
            let shown = if times[&name] > 1 {
                let shown = format!("{source}_{name}");
                remarks.push(format!(
                    "several plugins have a {kind} `{name}`: that of `{source}` is `{shown}`"
                ));
                shown
            } else {
                name
            };
            if shown.len() > MAX_NAME {
                remarks.push(format!("the {kind} `{shown}` is hidden: its name is too long"));
            } else if named.by_name.contains_key(&shown) {
                remarks.push(format!("a second {kind} `{shown}`, of `{source}`, is hidden"));
            } else {
                named.by_name.insert(shown.clone(), named.all.len());
                named.all.push((shown, plugin, place));
            }
        }
        named
    }

    fn find(&self, name: &str) -> Option<(usize, usize)> {
        let (_, plugin, place) = &self.all[*self.by_name.get(name)?];
        Some((*plugin, *place))
    }
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
