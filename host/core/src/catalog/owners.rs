//! Decides who owns a name or URI: a bundled plugin before all others, then the source that claimed it first.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::families::RESERVED_URIS;
use crate::lock::{Claim, Lock};
use crate::plugins::Plugins;
use crate::sandbox::Origin;
use crate::upstreams::{Addresses, HOST_SCHEME, UpstreamOffer, views};
use portcullis_name_collisions::uris::{self, Owners, UriSpace};
use portcullis_name_collisions::{Remark, SourceNames};

/// The rank of claims that are not in the lock file: after all others.
const LAST: usize = usize::MAX;

/// The order in which sources claimed their names and URIs. A source's index counts the plugins first, then the
/// upstream servers.
pub(super) struct Ranks {
    /// The name of each source in the lock file. `None`: the source is bundled.
    sources: Vec<Option<String>>,
    order: HashMap<Claim, usize>,
}

impl Ranks {
    /// Reads the order from the lock file and adds new claims to it.
    pub(super) async fn of(
        plugins: &Plugins,
        upstreams: &[UpstreamOffer],
        names: [(&str, &[SourceNames]); 2],
        lock: &Lock,
    ) -> Self {
        let of_plugins = plugins.loaded.iter().map(|loaded| match loaded.plugin.origin {
            Origin::Bundled => None,
            Origin::File(_) => Some(format!("plugins.{}", loaded.plugin.name)),
        });
        let of_upstreams =
            upstreams.iter().map(|offer| Some(format!("upstreams.{}", offer.source.name)));
        let mut ranks =
            Self { sources: of_plugins.chain(of_upstreams).collect(), order: HashMap::new() };
        let mut claims = Vec::new();
        for at in 0..ranks.sources.len() {
            claims.extend(ranks.claim(at, "source", ""));
        }
        for (kind, names) in names {
            for (at, source_names) in names.iter().enumerate() {
                claims.extend(
                    source_names.named().filter_map(|(name, _)| ranks.claim(at, kind, &name)),
                );
            }
        }
        for (at, text) in spaces(plugins, upstreams) {
            claims.extend(text.ok().and_then(|(_, space, _)| ranks.claim(at, "uri", space.text())));
        }
        if !claims.is_empty() {
            ranks.order = lock.on_a_thread(move |lock| lock.order(&claims)).await;
        }
        ranks
    }

    fn claim(&self, source: usize, kind: &str, what: &str) -> Option<Claim> {
        let by = self.sources[source].clone()?;
        Some(Claim { kind: kind.to_owned(), what: what.to_owned(), by })
    }

    /// The rank of a source's claim: 0 for bundled sources.
    fn rank(&self, source: usize, kind: &str, what: &str) -> usize {
        match self.claim(source, kind, what) {
            None => 0,
            Some(claim) => self.order.get(&claim).map_or(LAST, |place| place + 1),
        }
    }

    /// The rank of a source's claim on a name.
    pub(super) fn of_name(&self, source: usize, kind: &str, name: &str) -> usize {
        self.rank(source, kind, name)
    }

    /// The rank of each source's first appearance: 0 for bundled sources.
    pub(super) fn arrived(&self) -> Vec<usize> {
        (0..self.sources.len()).map(|source| self.rank(source, "source", "")).collect()
    }
}

/// A claim on URIs: the text for display to the operator, the URI space, and whether the text is a template that the
/// source lists. A reserved template is not listed.
type UriClaim = (String, UriSpace, bool);

/// The text of a template that cannot own a space, because it does not begin with a scheme.
struct NoSpace(String);

/// The URI claims of each source, with the source's index.
fn spaces(
    plugins: &Plugins,
    upstreams: &[UpstreamOffer],
) -> Vec<(usize, Result<UriClaim, NoSpace>)> {
    let mut all = Vec::new();
    for (at, loaded) in plugins.loaded.iter().enumerate() {
        let manifest = &loaded.manifest;
        let is_reserved_for = |(name, _): &&(&str, &str)| {
            loaded.plugin.origin == Origin::Bundled && *loaded.plugin.name == **name
        };
        all.extend(RESERVED_URIS.iter().filter(is_reserved_for).map(|(_, text)| {
            let space = template_claim(text).map(|(text, space, _)| (text, space, false));
            (at, space)
        }));
        let templates = manifest.templates.iter().map(|one| template_claim(&one.uri_template));
        all.extend(templates.map(|space| (at, space)));
        let resources = manifest.resources.iter();
        all.extend(resources.map(|one| (at, Ok(resource_claim(&one.uri)))));
    }
    for (offer, at) in upstreams.iter().zip(plugins.loaded.len()..) {
        let listing = &offer.listing;
        let text = |one: &portcullis_mcp_client::Object, key: &str| {
            let text = one.get(key).and_then(|text| text.as_str()).unwrap_or_default();
            views::outward(&offer.source.name, text)
        };
        let templates =
            listing.templates.iter().map(|one| template_claim(&text(one, "uriTemplate")));
        all.extend(templates.map(|space| (at, space)));
        let resources = listing.resources.iter().map(|one| text(one, "uri"));
        all.extend(resources.map(|uri| (at, Ok(resource_claim(&uri)))));
    }
    all
}

fn template_claim(template: &str) -> Result<UriClaim, NoSpace> {
    let text = template.to_owned();
    match UriSpace::of_template(template) {
        Some(space) => Ok((text, space, true)),
        None => Err(NoSpace(text)),
    }
}

fn resource_claim(uri: &str) -> UriClaim {
    (uri.to_owned(), UriSpace::of_uri(uri), false)
}

/// For each realm of URIs ([`uris::realm`]), the smallest rank of arrival among the sources with a claim in the realm.
pub(super) type UriRealms = HashMap<String, usize>;

/// Templates, each with its source's index.
pub(super) type Templates = BTreeSet<(usize, String)>;

/// Who owns which URIs.
#[derive(Default)]
pub(super) struct Owned {
    /// The owners of URIs.
    pub(super) uris: Owners,
    /// The templates that own their space.
    pub(super) templates: Templates,
    pub(super) realms: UriRealms,
    /// The claims of each upstream server.
    pub(super) addresses: Vec<Addresses>,
}

/// Decides who owns which URIs. Adds a remark about each refused claim to `remarks`.
pub(super) fn owned(
    plugins: &Plugins,
    upstreams: &[UpstreamOffer],
    ranks: &Ranks,
    remarks: &mut Vec<Remark>,
) -> Owned {
    let own = plugins.loaded.iter().map(|loaded| loaded.plugin.name.clone());
    let names: Vec<Arc<str>> =
        own.chain(upstreams.iter().map(|offer| offer.source.name.clone())).collect();
    let mut owned = Owned::default();
    owned.addresses.resize_with(upstreams.len(), Addresses::default);
    claim_views(plugins, upstreams, &names, &mut owned.uris, remarks);
    let mut all = spaces(plugins, upstreams);
    all.sort_by_key(|(at, claim)| match claim {
        Ok((_, space, _)) => ranks.rank(*at, "uri", space.text()),
        Err(_) => LAST,
    });
    for (at, claim) in all {
        let whose = &names[at];
        let refused = match claim {
            Err(NoSpace(text)) => Some(format!(
                "the resource template {} of `{whose}` is hidden: it does not begin with a scheme of its own, so it \
                 would match the resources of every source",
                portcullis_sanitize::line(&text, 200)
            )),
            Ok((text, space, _)) if space.text().starts_with(HOST_SCHEME) => Some(format!(
                "the resource {} of `{whose}` is hidden: URIs of this scheme are the host's own",
                portcullis_sanitize::line(&text, 200)
            )),
            Ok(claim) => owned.claim(plugins, ranks, at, claim).err().map(|refused| {
                format!(
                    "the resource {} of `{whose}` {}: `{}` was the first to claim some of the same URIs",
                    portcullis_sanitize::line(&refused.text, 200),
                    if refused.has_alias { "is offered under another URI" } else { "is hidden" },
                    names[refused.owner]
                )
            }),
        };
        remarks.extend(refused.map(|text| Remark { source: whose.clone(), text }));
    }
    owned
}

/// A claim on URIs that another source owns.
struct Refused {
    /// The URI or the template.
    text: String,
    /// The owner's index.
    owner: usize,
    /// Whether clients see the claimed URIs under an alias.
    has_alias: bool,
}

impl Owned {
    /// Grants the claim of a source, unless another source claimed the URIs first.
    fn claim(
        &mut self,
        plugins: &Plugins,
        ranks: &Ranks,
        at: usize,
        (text, space, is_template): UriClaim,
    ) -> Result<(), Refused> {
        let of_upstream = at.checked_sub(plugins.loaded.len());
        let addresses = of_upstream.and_then(|at| self.addresses.get_mut(at));
        if let Err(owner) = self.uris.claim(space.clone(), at) {
            let has_alias = addresses.is_some();
            if let Some(addresses) = addresses {
                addresses.refuse(space);
            }
            return Err(Refused { text, owner, has_alias });
        }
        if let Some(realm) = uris::realm(space.text()) {
            let arrived = ranks.rank(at, "source", "");
            let first = self.realms.entry(realm).or_insert(arrived);
            *first = arrived.min(*first);
        }
        if is_template {
            self.templates.insert((at, text));
        }
        if let Some(addresses) = addresses {
            addresses.grant(space);
        }
        Ok(())
    }
}

/// Gives each upstream server the URIs of its views, which the host has rewritten.
fn claim_views(
    plugins: &Plugins,
    upstreams: &[UpstreamOffer],
    names: &[Arc<str>],
    owners: &mut Owners,
    remarks: &mut Vec<Remark>,
) {
    for (offer, at) in upstreams.iter().zip(plugins.loaded.len()..) {
        let uri = views::outward(&offer.source.name, "ui://");
        let is_reserved = RESERVED_URIS.iter().any(|(_, template)| uris::owns(template, &uri));
        let space = UriSpace::of_template(&format!("{uri}{{+rest}}"));
        let claimed = space.filter(|_| !is_reserved).map(|space| owners.claim(space, at));
        if !matches!(claimed, Some(Ok(()))) {
            let text =
                format!("the views of `{}` are hidden: another source owns their URIs", names[at]);
            remarks.push(Remark { source: names[at].clone(), text });
        }
    }
}
