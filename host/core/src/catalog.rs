//! Every tool, prompt and resource, and where it comes from; each name and each URI has one owner.

mod owners;

use std::sync::Arc;

use crate::bindings::types::ResourceInfo;
use crate::bindings::{PathArgument, Prompt, ResourceTemplate};
use crate::lock::Lock;
use crate::plugins::{Loaded, PluginTool, Plugins};
use crate::sandbox::Feature;
use crate::source::Source;
use crate::upstreams::{Offered, views};
use owners::{Ranks, Realms, Templates};
use portcullis_mcp_client::{Object, UpstreamPrompt, UpstreamTool};
use portcullis_name_collisions::uris::{self, Owners};
use portcullis_name_collisions::{Names, Remark, Things};

/// What clients can see: the same for every one, and in an order that does not change.
#[derive(Default)]
pub struct Catalog {
    /// The plugins: loaded and refused.
    pub plugins: Arc<Plugins>,
    /// What other servers offer.
    pub others: Vec<Offered>,
    /// What the operator should know of a source: names and URIs that had to be changed or hidden.
    pub remarks: Vec<Remark>,
    tools: Names,
    prompts: Names,
    uris: Owners,
    realms: Realms,
    /// When each source arrived, the earliest first: 0 where it is bundled.
    arrived: Vec<usize>,
    /// Templates that own their space, by the source's place.
    templates: Templates,
}

/// A tool, and whose.
#[derive(Clone, Copy)]
pub enum CatalogTool<'a> {
    /// Of a plugin.
    Own(&'a Arc<Loaded>, &'a PluginTool),
    /// Of another server.
    Other(&'a Offered, &'a UpstreamTool),
}

impl<'a> CatalogTool<'a> {
    /// Whose it is.
    pub fn source(self) -> Source<'a> {
        match self {
            Self::Own(loaded, _) => Source::Plugin(loaded),
            Self::Other(offered, _) => Source::Upstream(offered),
        }
    }

    /// The source's own name for it.
    pub fn own_name(self) -> &'a str {
        match self {
            Self::Own(_, tool) => &tool.definition.name,
            Self::Other(_, tool) => &tool.name,
        }
    }

    /// The arguments that are paths. Those of upstream servers are not known.
    pub fn paths(self) -> &'a [PathArgument] {
        match self {
            Self::Own(_, tool) => &tool.definition.paths,
            Self::Other(..) => &[],
        }
    }
}

/// A prompt, and whose.
#[derive(Clone, Copy)]
pub enum CatalogPrompt<'a> {
    /// Of a plugin.
    Own(&'a Arc<Loaded>, &'a Prompt),
    /// Of another server.
    Other(&'a Offered, &'a UpstreamPrompt),
}

impl<'a> CatalogPrompt<'a> {
    /// Whose it is.
    pub fn source(self) -> Source<'a> {
        match self {
            Self::Own(loaded, _) => Source::Plugin(loaded),
            Self::Other(offered, _) => Source::Upstream(offered),
        }
    }

    /// The source's own name for it.
    pub fn own_name(self) -> &'a str {
        match self {
            Self::Own(_, prompt) => &prompt.name,
            Self::Other(_, prompt) => &prompt.name,
        }
    }
}

impl Catalog {
    /// Lists what these plugins and other servers offer. Who owns what is as the lock has it; new claims
    /// are written there.
    pub async fn new(plugins: Arc<Plugins>, others: Vec<Offered>, lock: &Lock) -> Self {
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
        let tools: Vec<_> = own.chain(foreign).collect();
        let own = plugins.loaded.iter().map(|loaded| {
            let prompts = loaded.manifest.prompts.iter().enumerate();
            of_plugin(loaded, prompts.map(|(at, one)| (at, one.name.clone())).collect())
        });
        let foreign = others.iter().map(|other| {
            let prompts = other.listing.prompts.iter().enumerate();
            of_other(other, prompts.map(|(at, one)| (at, one.name.clone())).collect())
        });
        let prompts: Vec<_> = own.chain(foreign).collect();
        let names = [("tool", tools.as_slice()), ("prompt", prompts.as_slice())];
        let ranks = Ranks::of(&plugins, &others, names, lock).await;
        let tools =
            Names::of("tool", &tools, |at, name| ranks.of_name(at, "tool", name), &mut remarks);
        let prompts = Names::of(
            "prompt",
            &prompts,
            |at, name| ranks.of_name(at, "prompt", name),
            &mut remarks,
        );
        let (uris, templates, realms) = owners::owned(&plugins, &others, &ranks, &mut remarks);
        for other in &others {
            let name = &other.source.name;
            let held = other.held.iter().map(|held| Remark {
                source: name.clone(),
                text: format!("the tool `{}` of `{name}` is held back until approved", held.tool),
            });
            let left_out = other.listing.warnings.iter().map(|warning| Remark {
                source: name.clone(),
                text: format!("`{name}`: {warning}"),
            });
            remarks.extend(held.chain(left_out));
        }
        let arrived = ranks.arrived();
        Self { plugins, others, remarks, tools, prompts, uris, realms, arrived, templates }
    }

    /// The tool that clients know by this name.
    ///
    /// If no tool has the name, an upstream server's own name for a tool counts, if exactly one listed tool of upstream
    /// servers has it: views of these servers use such names.
    pub fn tool(&self, name: &str) -> Option<CatalogTool<'_>> {
        let named = self.tools.find(name).map(|(source, place)| self.tool_at(source, place));
        named.or_else(|| {
            let own = |tool: &CatalogTool<'_>| matches!(tool, CatalogTool::Other(_, one) if one.name == name);
            let mut own = self.tools().map(|(_, tool)| tool).filter(own);
            own.next().filter(|_| own.next().is_none())
        })
    }

    fn tool_at(&self, source: usize, place: usize) -> CatalogTool<'_> {
        match self.plugins.loaded.get(source) {
            Some(loaded) => CatalogTool::Own(loaded, &loaded.tools[place]),
            None => {
                let other = &self.others[source - self.plugins.loaded.len()];
                CatalogTool::Other(other, &other.listing.tools[place])
            }
        }
    }

    /// Every tool, with the name that clients know it by.
    pub fn tools(&self) -> impl Iterator<Item = (&str, CatalogTool<'_>)> {
        self.tools.iter().map(|(name, source, place)| (name, self.tool_at(source, place)))
    }

    /// The prompt that clients know by this name.
    pub fn prompt(&self, name: &str) -> Option<CatalogPrompt<'_>> {
        self.prompts.find(name).map(|(source, place)| self.prompt_at(source, place))
    }

    fn prompt_at(&self, source: usize, place: usize) -> CatalogPrompt<'_> {
        match self.plugins.loaded.get(source) {
            Some(loaded) => CatalogPrompt::Own(loaded, &loaded.manifest.prompts[place]),
            None => {
                let other = &self.others[source - self.plugins.loaded.len()];
                CatalogPrompt::Other(other, &other.listing.prompts[place])
            }
        }
    }

    /// Every prompt, with the name that clients know it by.
    pub fn prompts(&self) -> impl Iterator<Item = (&str, CatalogPrompt<'_>)> {
        self.prompts.iter().map(|(name, source, place)| (name, self.prompt_at(source, place)))
    }

    /// The other server that owns this URI.
    pub fn other_with(&self, uri: &str) -> Option<&Offered> {
        self.other_at(self.uris.of(uri)?)
    }

    fn other_at(&self, source: usize) -> Option<&Offered> {
        self.others.get(source.checked_sub(self.plugins.loaded.len())?)
    }

    /// What other servers list under a key of theirs, `uri` or `uriTemplate`, as clients see it: without
    /// what is not theirs.
    pub fn of_others<'a>(
        &'a self,
        key: &'a str,
        which: impl Fn(&Offered) -> &Vec<Object> + 'a,
    ) -> impl Iterator<Item = Object> + 'a {
        let first = self.plugins.loaded.len();
        self.others.iter().zip(first..).flat_map(move |(other, source)| {
            let all = which(other).iter().cloned();
            let outward = move |mut object: Object| {
                views::rewrite_resource(&other.source.name, &mut object);
                object
            };
            all.map(outward).filter(move |object| {
                let address = object.get(key).and_then(|address| address.as_str());
                address.is_some_and(|address| match key {
                    "uri" => self.uris.of(address) == Some(source),
                    _ => self.templates.contains(&(source, address.to_owned())),
                })
            })
        })
    }

    /// Every resource that a manifest names, and that is its plugin's.
    pub fn resources(&self) -> impl Iterator<Item = &ResourceInfo> {
        self.plugins.loaded.iter().enumerate().flat_map(move |(index, loaded)| {
            let own = move |one: &&ResourceInfo| self.uris.of(&one.uri) == Some(index);
            loaded.manifest.resources.iter().filter(own)
        })
    }

    /// Whether a plugin or another server owns this URI.
    pub fn owns(&self, uri: &str) -> bool {
        self.uris.of(uri).is_some()
    }

    /// Whether a plugin may list a resource that its manifest does not name: the plugin owns the URI or arrived before
    /// the owner; or nobody owns the URI, and the plugin arrived no later than the first claim on its realm.
    pub fn may_list(&self, loaded: &Arc<Loaded>, uri: &str) -> bool {
        let mine = self.plugins.loaded.iter().position(|one| Arc::ptr_eq(one, loaded));
        mine.is_some_and(|mine| match self.uris.of(uri) {
            Some(owner) => mine == owner || self.arrived[mine] < self.arrived[owner],
            None => self.may_have(mine, uri),
        })
    }

    /// Whether a source may have a URI that nobody owns: nobody claimed anything of that realm before it
    /// arrived.
    fn may_have(&self, source: usize, uri: &str) -> bool {
        let first = uris::realm(uri).and_then(|realm| self.realms.get(&realm));
        first.is_none_or(|first| self.arrived[source] <= *first)
    }

    /// The source that has this template.
    pub fn template(&self, template: &str) -> Option<Source<'_>> {
        let has = |(_, one): &&(usize, String)| one == template;
        let (source, _) = self.templates.iter().find(has)?;
        self.source_at(*source)
    }

    fn source_at(&self, source: usize) -> Option<Source<'_>> {
        let plugin = self.plugins.loaded.get(source).map(Source::Plugin);
        plugin.or_else(|| self.other_at(source).map(Source::Upstream))
    }

    /// Every resource template of a plugin that owns its space.
    pub fn templates(&self) -> impl Iterator<Item = &ResourceTemplate> {
        self.plugins.loaded.iter().enumerate().flat_map(move |(index, loaded)| {
            let own = move |one: &&ResourceTemplate| {
                self.templates.contains(&(index, one.uri_template.clone()))
            };
            loaded.manifest.templates.iter().filter(own)
        })
    }

    /// The sources that may have a resource of this URI, in the order in which they are to be asked: that in
    /// which they arrived. Where nobody owns it, those plugins that list more than their manifests do, and may
    /// have it; where a source does, the plugins that were there before the owner and may list it, and then the
    /// owner. What is bundled owns all that it lists.
    pub fn resource(&self, uri: &str) -> Vec<Source<'_>> {
        let owner = self.uris.of(uri);
        let is_asked = |at: &usize| {
            let lists = self.plugins.loaded[*at].features.contains(&Feature::Resources);
            match owner {
                None => lists && self.may_have(*at, uri),
                Some(owner) if *at == owner => true,
                Some(owner) => lists && (1..self.arrived[owner]).contains(&self.arrived[*at]),
            }
        };
        let mut all: Vec<usize> = (0..self.plugins.loaded.len()).filter(is_asked).collect();
        all.sort_by_key(|at| self.arrived[*at]);
        let upstream = owner.and_then(|owner| self.other_at(owner)).map(Source::Upstream);
        let plugins = all.into_iter().map(|at| Source::Plugin(&self.plugins.loaded[at]));
        plugins.chain(upstream).collect()
    }

    /// Whether an error of a source about a resource is the answer: the source owns the URI, or nobody does and
    /// the source, a plugin without templates, may have resources that it does not list.
    pub fn answers_for(&self, source: Source<'_>, uri: &str) -> bool {
        let Source::Plugin(loaded) = source else { return true };
        match self.uris.of(uri) {
            Some(owner) => {
                self.plugins.loaded.get(owner).is_some_and(|owner| Arc::ptr_eq(owner, loaded))
            }
            None => loaded.manifest.templates.is_empty(),
        }
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
