//! The URIs by which clients know the resources of an upstream server.
//!
//! A URI has one owner. If another source owns the URI of a server's resource, clients know the resource by an alias,
//! which contains the name of the server and the URI.

use portcullis_name_collisions::uris::{Owners, UriSpace};

use super::{UpstreamOffer, views};

/// The scheme of the host's own URIs.
pub const HOST_SCHEME: &str = "portcullis:";

/// The beginning of an alias. The name of the server, `/` and the server's own URI follow.
const ALIASES: &str = "portcullis://upstreams/";

/// The claims of one server on URIs: those that were granted, and those that were refused, because another source owns
/// the URIs.
#[derive(Debug, Default)]
pub struct Addresses {
    granted: Owners,
    refused: Owners,
}

impl Addresses {
    /// Notes a claim that was granted.
    pub(crate) fn grant(&mut self, space: UriSpace) {
        // Claims of one source do not exclude each other.
        let _own = self.granted.claim(space, 0);
    }

    /// Notes a claim that was refused.
    pub(crate) fn refuse(&mut self, space: UriSpace) {
        let _own = self.refused.claim(space, 0);
    }

    fn needs_alias(&self, uri: &str) -> bool {
        self.granted.of(uri).is_none() && self.refused.of(uri).is_some()
    }
}

/// The alias of a server's URI or template.
pub(crate) fn alias(server: &str, uri: &str) -> String {
    format!("{ALIASES}{server}/{uri}")
}

/// The name of the server and its own URI. `None`: the URI is not an alias.
pub(crate) fn server_and_uri(alias: &str) -> Option<(&str, &str)> {
    alias.strip_prefix(ALIASES)?.split_once('/')
}

impl UpstreamOffer {
    /// The URI or template by which clients know `own`, a URI or template of the server.
    pub fn shown_uri(&self, own: &str) -> String {
        let name = &self.source.name;
        if self.addresses.needs_alias(own) { alias(name, own) } else { views::outward(name, own) }
    }

    /// The server's own URI or template that clients know as `shown`.
    pub fn own_uri(&self, shown: &str) -> String {
        match server_and_uri(shown) {
            Some((server, own)) if *server == *self.source.name => own.to_owned(),
            Some(_) | None => {
                views::inward(&self.source.name, shown).unwrap_or_else(|| shown.to_owned())
            }
        }
    }

    /// Whether clients know this URI of the server by an alias.
    pub(crate) fn has_alias(&self, own: &str) -> bool {
        self.addresses.needs_alias(own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alias_maps_back_to_its_server_and_uri() {
        for uri in ["test://one", "test://{x}/{+y}", "file:///a/b?c#d", "Readme"] {
            assert_eq!(server_and_uri(&alias("srv", uri)), Some(("srv", uri)));
        }
        for uri in ["test://one", "portcullis://results/1/2", "portcullis://upstreams/srv"] {
            assert_eq!(server_and_uri(uri), None, "{uri}");
        }
    }

    #[test]
    fn only_uris_that_others_own_need_an_alias() {
        let mut addresses = Addresses::default();
        addresses.refuse(UriSpace::of_template("test://{x}").unwrap());
        addresses.grant(UriSpace::of_uri("test://mine"));
        for (uri, expected) in [
            ("test://mine", false),
            ("test://other", true),
            ("test://{x}", true),
            ("else://a", false),
        ] {
            assert_eq!(addresses.needs_alias(uri), expected, "{uri}");
        }
    }
}
