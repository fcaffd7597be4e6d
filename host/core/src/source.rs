//! Sources: where tools, prompts and resources come from.

use std::sync::Arc;

use crate::plugins::Loaded;
use crate::upstreams::Offered;

/// A plugin or an upstream server. What a client asks of a source goes through [`crate::call::call`],
/// whichever of the two the source is.
#[derive(Clone, Copy)]
pub enum Source<'a> {
    /// A plugin.
    Plugin(&'a Arc<Loaded>),
    /// An upstream server, with what it offers now.
    Upstream(&'a Offered),
}

impl<'a> Source<'a> {
    /// The operator's name for the source.
    pub fn name(self) -> &'a Arc<str> {
        match self {
            Self::Plugin(loaded) => &loaded.plugin.name,
            Self::Upstream(offered) => &offered.source.name,
        }
    }

    /// What a sealed state belongs to: a plugin is known by its digest, an upstream server by its name.
    pub fn identity(self) -> &'a str {
        match self {
            Self::Plugin(loaded) => &loaded.plugin.digest,
            Self::Upstream(offered) => &offered.source.name,
        }
    }

    /// The plugin, if it is one: for what only plugins have, such as jobs, views and questions for consent.
    pub fn plugin(self) -> Option<&'a Arc<Loaded>> {
        match self {
            Self::Plugin(loaded) => Some(loaded),
            Self::Upstream(_) => None,
        }
    }
}
