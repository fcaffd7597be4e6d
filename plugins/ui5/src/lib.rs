//! What the UI5 plugins know in common: the frameworks, their versions, and what a project is.

pub mod framework;
pub mod versions;

pub use framework::{Cdn, Framework};
