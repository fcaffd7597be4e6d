//! What the operator set, read once a call: a wrong value counts as not set, and is complained of.

use crate::provider::Service;
use portcullis_plugin::settings;
use std::time::Duration;

/// Everything that can be set, as it is.
#[derive(Debug)]
pub struct Settings {
    /// Which tools get views, by name; a last `*` stands for any rest. `None`: all.
    pub tools: Option<Vec<String>>,
    /// Whether views may call tools that say that they destroy.
    pub destructive: bool,
    /// Whether the model does not see the plugin's own tools.
    pub hide_tools: bool,
    /// Whether pages hold the runtime deflated.
    pub packed: bool,
    /// Whether a model may write documents rather than specifications.
    pub documents: bool,
    /// Who writes them where the client's model does not.
    pub provider: Option<Provider>,
    /// When a provider is asked without anybody having asked for it.
    pub generate: Generate,
    /// Whether a provider is shown what a tool last answered.
    pub send_results: bool,
    /// How many refinements of one tool are kept.
    pub max_refinements: usize,
    /// How much of what was generated is kept.
    pub cache: Cache,
    /// Where prompts, answers and pages are left for people to read.
    pub debug_dir: Option<String>,
    /// Where pages are left for use elsewhere.
    pub export_dir: Option<String>,
    /// What is wrong with what was set.
    pub complaints: Vec<String>,
}

/// A service with models, and how it is to be asked.
#[derive(Debug)]
pub struct Provider {
    /// Which one.
    pub service: Service,
    /// Which of its models.
    pub model: String,
    /// Where it is.
    pub base_url: String,
    /// How long an answer may be, thinking included.
    pub max_output_tokens: u64,
    /// How hard it thinks, in the service's own words.
    pub effort: Option<String>,
    /// How often a request that failed for no fault of ours is made again.
    pub max_retries: u64,
    /// How long all of it may take while somebody waits.
    pub foreground: Duration,
    /// How long while nobody does.
    pub background: Duration,
}

/// When a provider is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generate {
    /// Once a view is looked at.
    FirstView,
    /// Only when `_ui_refine` or `_ui_regenerate` is called.
    Asked,
}

/// How much of what was generated is kept.
#[derive(Clone, Copy, Debug)]
pub struct Cache {
    /// Whether what was generated before is used again, and anything is kept: see [`keeps`].
    pub on: bool,
    /// How many views.
    pub entries: usize,
    /// How long one may be.
    pub entry_bytes: usize,
    /// How long all may be.
    pub bytes: usize,
    /// How old one may be.
    pub ttl: Option<Duration>,
}

impl Settings {
    /// Reads them.
    pub fn read() -> Self {
        let mut read = Reader { complaints: Vec::new() };
        let mut settings = Self {
            tools: text("tools").map(|list| names(&list)),
            destructive: read.flag("destructive", false),
            hide_tools: read.flag("hide-tools", false),
            packed: read.one_of("runtime", &[("packed", true), ("plain", false)], true),
            documents: read.flag("documents", false),
            provider: read.provider(),
            generate: read.one_of(
                "generate",
                &[("first-view", Generate::FirstView), ("asked", Generate::Asked)],
                Generate::FirstView,
            ),
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
        settings.complaints = read.complaints;
        settings
    }

    /// Whether that tool gets a view.
    pub fn allows(&self, tool: &str) -> bool {
        self.tools.as_ref().is_none_or(|names| {
            names.iter().any(|name| match name.strip_suffix('*') {
                Some(start) => tool.starts_with(start),
                None => tool == name,
            })
        })
    }
}

/// Whether what is made and asked for outlives the host.
pub fn keeps() -> bool {
    text("cache").as_deref() != Some("false")
}

/// A setting that is empty is not set.
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
    fn nothing_is_set() {
        let _rehearsal = Rehearsal::new().setting("tools", "").setting("provider", " ");
        let settings = Settings::read();
        assert!(settings.allows("anything") && settings.packed && settings.cache.on);
        assert!(
            !settings.destructive
                && !settings.hide_tools
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
    fn everything_is_set() {
        let _rehearsal = Rehearsal::new()
            .setting("tools", "get_weather, db_*,")
            .setting("destructive", "true")
            .setting("provider", "chat")
            .setting("model", "qwen")
            .setting("base-url", "http://localhost:8000/v1")
            .setting("foreground-ms", "9_000")
            .setting("cache-ttl-ms", "5")
            .setting("generate", "asked")
            .setting("runtime", "plain");
        let settings = Settings::read();
        assert!(
            settings.allows("get_weather")
                && settings.allows("db_query")
                && !settings.allows("get_weather2")
        );
        assert!(settings.destructive && !settings.packed && settings.generate == Generate::Asked);
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
    fn what_is_wrong_is_told_and_changes_nothing() {
        let _rehearsal = Rehearsal::new()
            .setting("destructive", "yes")
            .setting("cache-entries", "many")
            .setting("provider", "openai");
        let settings = Settings::read();
        assert!(
            !settings.destructive && settings.cache.entries == 100 && settings.provider.is_none()
        );
        let all = settings.complaints.join("\n");
        assert_eq!(settings.complaints.len(), 3, "{all}");
        for said in
            ["`destructive` is `yes`; it can be `true` or `false`", "`cache-entries`", "no `model`"]
        {
            assert!(all.contains(said), "{all}");
        }
    }
}
