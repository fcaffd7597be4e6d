//! Owners of names and URIs: bundled plugins first, then whoever claimed the name first.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::families::RESERVED_URIS;
use crate::lock::{Claim, Lock};
use crate::plugins::Plugins;
use crate::sandbox::Origin;
use crate::upstreams::{Offered, views};
use portcullis_name_collisions::uris::{self, Owners, Space};
use portcullis_name_collisions::{Remark, Things};

/// Comes after everything that is in the lock.
const LAST: usize = usize::MAX;

/// The order in which sources claimed what they have. Sources are the plugins, and then other servers.
pub(super) struct Ranks {
    /// How the lock knows each source; `None`: it is bundled.
    sources: Vec<Option<String>>,
    order: HashMap<Claim, usize>,
}

impl Ranks {
    /// Asks the lock, and tells it what is new.
    pub(super) async fn of(
        plugins: &Plugins,
        others: &[Offered],
        names: [(&str, &[Things]); 2],
        lock: &Lock,
    ) -> Self {
        let own = plugins.loaded.iter().map(|loaded| match loaded.plugin.origin {
            Origin::Bundled => None,
            Origin::File(_) => Some(format!("plugins.{}", loaded.plugin.name)),
        });
        let foreign = others.iter().map(|other| Some(format!("upstreams.{}", other.source.name)));
        let mut ranks = Self { sources: own.chain(foreign).collect(), order: HashMap::new() };
        let mut claims = Vec::new();
        for at in 0..ranks.sources.len() {
            claims.extend(ranks.claim(at, "source", ""));
        }
        for (kind, things) in names {
            for (at, of) in things.iter().enumerate() {
                claims.extend(of.named().filter_map(|(name, _)| ranks.claim(at, kind, &name)));
            }
        }
        for (at, text) in spaces(plugins, others) {
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

    /// When a source claimed something: 0 where it is bundled.
    fn at(&self, source: usize, kind: &str, what: &str) -> usize {
        match self.claim(source, kind, what) {
            None => 0,
            Some(claim) => self.order.get(&claim).map_or(LAST, |place| place + 1),
        }
    }

    /// When a source claimed a name.
    pub(super) fn of_name(&self, source: usize, kind: &str, name: &str) -> usize {
        self.at(source, kind, name)
    }

    /// When each source arrived, the earliest first: 0 where it is bundled.
    pub(super) fn arrived(&self) -> Vec<usize> {
        (0..self.sources.len()).map(|source| self.at(source, "source", "")).collect()
    }
}

/// A claim on URIs: the text as the operator is shown it, what it comes to, and whether it is a template.
type Shown = (String, Space, bool);

/// What each source claims of URIs, by the source's place; or the template that can own nothing.
fn spaces(plugins: &Plugins, others: &[Offered]) -> Vec<(usize, Result<Shown, String>)> {
    let mut all = Vec::new();
    for (at, loaded) in plugins.loaded.iter().enumerate() {
        let manifest = &loaded.manifest;
        let is_its = |(name, _): &&(&str, &str)| {
            loaded.plugin.origin == Origin::Bundled && *loaded.plugin.name == **name
        };
        all.extend(RESERVED_URIS.iter().filter(is_its).map(|(_, text)| {
            let space = of_template(text).map(|(text, space, _)| (text, space, false));
            (at, space)
        }));
        let templates = manifest.templates.iter().map(|one| of_template(&one.uri_template));
        all.extend(templates.map(|space| (at, space)));
        let resources = manifest.resources.iter();
        all.extend(resources.map(|one| (at, Ok(of_resource(&one.uri)))));
    }
    for (other, at) in others.iter().zip(plugins.loaded.len()..) {
        let listing = &other.listing;
        let text = |one: &portcullis_mcp_client::Object, key: &str| {
            let text = one.get(key).and_then(|text| text.as_str()).unwrap_or_default();
            views::outward(&other.source.name, text)
        };
        let templates = listing.templates.iter().map(|one| of_template(&text(one, "uriTemplate")));
        all.extend(templates.map(|space| (at, space)));
        let resources = listing.resources.iter().map(|one| text(one, "uri"));
        all.extend(resources.map(|uri| (at, Ok(of_resource(&uri)))));
    }
    all
}

fn of_template(template: &str) -> Result<Shown, String> {
    let text = template.to_owned();
    match Space::of_template(template) {
        Some(space) => Ok((text, space, true)),
        None => Err(text),
    }
}

fn of_resource(uri: &str) -> Shown {
    (uri.to_owned(), Space::of_uri(uri), false)
}

/// When each realm of URIs was first claimed: by the arrival of the source.
pub(super) type Realms = HashMap<String, usize>;

/// Templates, each with its source's place.
pub(super) type Templates = BTreeSet<(usize, String)>;

/// The owners of URIs, the templates that own their space, and when each realm was first claimed. What another
/// source owns is told in `remarks`.
pub(super) fn owned(
    plugins: &Plugins,
    others: &[Offered],
    ranks: &Ranks,
    remarks: &mut Vec<Remark>,
) -> (Owners, Templates, Realms) {
    let own = plugins.loaded.iter().map(|loaded| loaded.plugin.name.clone());
    let names: Vec<Arc<str>> =
        own.chain(others.iter().map(|other| other.source.name.clone())).collect();
    let mut owners = Owners::default();
    give_views(plugins, others, &names, &mut owners, remarks);
    let mut all = spaces(plugins, others);
    all.sort_by_key(|(at, shown)| match shown {
        Ok((_, space, _)) => ranks.at(*at, "uri", space.text()),
        Err(_) => LAST,
    });
    let mut templates = Templates::new();
    let mut realms = Realms::new();
    for (at, shown) in all {
        let whose = &names[at];
        let mut remark = |text| remarks.push(Remark { source: whose.clone(), text });
        let (text, space, is_template) = match shown {
            Ok(shown) => shown,
            Err(text) => {
                let text = portcullis_sanitize::line(&text, 200);
                remark(format!(
                    "the resource template {text} of `{whose}` is hidden: it does not begin with a scheme \
                     of its own, so it would answer for everybody's resources"
                ));
                continue;
            }
        };
        let realm = uris::realm(space.text());
        match owners.claim(space, at) {
            Ok(()) => {
                let arrived = ranks.at(at, "source", "");
                if let Some(realm) = realm {
                    let first = realms.entry(realm).or_insert(arrived);
                    *first = arrived.min(*first);
                }
                if is_template {
                    templates.insert((at, text));
                }
            }
            Err(owner) => {
                let uri = portcullis_sanitize::line(&text, 200);
                remark(format!(
                    "the resource {uri} of `{whose}` is hidden: `{}` was there first with URIs of that \
                     beginning",
                    names[owner]
                ));
            }
        }
    }
    (owners, templates, realms)
}

/// Gives other servers the URIs of their views: the host itself made them.
fn give_views(
    plugins: &Plugins,
    others: &[Offered],
    names: &[Arc<str>],
    owners: &mut Owners,
    remarks: &mut Vec<Remark>,
) {
    for (other, at) in others.iter().zip(plugins.loaded.len()..) {
        let uri = views::outward(&other.source.name, "ui://");
        let is_reserved = RESERVED_URIS.iter().any(|(_, template)| uris::owns(template, &uri));
        let space = Space::of_template(&format!("{uri}{{+rest}}"));
        let claimed = space.filter(|_| !is_reserved).map(|space| owners.claim(space, at));
        if !matches!(claimed, Some(Ok(()))) {
            let text = format!("the views of `{}` are hidden: their URIs are another's", names[at]);
            remarks.push(Remark { source: names[at].clone(), text });
        }
    }
}
