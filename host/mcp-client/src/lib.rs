//! Another MCP server as a source of tools: whatever revision of MCP it speaks, over whatever
//! transport, there is one door to it.
//!
//! An [`Upstream`] is made from an operator's [`Definition`]. Nothing is started or reached before
//! its first use. What it offers is its [`Listing`]; what is asked of it is a [`Request`], which is
//! [`InFlight`] until its last [`Event`]. Messages are JSON and stay JSON: fields and kinds of
//! content that nobody here has heard of pass through as they came. (Numbers are those of
//! [`serde_json::Value`]: integers of 64 bits, or doubles.)
//!
//! An upstream is not trusted. Its messages, lists and pages are bounded; what is shown of it is made
//! fit to be shown; what it asks reaches only the session that it certainly belongs to; and it can
//! neither stall another upstream nor outlive its last handle. What its tools do is not for this crate
//! to judge, and neither is where its URL leads.
//!
//! On Linux, with [`Client::launcher`], a child ends with the host however the host ends, and with the
//! child everything that it started, also what left its process group or session. Without a launcher, or
//! on another system, the child of a host that is killed only notices that its stdin has ended, and a
//! process that left the group stays. Elsewhere than on Unix there are no process groups: a child's own
//! children stay unless they end with their stdin.

mod calls;
mod child;
mod connect;
mod connection;
mod definition;
mod digest;
mod events;
mod fault;
mod handshake;
mod headers;
mod inflight;
mod items;
mod launch;
mod lines;
mod listing;
mod message;
mod names;
mod prune;
mod refresh;
mod text;
mod upstream;
mod wanted;
mod wire;

pub use calls::{AskKey, Notice};
pub use connection::{Client, Peer};
pub use definition::{Definition, Protocol, Secret, Transport};
pub use fault::{Fault, Trouble};
pub use inflight::{Event, InFlight, Outcome, Request};
pub use items::{Prompt, Tool};
pub use launch::{SUBCOMMAND, main as become_upstream};
pub use listing::{Changes, Listing};
pub use message::{Object, RpcError};
pub use portcullis_login::{Authorized, Login};
pub use upstream::{State, Upstream};
pub use wanted::Watched;
pub use wire::Era;
