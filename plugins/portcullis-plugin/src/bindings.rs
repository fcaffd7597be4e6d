//! Rust bindings generated from this crate's copy of the folder `wit`; plugin authors see them only through the other modules.
//!
//! Each interface that a plugin may export is a world of its own, so that a plugin exports the
//! interfaces of its features and no others.
#![expect(missing_docs, reason = "the documentation is in `wit/`, where some fields have none")]

wit_bindgen::generate!({
    path: "wit",
    world: "least",
    pub_export_macro: true,
    export_macro_name: "export_manifest",
    runtime_path: "::portcullis_plugin::export::wit_bindgen::rt",
    additional_derives: [PartialEq],
    generate_all,
});

macro_rules! feature {
    ($feature:ident, $world:literal, $macro:literal) => {
        pub mod $feature {
            wit_bindgen::generate!({
                path: "wit",
                world: $world,
                pub_export_macro: true,
                export_macro_name: $macro,
                runtime_path: "::portcullis_plugin::export::wit_bindgen::rt",
                additional_derives: [PartialEq],
                with: {
                    "portcullis:plugin/types@0.1.0": crate::bindings::portcullis::plugin::types,
                    "portcullis:plugin/request@0.1.0": crate::bindings::portcullis::plugin::request,
                },
            });
        }
    };
}

feature!(with_tools, "with-tools", "export_tools");
feature!(with_resources, "with-resources", "export_resources");
feature!(with_prompts, "with-prompts", "export_prompts");
feature!(with_completions, "with-completions", "export_completions");
feature!(with_views, "with-views", "export_views");
feature!(with_jobs, "with-jobs", "export_jobs");

pub use self::with_completions::exports::portcullis::plugin::completions;
pub use self::with_jobs::exports::portcullis::plugin::jobs;
pub use self::with_prompts::exports::portcullis::plugin::prompts;
pub use self::with_resources::exports::portcullis::plugin::resources;
pub use self::with_tools::exports::portcullis::plugin::tools;
pub use self::with_views::exports::portcullis::plugin::views;
