//! Work that nobody waits for.

use crate::{failure::Failure, request::Request};

/// What the plugin does when nobody waits for it. Implement it for a type of its own, and name that in
/// [`plugin!`](crate::plugin) as `jobs`.
///
/// ```
/// # use portcullis_plugin::prelude::*;
/// struct Chores;
///
/// impl Jobs for Chores {
///     fn run(_request: &Request, job: &[u8]) -> Result<(), Failure> {
///         let name = std::str::from_utf8(job)?;
///         cache::set(name, http::get(format!("https://example.org/{name}"))?.body, None);
///         Ok(())
///     }
/// }
///
/// fn prepare(request: &Request) -> bool {
///     request.later(b"index")
/// }
/// ```
pub trait Jobs {
    /// Does what [`Request::later`] was given, some time after that and in an instance of its own, with
    /// the time that calls have in the background. A failure is logged, and nothing follows of it.
    fn run(request: &Request<'_>, job: &[u8]) -> Result<(), Failure>;
}

/// A plugin that leaves nothing for later.
impl Jobs for () {
    fn run(_request: &Request<'_>, _job: &[u8]) -> Result<(), Failure> {
        Err(Failure::new("this plugin has no jobs"))
    }
}
