//! What the UI5 plugins know in common: the frameworks, their versions, what a project is, and the
//! API reference.

pub mod fetched;
pub mod framework;
pub mod project;
pub mod reference;
pub mod versions;

pub use framework::{Cdn, Framework};
pub use project::Project;
