//! A source of tools, prompts and resources: a plugin or an upstream server.

use std::sync::Arc;

use crate::plugins::LoadedPlugin;
use crate::upstreams::UpstreamOffer;

/// A plugin or an upstream server. Requests of clients to both kinds of source go through [`crate::call::call`].
#[derive(Clone, Copy)]
pub enum Source<'a> {
    /// A plugin.
    Plugin(&'a Arc<LoadedPlugin>),
    /// An upstream server, with the tools, prompts and resources that it lists now.
    Upstream(&'a UpstreamOffer),
}

impl<'a> Source<'a> {
    /// The operator's name for the source.
    pub fn name(self) -> &'a Arc<str> {
        match self {
            Self::Plugin(loaded) => &loaded.plugin.name,
            Self::Upstream(offered) => &offered.source.name,
        }
    }

    /// The identity to which the sealed state between two rounds is bound: the digest of a plugin, or the name of an
    /// upstream server.
    pub fn identity(self) -> &'a str {
        match self {
            Self::Plugin(loaded) => &loaded.plugin.digest,
            Self::Upstream(offered) => &offered.source.name,
        }
    }

    /// The plugin, if the source is one. Only plugins have jobs and declare views for the tools of other sources.
    pub fn plugin(self) -> Option<&'a Arc<LoadedPlugin>> {
        match self {
            Self::Plugin(loaded) => Some(loaded),
            Self::Upstream(_) => None,
        }
    }
}
