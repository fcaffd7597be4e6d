//! Replaces the URIs of resources in results by those that clients know.

use serde_json::Value;

use crate::upstreams::UpstreamOffer;

/// Replaces the URIs in the result of a request. In the content of tools and prompts, only a URI that another source
/// owns is replaced, by its alias.
pub fn show(offered: &UpstreamOffer, method: &str, result: &mut Value) {
    match method {
        "resources/read" => {
            for content in items(result.get_mut("contents")) {
                show_uri(content, |own| Some(offered.shown_uri(own)));
            }
        }
        "tools/call" => show_blocks(offered, items(result.get_mut("content"))),
        "prompts/get" => {
            let messages = items(result.get_mut("messages"));
            show_blocks(offered, messages.filter_map(|message| message.get_mut("content")));
        }
        _ => {}
    }
}

fn show_blocks<'a>(offered: &UpstreamOffer, blocks: impl Iterator<Item = &'a mut Value>) {
    let alias = |own: &str| offered.has_alias(own).then(|| offered.shown_uri(own));
    for block in blocks {
        match block["type"].as_str() {
            Some("resource_link") => show_uri(block, alias),
            Some("resource") => {
                if let Some(resource) = block.get_mut("resource") {
                    show_uri(resource, alias);
                }
            }
            Some(_) | None => {}
        }
    }
}

fn items(list: Option<&mut Value>) -> impl Iterator<Item = &mut Value> {
    list.and_then(Value::as_array_mut).into_iter().flatten()
}

fn show_uri(holder: &mut Value, shown: impl Fn(&str) -> Option<String>) {
    if let Some(Value::String(uri)) = holder.get_mut("uri")
        && let Some(shown) = shown(uri)
    {
        *uri = shown;
    }
}
