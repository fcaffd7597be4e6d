//! The layout of the UI5 data directory, for plugins that read it and for the program that fills
//! it.
//!
//! The API reference has the layout of the UI5 MCP server, so that Portcullis and that server can
//! share the data.

mod compact;
mod data;
mod framework;
mod index;
mod libraries;
mod places;
mod scan;

pub use compact::{Compact, Written, make as make_compact};
pub use data::{Data, Symbol, THEIRS, is_file_name};
pub use framework::Framework;
pub use libraries::{CORE, api_address, libraries, list_address};
pub use places::{Document, api, apis, is_version, schema_name, schemas, versions, versions_name};
