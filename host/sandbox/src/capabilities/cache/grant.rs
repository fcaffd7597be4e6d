//! The grant of the cache, and the check whether it covers a value.

use std::fmt;
use std::num::NonZeroU64;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::capabilities::short_form::{self, Form, InvalidValue, ShortForms, Table};
use crate::capabilities::{Capability, Grants, InvalidWant};
use crate::gate::Ask;

/// The size and place of a plugin's cache.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheGrant {
    /// Maximum size of all keys and values together, in bytes.
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

impl ShortForms for CacheGrant {
    const FORMS: &'static [Form] = &[
        ("1MiB", "keep at most this many bytes in memory; without a size: 1MB"),
        ("disk:1MiB", "keep at most this many bytes, also on disk"),
    ];
    const BARE: Option<&'static str> = Some("1000000");
    const HAS_ONE_VALUE: bool = true;

    fn parse(text: &str) -> Result<Vec<String>, InvalidValue> {
        Ok(vec![match text.strip_prefix(ON_DISK) {
            Some(bytes) => format!("{ON_DISK}{}", short_form::bytes(bytes)?),
            None => short_form::bytes(text)?,
        }])
    }

    fn values(&self) -> Vec<String> {
        vec![format!("{}{}", if self.disk { ON_DISK } else { "" }, self.bytes)]
    }

    fn words(value: &str) -> String {
        match value.strip_prefix(ON_DISK) {
            Some(bytes) => format!("cache up to {bytes} bytes on disk"),
            None => format!("cache up to {value} bytes in memory"),
        }
    }

    fn add(table: &mut Table, values: &[String]) {
        for value in values {
            if let Some(bytes) = value.strip_prefix(ON_DISK) {
                table.insert("disk".into(), true.into());
                short_form::set_bytes(table, bytes);
            } else {
                table.remove("disk");
                short_form::set_bytes(table, value);
            }
        }
    }

    fn remove(table: &mut Table, _: &[String]) {
        table.clear();
    }
}

/// The prefix of a value that stands for a cache on disk.
const ON_DISK: &str = "disk:";

/// Adds a want of the manifest to the plugin's wants.
pub(super) fn want(wants: &mut Option<CacheGrant>, target: &str) -> Result<(), InvalidWant> {
    let bytes = target.parse().map_err(InvalidWant::Bytes)?;
    *wants = Some(CacheGrant { bytes, disk: false });
    Ok(())
}

/// An ask to cache one value.
#[derive(Debug)]
pub struct CacheAsk {
    /// The key, shortened for display.
    pub key: String,
    /// Size of key and value together, in bytes.
    pub bytes: u64,
}

impl Ask for CacheAsk {
    type Grant = CacheGrant;
    const CAPABILITY: Capability = Capability::Cache;

    fn grant(grants: &Grants) -> Option<&CacheGrant> {
        grants.cache.as_ref()
    }

    /// Refuses a value that, with its key, is larger than the whole cache. The cache itself removes values to keep to
    /// its size.
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
