//! Rust types and traits that are generated from the plugin contract in `wit/`.

#[expect(missing_docs, reason = "generated from wit/, where each item is documented")]
mod generated {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "plugin",
        imports: { default: async | trappable },
        exports: { default: async },
        require_store_data_send: true,
        with: {
            "portcullis:plugin/request.request": crate::sandbox::RequestHandle,
            "portcullis:plugin/store.keyspace": crate::capabilities::store::Keyspace,
            "portcullis:plugin/process.running": crate::capabilities::process::Running,
            "portcullis:plugin/cache.claim": crate::capabilities::cache::Claim,
        },
        additional_derives: [serde::Serialize, serde::Deserialize],
    });
}

pub use generated::exports::portcullis::plugin::{
    completions, jobs, manifest, prompts, resources, tools, views,
};
pub use generated::portcullis;
pub use generated::portcullis::plugin::types;

pub use completions::{Completion, Subject};
pub use manifest::{
    Manifest, PathAccess, PathArgument, PathKind, Prompt, ResourceTemplate, Tool, Want,
};
pub use prompts::{Message, PromptOutcome, PromptResult};
pub use resources::{Page, ReadOutcome, ReadResult};
pub use tools::{ToolOutcome, ToolResult};
pub use types::ToolHints;
pub use views::ToolView;
