//! `portcullis tools`, `portcullis plugin list` and `portcullis plugin folder`: print the tools, the plugins and
//! the plugin folders.

use std::fmt::Write as _;

use anyhow::Context as _;
use serde_json::{Value, json};

use super::CommandEnd;
use super::context::{Audience, CommandContext};
use super::style::{faint, green, red};
use portcullis_core::catalog::{Catalog, CatalogTool};
use portcullis_core::definitions::listed_tool;
use portcullis_core::listing::{self, Requester, Visibility, VisibilityReason};
use portcullis_core::plugins::{LoadedPlugin, RejectedComponent, folders_of};
use portcullis_core::projects::Projects;
use portcullis_core::upstreams::Summary;

/// Arguments of `tools`.
#[derive(clap::Args)]
pub struct ToolsArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Say for each tool whether clients see it, and why
    #[arg(long)]
    why: bool,
    /// With --why: what a client of this name sees
    #[arg(long, value_name = "NAME", requires = "why")]
    client: Option<String>,
    #[command(flatten)]
    selection: super::selection::Flags,
}

/// Prints for each tool whether clients see it, and why.
async fn print_why(
    context: &CommandContext,
    catalog: &Catalog,
    args: &ToolsArgs,
) -> anyhow::Result<CommandEnd> {
    let asker = Requester { client: args.client.as_deref(), ..Requester::default() };
    let selection = args.selection.selections(context)?.choose(asker)?;
    let projects = if selection.asks_projects() {
        Projects::look(&context.roots)
    } else {
        Projects::default()
    };
    let definitions = context.host(context.sandbox())?.with_views(catalog).await;
    let definition = |name: &str| definitions.iter().find(|tool| tool["name"] == name);
    let judged: Vec<_> = listing::judged(&selection, catalog, &projects)
        .into_iter()
        .map(|(name, tool, why)| (name, tool, why.with_views(definition(name))))
        .collect();
    let place_name = |why: &VisibilityReason| match why.place() {
        Visibility::Listed => "listed",
        Visibility::Unlisted => "unlisted",
        Visibility::Excluded => "excluded",
    };
    let listed = judged.iter().filter(|(_, _, why)| why.place() == Visibility::Listed);
    let bytes = || listed.map(|(name, tool, _)| listed_tool(name, *tool).to_string().len()).sum();
    let is_searched = selection.searches(asker.client, bytes);
    if args.json {
        let tools: Vec<_> = judged
            .iter()
            .map(|(name, tool, why)| {
                json!({
                    "name": name, "source": &**tool.source().name(),
                    "place": place_name(why), "why": why.to_string(),
                })
            })
            .collect();
        return super::print::json(&json!({ "tools": tools, "searched": is_searched }));
    }
    let mut text = String::new();
    for (name, tool, why) in &judged {
        let source = faint(&format!("({})", tool.source().name()));
        let why = portcullis_sanitize::visible_line(&why.to_string(), 300);
        writeln!(text, "{} {source}\n    {why}", green(name))?;
    }
    if is_searched {
        text += "\nClients find the listed tools by search: they see only `search_tools` and `call_tool`.\n";
    }
    super::print(&text)
}

/// Lists all tools that can be called. With `--tools` or `--profile`, lists only the tools that clients see.
pub(super) async fn tools(
    context: &CommandContext,
    args: &ToolsArgs,
) -> anyhow::Result<CommandEnd> {
    let is_for_clients = args.why || args.selection.is_given();
    let audience = if is_for_clients { Audience::Clients } else { Audience::CommandLine };
    let catalog = context.catalog(audience).await?;
    if args.why {
        return Box::pin(print_why(context, &catalog, args)).await;
    }
    let selection = args.selection.selections(context)?.choose(Requester::default())?;
    let judged = listing::judged(&selection, &catalog, &Projects::unknown()).into_iter();
    let is_shown =
        |why: &VisibilityReason| !args.selection.is_given() || why.place() == Visibility::Listed;
    let shown: Vec<_> = judged.filter(|(_, _, why)| is_shown(why)).collect();
    if args.json {
        let tools: Vec<_> = shown.iter().map(|(name, tool, _)| listed_tool(name, *tool)).collect();
        return super::print::json(&json!({ "tools": tools }));
    }
    let mut text = String::new();
    for (name, tool, _) in shown {
        let description = match tool {
            CatalogTool::Plugin(_, tool) => tool.definition.description.as_deref(),
            CatalogTool::Upstream(_, tool) => {
                tool.definition.get("description").and_then(Value::as_str)
            }
        };
        let description = description.unwrap_or_default();
        let plugin = faint(&format!("({})", tool.source().name()));
        let name = green(name);
        let description = portcullis_sanitize::visible_line(description, 300);
        writeln!(text, "{name} {plugin}\n    {description}")?;
    }
    if text.is_empty() {
        text = "there are no tools: `portcullis plugin list` says why\n".into();
    }
    super::print(&text)
}

/// Prints the plugin folders, one line each. The user's own folder is created, so that files can be copied into it.
pub(super) fn folder(context: &CommandContext) -> anyhow::Result<CommandEnd> {
    let folders = folders_of(&context.config, &context.folders);
    for folder in &folders {
        if *folder == context.folders.plugins {
            portcullis_checked_files::create_private_folder(folder)
                .with_context(|| format!("creating {}", folder.display()))?;
        }
    }
    let lines = folders.iter().map(|folder| format!("{}\n", folder.display()));
    super::print::untrusted(&lines.collect::<String>())
}

/// Lists all plugins, loaded or refused, and all upstream servers.
pub(super) async fn plugins(context: &CommandContext, json: bool) -> anyhow::Result<CommandEnd> {
    let (catalog, upstreams) = context.overview().await?;
    let plugins = &catalog.plugins;
    let catalog_remarks: Vec<&str> =
        catalog.remarks.iter().map(|remark| remark.text.as_str()).collect();
    if json {
        let loaded = plugins.loaded.iter().map(|loaded| summary(loaded));
        let all: Vec<_> = loaded.chain(plugins.refused.iter().map(refusal)).collect();
        let remarks: Vec<_> = plugins
            .remarks
            .iter()
            .map(String::as_str)
            .chain(catalog_remarks.iter().copied())
            .collect();
        let whole = json!({ "plugins": all, "upstreams": upstreams, "remarks": remarks });
        return super::print::json(&whole);
    }
    let mut text = String::new();
    for loaded in &plugins.loaded {
        let version = portcullis_sanitize::visible_line(&loaded.manifest.version, 40);
        text += &format!(
            "{}{} {}\n    tools: {}; {}\n",
            green(&loaded.plugin.name),
            if version.is_empty() { version } else { format!(" {version}") },
            faint("loaded"),
            loaded.tools.len(),
            loaded.plugin.origin,
        );
    }
    for refused in &plugins.refused {
        let reason = portcullis_sanitize::visible(&refused.reason).replace('\n', "\n    ");
        text += &format!(
            "{} {}\n    {reason}\n",
            red(&portcullis_sanitize::visible(&refused.name)),
            faint("refused")
        );
        let info = refused.info.as_ref().and_then(|info| info.manifest.as_ref());
        if let Some(manifest) = info {
            text += &super::inspect::wants_text(&manifest.wants);
        }
    }
    for remark in plugins.remarks.iter().map(String::as_str).chain(catalog_remarks) {
        text += &format!("{}\n", faint(&portcullis_sanitize::visible_line(remark, 400)));
    }
    for one in &upstreams {
        text += &format!("{}\n    tools: {}; {}\n", title(one), one.tools.len(), one.reach);
    }
    super::print(&text)
}

/// The line of an upstream server: its name and its state.
pub(super) fn title(upstream: &Summary) -> String {
    match &upstream.reason {
        None => {
            let peer =
                [&upstream.server, &upstream.protocol].map(|text| text.as_deref().unwrap_or("?"));
            format!("{} {}", green(&upstream.name), faint(&format!("{}, MCP {}", peer[0], peer[1])))
        }
        Some(why) => {
            let why = portcullis_sanitize::visible_line(why, 300);
            format!("{} {}\n    {why}", red(&upstream.name), faint("unreachable"))
        }
    }
}

/// The JSON of a loaded plugin, without details.
pub(super) fn summary(loaded: &LoadedPlugin) -> Value {
    json!({
        "name": &*loaded.plugin.name,
        "state": "loaded",
        "version": loaded.manifest.version,
        "origin": loaded.plugin.origin.to_string(),
        "digest": &*loaded.plugin.digest,
        "tools": loaded.tools.iter().map(|tool| &tool.definition.name).collect::<Vec<_>>(),
    })
}

/// The JSON of a refused plugin.
pub(super) fn refusal(refused: &RejectedComponent) -> Value {
    let info = refused.info.as_deref();
    let wants = info.and_then(|info| info.manifest.as_ref()).map(|manifest| &manifest.wants);
    json!({
        "name": refused.name,
        "state": "refused",
        "origin": refused.origin.to_string(),
        "digest": refused.digest,
        "reason": refused.reason,
        "wants": wants,
        "imports": info.map(|info| &info.imports),
    })
}
