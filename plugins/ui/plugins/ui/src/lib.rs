//! The plugin `ui`: generates views (MCP Apps) for the tools of all plugins and upstream servers, from their
//! schemas and, if a provider is set, with a model.

mod address;
mod canonical;
mod dry_run;
mod folders;
mod generate;
mod messages;
mod model_output;
mod need;
mod page;
mod prompt;
mod provider;
mod settings;
mod shape;
mod spec;
mod stored_views;
mod time;
mod tools;
mod view_assignment;

use portcullis_plugin::prelude::*;
use tools::Ui;

plugin! {
    name: "ui",
    title: "Generated UIs",
    description: "Gives every tool a view: a form and a display made from its schemas, or a view that a model made from them.",
    tools: [Ui],
    resources: view_assignment::Pages,
    views: view_assignment::ViewAssignment,
    jobs: generate::GenerationJobs,
    wants: [
        Want::catalog("tools", "to make views of all tools"),
        Want::catalog("pointers", "to check whether the data that a view specification shows is in the last answer of its tool").optional(),
        Want::catalog("results", "to try view specifications with the last answer of their tool").optional(),
        Want::store(56 * 1024 * 1024, "to keep views that models made, and what people asked to be changed"),
        Want::cache(56 * 1024 * 1024, "to keep generated views, so that no view is paid for twice"),
        Want::http("https://api.anthropic.com", "POST", "to ask Anthropic's models, where `provider` is `anthropic`").optional(),
        Want::http("https://api.openai.com", "POST", "to ask OpenAI's models, where `provider` is `openai` or `chat`").optional(),
        Want::http("http://localhost:11434", "POST", "to ask the models of an Ollama on this machine, where `provider` is `ollama`").optional(),
        Want::http("$base-url", "POST", "to ask the models there instead").optional(),
        Want::writable_directory("$debug-dir", "to write prompts, answers and pages there").optional(),
        Want::writable_directory("$export-dir", "to write pages there").optional(),
        Want::settings("tools", "names of the tools that get views, with commas between, a last * for any rest; all if it is not set"),
        Want::settings("destructive", "`true`: views may call tools that say that they destroy"),
        Want::settings("model-tool", "whether the model sees the tool `_ui`: `true`, `false`, or only where a `provider` is set"),
        Want::settings("runtime", "`plain`: pages are not packed, for clients that let no script make a script"),
        Want::settings("languages", "locales with commas between, whose messages are within each page; other languages are read through the client"),
        Want::settings("documents", "`true`: models may write documents of HTML and JavaScript, whose script is interpreted and reaches nothing but the document and its tool"),
        Want::settings("provider", "`anthropic`, `openai`, `chat` (Chat Completions of any server) or `ollama`; none if it is not set"),
        Want::settings("model", "the name of the model at the provider"),
        Want::settings("base-url", "the address of the provider, if it is not the usual one"),
        Want::settings("effort", "how hard the model thinks, in the provider's words"),
        Want::settings("max-output-tokens", "how long the model's answer may be, thinking included: 16000"),
        Want::settings("generate", "`first-view` (otherwise): once a view is looked at; `asked`: only when the tool `_ui` is called"),
        Want::settings("prompt", "what models are asked to do in all views, such as a tone or a language"),
        Want::settings("send-results", "`true`: the provider gets the last answer of the tool"),
        Want::settings("max-refinements", "how many wishes are kept for each tool: 5"),
        Want::settings("max-retries", "how often a failed request is repeated: 2"),
        Want::settings("foreground-ms", "how long a call may wait for a provider: 15000"),
        Want::settings("background-ms", "how long a generation in the background may take: 120000"),
        Want::settings("cache", "`false`: views that were generated before are not used again"),
        Want::settings("cache-entries", "how many generated views are kept: 100"),
        Want::settings("cache-entry-bytes", "how long one may be: 512000"),
        Want::settings("cache-bytes", "how long all may be: 52428800"),
        Want::settings("cache-ttl-ms", "how old one may be; no limit if it is not set"),
        Want::settings("debug-dir", "an absolute path: a folder for prompts, answers and pages"),
        Want::settings("export-dir", "an absolute path: a folder for pages"),
    ],
}

#[cfg(test)]
mod tests;
