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
        Want::store(56 * 1024 * 1024, "to keep views that models made, and the changes that people requested"),
        Want::cache(56 * 1024 * 1024, "to keep generated views, so that no view is paid for twice"),
        Want::http("https://api.anthropic.com", "POST", "to ask Anthropic's models, if `provider` is `anthropic`").optional(),
        Want::http("https://api.openai.com", "POST", "to ask OpenAI's models, if `provider` is `openai` or `chat`").optional(),
        Want::http("http://localhost:11434", "POST", "to ask the models of an Ollama on this machine, if `provider` is `ollama`").optional(),
        Want::http("$base-url", "POST", "to ask the models of the provider at this URL instead").optional(),
        Want::writable_directory("$debug-dir", "to write prompts, answers and pages there").optional(),
        Want::writable_directory("$export-dir", "to write pages there").optional(),
        Want::settings("tools", "names of the tools that get views, separated by commas; a trailing * matches any rest; not set: all tools"),
        Want::settings("destructive", "`true`: views may call tools with the destructive hint"),
        Want::settings("model-tool", "whether the model sees the tool `_ui`: `true`, `false`, or `auto` (the default): only if a `provider` is set"),
        Want::settings("runtime", "`plain`: pages contain the runtime uncompressed, for clients that forbid scripts to create scripts"),
        Want::settings("languages", "locales, separated by commas, whose messages are in each page; a page reads other languages through the client"),
        Want::settings("documents", "`true`: models may write HTML documents with JavaScript instead of view specifications; the script is interpreted, and reaches only the document and its tool"),
        Want::settings("provider", "`anthropic`, `openai`, `chat` (Chat Completions of any server) or `ollama`; none if it is not set"),
        Want::settings("model", "the name of the model at the provider"),
        Want::settings("base-url", "the URL of the provider, if it is not the usual one"),
        Want::settings("effort", "the effort of reasoning, as named by the provider"),
        Want::settings("max-output-tokens", "maximum number of tokens of a model's answer, thinking included; default: 16000"),
        Want::settings("generate", "`first-view` (the default): the provider is asked when a view is first read; `asked`: only when the tool `_ui` is called"),
        Want::settings("prompt", "what models are asked to do in all views, such as a tone or a language"),
        Want::settings("send-results", "`true`: the provider gets the last answer of the tool"),
        Want::settings("max-refinements", "maximum number of requested changes that are kept for each tool; default: 5"),
        Want::settings("max-retries", "maximum number of retries after a temporary failure; default: 2"),
        Want::settings("foreground-ms", "maximum time of a generation while a caller waits, in milliseconds; default: 15000"),
        Want::settings("background-ms", "maximum time of a generation in the background, in milliseconds; default: 120000"),
        Want::settings("cache", "`false`: generated views are not reused, and views and requested changes are in the cache instead of the store"),
        Want::settings("cache-entries", "maximum number of stored views; default: 100"),
        Want::settings("cache-entry-bytes", "maximum size of a stored view in bytes; default: 512000"),
        Want::settings("cache-bytes", "maximum size of all stored views in bytes; default: 52428800"),
        Want::settings("cache-ttl-ms", "maximum age of a stored view in milliseconds; not set or 0: no limit"),
        Want::settings("debug-dir", "an absolute path: a folder for prompts, answers and pages"),
        Want::settings("export-dir", "an absolute path: a folder for pages"),
    ],
}

#[cfg(test)]
mod tests;
