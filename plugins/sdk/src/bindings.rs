//! Rust for what `wit/` says; generated, and shown to authors only through the other modules.
#![expect(missing_docs, reason = "the words are in `wit/`, where not every field needs any")]

wit_bindgen::generate!({
    path: "../../wit",
    world: "plugin",
    pub_export_macro: true,
    runtime_path: "::portcullis_plugin::export::wit_bindgen::rt",
    additional_derives: [PartialEq],
});
