//! `portcullis audit`: shows what each source can access and what the audit records of it. For a component that is
//! not installed, shows what the component could do.

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

use super::CommandEnd;
use super::context::CommandContext;
use super::inspect;
use super::style::{faint, green, red};
use super::uninstalled::Uninstalled;
use portcullis_audit::{Denial, PluginUse, Usage};
use portcullis_core::catalog::Catalog;
use portcullis_core::plugins::inspect::cannot;
use portcullis_core::plugins::{GrantComparison, LoadedPlugin, compare};
use portcullis_core::sandbox::ComponentInfo;
use portcullis_core::upstreams::Summary;

/// Arguments of `audit`.
#[derive(clap::Args)]
pub struct Args {
    /// Only this plugin or upstream server; or a component that is not installed: a file, the files `*.wasm` of a
    /// folder, or an address to fetch it from
    #[arg(value_name = "NAME | FILE | FOLDER | URL")]
    target: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    pub(super) async fn run(self, context: CommandContext) -> anyhow::Result<CommandEnd> {
        let uninstalled = self.target.as_deref().map(Uninstalled::of).transpose()?.flatten();
        if let Some(target) = uninstalled {
            return target.run(&context, self.json).await;
        }
        let (catalog, mut upstreams) = context.overview().await?;
        let plugins = &catalog.plugins;
        let folder = context.audit.folder();
        let records = portcullis_audit::usage(folder)
            .with_context(|| format!("reading the audit in {}", folder.display()))?;
        let is_shown = |name: &str| self.target.as_deref().is_none_or(|target| target == name);
        let loaded: Vec<_> = plugins.loaded.iter().filter(|l| is_shown(&l.plugin.name)).collect();
        let refused: Vec<_> = plugins.refused.iter().filter(|r| is_shown(&r.name)).collect();
        upstreams.retain(|upstream| is_shown(&upstream.name));
        let found = loaded.len() + refused.len() + upstreams.len();
        if let Some(plugin) = self.target.as_ref().filter(|_| found == 0) {
            bail!(
                "there is no plugin or upstream server `{plugin}`\n  hint: `portcullis plugin list` lists them; \
                 for a file, write a path such as ./{plugin}.wasm"
            );
        }
        let warnings = super::safety::warnings(&context);
        if self.json {
            let plugins: Vec<_> = loaded.iter().map(|l| as_json(l, &records, &catalog)).collect();
            let refused: Vec<_> = refused.into_iter().map(super::list::refusal).collect();
            let upstreams: Vec<_> =
                upstreams.iter().map(|one| upstream_as_json(one, &records, &catalog)).collect();
            let whole = json!({
                "plugins": plugins, "refused": refused, "upstreams": upstreams, "warnings": warnings,
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
            if let Some(info) = &refused.info {
                super::print(&could_do(info))?;
            }
        }
        for upstream in upstreams {
            super::print(&upstream_as_text(&upstream, &records, &catalog))?;
        }
        for warning in warnings {
            let warning = portcullis_sanitize::visible_line(&warning, 500);
            super::print(&format!("{} {warning}\n", red("warning")))?;
        }
        Ok(CommandEnd::Done)
    }
}

/// Maximum number of denials that are shown of one source.
const MAX_DENIALS: usize = 5;

/// The counts and denials of one source in the audit.
struct Use<'a> {
    last: Option<&'a str>,
    calls: u64,
    allowed: u64,
    denied: u64,
    /// The denials, each once, the latest first.
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
        let denials: Vec<_> = denials.iter().take(MAX_DENIALS).map(|one| &one.subject).collect();
        json!({
            "calls": calls, "allowed": allowed, "denied": denied, "last": last, "denials": denials,
        })
    }
}

/// The catalog's remarks on one source.
fn catalog_remarks<'a>(source: &'a str, catalog: &'a Catalog) -> impl Iterator<Item = &'a str> {
    let own = catalog.remarks.iter().filter(move |remark| *remark.source == *source);
    own.map(|remark| remark.text.as_str())
}

/// All remarks on a plugin.
fn remarks<'a>(loaded: &'a LoadedPlugin, catalog: &'a Catalog) -> Vec<&'a str> {
    loaded
        .remarks
        .iter()
        .map(String::as_str)
        .chain(catalog_remarks(&loaded.plugin.name, catalog))
        .collect()
}

/// What a refused component could do.
fn could_do(info: &ComponentInfo) -> String {
    let wants = info.manifest.as_ref().map(|manifest| &*manifest.wants).unwrap_or_default();
    let mut text = inspect::wants_of(&info.features, wants);
    text += &inspect::imports_text(&info.imports, &info.features);
    text + &inspect::cannot_text(&cannot(&info.imports, &info.features, wants)) + "\n"
}

fn as_text(loaded: &LoadedPlugin, records: &Usage, catalog: &Catalog) -> String {
    let plugin = &loaded.plugin;
    let used = Use::of(&plugin.name, records);
    let version = portcullis_sanitize::visible_line(&loaded.manifest.version, 40);
    let mut text = format!("{} {version} ({})\n", green(&plugin.name), plugin.origin);
    text += &format!("  digest   sha256:{}\n", plugin.digest);
    let tools: Vec<_> = loaded.tools.iter().map(|tool| tool.definition.name.as_str()).collect();
    text += &format!("  tools    {}\n", tools.join(", "));
    let compared = compare(loaded);
    if compared.is_empty() {
        text += "  grants   nothing: it only computes\n";
    }
    for GrantComparison { capability, granted, wanted, is_as_wanted, .. } in compared {
        let granted = granted.unwrap_or_else(|| red("not granted"));
        text += &format!("  {:<8} {granted}\n", capability.to_string());
        match wanted {
            None => text += &format!("           {}\n", faint("the plugin does not want this")),
            Some(wanted) if !is_as_wanted => {
                text += &format!("           {}\n", faint(&format!("it wants: {wanted}")));
            }
            Some(_) => {}
        }
    }
    let LoadedPlugin { imports, features, manifest, .. } = loaded;
    text += &inspect::wants_of(features, &manifest.wants);
    text += &inspect::imports_text(imports, features);
    text += &inspect::cannot_text(&cannot(imports, features, &manifest.wants));
    let limits = plugin.terms.limits.lines();
    let limits: Vec<_> = limits.iter().map(|(name, value, ..)| format!("{name} {value}")).collect();
    text += &format!("  limits   {}\n", faint(&limits.join(", ")));
    text += &used.line();
    for denial in used.denials.iter().take(MAX_DENIALS) {
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

fn as_json(loaded: &LoadedPlugin, records: &Usage, catalog: &Catalog) -> Value {
    let plugin = &loaded.plugin;
    let used = Use::of(&plugin.name, records);
    let capabilities: serde_json::Map<_, _> = compare(loaded)
        .into_iter()
        .map(|GrantComparison { capability, granted, wanted, .. }| {
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
    whole["cannot"] =
        inspect::cannot_json(&cannot(&loaded.imports, &loaded.features, &loaded.manifest.wants));
    whole["definitions"] = inspect::definitions(&loaded.tools);
    whole["limits"] = limits.into();
    whole["use"] = used.as_json();
    whole["remarks"] = remarks(loaded, catalog).into();
    whole
}

fn upstream_as_text(upstream: &Summary, records: &Usage, catalog: &Catalog) -> String {
    let mut text = format!("{}\n", super::list::title(upstream));
    text += &format!("  tools    {}\n", upstream.tools.join(", "));
    if !upstream.held.is_empty() {
        let held = upstream.held.join(", ");
        text += &format!(
            "  held     {}\n",
            red(&format!("{held}: new, or changed since the approval"))
        );
    }
    let unconfined = if upstream.confined { "" } else { "; nothing confines it" };
    text += &format!("  reach    {}{unconfined}\n", upstream.reach);
    text += &Use::of(&upstream.name, records).line();
    for remark in catalog_remarks(&upstream.name, catalog) {
        text += &format!("  remark   {}\n", portcullis_sanitize::visible_line(remark, 300));
    }
    text + "\n"
}

fn upstream_as_json(upstream: &Summary, records: &Usage, catalog: &Catalog) -> Value {
    let mut whole = json!(upstream);
    whole["use"] = Use::of(&upstream.name, records).as_json();
    whole["remarks"] = catalog_remarks(&upstream.name, catalog).collect();
    whole
}
