//! The SDK for Portcullis plugins: tools in plain Rust, built as a WebAssembly component that runs in a sandbox.
//!
//! The smallest plugin:
//!
//! ```
//! use portcullis_plugin::prelude::*;
//!
//! /// Says hello.
//! #[arguments]
//! struct Greet {
//!     /// Who to greet.
//!     name: String,
//! }
//!
//! impl Tool for Greet {
//!     const NAME: &'static str = "greet";
//!     type Output = String;
//!
//!     fn call(self, _request: &Request) -> Result<String, Failure> {
//!         Ok(format!("Hello, {}!", self.name))
//!     }
//! }
//!
//! plugin! { name: "hello", tools: [Greet] }
//! ```
//!
//! The manifest of a plugin lists the capabilities that the plugin wants (see [`Want`]), and the operator grants them.
//! A plugin reaches only what is both wanted and granted. The plugin uses files with plain `std::fs`, at the same
//! absolute paths as on the host; on Windows, `C:\a` is `/C:/a`. [`changes`] creates or replaces several files
//! together: all of them or none.

// The macros write `::portcullis_plugin`, which has to resolve in this crate too.
extern crate self as portcullis_plugin;

mod ask;
mod bindings;
pub mod cache;
pub mod catalog;
pub mod changes;
mod dispatch;
mod failure;
#[cfg(feature = "http")]
pub mod http;
mod job;
mod manifest;
pub mod process;
mod prompt;
#[cfg(not(target_family = "wasm"))]
pub mod rehearsal;
mod reply;
mod request;
mod resource;
mod schema;
pub mod settings;
pub mod store;
mod tool;
pub mod tool_calls;
mod view;

pub use ask::{
    Consent, Form, FormFields, FormOrDeclined, FormOutcome, Other, Question, Root, Roots, Sample,
    Visit, consent, form, other, roots, sample, visit,
};
pub use failure::{Failure, OrFail};
pub use job::Jobs;
pub use manifest::Want;
pub use portcullis_plugin_macros::{arguments, data, plugin};
pub use prompt::{Messages, Prompt};
pub use reply::{IntoReply, Json, Reply};
pub use request::{Level, ListKind, Request};
pub use resource::{Contents, Listing, Resource, Resources, Scope, Template};
pub use tool::{Arguments, Hints, PathAccess, PathArgument, PathKind, Tool};
pub use view::{ToolView, Views};

pub use schemars;
pub use serde;
pub use serde_json;

/// The parts of a result, as the contract defines them.
pub mod content {
    pub use crate::bindings::portcullis::plugin::types::{
        Annotations, Blob, Content, ContentBody, Icon, ResourceContents, ResourceData,
        ResourceInfo, Role,
    };
}

/// The questions of [`Failure::NeedInput`], as the contract defines them.
pub mod asked {
    pub use crate::bindings::portcullis::plugin::types::{Ask, Consent, Form, Visit};
}

/// The items that most plugins need: `use portcullis_plugin::prelude::*;`.
pub mod prelude {
    #[cfg(feature = "http")]
    pub use crate::http;
    pub use crate::{
        Arguments, Contents, Failure, Hints, IntoReply, Jobs, Json, Level, ListKind, Listing,
        Messages, OrFail, Prompt, Reply, Request, Resource, Resources, Template, Tool, ToolView,
        Views, Want, arguments, cache, catalog, changes, consent, data, form, plugin, process,
        roots, sample, serde_json::json, settings, store, tool_calls, visit,
    };
}

/// Items that the output of the macros refers to. Not for plugin authors.
#[doc(hidden)]
pub mod export {
    pub use crate::{
        bindings::{
            export_manifest, exports,
            with_completions::{self, export_completions},
            with_jobs::{self, export_jobs},
            with_prompts::{self, export_prompts},
            with_resources::{self, export_resources},
            with_tools::{self, export_tools},
            with_views::{self, export_views},
        },
        manifest::{About, Entry, Plugin, PromptEntry, check_distinct, check_name, unless_empty},
    };
    pub use wit_bindgen;
}
