//! `portcullis audit`: what each plugin can reach, and what it did last.

use serde_json::{Value, json};

use super::End;
use super::start::{Ready, faint, green, red};
use portcullis_audit::{Denial, PluginUse, Usage};
use portcullis_core::catalog::Catalog;
use portcullis_core::plugins::{Loaded, compare};
use portcullis_core::sandbox::{ALWAYS, Import};
use portcullis_core::upstreams::Summary;

/// What `audit` takes.
#[derive(clap::Args)]
pub struct Args {
    /// Only this plugin
    plugin: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    pub(super) async fn run(self, ready: Ready) -> Result<End, String> {
        let (catalog, mut others) = ready.overview().await?;
        let plugins = &catalog.plugins;
        let folder = ready.audit.folder();
        let records = portcullis_audit::usage(folder)
            .map_err(|error| format!("reading the audit in {}: {error}", folder.display()))?;
        let wanted = |name: &str| self.plugin.as_deref().is_none_or(|plugin| plugin == name);
        let loaded: Vec<_> = plugins.loaded.iter().filter(|l| wanted(&l.plugin.name)).collect();
        let refused: Vec<_> = plugins.refused.iter().filter(|r| wanted(&r.name)).collect();
        others.retain(|other| wanted(&other.name));
        let found = loaded.len() + refused.len() + others.len();
        if let Some(plugin) = self.plugin.as_ref().filter(|_| found == 0) {
            return Err(format!(
                "there is no plugin `{plugin}`: `portcullis plugin list` lists all"
            ));
        }
        let warnings = super::safety::warnings(&ready);
        if self.json {
            let plugins: Vec<_> = loaded.iter().map(|l| as_json(l, &records, &catalog)).collect();
            let refused: Vec<_> = refused.into_iter().map(super::list::refusal).collect();
            let others: Vec<_> =
                others.iter().map(|o| other_as_json(o, &records, &catalog)).collect();
            let whole = json!({
                "plugins": plugins, "refused": refused, "upstreams": others, "warnings": warnings,
            });
            return super::print::json(&whole);
        }
        for loaded in loaded {
            super::print(&as_text(loaded, &records, &catalog))?;
        }
        for refused in refused {
            let reason = portcullis_sanitize::visible(&refused.reason).replace('\n', "\n    ");
            super::print(&format!(
                "{} refused\n    {reason}\n",
                red(&portcullis_sanitize::visible(&refused.name))
            ))?;
        }
        for other in others {
            super::print(&other_as_text(&other, &records, &catalog))?;
        }
        for warning in warnings {
            let warning = portcullis_sanitize::visible_line(&warning, 500);
            super::print(&format!("{} {warning}\n", red("warning")))?;
        }
        Ok(End::Done)
    }
}

/// How many denials are shown.
const SHOWN: usize = 5;

/// What the records say of one plugin.
struct Use<'a> {
    last: Option<&'a str>,
    calls: u64,
    allowed: u64,
    denied: u64,
    /// The denials, the last ones first, each once.
    denials: Vec<&'a Denial>,
}

impl<'a> Use<'a> {
    fn of(name: &str, usage: &'a Usage) -> Self {
        let Some(used) = usage.0.get(name) else {
            return Self { last: None, calls: 0, allowed: 0, denied: 0, denials: Vec::new() };
        };
        let PluginUse { calls, allowed, denied, last, denials } = used;
        let mut denials: Vec<_> = denials.iter().rev().collect();
        denials.sort_by(|a, b| b.last.cmp(&a.last));
        let (calls, allowed, denied) = (*calls, *allowed, *denied);
        Self { last: last.as_deref(), calls, allowed, denied, denials }
    }
}

impl Use<'_> {
    fn line(&self) -> String {
        let Self { last, calls, allowed, denied, .. } = self;
        let last = last.unwrap_or("never");
        format!(
            "  use      calls: {calls}, asks: {allowed}, refused asks: {denied}, last: {last}\n"
        )
    }

    fn as_json(&self) -> Value {
        let Self { last, calls, allowed, denied, denials } = self;
        let denials: Vec<_> = denials.iter().take(SHOWN).map(|one| &one.subject).collect();
        json!({
            "calls": calls, "allowed": allowed, "denied": denied, "last": last, "denials": denials,
        })
    }
}

/// What the operator should know of one source: names and URIs that it does not have as it wanted.
fn told<'a>(source: &'a str, catalog: &'a Catalog) -> impl Iterator<Item = &'a str> {
    let own = catalog.remarks.iter().filter(move |remark| *remark.source == *source);
    own.map(|remark| remark.text.as_str())
}

/// What the operator should know of a plugin.
fn remarks<'a>(loaded: &'a Loaded, catalog: &'a Catalog) -> Vec<&'a str> {
    loaded.remarks.iter().map(String::as_str).chain(told(&loaded.plugin.name, catalog)).collect()
}

/// What reaches beyond the sandbox; the rest every guest has.
fn reaching(loaded: &Loaded) -> Vec<&Import> {
    let always = |import: &&Import| !ALWAYS.iter().any(|a| import.interface.starts_with(a));
    loaded.imports.iter().filter(always).collect()
}

fn as_text(loaded: &Loaded, records: &Usage, catalog: &Catalog) -> String {
    let plugin = &loaded.plugin;
    let used = Use::of(&plugin.name, records);
    let version = portcullis_sanitize::visible_line(&loaded.manifest.version, 40);
    let mut text = format!("{} {version} ({})\n", green(&plugin.name), plugin.origin);
    text += &format!("  digest   sha256:{}\n", plugin.digest);
    let tools: Vec<_> = loaded.tools.iter().map(|tool| tool.definition.name.as_str()).collect();
    text += &format!("  tools    {}\n", tools.join(", "));
    let compared = compare(loaded);
    if compared.is_empty() {
        text += "  grants   nothing: it computes, and reaches nothing\n";
    }
    for (capability, granted, wanted) in compared {
        let granted = granted.unwrap_or_else(|| red("not granted"));
        text += &format!("  {:<8} {granted}\n", capability.to_string());
        match wanted {
            None => text += &format!("           {}\n", faint("it does not want this")),
            // Where a cache is kept is the operator's to say.
            Some(wanted) if !granted.starts_with(wanted.trim_end_matches(" in memory")) => {
                text += &format!("           {}\n", faint(&format!("it wants: {wanted}")));
            }
            Some(_) => {}
        }
    }
    for want in &loaded.manifest.wants {
        let reason = portcullis_sanitize::visible_line(&want.reason, 200);
        if !reason.is_empty() {
            text += &format!(
                "  why      {}: {reason}\n",
                portcullis_sanitize::visible_line(&want.capability, 20)
            );
        }
    }
    for import in reaching(loaded) {
        text += &format!("  imports  {}\n", import.interface);
        text += &format!("           {}\n", faint(&import.functions.join(" ")));
    }
    if reaching(loaded).is_empty() {
        text += "  imports  nothing that reaches beyond the sandbox\n";
    }
    let limits = plugin.terms.limits.lines();
    let limits: Vec<_> = limits.iter().map(|(name, value, ..)| format!("{name} {value}")).collect();
    text += &format!("  limits   {}\n", faint(&limits.join(", ")));
    text += &used.line();
    for denial in used.denials.iter().take(SHOWN) {
        let times =
            if denial.times > 1 { format!(" ({} times)", denial.times) } else { String::new() };
        let subject = portcullis_sanitize::visible_line(&denial.subject, 300);
        text += &format!("  denied   {}{times}\n", red(&subject));
    }
    for remark in remarks(loaded, catalog) {
        text += &format!("  remark   {}\n", portcullis_sanitize::visible_line(remark, 300));
    }
    text + "\n"
}

fn as_json(loaded: &Loaded, records: &Usage, catalog: &Catalog) -> Value {
    let plugin = &loaded.plugin;
    let used = Use::of(&plugin.name, records);
    let capabilities: serde_json::Map<_, _> = compare(loaded)
        .into_iter()
        .map(|(capability, granted, wanted)| {
            (capability.to_string(), json!({"granted": granted, "wanted": wanted}))
        })
        .collect();
    let limits = plugin.terms.limits.lines().into_iter();
    let limits: serde_json::Map<_, _> =
        limits.map(|(name, value, ..)| (name, value.into())).collect();
    let mut whole = super::list::summary(loaded);
    whole["imports"] = json!(loaded.imports);
    whole["capabilities"] = capabilities.into();
    whole["wants"] = json!(loaded.manifest.wants);
    whole["settings"] = json!(plugin.terms.settings.keys().collect::<Vec<_>>());
    whole["limits"] = limits.into();
    whole["use"] = used.as_json();
    whole["remarks"] = remarks(loaded, catalog).into();
    whole
}

fn other_as_text(other: &Summary, records: &Usage, catalog: &Catalog) -> String {
    let mut text = format!("{}\n", super::list::title(other));
    text += &format!("  tools    {}\n", other.tools.join(", "));
    if !other.held.is_empty() {
        let held = other.held.join(", ");
        text += &format!("  held     {}\n", red(&format!("{held}: new or changed since approved")));
    }
    text += &format!("  reach    {}; nothing confines it\n", other.reach);
    text += &Use::of(&other.name, records).line();
    for remark in told(&other.name, catalog) {
        text += &format!("  remark   {}\n", portcullis_sanitize::visible_line(remark, 300));
    }
    text + "\n"
}

fn other_as_json(other: &Summary, records: &Usage, catalog: &Catalog) -> Value {
    let mut whole = json!(other);
    whole["use"] = Use::of(&other.name, records).as_json();
    whole["remarks"] = told(&other.name, catalog).collect();
    whole
}
