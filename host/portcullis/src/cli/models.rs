//! The options about models that improve views. They change the settings, grants and limits of the plugin that
//! makes views.

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use portcullis_core::config::PluginConfig;
use portcullis_egress::{Origin, Secret};

/// The time limit of one request to a model service, in milliseconds. A model may need minutes for an answer.
const HTTP_MS: NonZeroU64 = NonZeroU64::new(130_000).unwrap();

/// Maximum size of a prompt, in bytes.
const MAX_PROMPT_BYTES: usize = 8_000;

/// A kind of model service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Service {
    /// Anthropic's Messages API
    Anthropic,
    /// OpenAI's Responses API
    Openai,
    /// Chat Completions, of most other services and local servers
    Chat,
    /// Ollama
    Ollama,
}

/// The standard by which a client shows a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ViewStandard {
    /// MCP Apps, which all clients with views know
    McpApps,
    /// The former interface of ChatGPT
    #[value(hide = true)]
    Openai,
}

/// Options for models that improve views. They override the configuration.
#[derive(clap::Args)]
// clap names a group after its struct, and other structs have this name.
#[group(skip)]
pub struct Flags {
    /// Improve views with a model of this service; needs --model
    #[arg(long, value_name = "SERVICE", help_heading = "Models")]
    provider: Option<Service>,
    /// The name of the model at the service
    #[arg(long, value_name = "NAME", help_heading = "Models")]
    model: Option<String>,
    /// URL of the service, if it is not the usual one
    #[arg(long, value_name = "URL", help_heading = "Models")]
    base_url: Option<String>,
    /// Environment variable with the service's key [default: ANTHROPIC_API_KEY or OPENAI_API_KEY]
    #[arg(long, value_name = "VARIABLE", help_heading = "Models")]
    key_env: Option<String>,
    /// Instructions to the model for all views, such as "large numbers, in Dutch"
    #[arg(long, value_name = "TEXT", help_heading = "Models")]
    prompt: Option<String>,
    /// A file with instructions to the model for all views; the text of --prompt is added after them
    #[arg(long, value_name = "FILE", help_heading = "Models")]
    prompt_file: Option<PathBuf>,
    /// The standard by which clients show the views
    #[arg(long, value_name = "STANDARD", help_heading = "Models", default_value = "mcp-apps")]
    standard: ViewStandard,
    /// Offer the client's model the tool `_ui`, which changes views; --provider also offers it
    #[arg(long, help_heading = "Models")]
    ui_tool: bool,
    /// Refused: other programs of the machine could read the key
    #[arg(long, hide = true, value_name = "KEY")]
    api_key: Option<String>,
}

impl Service {
    /// The name in the plugin's settings.
    fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::Openai => "openai",
            Self::Chat => "chat",
            Self::Ollama => "ollama",
        }
    }

    /// The URL at which the plugin reaches the service, unless `--base-url` names another one.
    fn base_url(self) -> &'static str {
        match self {
            Self::Anthropic => "https://api.anthropic.com",
            Self::Openai | Self::Chat => "https://api.openai.com/v1",
            Self::Ollama => "http://localhost:11434",
        }
    }

    /// The environment variable that usually holds the service's key. `None`: the service may need no key.
    fn usual_variable(self, has_own_url: bool) -> Option<&'static str> {
        match self {
            Self::Anthropic => Some("ANTHROPIC_API_KEY"),
            Self::Openai => Some("OPENAI_API_KEY"),
            // Other servers may need no key.
            Self::Chat => (!has_own_url).then_some("OPENAI_API_KEY"),
            Self::Ollama => None,
        }
    }

    /// The HTTP header with the key.
    fn header(self, variable: &str) -> (String, Secret) {
        match self {
            Self::Anthropic => ("x-api-key".into(), Secret::Env(variable.into())),
            Self::Openai | Self::Chat | Self::Ollama => {
                ("authorization".into(), Secret::BearerEnv(variable.into()))
            }
        }
    }
}

impl Flags {
    /// Whether any option is given.
    pub fn is_empty(&self) -> bool {
        let Self { provider, model, base_url, key_env, prompt, prompt_file, .. } = self;
        provider.is_none()
            && [model, base_url, key_env, prompt, &self.api_key].iter().all(|one| one.is_none())
            && prompt_file.is_none()
            && self.standard == ViewStandard::McpApps
            && !self.ui_tool
    }

    /// Applies the options to the plugin that makes views.
    ///
    /// # Errors
    ///
    /// An option is missing, refused or invalid, or needs another one; the plugin is switched off; the key is not in
    /// the environment; or the prompt is too long or cannot be read.
    pub fn apply(&self, plugin: &mut PluginConfig) -> anyhow::Result<()> {
        if self.api_key.is_some() {
            bail!(
                "--api-key: a key on the command line can be read by other programs of this machine: put it \
                 into the environment variable ANTHROPIC_API_KEY or OPENAI_API_KEY, or name another one with \
                 --key-env"
            );
        }
        if self.standard == ViewStandard::Openai {
            bail!(
                "--standard openai: ChatGPT shows views by MCP Apps, as other clients do: leave out --standard"
            );
        }
        if plugin.enabled == Some(false) && !self.is_empty() {
            bail!(
                "the plugin that makes views is switched off in the configuration (`enabled = false`)"
            );
        }
        let Some(service) = self.provider else {
            let needless = [
                ("--model", self.model.is_some()),
                ("--base-url", self.base_url.is_some()),
                ("--key-env", self.key_env.is_some()),
            ];
            if let Some((option, _)) = needless.iter().find(|(_, is_given)| *is_given) {
                bail!("{option} needs --provider: anthropic, openai, chat or ollama");
            }
            return self.apply_to_all(plugin);
        };
        let name = service.name();
        let Some(model) = self.model.as_deref().map(str::trim).filter(|model| !model.is_empty())
        else {
            bail!(
                "--provider {name} needs --model: the model's name at the service (there is no default, \
                 because services retire models)"
            );
        };
        let base = self.base_url.as_deref().unwrap_or_else(|| service.base_url());
        let origin: Origin = base.parse().context("--base-url")?;
        let variable = self.key_env.as_deref();
        let variable = variable.or_else(|| service.usual_variable(self.base_url.is_some()));
        let header = variable.map(|variable| service.header(variable));
        if let Some((_, secret)) = &header {
            let variable = variable.unwrap_or_default();
            secret.check().with_context(|| {
                format!(
                    "--provider {name} needs the service's key: set the environment variable {variable}, or \
                     name another one with --key-env"
                )
            })?;
        }
        plugin.grants.allow_posts_only(origin, header);
        plugin.limits.http_ms = Some(HTTP_MS);
        let settings = [("provider", name), ("model", model), ("base-url", base)];
        let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned()));
        plugin.settings.extend(settings);
        self.apply_to_all(plugin)
    }

    /// Applies the options that concern the service's model and the client's model alike.
    fn apply_to_all(&self, plugin: &mut PluginConfig) -> anyhow::Result<()> {
        if self.ui_tool {
            plugin.settings.insert("model-tool".into(), "true".into());
        }
        if self.ui_tool || self.provider.is_some() {
            plugin.grants.let_follow_pointers();
        }
        let file = self.prompt_file.as_deref().map(read).transpose()?;
        let parts = [file.as_deref(), self.prompt.as_deref()];
        let parts = parts.into_iter().flatten().map(str::trim).filter(|part| !part.is_empty());
        let prompt = parts.collect::<Vec<_>>().join("\n");
        if prompt.len() > MAX_PROMPT_BYTES {
            bail!("the prompt has {} bytes; the maximum is {MAX_PROMPT_BYTES}", prompt.len());
        }
        if !prompt.is_empty() {
            plugin.settings.insert("prompt".into(), prompt);
        }
        Ok(())
    }
}

#[expect(clippy::disallowed_methods, reason = "the operator names the file on the command line")]
fn read(file: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(file)
        .with_context(|| format!("--prompt-file: reading {}", file.display()))
}
