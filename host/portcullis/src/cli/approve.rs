//! `portcullis plugin approve`: approves a plugin's file, or the tools of another server, as they are now.

use anyhow::{Context as _, bail};
use portcullis_core::lock::HeldTool;
use portcullis_mcp_client::Listing;

use super::End;
use super::setup::Setup;
use super::style::{faint, green};

/// Approves a plugin; or shows which tools of an upstream server are new or have changed since the approval, and
/// approves them. A server of `wrap` is given by the same arguments as to `wrap`.
pub(super) async fn run(
    mut setup: Setup,
    name: &str,
    server: &[String],
    variables: &[String],
) -> anyhow::Result<End> {
    if !server.is_empty() {
        let typed = portcullis_core::upstreams::Config::typed(server, variables)?;
        if setup.config.upstreams.insert(name.to_owned(), typed).is_some() {
            bail!("[upstreams.{name}] is in portcullis.toml: leave the server out");
        }
        setup.config.check()?;
    } else if approve_plugin(&setup, name)? {
        return Ok(End::Done);
    }
    let upstreams = setup.upstreams()?;
    let Some(source) = upstreams.all.iter().find(|source| *source.name == *name) else {
        let names: Vec<_> = upstreams.all.iter().map(|source| &*source.name).collect();
        bail!(
            "there is neither a plugin in a file nor an upstream `{name}`; upstreams: {}; if `wrap` serves \
             it, give the server, too",
            names.join(", ")
        );
    };
    let listing = source.upstream.listing().await?;
    let held = upstreams.unapproved(source, &listing).await;
    super::print(&review(&listing, &held))?;
    let approved = upstreams.approve(source, &listing).await;
    approved.with_context(|| format!("approving `{name}`"))?;
    upstreams.close().await;
    super::print(&format!("approved: {} tools of `{name}`\n", listing.tools.len()))?;
    Ok(End::Done)
}

/// Approves the plugin of this name, if there is one in a file.
fn approve_plugin(setup: &Setup, name: &str) -> anyhow::Result<bool> {
    let (sandbox, config) = (setup.sandbox(), &setup.config);
    let approved = portcullis_core::plugins::approve(name, &sandbox, config, &setup.folders)?;
    if let Some(digest) = &approved {
        super::print(&format!("approved: the plugin `{name}` as it is now, sha256:{digest}\n"))?;
    }
    Ok(approved.is_some())
}

/// The tools that are held back, with their descriptions.
fn review(listing: &Listing, held: &[HeldTool]) -> String {
    let lines = held.iter().map(|HeldTool { tool: name, is_new }| {
        let tool = listing.tool(name);
        let text = tool.and_then(|tool| tool.definition.get("description")?.as_str());
        let text = portcullis_sanitize::visible_line(text.unwrap_or_default(), 1000);
        let why = if *is_new { "new" } else { "changed" };
        format!("{} ({why})\n    {}\n", green(name), faint(&text))
    });
    lines.collect()
}
