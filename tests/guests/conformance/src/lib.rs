//! A plugin for MCP's conformance suite: the tools, resources and prompts that the suite expects of
//! a server.

mod content;
mod input;
mod legacy;
mod prompts;
mod resources;
mod schemas;
mod tasks;

use portcullis_plugin::prelude::*;

plugin! {
    name: "conformance",
    wants: [
        Want::client("elicitation", "to ask the suite's client"),
        Want::client("sampling", "to ask the suite's client"),
        Want::client("roots", "to ask the suite's client"),
    ],
    tools: [
        content::SimpleText,
        content::Image,
        content::Audio,
        content::Embedded,
        content::Mixed,
        content::Fails,
        content::Progress,
        content::Logs,
        content::LogsIfAsked,
        content::Reconnection,
        schemas::Schema2020,
        schemas::CustomHeader,
        legacy::Sampling,
        legacy::Elicitation,
        legacy::Defaults,
        legacy::Enums,
        input::Name,
        input::Capital,
        input::ClientRoots,
        input::State,
        input::Several,
        input::Rounds,
        input::Tampered,
        input::Capabilities,
        input::MissingCapability,
        input::Streaming,
        input::ToolsChange,
        input::PromptsChange,
        resources::Touch,
        tasks::Greet,
        tasks::SlowCompute,
        tasks::FailingJob,
        tasks::ProtocolErrorJob,
        tasks::ConfirmDelete,
        tasks::MultiInput,
        tasks::AfterInput,
    ],
    prompts: [
        prompts::Simple,
        prompts::WithArguments,
        prompts::WithResource,
        prompts::WithImage,
        prompts::WithInput,
    ],
    resources: resources::Fixtures,
}

/// The smallest PNG: one red pixel.
const PNG: &[u8] = &[
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d, 0x49, 0x48, 0x44, 0x52, 0, 0, 0,
    1, 0, 0, 0, 1, 8, 6, 0, 0, 0, 0x1f, 0x15, 0xc4, 0x89, 0, 0, 0, 0x0d, 0x49, 0x44, 0x41, 0x54,
    0x78, 0xda, 0x63, 0xfc, 0xcf, 0xc0, 0x50, 0x0f, 0, 4, 0x85, 1, 0x80, 0x84, 0xa9, 0x8c, 0x21, 0,
    0, 0, 0, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82,
];

/// A WAV without a sample.
const WAV: &[u8] = &[
    b'R', b'I', b'F', b'F', 0x24, 0, 0, 0, b'W', b'A', b'V', b'E', b'f', b'm', b't', b' ', 0x10, 0,
    0, 0, 1, 0, 1, 0, 0x44, 0xac, 0, 0, 0x88, 0x58, 1, 0, 2, 0, 0x10, 0, b'd', b'a', b't', b'a', 0,
    0, 0, 0,
];
