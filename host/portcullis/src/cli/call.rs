//! `portcullis call`: one tool, from the shell, through the same pipeline as any client's call.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use portcullis_audit::Verdict;
use portcullis_mcp_client::{Outcome, Request};
use portcullis_roots::Root;
use portcullis_wrap::{Offered, Upstreams};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::unbounded_channel;
use tokio_util::sync::CancellationToken;

use super::relative::make_absolute;
use super::start::{Ready, patiently};
use super::{End, print};
use portcullis_core::bindings::types::{Content, ContentBody, ResourceData};
use portcullis_core::call::{Answer, Call, Failure, ToolCall, Work};
use portcullis_core::catalog::{Catalog, Tool};
use portcullis_core::sandbox::{Context, Notice};

/// Arguments of `call`.
#[derive(clap::Args)]
pub struct Args {
    /// The tool's name, as `portcullis tools` lists it
    tool: String,
    /// The arguments as a JSON object; `-` reads them from stdin
    #[arg(default_value = "{}", value_name = "JSON")]
    arguments: String,
    /// Print the complete MCP result as JSON
    #[arg(long)]
    json: bool,
    /// Print the audit records of the call after the result
    #[arg(long)]
    trail: bool,
}

impl Args {
    pub(super) async fn run(self, ready: Ready) -> Result<End, String> {
        let mut arguments = self.arguments()?;
        if self.trail {
            ready.audit.keep_records();
        }
        let upstreams = ready.upstreams()?;
        let catalog = self.catalog(&ready, &upstreams).await;
        let (loaded, tool) = match catalog.tool(&self.tool) {
            Some(Tool::Own(loaded, tool)) => (loaded, tool),
            Some(Tool::Other(other, tool)) => {
                let ended = self.elsewhere(&upstreams, other, tool, arguments).await;
                upstreams.close().await;
                return self.with_trail(&ready, ended);
            }
            None => {
                let names: Vec<_> = catalog.tools().map(|(name, _)| name).collect();
                let tool = portcullis_sanitize::visible_line(&self.tool, 80);
                return Err(format!("unknown tool: {tool}; there are: {}", names.join(", ")));
            }
        };
        let first_root = ready.roots.iter().next().map(Root::path);
        make_absolute(&mut arguments, &tool.definition.paths, first_root);
        let (notices, mut told) = unbounded_channel();
        let cancel = CancellationToken::new();
        let call = Call {
            request: portcullis_core::call::request_id(),
            work: Work::Tool(ToolCall {
                name: tool.definition.name.clone(),
                arguments: Arc::new(arguments.into()),
            }),
            roots: ready.roots.clone(),
            context: Context {
                protocol: "2026-07-28".into(),
                cancelled: Arc::new(AtomicBool::new(false)),
                notices: Some(notices),
                ..Context::default()
            },
            task: false,
            cancel: cancel.clone(),
            decisions: Vec::new(),
        };
        let running = portcullis_core::call::call(loaded, call);
        tokio::pin!(running);
        let waiting = async {
            loop {
                tokio::select! {
                    answer = &mut running => break answer,
                    Some(notice) = told.recv() => tell(&notice),
                    _ = tokio::signal::ctrl_c(), if !cancel.is_cancelled() => cancel.cancel(),
                }
            }
        };
        let answer = patiently(&format!("waiting for {}", self.tool), waiting).await;
        while let Ok(notice) = told.try_recv() {
            tell(&notice);
        }
        let ended = self.show(answer);
        self.with_trail(&ready, ended)
    }

    /// What is bundled, where that has the tool: nothing has to be compiled, and no other server started, for
    /// it. Otherwise everything.
    async fn catalog(&self, ready: &Ready, upstreams: &Upstreams) -> Catalog {
        let mut loader = ready.loader().await;
        let bundled = loader.bundled();
        let bundled = Catalog::new(bundled.into(), Vec::new(), &upstreams.lock).await;
        if bundled.tool(&self.tool).is_some() {
            return bundled;
        }
        let loading = async {
            while loader.next().await {}
            loader.so_far()
        };
        let loading = patiently("loading the plugins: one that is new is compiled first", loading);
        let (plugins, others) = tokio::join!(loading, upstreams.offered());
        plugins.warn();
        Catalog::new(plugins.into(), others, &upstreams.lock).await
    }

    fn with_trail(&self, ready: &Ready, ended: Result<End, String>) -> Result<End, String> {
        if self.trail {
            for line in ready.audit.kept_records() {
                print::json_text(&line)?;
            }
        }
        ended
    }

    /// Calls a tool of another server.
    async fn elsewhere(
        &self,
        upstreams: &Upstreams,
        other: &Offered,
        tool: &portcullis_mcp_client::Tool,
        arguments: Map<String, Value>,
    ) -> Result<End, String> {
        let arguments = Value::Object(arguments);
        if let Ok(schema) = &*other.source.schema(tool) {
            schema
                .check(&arguments)
                .map_err(|faults| format!("invalid arguments for `{}`: {faults}", self.tool))?;
        }
        let request = portcullis_core::call::request_id();
        let size = arguments.to_string().len() as u64;
        let trail = upstreams.trail(&other.source, request, tool.name.clone(), &tool.digest, None);
        let ongoing = trail.begin_call(size).map_err(|error| {
            format!("the audit cannot be written, so nothing is called: {error}")
        })?;
        let params = json!({ "name": tool.wire_name, "arguments": arguments });
        let params = params.as_object().cloned().unwrap_or_default();
        let request = Request::new("tools/call", params, "call");
        let asking = other.source.upstream.request(request).outcome();
        let outcome = patiently(&format!("waiting for {}", self.tool), asking).await;
        let (ended, size) = match &outcome {
            Ok(Outcome::Complete(result)) => {
                let failed = result["isError"] == true;
                (if failed { "tool-error" } else { "done" }, result.to_string().len() as u64)
            }
            Ok(Outcome::NeedInput { .. }) => ("need-input", 0),
            Ok(Outcome::Error(_)) => ("protocol-error", 0),
            Err(_) => ("upstream-failed", 0),
        };
        ongoing.end(Verdict::Allowed, ended, size).map_err(|error| {
            format!("the audit cannot be written, so the answer is not given: {error}")
        })?;
        match outcome.map_err(|fault| fault.to_string())? {
            Outcome::Complete(result) => {
                let failed = result["isError"] == true;
                let blocks = result["content"].as_array().cloned().unwrap_or_default();
                if self.json {
                    print::json(&result)?;
                } else {
                    for block in &blocks {
                        let text = block["text"].as_str().map(str::to_owned);
                        print::outside(&format!(
                            "{}\n",
                            text.unwrap_or_else(|| block.to_string())
                        ))?;
                    }
                }
                Ok(if failed { End::Failed } else { End::Done })
            }
            Outcome::NeedInput { .. } => {
                Err("the tool asks its client a question; call it from an MCP client".into())
            }
            Outcome::Error(error) => Err(portcullis_sanitize::visible_line(&error.message, 500)),
        }
    }

    fn arguments(&self) -> Result<Map<String, Value>, String> {
        let mut text = self.arguments.clone();
        if text == "-" {
            text.clear();
            std::io::stdin()
                .read_to_string(&mut text)
                .map_err(|error| format!("reading the arguments from stdin: {error}"))?;
        }
        serde_json::from_str(&text).map_err(|error| {
            format!("the arguments are not a JSON object: {error}\n  given: {text}")
        })
    }

    fn show(&self, answer: Result<Answer, Failure>) -> Result<End, String> {
        let result = match answer {
            Ok(Answer::Tool(result)) => result,
            Ok(Answer::NeedInput(need)) => {
                let need = need.into_need();
                let keys: Vec<_> = need.asks.iter().map(|(key, _)| key.as_str()).collect();
                return Err(format!(
                    "the tool asks its client a question ({}); call it from an MCP client",
                    keys.join(", ")
                ));
            }
            Ok(_) => return Err("the plugin did not return a tool result".into()),
            Err(failure) => return Err(failure.to_string()),
        };
        if self.json {
            let structured = result.structured.as_deref().map(serde_json::from_str::<Value>);
            let content: Vec<_> = result.content.iter().map(block).collect();
            let mut whole = json!({"content": content, "isError": result.is_error});
            if let Some(structured) = structured {
                whole["structuredContent"] = structured.map_err(|error| error.to_string())?;
            }
            print::json(&whole)?;
        } else {
            for content in &result.content {
                print::outside(&format!("{}\n", text(content)))?;
            }
        }
        Ok(if result.is_error { End::Failed } else { End::Done })
    }
}

/// Progress and log records go to stderr.
fn tell(notice: &Notice) {
    let line = match notice {
        Notice::Progress { done, total, message } => {
            let of = total.map(|total| format!("/{total}")).unwrap_or_default();
            format!("{done}{of} {}", message.as_deref().unwrap_or_default())
        }
        Notice::Log { data: Value::String(text), .. } => text.clone(),
        Notice::Log { data, .. } => data.to_string(),
    };
    super::log::whisper(&portcullis_sanitize::visible_line(&line, 500));
}

fn text(content: &Content) -> String {
    match &content.body {
        ContentBody::Text(text) => text.clone(),
        ContentBody::Image(blob) => format!("({}, {} bytes)", blob.mime_type, blob.data.len()),
        ContentBody::Audio(blob) => format!("({}, {} bytes)", blob.mime_type, blob.data.len()),
        ContentBody::Resource(resource) => match &resource.data {
            ResourceData::Text(text) => text.clone(),
            ResourceData::Bytes(bytes) => format!("({}, {} bytes)", resource.uri, bytes.len()),
        },
        ContentBody::Link(link) => link.uri.clone(),
        ContentBody::Other(json) => json.clone(),
    }
}

fn block(content: &Content) -> Value {
    match portcullis_mcp_server::mcp::block(content.clone()) {
        Ok(block) => json!(block),
        Err(why) => json!({"type": "text", "text": why}),
    }
}
