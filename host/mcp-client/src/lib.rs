//! A client of other MCP servers (upstreams), for all revisions and transports of MCP.
//!
//! An [`Upstream`] is made from a [`Definition`] of the configuration. The server is started or reached when the
//! [`Upstream`] is first used. Its tools, prompts and resources are its [`Listing`]. An [`UpstreamRequest`] is
//! [`InFlight`] until its last [`Event`]. Messages stay JSON: unknown fields and kinds of content pass through
//! unchanged. Numbers are those of [`serde_json::Value`]: integers of 64 bits, or doubles.
//!
//! An upstream is not trusted. Its messages, lists and pages are bounded. Its names and descriptions are sanitised. Its
//! questions reach only the session whose request they belong to. It cannot stall another upstream. Its connection ends
//! at the latest when all clones of its [`Upstream`], its requests and its [`ResourceSubscription`]s are dropped. This
//! crate checks neither the effects of an upstream's tools nor the address in its URL.
//!
//! With [`ClientSettings::launcher`] on Linux, and always on Windows, the child process ends with the host, even if the
//! host is killed. All processes that the child started end too, even those that left its process group or session.
//! Otherwise, the child of a killed host only notices the end of its stdin, and processes that left the child's process
//! group are never ended.

mod calls;
mod child;
mod connect;
mod connection;
mod definition;
mod definition_error;
mod digest;
mod fault;
mod handshake;
mod headers;
mod idle;
mod inflight;
mod items;
mod keeper;
mod lines;
mod listing;
mod memory;
mod message;
mod names;
mod notifications;
mod peer;
mod process_group;
mod prune;
mod raw_lists;
mod refresh;
#[cfg(target_os = "linux")]
mod relay;
mod shared;
mod task;
mod text;
mod upstream;
mod wire;

pub use calls::{QuestionKey, UnassignedNotification};
pub use connection::ClientSettings;
pub use definition::{Confine, Definition, Protocol, Secret, Transport};
pub use definition_error::DefinitionError;
pub use fault::{Fault, FaultCause};
pub use inflight::{Event, InFlight, RequestOutcome, UpstreamRequest};
pub use items::{UpstreamPrompt, UpstreamTool};
pub use keeper::{SUBCOMMAND, main as become_upstream};
pub use listing::{Changes, Listing};
pub use memory::Memory;
pub use message::{Object, RpcError};
pub use notifications::ResourceSubscription;
pub use peer::Peer;
pub use portcullis_login::{AuthorizationResult, Login};
pub use upstream::{Upstream, UpstreamState};
pub use wire::Era;
