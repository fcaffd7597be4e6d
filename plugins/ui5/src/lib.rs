//! What the UI5 plugins know in common: the frameworks, their versions, what a project is, and the
//! API reference.

pub mod cdn;
pub mod embedded;
pub mod fetched;
pub mod project;
pub mod reference;
pub mod versions;

pub use cdn::Cdn;
pub use project::Project;
pub use ui5_data::Framework;
