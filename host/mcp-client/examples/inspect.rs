//! Prints what an upstream offers, and its answers to calls: `inspect [CALL]… -- COMMAND [ARGUMENT]…`, or
//! `inspect [CALL]… -- URL`, where a CALL is the name of a tool, or `NAME={"argument":1}`.

use std::error::Error;

use portcullis_mcp_client::{
    ClientSettings, Definition, Event, Object, RpcError, Upstream, UpstreamRequest,
};
use serde_json::json;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut calls: Vec<String> = std::env::args().skip(1).collect();
    let usage = "inspect [NAME[={…}]]… -- COMMAND [ARGUMENT]… | URL";
    let end = calls.iter().position(|argument| argument == "--").ok_or(usage)?;
    let target = calls.split_off(end);
    let definition: Definition = match &target[1..] {
        [] => return Err(usage.into()),
        [url] if url.contains("://") => serde_json::from_value(json!({"url": url}))?,
        [command, args @ ..] => serde_json::from_value(json!({"command": command, "args": args}))?,
    };
    let upstream = Upstream::new("inspected", definition, ClientSettings::new("inspect", "0.1.0"))?;
    let listing = upstream.listing().await?;
    println!("{:?} {} {:?}", listing.peer.era, listing.peer.version, listing.peer.info);
    for tool in &listing.tools {
        println!("tool {} {}", tool.name, &tool.digest[..12]);
    }
    for prompt in &listing.prompts {
        println!("prompt {}", prompt.name);
    }
    println!("{} resources, {} templates", listing.resources.len(), listing.templates.len());
    for warning in &listing.warnings {
        println!("warning: {warning}");
    }
    for call in calls {
        let (name, arguments) = call.split_once('=').unwrap_or((&call, "{}"));
        let arguments: Object = serde_json::from_str(arguments)?;
        let params = json!({"name": name, "arguments": arguments, "_meta": {"progressToken": "p"}});
        let params = params.as_object().cloned().unwrap_or_default();
        let mut call = upstream.request(UpstreamRequest::new("tools/call", params, "inspect"));
        while let Some(event) = call.next().await {
            if let Event::Ask { key, method, .. } = &event {
                let answer = match method.as_str() {
                    "roots/list" => Ok(json!({"roots": []})),
                    "elicitation/create" => Ok(json!({"action": "decline"})),
                    _ => Err(RpcError::new(RpcError::INTERNAL, "no user can answer")),
                };
                call.answer(*key, answer).await?;
            }
            let mut shown = format!("{name}: {event:?}");
            if let Some((end, _)) = shown.char_indices().nth(600) {
                shown.truncate(end);
            }
            println!("{shown}");
        }
    }
    upstream.close().await;
    Ok(())
}
