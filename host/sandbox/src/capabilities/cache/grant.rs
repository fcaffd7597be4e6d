//! What can be granted of the cache, and whether a grant holds an ask.

use std::fmt;
use std::num::NonZeroU64;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::capabilities::{Capability, Grants};
use crate::gate::Ask;

/// How much one plugin may have cached.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheGrant {
    /// Bytes of all keys and values together.
    pub bytes: NonZeroU64,
    /// Whether the cache is kept on disk between starts of the host.
    #[serde(default)]
    pub disk: bool,
}

impl fmt::Display for CacheGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.disk { "on disk" } else { "in memory" };
        write!(f, "cache up to {} bytes {place}", self.bytes)
    }
}

/// Adds a want to what is wanted so far.
pub(super) fn want(sum: &mut Option<CacheGrant>, target: &str) -> Result<(), String> {
    let bytes = target.parse().map_err(|_| "the target is a number of bytes above 0")?;
    *sum = Some(CacheGrant { bytes, disk: false });
    Ok(())
}

/// Caching one value.
#[derive(Debug)]
pub struct CacheAsk {
    /// The key, as far as it is shown.
    pub key: String,
    /// Size of key and value.
    pub bytes: u64,
}

impl Ask for CacheAsk {
    type Grant = CacheGrant;
    const CAPABILITY: Capability = Capability::Cache;

    fn grant(grants: &Grants) -> Option<&CacheGrant> {
        grants.cache.as_ref()
    }

    /// A value larger than the whole cache is refused; that all of them together keep to the
    /// granted size is the cache's own work, which drops the oldest.
    fn is_within(&self, grant: &CacheGrant) -> bool {
        self.bytes <= grant.bytes.get()
    }

    fn subject(&self) -> String {
        format!("cache {} bytes: {}", self.bytes, self.key)
    }

    fn remedy(&self, granted: Option<&CacheGrant>) -> String {
        let disk = if granted.is_some_and(|granted| granted.disk) { "\ndisk = true" } else { "" };
        format!("bytes = {}{disk}", self.bytes.max(1))
    }
}
