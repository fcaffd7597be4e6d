//! Shared library of the UI5 plugins: frameworks, versions, UI5 projects and the API reference.

pub mod cdn;
pub mod detail;
pub mod embedded;
pub mod fetched;
pub mod guide;
pub mod project;
pub mod reference;
pub mod versions;
pub mod web_components;

pub use cdn::Cdn;
pub use detail::Detail;
pub use project::Project;
pub use ui5_data::Framework;
