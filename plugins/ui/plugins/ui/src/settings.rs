//! The operator's settings, read once per call. A wrong value counts as unset and is reported.

use crate::messages::{self, Language};
use crate::provider::Service;
use portcullis_plugin::settings;
use std::time::Duration;

/// All settings.
#[derive(Debug)]
pub struct Settings {
    /// Names of the tools that get views; a `*` at the end stands for any characters. `None`: all tools.
    pub tools: Option<Vec<String>>,
    /// Whether views may call tools with the destructive hint.
    pub destructive: bool,
    /// Whether the model sees the plugin's own tool. By default, the model sees it only if there is a provider, since
    /// each definition takes room in the model's context.
    pub model_tool: bool,
    /// Whether the code that draws a view is compressed in the view's page.
    pub packed: bool,
    /// Languages whose messages are within each page.
    pub languages: Vec<&'static Language>,
    /// Whether a model may write HTML documents instead of specifications.
    pub documents: bool,
    /// The service that writes views, if the operator has set one.
    pub provider: Option<Provider>,
    /// When to ask the provider automatically.
    pub generate: Generate,
    /// The operator's instructions to models for all views.
    pub prompt: Option<String>,
    /// Whether to send the provider the last result of a tool.
    pub send_results: bool,
    /// Maximum number of stored refinements of one tool.
    pub max_refinements: usize,
    /// Limits of stored views.
    pub cache: Cache,
    /// Folder for prompts, answers and pages, for debugging.
    pub debug_dir: Option<String>,
    /// Folder to which pages are exported.
    pub export_dir: Option<String>,
    /// The errors in the settings.
    pub complaints: Vec<String>,
}

/// A model service and how to call it.
#[derive(Debug)]
pub struct Provider {
    /// The kind of service.
    pub service: Service,
    /// The model.
    pub model: String,
    /// The base URL.
    pub base_url: String,
    /// Limit of output tokens, thinking included.
    pub max_output_tokens: u64,
    /// The effort of reasoning, as named by the service.
    pub effort: Option<String>,
    /// Maximum number of retries after a temporary failure.
    pub max_retries: u64,
    /// Time limit of a generation while a client waits.
    pub foreground: Duration,
    /// Time limit of a generation in the background.
    pub background: Duration,
}

/// When to ask a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generate {
    /// When a view is first read.
    FirstView,
    /// Only when a model asks for it.
    Asked,
}

/// Limits of stored views.
#[derive(Clone, Copy, Debug)]
pub struct Cache {
    /// Whether to store views and refinements, and to reuse them. [`keeps`] reads the same setting.
    pub on: bool,
    /// Maximum number of views.
    pub entries: usize,
    /// Maximum size of one view, in bytes.
    pub entry_bytes: usize,
    /// Maximum size of all views together, in bytes.
    pub bytes: usize,
    /// Maximum age of a view.
    pub ttl: Option<Duration>,
}

impl Settings {
    /// Reads the settings.
    pub fn read() -> Self {
        let mut read = Reader { complaints: Vec::new() };
        let mut settings = Self {
            tools: text("tools").map(|list| names(&list)),
            destructive: read.flag("destructive", false),
            model_tool: false,
            packed: read.one_of("runtime", &[("packed", true), ("plain", false)], true),
            languages: text("languages").map_or_else(Vec::new, |list| messages::named(&list)),
            documents: read.flag("documents", false),
            provider: read.provider(),
            generate: read.one_of(
                "generate",
                &[("first-view", Generate::FirstView), ("asked", Generate::Asked)],
                Generate::FirstView,
            ),
            prompt: text("prompt"),
            send_results: read.flag("send-results", false),
            max_refinements: read.size("max-refinements", 5),
            cache: Cache {
                on: read.flag("cache", true),
                entries: read.size("cache-entries", 100),
                entry_bytes: read.size("cache-entry-bytes", 500 * 1024),
                bytes: read.size("cache-bytes", 50 * 1024 * 1024),
                ttl: match read.number("cache-ttl-ms", 0) {
                    0 => None,
                    milliseconds => Some(Duration::from_millis(milliseconds)),
                },
            },
            debug_dir: text("debug-dir"),
            export_dir: text("export-dir"),
            complaints: Vec::new(),
        };
        let choices = [("auto", None), ("true", Some(true)), ("false", Some(false))];
        let model_tool = read.one_of("model-tool", &choices, None);
        settings.model_tool = model_tool.unwrap_or(settings.provider.is_some());
        settings.complaints = read.complaints;
        settings
    }

    /// Whether the setting `tools` names the tool, or is not set.
    pub fn allows(&self, tool: &str) -> bool {
        self.tools.as_ref().is_none_or(|names| {
            names.iter().any(|name| match name.strip_suffix('*') {
                Some(start) => tool.starts_with(start),
                None => tool == name,
            })
        })
    }
}

/// Whether views and refinements are kept in the store, which survives a restart of the host.
pub fn keeps() -> bool {
    text("cache").as_deref() != Some("false")
}

/// An empty setting counts as unset.
fn text(key: &str) -> Option<String> {
    settings::get(key).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

fn names(list: &str) -> Vec<String> {
    list.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

struct Reader {
    complaints: Vec<String>,
}

impl Reader {
    fn flag(&mut self, key: &str, otherwise: bool) -> bool {
        self.one_of(key, &[("true", true), ("false", false)], otherwise)
    }

    fn one_of<T: Copy>(&mut self, key: &str, choices: &[(&str, T)], otherwise: T) -> T {
        let Some(value) = text(key) else { return otherwise };
        if let Some((_, choice)) = choices.iter().find(|(name, _)| *name == value) {
            return *choice;
        }
        let names: Vec<_> = choices.iter().map(|(name, _)| format!("`{name}`")).collect();
        self.complaints.push(format!("`{key}` is `{value}`; it can be {}", names.join(" or ")));
        otherwise
    }

    fn number(&mut self, key: &str, otherwise: u64) -> u64 {
        let Some(value) = text(key) else { return otherwise };
        value.replace('_', "").parse().unwrap_or_else(|_| {
            self.complaints.push(format!("`{key}` is `{value}`; it must be a whole number"));
            otherwise
        })
    }

    fn size(&mut self, key: &str, otherwise: usize) -> usize {
        usize::try_from(self.number(key, otherwise as u64)).unwrap_or(usize::MAX)
    }

    fn provider(&mut self) -> Option<Provider> {
        let services = Service::ALL.map(|service| (service.name(), Some(service)));
        let choices = [services.as_slice(), &[("none", None)]].concat();
        let service = self.one_of("provider", &choices, None)?;
        let Some(model) = text("model") else {
            let name = service.name();
            self.complaints.push(format!(
                "`provider` is `{name}`, and no `model` is set: nothing is generated"
            ));
            return None;
        };
        Some(Provider {
            service,
            model,
            base_url: text("base-url").unwrap_or_else(|| service.base_url().to_owned()),
            max_output_tokens: self.number("max-output-tokens", 16_000).max(1),
            effort: text("effort"),
            max_retries: self.number("max-retries", 2),
            foreground: Duration::from_millis(self.number("foreground-ms", 15_000)),
            background: Duration::from_millis(self.number("background-ms", 120_000)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_plugin::rehearsal::Rehearsal;

    #[test]
    fn settings_have_defaults() {
        let _rehearsal = Rehearsal::new().setting("tools", "").setting("provider", " ");
        let settings = Settings::read();
        assert!(settings.allows("anything") && settings.packed && settings.cache.on);
        assert!(
            !settings.destructive
                && !settings.model_tool
                && !settings.documents
                && !settings.send_results
        );
        assert!(settings.provider.is_none() && settings.complaints.is_empty());
        assert_eq!(
            (settings.max_refinements, settings.cache.entries, settings.cache.entry_bytes),
            (5, 100, 512_000)
        );
        assert_eq!((settings.cache.bytes, settings.cache.ttl), (52_428_800, None));
    }

    #[test]
    fn all_settings_are_read() {
        let _rehearsal = Rehearsal::new()
            .setting("tools", "get_weather, db_*,")
            .setting("destructive", "true")
            .setting("provider", "chat")
            .setting("model", "qwen")
            .setting("base-url", "http://localhost:8000/v1")
            .setting("foreground-ms", "9_000")
            .setting("cache-ttl-ms", "5")
            .setting("generate", "asked")
            .setting("languages", "de_DE.UTF-8")
            .setting("runtime", "plain");
        let settings = Settings::read();
        assert_eq!(settings.languages[0].name, "de");
        assert!(
            settings.allows("get_weather")
                && settings.allows("db_query")
                && !settings.allows("get_weather2")
        );
        assert!(settings.destructive && !settings.packed && settings.generate == Generate::Asked);
        assert!(settings.model_tool, "there is a provider");
        let provider = settings.provider.expect("it is set");
        assert_eq!(
            (provider.service, provider.base_url.as_str()),
            (Service::Chat, "http://localhost:8000/v1")
        );
        assert_eq!(
            (provider.foreground, provider.background),
            (Duration::from_secs(9), Duration::from_secs(120))
        );
        assert_eq!(settings.cache.ttl, Some(Duration::from_millis(5)));
    }

    #[test]
    fn wrong_settings_are_reported_and_have_no_effect() {
        let _rehearsal = Rehearsal::new()
            .setting("destructive", "yes")
            .setting("cache-entries", "many")
            .setting("provider", "openai");
        let settings = Settings::read();
        assert!(
            !settings.destructive && settings.cache.entries == 100 && settings.provider.is_none()
        );
        assert!(!settings.model_tool);
        let all = settings.complaints.join("\n");
        assert_eq!(settings.complaints.len(), 3, "{all}");
        for said in
            ["`destructive` is `yes`; it can be `true` or `false`", "`cache-entries`", "no `model`"]
        {
            assert!(all.contains(said), "{all}");
        }
    }
}
