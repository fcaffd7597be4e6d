//! Asks npm for the newest version of a package, with the user's npm configuration.

use portcullis_plugin::prelude::*;
use std::{cell::Cell, time::Duration};

/// The name of the source in the guide.
pub const SOURCE: &str = "npm";

/// The operator's name for the command.
pub const COMMAND: &str = "npm-view";

/// Time for which an answer is cached.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Time limit of npm for all packages together, since the call waits for it.
const PATIENCE: Duration = Duration::from_secs(20);

/// Asks npm for versions, until the first failure.
pub struct Npm<'r> {
    request: &'r Request<'r>,
    answers: Cell<bool>,
    waited: Cell<Duration>,
}

impl<'r> Npm<'r> {
    /// Starts without a failure.
    pub fn new(request: &'r Request<'r>) -> Self {
        Self { request, answers: Cell::new(true), waited: Cell::default() }
    }

    /// The newest version of a package, or `None` if unknown.
    pub fn latest(&self, package: &str) -> Option<String> {
        let key = format!("latest {package}");
        if let Some(kept) = cache::get(&key) {
            return String::from_utf8(kept).ok();
        }
        if !self.answers.get() {
            return None;
        }
        let before = self.waited.get();
        let version =
            process::command(COMMAND).argument(package).argument("version").run(|waited| {
                self.waited.set(before + waited);
                before + waited < PATIENCE && !self.request.cancelled()
            });
        let version = version.ok().filter(process::Output::success)?.text().trim().to_owned();
        semver::Version::parse(&version).ok()?;
        cache::set(&key, &version, DAY);
        Some(version)
    }

    /// Like [`Npm::latest`], but gives up after the first failure: the next package would fail too, and each
    /// failure costs seconds.
    pub fn ask(&self, package: &str) -> Option<String> {
        let version = self.latest(package);
        self.answers.set(self.answers.get() && version.is_some());
        version
    }
}
