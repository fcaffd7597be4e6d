//! The grant of the store, and the check whether it covers a use of the store.

use std::fmt;
use std::num::NonZeroU64;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::capabilities::short_form::{self, Form, InvalidValue, ShortForms, Table};
use crate::capabilities::{Capability, Grants, InvalidWant};
use crate::gate::Ask;

/// The size of a plugin's store.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StoreGrant {
    /// Maximum size of all records on disk together, in bytes.
    pub bytes: NonZeroU64,
}

impl fmt::Display for StoreGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "keep up to {} bytes", self.bytes)
    }
}

impl ShortForms for StoreGrant {
    const FORMS: &'static [Form] = &[("1MiB", "keep at most this many bytes; without a size: 1MB")];
    const BARE: Option<&'static str> = Some("1000000");
    const HAS_ONE_VALUE: bool = true;

    fn parse(text: &str) -> Result<Vec<String>, InvalidValue> {
        Ok(vec![short_form::bytes(text)?])
    }

    fn values(&self) -> Vec<String> {
        vec![self.bytes.to_string()]
    }

    fn words(value: &str) -> String {
        format!("keep up to {value} bytes between calls")
    }

    fn add(table: &mut Table, values: &[String]) {
        values.iter().for_each(|bytes| short_form::set_bytes(table, bytes));
    }

    fn remove(table: &mut Table, _: &[String]) {
        table.clear();
    }
}

/// Adds a want of the manifest to the plugin's wants.
pub(super) fn want(wants: &mut Option<StoreGrant>, target: &str) -> Result<(), InvalidWant> {
    let bytes = target.parse().map_err(InvalidWant::Bytes)?;
    *wants = Some(StoreGrant { bytes });
    Ok(())
}

/// An ask to use a keyspace.
#[derive(Debug)]
pub struct StoreAsk {
    /// The key, shortened for display. Empty if the ask is for the whole keyspace.
    pub key: String,
    /// Whether the keyspace belongs to one caller. Otherwise all callers share it.
    pub caller_only: bool,
    /// The kind of use.
    pub act: StoreUse,
}

/// A use of a keyspace.
#[derive(Debug, Clone, Copy)]
pub enum StoreUse {
    /// Open the keyspace and read values.
    Open,
    /// Write a value. The number is the size of all the plugin's keyspaces after the write, in bytes.
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
            StoreUse::Keep(bytes) => bytes <= grant.bytes.get(),
            StoreUse::Open | StoreUse::Delete => true,
        }
    }

    fn subject(&self) -> String {
        let owner = if self.caller_only { "this caller's" } else { "its" };
        match self.act {
            StoreUse::Open => format!("open {owner} store"),
            StoreUse::Keep(bytes) => {
                format!("fill {owner} store to {bytes} bytes with: {}", self.key)
            }
            StoreUse::Delete => format!("delete from {owner} store: {}", self.key),
        }
    }

    fn remedy(&self, _: Option<&StoreGrant>) -> String {
        match self.act {
            StoreUse::Keep(bytes) => format!("bytes = {bytes}"),
            StoreUse::Open | StoreUse::Delete => "bytes = 1_000_000".into(),
        }
    }
}
