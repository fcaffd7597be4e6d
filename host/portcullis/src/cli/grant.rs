//! `portcullis plugin grant` and `portcullis plugin revoke`: edit the grants in `portcullis.toml`, show the
//! difference, and ask before they write the file.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, bail};
use similar::TextDiff;

use portcullis_core::bindings::Want;
use portcullis_core::capabilities::{Capability, Grants, ShortForm};
use portcullis_core::config::edit::{self, Edit};
use portcullis_core::config::{self, ConfigFile};
use portcullis_core::plugins::inspect::Inspection;
use portcullis_core::plugins::{Plugins, UnusedGrant, UnusedReason, Uses, unused_grants};
use portcullis_core::sandbox::Feature;

use super::CommandEnd;
use super::confirm::Consent;
use super::context::CommandContext;
use super::edited_file::write_config;
use super::inspect::wants_text;
use super::style::{faint, green, red};

/// Arguments of `plugin grant`.
#[derive(clap::Args)]
#[command(after_help = short_forms())]
pub struct Grant {
    /// The plugin's name
    name: String,
    /// What to grant: a capability with a value; `wanted` for everything that the plugin wants
    #[arg(required = true, value_name = "CAPABILITY=VALUE")]
    grants: Vec<String>,
    #[command(flatten)]
    how: WriteMode,
}

/// Arguments of `plugin revoke`.
#[derive(clap::Args)]
pub struct Revoke {
    /// The plugin's name
    name: String,
    /// What to revoke: a capability, or a capability with a value
    #[arg(required_unless_present_any = ["all", "unused"], value_name = "CAPABILITY[=VALUE]")]
    grants: Vec<String>,
    /// Revoke every grant
    #[arg(long, conflicts_with_all = ["grants", "unused"])]
    all: bool,
    /// Revoke the grants that the plugin does not want, and those that it never used according to the audit
    #[arg(long, conflicts_with = "grants")]
    unused: bool,
    #[command(flatten)]
    how: WriteMode,
}

/// How an edit is written.
#[derive(clap::Args)]
struct WriteMode {
    #[command(flatten)]
    consent: Consent,
    /// Show the difference and write nothing
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
}

/// The short forms of all capabilities, for the help.
fn short_forms() -> String {
    let mut text =
        String::from("Values (several values of one capability are separated by commas):");
    for capability in Capability::ALL {
        for (form, meaning) in capability.short_forms().forms {
            let form = format!("{capability}={form}");
            text += &format!("\n  {form:<28} {meaning}");
        }
    }
    let (wanted, setting) = ("CAPABILITY=wanted", "settings.KEY=VALUE");
    text += &format!("\n  {wanted:<28} what the plugin wants of this capability");
    text += &format!("\n  {setting:<28} a value that the plugin can read");
    text
}

/// The wants in the manifest of a plugin.
struct Wants<'a> {
    all: &'a [Want],
    /// A foreign component has no manifest, so its grants take effect without wants.
    is_foreign: bool,
}

/// The wants of a plugin. `None`: the wants are not known, because the component cannot be examined.
fn wants_of<'a>(plugins: &'a Plugins, name: &str) -> Option<Wants<'a>> {
    if let Some(loaded) = plugins.loaded.iter().find(|loaded| *loaded.plugin.name == *name) {
        let is_foreign = loaded.plugin.terms.policy.is_foreign;
        return Some(Wants { all: &loaded.manifest.wants, is_foreign });
    }
    let info = plugins.refused.iter().find(|refused| refused.name == name)?.info.as_ref()?;
    let is_foreign = !info.features.contains(&Feature::Manifest);
    Some(Wants { all: &info.manifest.as_ref()?.wants, is_foreign })
}

impl Wants<'_> {
    /// The wants in the form of grants, with the values of the settings that wants refer to. `None`: a foreign
    /// component has no wants, so every grant takes effect.
    fn as_grants(&self, text: &str, plugin: &str) -> anyhow::Result<Option<Grants>> {
        if self.is_foreign {
            return Ok(None);
        }
        let config = config::Config::parse(text)?;
        let settings = config.plugins.get(plugin).map(|plugin| plugin.settings.clone());
        Ok(Some(Grants::wanted(self.all, &settings.unwrap_or_default()).0))
    }
}

/// One plugin and the file that its grants are edited in.
struct GrantEdit<'a> {
    name: &'a str,
    file: ConfigFile,
    wants: Option<Wants<'a>>,
}

impl<'a> GrantEdit<'a> {
    fn new(
        context: &CommandContext,
        plugins: &'a Plugins,
        name: &'a str,
        config: Option<&Path>,
    ) -> anyhow::Result<Self> {
        let exists = context.config.plugins.contains_key(name)
            || plugins.loaded.iter().any(|loaded| *loaded.plugin.name == *name)
            || plugins.refused.iter().any(|refused| refused.name == name);
        if !exists {
            bail!(
                "there is no plugin `{name}`\n  hint: `portcullis plugin list` lists them; a plugin is a file \
                 NAME.wasm in the plugin folder"
            );
        }
        let file = ConfigFile::read(config, &context.folders)?;
        Ok(Self { name, file, wants: wants_of(plugins, name) })
    }

    fn text(&self) -> &str {
        self.file.text.as_deref().unwrap_or_default()
    }

    fn wants(&self) -> Option<&'a [Want]> {
        self.wants.as_ref().map(|wants| wants.all)
    }
}

/// Runs `plugin grant`.
///
/// # Errors
///
/// There is no such plugin, an argument is not a valid grant, or the configuration cannot be read or written.
pub(super) async fn grant(
    context: CommandContext,
    config: Option<&Path>,
    args: Grant,
) -> anyhow::Result<CommandEnd> {
    let asked = args.grants.iter().map(|text| ShortForm::to_grant(text));
    let asked: Vec<_> = asked.collect::<Result<_, _>>()?;
    let plugins = context.plugins().await;
    let editing = GrantEdit::new(&context, &plugins, &args.name, config)?;
    let edit = edit::grant(editing.text(), &args.name, &asked, editing.wants())
        .with_context(|| format!("granting to `{}`", args.name))?;
    if edit.is_nothing() {
        return super::print(&format!(
            "`{}` already has these grants: nothing to write\n",
            args.name
        ));
    }
    show(&editing, &edit)?;
    super::print(&effects(&editing, &edit)?)?;
    finish(&editing, &edit, &args.how)
}

/// Runs `plugin revoke`.
///
/// # Errors
///
/// There is no such plugin, an argument is not a valid grant, the audit or the configuration cannot be read, or the
/// configuration cannot be written.
pub(super) async fn revoke(
    context: CommandContext,
    config: Option<&Path>,
    args: Revoke,
) -> anyhow::Result<CommandEnd> {
    let asked = args.grants.iter().map(|text| ShortForm::to_revoke(text));
    let mut asked: Vec<_> = asked.collect::<Result<_, _>>()?;
    let plugins = context.plugins().await;
    let editing = GrantEdit::new(&context, &plugins, &args.name, config)?;
    let grants = context.config.plugins.get(&args.name).map(|plugin| plugin.grants.clone());
    let grants = grants.unwrap_or_default();
    if args.all {
        let granted = Capability::ALL.into_iter().filter(|one| grants.has(*one));
        asked.extend(granted.map(ShortForm::Whole));
    }
    if args.unused {
        let found = unused(&context, &editing, &grants)?;
        super::print(&unused_text(&found))?;
        let values = found.into_iter().map(|one| (one.capability, one.value));
        asked.extend(values.map(|(one, value)| ShortForm::Values(one, vec![value])));
    }
    let edit = edit::revoke(editing.text(), &args.name, &asked, editing.wants())
        .with_context(|| format!("revoking from `{}`", args.name))?;
    if edit.is_nothing() {
        return super::print(&format!("nothing to revoke from `{}`\n", args.name));
    }
    show(&editing, &edit)?;
    super::print(&effects(&editing, &edit)?)?;
    finish(&editing, &edit, &args.how)
}

/// The unused values of a plugin's grants. Warns if the audit's records are not complete.
fn unused(
    context: &CommandContext,
    editing: &GrantEdit<'_>,
    grants: &Grants,
) -> anyhow::Result<Vec<UnusedGrant>> {
    let folder = context.audit.folder();
    let uses = Uses::read(folder, editing.name, grants)
        .with_context(|| format!("reading the audit in {}", folder.display()))?;
    let name = editing.name;
    if uses.calls(name) == 0 {
        super::print(&format!(
            "the audit has no call of `{name}`: only grants that the plugin does not want are revoked\n"
        ))?;
    } else if !uses.is_complete() {
        super::print(&format!(
            "older records of `{name}` were deleted, so its earlier uses are not known: only grants that the plugin \
             does not want are revoked\n"
        ))?;
    }
    let wants = match &editing.wants {
        Some(wants) => wants.as_grants(editing.text(), name)?,
        None => None,
    };
    Ok(unused_grants(name, grants, wants.as_ref(), &uses))
}

/// The unused values with the reasons, one line each.
fn unused_text(unused: &[UnusedGrant]) -> String {
    let lines = unused.iter().map(|UnusedGrant { capability, value, reason }| {
        let reason = match reason {
            UnusedReason::Unwanted => "the plugin does not want it".to_owned(),
            UnusedReason::NeverUsed { since, calls } => {
                format!("never used since {since} (calls: {calls})")
            }
        };
        let value = portcullis_sanitize::visible_line(value, 300);
        let reason = portcullis_sanitize::visible_line(&reason, 300);
        format!("{} {}\n", red(&format!("{capability}={value}")), faint(&reason))
    });
    lines.collect()
}

/// Prints the difference that the edit makes to the file, without secrets.
fn show(editing: &GrantEdit<'_>, edit: &Edit) -> anyhow::Result<()> {
    show_difference(&editing.file, edit)
}

fn show_difference(file: &ConfigFile, edit: &Edit) -> anyhow::Result<()> {
    let path = file.path.display().to_string();
    let (before, after) = (config::shown(&edit.before)?, config::shown(&edit.after)?);
    let difference = TextDiff::from_lines(&before, &after);
    let old = if file.text.is_some() { path.as_str() } else { "/dev/null" };
    let text = difference.unified_diff().context_radius(3).header(old, &path).to_string();
    let lines = text.lines().map(|line| {
        // `visible_line` would merge spaces, which are part of the difference.
        let seen = portcullis_sanitize::visible(line);
        match line.bytes().next() {
            Some(b'+') => green(&seen),
            Some(b'-') => red(&seen),
            Some(b'@') => faint(&seen),
            _ => seen.into_owned(),
        }
    });
    let lines: Vec<_> = lines.collect();
    super::print(&format!("{}\n\n", lines.join("\n")))?;
    Ok(())
}

/// Describes the effects of the edit, and warns of grants that have no effect.
fn effects(editing: &GrantEdit<'_>, edit: &Edit) -> anyhow::Result<String> {
    let name = portcullis_sanitize::visible_line(editing.name, 100);
    let mut text = String::new();
    if edit.from_defaults {
        text += &format!(
            "`{name}` is bundled. A section in portcullis.toml replaces its default grants, so the edit \
             also writes those.\n"
        );
    }
    let lines = |values: &[(Capability, String)]| -> String {
        let words = values.iter().map(|(capability, value)| {
            let words = capability.short_forms().words(value);
            format!(
                "  {:<8} {}\n",
                capability.as_str(),
                portcullis_sanitize::visible_line(&words, 500)
            )
        });
        words.collect()
    };
    if !edit.added.is_empty() {
        text += &format!("After this edit, `{name}` also may:\n{}", lines(&edit.added));
    }
    if !edit.removed.is_empty() {
        text += &format!("After this edit, `{name}` may no longer:\n{}", lines(&edit.removed));
    }
    for (key, value) in &edit.settings {
        let key = portcullis_sanitize::visible_line(key, 100);
        // The value is left out, because it may be a secret. The difference of the file shows values that are not
        // secrets.
        let what = if value.is_some() { "reads a new value of" } else { "no longer reads" };
        text += &format!("After this edit, `{name}` {what} the setting {key}.\n");
    }
    let Some(wants) = &editing.wants else {
        if !edit.added.is_empty() {
            text += "The component cannot be read, so its wants are not known. A grant without a want has no \
                     effect.\n";
        }
        return Ok(text);
    };
    let Some(wanted) = wants.as_grants(&edit.after, editing.name)? else { return Ok(text) };
    let no_effect = edit.added.iter().filter(|(one, value)| !wanted.want_value(*one, value));
    let mut capabilities = BTreeSet::new();
    for (capability, value) in no_effect {
        let value = portcullis_sanitize::visible_line(value, 300);
        text += &format!(
            "{} `{name}` does not want {capability}={value}: this grant has no effect\n",
            red("warning")
        );
        capabilities.insert(*capability);
    }
    if !capabilities.is_empty() {
        text += &wants_text(wants.all);
    }
    Ok(text)
}

/// Grants for a plugin that is about to be installed. They are shown before the installation, and written after it.
pub(super) struct PlannedGrants<'a> {
    editing: GrantEdit<'a>,
    edit: Edit,
}

impl<'a> PlannedGrants<'a> {
    /// The edit that gives an inspected component these grants.
    pub(super) fn new(
        context: &CommandContext,
        config: Option<&Path>,
        inspection: &'a Inspection,
        grants: &[String],
    ) -> anyhow::Result<Self> {
        let asked = grants.iter().map(|text| ShortForm::to_grant(text));
        let asked: Vec<_> = asked.collect::<Result<_, _>>()?;
        let is_foreign = !inspection.info.features.contains(&Feature::Manifest);
        let (name, file) = (&inspection.name, ConfigFile::read(config, &context.folders)?);
        let wants = Some(Wants { all: inspection.wants(), is_foreign });
        let editing = GrantEdit { name, file, wants };
        let edit = edit::grant(editing.text(), name, &asked, editing.wants())
            .with_context(|| format!("granting to `{name}`"))?;
        Ok(Self { editing, edit })
    }

    /// The configuration with these grants. `None`: they change nothing.
    ///
    /// # Errors
    ///
    /// The edited text is no configuration.
    pub(super) fn config(&self) -> anyhow::Result<Option<config::Config>> {
        let is_edited = !self.edit.is_nothing();
        Ok(is_edited.then(|| config::Config::parse(&self.edit.after)).transpose()?)
    }

    /// Prints the difference of `portcullis.toml`, and what the plugin may then do.
    pub(super) fn show(&self) -> anyhow::Result<()> {
        if !self.edit.is_nothing() {
            show(&self.editing, &self.edit)?;
            super::print(&effects(&self.editing, &self.edit)?)?;
        }
        Ok(())
    }

    /// Writes the grants. Returns what was done, for display.
    pub(super) fn write(&self) -> anyhow::Result<String> {
        if self.edit.is_nothing() {
            return Ok(String::new());
        }
        write_config(&self.editing.file, &self.edit.after)
    }
}

/// The removal of a plugin's section from `portcullis.toml`. `None`: there is no section.
///
/// # Errors
///
/// The configuration cannot be read or edited.
pub(super) fn removal(
    context: &CommandContext,
    config: Option<&Path>,
    name: &str,
) -> anyhow::Result<Option<PlannedRemoval>> {
    let file = ConfigFile::read(config, &context.folders)?;
    let edit = edit::remove_plugin(file.text.as_deref().unwrap_or_default(), name)
        .with_context(|| format!("removing [plugins.{name}]"))?;
    Ok((!edit.is_nothing()).then_some(PlannedRemoval { file, edit }))
}

/// The removal of a plugin's section. It is shown first, and written once the operator agrees.
pub(super) struct PlannedRemoval {
    file: ConfigFile,
    edit: Edit,
}

impl PlannedRemoval {
    /// Prints the difference of `portcullis.toml`.
    pub(super) fn show(&self) -> anyhow::Result<()> {
        show_difference(&self.file, &self.edit)
    }

    /// Writes the removal. Returns what was done, for display.
    pub(super) fn write(&self) -> anyhow::Result<String> {
        write_config(&self.file, &self.edit.after)
    }
}

/// Writes the edit, if the operator agrees.
fn finish(editing: &GrantEdit<'_>, edit: &Edit, how: &WriteMode) -> anyhow::Result<CommandEnd> {
    if how.dry_run {
        return super::print("nothing was written (--dry-run)\n");
    }
    if !how.consent.ask("Write this?")? {
        super::print("nothing was written\n")?;
        return Ok(CommandEnd::Failed);
    }
    let text = write_config(&editing.file, &edit.after)?;
    super::print(&format!("{text}{}\n", faint(super::print::APPLIED)))
}
