//! `portcullis plugin approve`: a plugin's file, or what another server says of its tools, counts from now on as
//! it is.

use super::End;
use super::start::{Ready, faint, green};

/// Approves a plugin; or shows the tools of another server that have changed since they were approved, and
/// approves all.
pub(super) async fn run(ready: &Ready, name: &str) -> Result<End, String> {
    let sandbox = ready.sandbox();
    if let Some(digest) =
        portcullis_core::plugins::approve(name, &sandbox, &ready.config, &ready.folders)?
    {
        super::print(&format!("approved: the plugin `{name}` as it is now, sha256:{digest}\n"))?;
        return Ok(End::Done);
    }
    let upstreams = ready.upstreams()?;
    let Some(source) = upstreams.all.iter().find(|source| *source.name == *name) else {
        let names: Vec<_> = upstreams.all.iter().map(|source| &*source.name).collect();
        return Err(format!(
            "there is neither a plugin in a file nor an upstream `{name}`; upstreams: {}",
            names.join(", ")
        ));
    };
    let listing = source.upstream.listing().await.map_err(|fault| fault.to_string())?;
    let tools = || listing.tools.iter().map(|tool| (tool.name.as_str(), tool.digest.as_str()));
    let changed = upstreams.lock.changed(name, tools());
    for tool in listing.tools.iter().filter(|tool| changed.contains(&tool.name)) {
        let text = tool.definition.get("description").and_then(serde_json::Value::as_str);
        let text = portcullis_sanitize::visible_line(text.unwrap_or_default(), 1000);
        super::print(&format!("{}\n    {}\n", green(&tool.name), faint(&text)))?;
    }
    upstreams
        .lock
        .approve(name, tools())
        .map_err(|error| format!("approving `{name}`: {error}"))?;
    upstreams.close().await;
    super::print(&format!("approved: {} tools of `{name}`\n", listing.tools.len()))?;
    Ok(End::Done)
}
