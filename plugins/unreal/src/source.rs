//! Decides what answers a call.

use crate::offline::Offline;
use portcullis_plugin::prelude::*;

/// What answers a call.
pub enum Source {
    /// The files of the project.
    Offline(Offline),
}

/// What answers a call that names this folder, or none.
pub fn source(request: &Request<'_>, project_dir: Option<&str>) -> Result<Source, Failure> {
    Offline::open(request, project_dir).map(Source::Offline)
}
