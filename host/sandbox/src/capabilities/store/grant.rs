//! What can be granted of the store, and whether a grant holds an ask.

use std::fmt;
use std::num::NonZeroU64;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::capabilities::{Capability, Grants};
use crate::gate::Ask;

/// How much one plugin may keep.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StoreGrant {
    /// Bytes of all keys and values together.
    pub bytes: NonZeroU64,
}

impl fmt::Display for StoreGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "keep up to {} bytes", self.bytes)
    }
}

/// Adds a want to what is wanted so far.
pub(super) fn want(sum: &mut Option<StoreGrant>, target: &str) -> Result<(), String> {
    let bytes = target.parse().map_err(|_| "the target is a number of bytes above 0")?;
    *sum = Some(StoreGrant { bytes });
    Ok(())
}

/// Use of a keyspace.
#[derive(Debug)]
pub struct StoreAsk {
    /// The key, as far as it is shown; empty where it is about all of them.
    pub key: String,
    /// Shared by all callers, or one caller's own.
    pub caller_only: bool,
    /// What for.
    pub act: Act,
}

/// What can be done with a keyspace.
#[derive(Debug, Clone, Copy)]
pub enum Act {
    /// Open it, and read what is there.
    Open,
    /// Write a value: how many bytes the plugin would then keep, in all its keyspaces.
    Keep(u64),
    /// Remove a value.
    Delete,
}

impl Ask for StoreAsk {
    type Grant = StoreGrant;
    const CAPABILITY: Capability = Capability::Store;

    fn grant(grants: &Grants) -> Option<&StoreGrant> {
        grants.store.as_ref()
    }

    fn is_within(&self, grant: &StoreGrant) -> bool {
        match self.act {
            Act::Keep(bytes) => bytes <= grant.bytes.get(),
            Act::Open | Act::Delete => true,
        }
    }

    fn subject(&self) -> String {
        let whose = if self.caller_only { "this caller's" } else { "its" };
        match self.act {
            Act::Open => format!("open {whose} store"),
            Act::Keep(bytes) => format!("keep {bytes} bytes in {whose} store, with: {}", self.key),
            Act::Delete => format!("delete from {whose} store: {}", self.key),
        }
    }

    fn remedy(&self, _: Option<&StoreGrant>) -> String {
        match self.act {
            Act::Keep(bytes) => format!("bytes = {bytes}"),
            Act::Open | Act::Delete => "bytes = 1_000_000".into(),
        }
    }
}
