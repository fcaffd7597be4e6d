//! Components of plugins from files, addresses and OCI registries: fetched, verified and published.
//!
//! A component is fetched completely into memory. The sizes and digests that a manifest or the operator names are
//! checked, and the operator's requirements for the source ([`SourceConfigs`]) are enforced. This crate writes no file.
//!
//! A server can lead requests elsewhere: with redirects, with the address of its token server, and with the IP
//! addresses to which its name resolves. Therefore, requests go only to public addresses or to the host that the
//! operator named. They go over HTTPS, except to a server on this machine that the operator named with HTTP. A login
//! goes only to the registry that it is for, and to the token server that this registry names.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make the files they need"))]

mod artifact;
mod challenge;
mod digest;
mod error;
mod link;
mod list;
mod login;
mod manifest;
mod publish;
mod reference;
mod registry;
mod requests;
mod signature;
mod source;
mod trust;
mod verify;

pub use artifact::{Fetched, Terms, fetch, resolve};
pub use digest::{Digest, InvalidDigest};
pub use error::SourceError;
pub use list::{Listed, list};
pub use login::{GivenLogin, Logins, VARIABLES};
pub use publish::{About, Artifact, publish, published};
pub use reference::{Location, Reference, ReferenceError, Version};
pub use signature::SignatureError;
pub use source::{InvalidSource, Source};
pub use trust::{SourceConfig, SourceConfigs, Verified, config_of, is_pattern};
