//! Background jobs: work that runs after the call that requested it.

use crate::{failure::Failure, request::Request};

/// The background jobs of a plugin. Implement this trait for a type of its own, and name the type
/// in [`plugin!`](crate::plugin) as `jobs`.
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
    /// Runs a job given to [`Request::later`]: after the call that scheduled the job, in an instance of its own, and
    /// with the time limit of background calls. A failure is logged and has no other effect.
    fn run(request: &Request<'_>, job: &[u8]) -> Result<(), Failure>;
}

/// A plugin without jobs.
impl Jobs for () {
    fn run(_request: &Request<'_>, _job: &[u8]) -> Result<(), Failure> {
        Err(Failure::new("this plugin has no jobs"))
    }
}
