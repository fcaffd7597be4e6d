//! Which version of an npm package is the newest: asked of npm, with the user's own configuration.

use portcullis_plugin::prelude::*;
use std::{cell::Cell, time::Duration};

/// Where [`Npm`] looks, in the guide's words.
pub const SOURCE: &str = "npm";

/// The operator's name for the command.
pub const COMMAND: &str = "npm-view";

/// For how long an answer counts.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// How long npm may take for all packages together, since somebody waits for the guide.
const PATIENCE: Duration = Duration::from_secs(20);

/// npm, until it does not answer for the first time.
pub struct Npm<'r> {
    request: &'r Request<'r>,
    answers: Cell<bool>,
    waited: Cell<Duration>,
}

impl<'r> Npm<'r> {
    /// Nobody has been asked yet.
    pub fn new(request: &'r Request<'r>) -> Self {
        Self { request, answers: Cell::new(true), waited: Cell::default() }
    }

    /// The newest version of a package, or `None` if it cannot be told.
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

    /// As [`Npm::latest`], and gives up with the first package that cannot be told: the next would
    /// not be either, and each costs seconds.
    pub fn ask(&self, package: &str) -> Option<String> {
        let version = self.latest(package);
        self.answers.set(self.answers.get() && version.is_some());
        version
    }
}
