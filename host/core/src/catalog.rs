//! The catalog: all tools, prompts and resources with their sources. Each name and each URI has one owner.

mod owners;

use std::sync::Arc;

use crate::bindings::types::ResourceInfo;
use crate::bindings::{PathArgument, Prompt, ResourceTemplate};
use crate::lock::Lock;
use crate::plugins::{LoadedPlugin, PluginTool, Plugins};
use crate::sandbox::Feature;
use crate::source::Source;
use crate::upstreams::{UpstreamOffer, server_and_uri};
use owners::{Owned, Ranks, Templates, UriRealms};
use portcullis_mcp_client::{Object, UpstreamPrompt, UpstreamState, UpstreamTool};
use portcullis_name_collisions::uris::{self, Owners};
use portcullis_name_collisions::{Names, Remark, SourceNames};

/// The tools, prompts and resources that clients may see, in a fixed order. [`crate::listing`] decides which of them
/// a client sees.
#[derive(Default)]
pub struct Catalog {
    /// The plugins: loaded and refused.
    pub plugins: Arc<Plugins>,
    /// The upstream servers with their lists.
    pub upstreams: Vec<UpstreamOffer>,
    /// Remarks for the operator: changed and hidden names and URIs, tools that are held back, and warnings about the
    /// lists of upstream servers.
    pub remarks: Vec<Remark>,
    tools: Names,
    prompts: Names,
    uris: Owners,
    realms: UriRealms,
    /// The rank of each source in the order of first appearance, by the source's index. The rank of bundled plugins
    /// is 0.
    arrived: Vec<usize>,
    /// Templates that own their URI space, with the index of the source.
    templates: Templates,
}

/// A tool with its source.
#[derive(Clone, Copy)]
pub enum CatalogTool<'a> {
    /// A tool of a plugin.
    Plugin(&'a Arc<LoadedPlugin>, &'a PluginTool),
    /// A tool of an upstream server.
    Upstream(&'a UpstreamOffer, &'a UpstreamTool),
}

impl<'a> CatalogTool<'a> {
    /// The source.
    pub fn source(self) -> Source<'a> {
        match self {
            Self::Plugin(loaded, _) => Source::Plugin(loaded),
            Self::Upstream(offered, _) => Source::Upstream(offered),
        }
    }

    /// The name of the tool within its source, without a prefix.
    pub fn own_name(self) -> &'a str {
        match self {
            Self::Plugin(_, tool) => &tool.definition.name,
            Self::Upstream(_, tool) => &tool.name,
        }
    }

    /// The arguments that are paths. Empty for tools of upstream servers, which declare no paths.
    pub fn paths(self) -> &'a [PathArgument] {
        match self {
            Self::Plugin(_, tool) => &tool.definition.paths,
            Self::Upstream(..) => &[],
        }
    }
}

/// A prompt with its source.
#[derive(Clone, Copy)]
pub enum CatalogPrompt<'a> {
    /// A prompt of a plugin.
    Plugin(&'a Arc<LoadedPlugin>, &'a Prompt),
    /// A prompt of an upstream server.
    Upstream(&'a UpstreamOffer, &'a UpstreamPrompt),
}

impl<'a> CatalogPrompt<'a> {
    /// The source.
    pub fn source(self) -> Source<'a> {
        match self {
            Self::Plugin(loaded, _) => Source::Plugin(loaded),
            Self::Upstream(offered, _) => Source::Upstream(offered),
        }
    }

    /// The name of the prompt within its source, without a prefix.
    pub fn own_name(self) -> &'a str {
        match self {
            Self::Plugin(_, prompt) => &prompt.name,
            Self::Upstream(_, prompt) => &prompt.name,
        }
    }
}

impl Catalog {
    /// The catalog of these plugins and upstream servers. The lock file decides who owns a name or URI. New claims are
    /// added to the lock file.
    pub async fn new(
        plugins: Arc<Plugins>,
        mut upstreams: Vec<UpstreamOffer>,
        lock: &Lock,
    ) -> Self {
        let mut remarks = Vec::new();
        let of_plugins = plugins.loaded.iter().map(|loaded| {
            let shown = loaded.tools.iter().enumerate().filter(|(_, tool)| tool.is_on);
            let tools = shown.map(|(place, tool)| (place, tool.definition.name.clone())).collect();
            names_of_plugin(loaded, tools)
        });
        let of_upstreams = upstreams.iter().map(|offer| {
            let tools = offer.tools().map(|(place, tool)| (place, tool.name.clone())).collect();
            names_of_upstream(offer, tools)
        });
        let tools: Vec<_> = of_plugins.chain(of_upstreams).collect();
        let of_plugins = plugins.loaded.iter().map(|loaded| {
            let prompts = loaded.manifest.prompts.iter().enumerate();
            names_of_plugin(loaded, prompts.map(|(at, one)| (at, one.name.clone())).collect())
        });
        let of_upstreams = upstreams.iter().map(|offer| {
            let prompts = offer.listing.prompts.iter().enumerate();
            names_of_upstream(offer, prompts.map(|(at, one)| (at, one.name.clone())).collect())
        });
        let prompts: Vec<_> = of_plugins.chain(of_upstreams).collect();
        let names = [("tool", tools.as_slice()), ("prompt", prompts.as_slice())];
        let ranks = Ranks::of(&plugins, &upstreams, names, lock).await;
        let tools =
            Names::of("tool", &tools, |at, name| ranks.of_name(at, "tool", name), &mut remarks);
        let prompts = Names::of(
            "prompt",
            &prompts,
            |at, name| ranks.of_name(at, "prompt", name),
            &mut remarks,
        );
        let Owned { uris, templates, realms, addresses } =
            owners::owned(&plugins, &upstreams, &ranks, &mut remarks);
        for (offer, addresses) in upstreams.iter_mut().zip(addresses) {
            offer.addresses = Arc::new(addresses);
        }
        for offer in &upstreams {
            let name = &offer.source.name;
            let held = offer.held.iter().map(|held| Remark {
                source: name.clone(),
                text: format!("the tool `{}` of `{name}` is held back until approved", held.tool),
            });
            let left_out = offer.listing.warnings.iter().map(|warning| Remark {
                source: name.clone(),
                text: format!("`{name}`: {warning}"),
            });
            remarks.extend(held.chain(left_out));
        }
        let arrived = ranks.arrived();
        Self { plugins, upstreams, remarks, tools, prompts, uris, realms, arrived, templates }
    }

    /// The tool that clients know by this name.
    ///
    /// If no tool has the name, the names of upstream tools without their prefixes are searched, because views of these
    /// servers use such names. `None`: several upstream tools have this name without a prefix, or none has it.
    pub fn tool(&self, name: &str) -> Option<CatalogTool<'_>> {
        let named = self.tools.find(name).map(|(source, place)| self.tool_at(source, place));
        named.or_else(|| {
            let has_own_name = |tool: &CatalogTool<'_>| {
                matches!(tool, CatalogTool::Upstream(_, one) if one.name == name)
            };
            let mut found = self.tools().map(|(_, tool)| tool).filter(has_own_name);
            found.next().filter(|_| found.next().is_none())
        })
    }

    fn tool_at(&self, source: usize, place: usize) -> CatalogTool<'_> {
        match self.plugins.loaded.get(source) {
            Some(loaded) => CatalogTool::Plugin(loaded, &loaded.tools[place]),
            None => {
                let offer = &self.upstreams[source - self.plugins.loaded.len()];
                CatalogTool::Upstream(offer, &offer.presented[place])
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
            Some(loaded) => CatalogPrompt::Plugin(loaded, &loaded.manifest.prompts[place]),
            None => {
                let offer = &self.upstreams[source - self.plugins.loaded.len()];
                CatalogPrompt::Upstream(offer, &offer.listing.prompts[place])
            }
        }
    }

    /// Every prompt, with the name that clients know it by.
    pub fn prompts(&self) -> impl Iterator<Item = (&str, CatalogPrompt<'_>)> {
        self.prompts.iter().map(|(name, source, place)| (name, self.prompt_at(source, place)))
    }

    /// The upstream server that owns this URI, or that has a resource or template with this alias.
    pub fn upstream_owner(&self, uri: &str) -> Option<&UpstreamOffer> {
        self.upstream_of_alias(uri).or_else(|| self.upstream_at(self.uris.of(uri)?))
    }

    /// The server that `wrap` wraps. `None`: no server is wrapped, or there is a further source that does not make
    /// views.
    pub fn wrapped_alone(&self) -> Option<&UpstreamOffer> {
        let [offer] = self.upstreams.as_slice() else { return None };
        let makes_views = |one: &Arc<LoadedPlugin>| one.features.contains(&Feature::Views);
        (offer.source.is_wrapped() && self.plugins.loaded.iter().all(makes_views)).then_some(offer)
    }

    /// The upstream server whose resource or template has this alias.
    fn upstream_of_alias(&self, alias: &str) -> Option<&UpstreamOffer> {
        let (server, own) = server_and_uri(alias)?;
        let offer = self.upstreams.iter().find(|offer| *offer.source.name == *server)?;
        offer.has_alias(own).then_some(offer)
    }

    fn upstream_at(&self, source: usize) -> Option<&UpstreamOffer> {
        self.upstreams.get(source.checked_sub(self.plugins.loaded.len())?)
    }

    /// The resources (`key` is `uri`) or templates (`key` is `uriTemplate`) of the upstream servers for which
    /// `is_shown` is true, as clients see them. A resource or template whose URIs another source owns has an alias.
    pub fn listed_by_upstreams<'a>(
        &'a self,
        key: &'a str,
        is_shown: impl Fn(Source<'_>) -> bool + 'a,
        which: impl Fn(&UpstreamOffer) -> &Vec<Object> + 'a,
    ) -> impl Iterator<Item = Object> + 'a {
        let first = self.plugins.loaded.len();
        let shown = self.upstreams.iter().zip(first..);
        let shown = shown.filter(move |(offer, _)| is_shown(Source::Upstream(offer)));
        shown.flat_map(move |(offer, source)| {
            let all = which(offer).iter().cloned();
            all.filter_map(move |mut object| {
                let own = object.get(key)?.as_str()?;
                let shown = offer.shown_uri(own);
                let is_listed = offer.has_alias(own)
                    || match key {
                        "uri" => self.uris.of(&shown) == Some(source),
                        _ => self.templates.contains(&(source, shown.clone())),
                    };
                object.insert(key.to_owned(), shown.into());
                is_listed.then_some(object)
            })
        })
    }

    /// The plugins for which `is_shown` is true, with their indexes among the sources.
    fn shown_plugins<'a>(
        &'a self,
        is_shown: impl Fn(Source<'_>) -> bool + 'a,
    ) -> impl Iterator<Item = (usize, &'a Arc<LoadedPlugin>)> + 'a {
        let all = self.plugins.loaded.iter().enumerate();
        all.filter(move |(_, loaded)| is_shown(Source::Plugin(loaded)))
    }

    /// The resources in the manifests of the plugins for which `is_shown` is true. Resources whose URIs another source
    /// owns are left out.
    pub fn resources<'a>(
        &'a self,
        is_shown: impl Fn(Source<'_>) -> bool + 'a,
    ) -> impl Iterator<Item = &'a ResourceInfo> + 'a {
        self.shown_plugins(is_shown).flat_map(move |(index, loaded)| {
            let is_owned = move |one: &&ResourceInfo| self.uris.of(&one.uri) == Some(index);
            loaded.manifest.resources.iter().filter(is_owned)
        })
    }

    /// Whether any source owns this URI, or has it as an alias.
    pub fn owns(&self, uri: &str) -> bool {
        self.uris.of(uri).is_some() || self.upstream_of_alias(uri).is_some()
    }

    /// Whether a plugin may list a resource that its manifest does not name. If the URI has an owner, the plugin must
    /// be the owner or have arrived before the owner. If the URI has no owner, no source that arrived before the plugin
    /// may have a claim in the URI's realm.
    pub fn may_list(&self, loaded: &Arc<LoadedPlugin>, uri: &str) -> bool {
        let own_index = self.plugins.loaded.iter().position(|one| Arc::ptr_eq(one, loaded));
        own_index.is_some_and(|own_index| match self.uris.of(uri) {
            Some(owner) => own_index == owner || self.arrived[own_index] < self.arrived[owner],
            None => self.may_have(own_index, uri),
        })
    }

    /// Whether a source may use a URI without an owner: no source with a claim in the URI's realm arrived before
    /// this source.
    fn may_have(&self, source: usize, uri: &str) -> bool {
        let first = uris::realm(uri).and_then(|realm| self.realms.get(&realm));
        first.is_none_or(|first| self.arrived[source] <= *first)
    }

    /// The source that owns this template, or the upstream server that has a template with this alias.
    pub fn template(&self, template: &str) -> Option<Source<'_>> {
        if let Some(offer) = self.upstream_of_alias(template) {
            return Some(Source::Upstream(offer));
        }
        let is_template = |(_, one): &&(usize, String)| one == template;
        let (source, _) = self.templates.iter().find(is_template)?;
        self.source_at(*source)
    }

    fn source_at(&self, source: usize) -> Option<Source<'_>> {
        let plugin = self.plugins.loaded.get(source).map(Source::Plugin);
        plugin.or_else(|| self.upstream_at(source).map(Source::Upstream))
    }

    /// The resource templates in the manifests of the plugins for which `is_shown` is true. Templates whose URI spaces
    /// another source owns are left out.
    pub fn templates<'a>(
        &'a self,
        is_shown: impl Fn(Source<'_>) -> bool + 'a,
    ) -> impl Iterator<Item = &'a ResourceTemplate> + 'a {
        self.shown_plugins(is_shown).flat_map(move |(index, loaded)| {
            let is_owned = move |one: &&ResourceTemplate| {
                self.templates.contains(&(index, one.uri_template.clone()))
            };
            loaded.manifest.templates.iter().filter(is_owned)
        })
    }

    /// The sources that may have the resource of this URI, in the order in which they are asked. For an alias, this is
    /// its upstream server alone.
    ///
    /// If the URI has an owner, the owner is asked last. Before the owner, plugins from files are asked, if they list
    /// resources at run time and arrived before the owner. A bundled plugin that is not the owner is not asked, because
    /// bundled plugins own all URIs that they list.
    ///
    /// If no source owns the URI, the plugins that list resources at run time and may use the URI are asked in the
    /// order of their arrival. Upstream servers that run, offer resources and may use the URI are asked last. They are
    /// asked because one of their tools may have named the URI.
    pub fn resource(&self, uri: &str) -> Vec<Source<'_>> {
        if let Some(offer) = self.upstream_of_alias(uri) {
            return vec![Source::Upstream(offer)];
        }
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
        let first = self.plugins.loaded.len();
        let is_asked = |at: &usize| match owner {
            Some(owner) => owner == *at,
            None => {
                let offer = &self.upstreams[at - first];
                let runs = matches!(offer.source.upstream.state(), UpstreamState::Ready { .. });
                runs && offer.listing.peer.offers("resources") && self.may_have(*at, uri)
            }
        };
        let upstreams = (first..first + self.upstreams.len()).filter(is_asked);
        let upstreams = upstreams.map(|at| Source::Upstream(&self.upstreams[at - first]));
        let plugins = all.into_iter().map(|at| Source::Plugin(&self.plugins.loaded[at]));
        plugins.chain(upstreams).collect()
    }

    /// Whether a source's error about a resource is the final answer. An error of the URI's owner is final. If the URI
    /// has no owner, an error of a plugin without templates is final, because such a plugin may have the resource
    /// without listing it.
    pub fn answers_for(&self, source: Source<'_>, uri: &str) -> bool {
        let Source::Plugin(loaded) = source else { return self.owns(uri) };
        match self.uris.of(uri) {
            Some(owner) => {
                self.plugins.loaded.get(owner).is_some_and(|owner| Arc::ptr_eq(owner, loaded))
            }
            None => loaded.manifest.templates.is_empty(),
        }
    }

    /// The plugins that offer a feature.
    pub fn with(&self, feature: Feature) -> impl Iterator<Item = &Arc<LoadedPlugin>> {
        self.plugins.loaded.iter().filter(move |loaded| loaded.features.contains(&feature))
    }
}

fn names_of_plugin(loaded: &LoadedPlugin, own: Vec<(usize, String)>) -> SourceNames {
    SourceNames { source: loaded.plugin.name.clone(), prefix: loaded.prefix.clone(), own }
}

fn names_of_upstream(offer: &UpstreamOffer, own: Vec<(usize, String)>) -> SourceNames {
    SourceNames {
        source: offer.source.name.clone(),
        prefix: offer.source.config.prefix.clone(),
        own,
    }
}
