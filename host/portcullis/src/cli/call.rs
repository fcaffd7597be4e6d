//! `portcullis call`: calls one tool through the same pipeline as MCP clients. Commands of families call their tools in
//! the same way.

use std::io::Read;
use std::sync::Arc;

use anyhow::{Context as _, anyhow, bail};
use portcullis_core::bindings::ToolResult;
use portcullis_core::bindings::types::{Content, ContentBody, ResourceData};
use portcullis_core::call::client::{
    BoxFuture, Client, Forwarded, Notification, unsupported_method,
};
use portcullis_core::call::inner::InnerCalls;
use portcullis_core::call::{self, Call, CallFailure, PluginAnswer, SourceAnswer, ToolCall, Work};
use portcullis_core::catalog::{Catalog, CatalogTool};
use portcullis_core::sandbox::{CallContext, CallNotification};
use portcullis_core::upstreams::Upstreams;
use portcullis_mcp_client::{Object, RpcError};
use portcullis_roots::{Root, Roots, uri_of_path};
use serde_json::{Map, Value, json};

use super::context::{CommandContext, report_if_slow};
use super::named_files::NamedFiles;
use super::relative::{make_absolute, working_folder};
use super::{CommandEnd, print};

/// Arguments of `call`.
#[derive(clap::Args)]
pub struct Args {
    /// The tool's name, as `portcullis tools` lists it
    tool: String,
    /// The arguments as a JSON object; `-` reads them from stdin
    #[arg(default_value = "{}", value_name = "JSON")]
    arguments: String,
    #[command(flatten)]
    printing: Printing,
}

/// Options of the commands that call a tool.
#[derive(clap::Args)]
pub struct Printing {
    /// Print the complete MCP result as JSON
    #[arg(long)]
    json: bool,
    /// Print the audit records of the call after the result
    #[arg(long)]
    trail: bool,
}

impl Args {
    pub(super) async fn run(self, context: CommandContext) -> anyhow::Result<CommandEnd> {
        let arguments = self.arguments()?;
        let call = CommandCall {
            tool: WantedTool { name: self.tool, plugins: None },
            arguments,
            files: None,
            printing: self.printing,
            always_succeeds: false,
        };
        call.run(context).await
    }

    fn arguments(&self) -> anyhow::Result<Map<String, Value>> {
        let mut text = self.arguments.clone();
        if text == "-" {
            text.clear();
            std::io::stdin()
                .read_to_string(&mut text)
                .context("reading the arguments from stdin")?;
        }
        serde_json::from_str(&text).map_err(|error| {
            anyhow!("the arguments are not a JSON object: {error}\n  given: {text}")
        })
    }
}

/// The tool that a command calls.
pub struct WantedTool {
    /// The name of the tool.
    pub name: String,
    /// The plugins in which the tool is looked for; `name` is then the plugin's own name for the tool. `None`: the tool
    /// may be of any source, and `name` is the name that clients know.
    pub plugins: Option<&'static [&'static str]>,
}

impl WantedTool {
    fn find<'a>(&self, catalog: &'a Catalog) -> Option<CatalogTool<'a>> {
        let Some(plugins) = self.plugins else { return catalog.tool(&self.name) };
        let mut tools = catalog.tools().map(|(_, tool)| tool);
        tools.find(|tool| {
            let plugin = tool.source().plugin().map(|loaded| &*loaded.plugin.name);
            plugin.is_some_and(|plugin| plugins.contains(&plugin)) && tool.own_name() == self.name
        })
    }

    /// The error for a tool that is not in the catalog.
    fn missing(&self, catalog: &Catalog) -> anyhow::Error {
        let name = portcullis_sanitize::visible_line(&self.name, 80);
        match self.plugins {
            None => {
                let names: Vec<_> = catalog.tools().map(|(name, _)| name).collect();
                anyhow!("unknown tool: {name}; the tools are: {}", names.join(", "))
            }
            Some(plugins) => anyhow!(
                "the tool {name} that this command calls is missing: its plugin is switched off or \
                 refused\n  hint: `portcullis plugin list` says why (plugins: {})",
                plugins.join(", ")
            ),
        }
    }
}

/// A call that a command makes.
pub struct CommandCall {
    /// The tool.
    pub tool: WantedTool,
    /// The tool's arguments.
    pub arguments: Map<String, Value>,
    /// How the files in the arguments are opened, if they may be outside of the roots. `None`: all paths have to be
    /// beneath the roots.
    pub files: Option<NamedFiles>,
    /// What is printed.
    pub printing: Printing,
    /// Whether the command succeeds even if the tool fails or the call is refused.
    pub always_succeeds: bool,
}

impl CommandCall {
    /// Calls the tool and prints the result.
    ///
    /// # Errors
    ///
    /// There is no such tool, the call failed, or the tool asks a question. If `always_succeeds` is true, a failure of
    /// the call is only printed.
    pub async fn run(mut self, context: CommandContext) -> anyhow::Result<CommandEnd> {
        if self.printing.trail {
            context.audit.keep_records();
        }
        let upstreams = context.upstreams()?;
        let catalog = catalog_with_tool(&self.tool, &context, &upstreams).await;
        let Some(tool) = self.tool.find(&catalog) else { return Err(self.tool.missing(&catalog)) };
        let mut arguments = std::mem::take(&mut self.arguments);
        let roots = match &self.files {
            Some(files) => files.open(&mut arguments, tool.paths(), &context.roots)?,
            None => {
                let here = working_folder().ok();
                let first_root = context.roots.iter().next().map(Root::path);
                let folders: Vec<_> = first_root.into_iter().chain(here.as_deref()).collect();
                make_absolute(&mut arguments, tool.paths(), &folders);
                context.roots.clone()
            }
        };
        let waiting = call_tool(&catalog, tool, arguments, &roots);
        let answer = report_if_slow(&format!("waiting for {}", self.tool.name), waiting).await;
        upstreams.close().await;
        let ended = match answer {
            Err(failure) if self.always_succeeds => {
                print::untrusted(&format!("{failure}\n")).map(|_| CommandEnd::Done)
            }
            answer => self.show(answer),
        };
        self.with_trail(&context, ended)
    }

    fn with_trail(
        &self,
        context: &CommandContext,
        ended: anyhow::Result<CommandEnd>,
    ) -> anyhow::Result<CommandEnd> {
        if self.printing.trail {
            for line in context.audit.kept_records() {
                print::json_text(&line)?;
            }
        }
        ended
    }

    fn show(&self, answer: Result<SourceAnswer, CallFailure>) -> anyhow::Result<CommandEnd> {
        let fail_with_questions = |keys: Vec<&str>| {
            let keys = portcullis_sanitize::visible_line(&keys.join(", "), 200);
            bail!(
                "the tool asks the client a question ({keys}), which this command cannot answer: call the tool \
                 from an MCP client"
            )
        };
        match answer.map_err(|failure| anyhow!("{failure}"))? {
            SourceAnswer::Plugin(PluginAnswer::Tool(result)) => self.show_result(&result),
            SourceAnswer::Plugin(PluginAnswer::NeedInput(need)) => {
                let need = need.into_need();
                fail_with_questions(need.asks.iter().map(|(key, _)| key.as_str()).collect())
            }
            SourceAnswer::Plugin(_) => bail!("the plugin did not return a tool result"),
            SourceAnswer::InnerQuestions(asked) => {
                let names: Vec<_> = asked.tools().collect();
                let names = portcullis_sanitize::visible_line(&names.join(", "), 200);
                bail!(
                    "the tools {names} ask the client questions, which this command cannot answer: call the \
                     tool from an MCP client"
                )
            }
            SourceAnswer::UpstreamQuestions { requests, .. } => {
                fail_with_questions(requests.keys().map(String::as_str).collect())
            }
            SourceAnswer::Upstream(result) => self.show_upstream_result(&result),
        }
    }

    /// Prints the result of a plugin.
    fn show_result(&self, result: &ToolResult) -> anyhow::Result<CommandEnd> {
        if self.printing.json {
            let structured = result.structured.as_deref().map(serde_json::from_str::<Value>);
            let content: Vec<_> = result.content.iter().map(block).collect();
            let mut whole = json!({"content": content, "isError": result.is_error});
            if let Some(structured) = structured {
                whole["structuredContent"] = structured?;
            }
            print::json(&whole)?;
        } else {
            for content in &result.content {
                print::untrusted(&format!("{}\n", text(content)))?;
            }
        }
        Ok(self.end(result.is_error))
    }

    /// Prints the result of an upstream server.
    fn show_upstream_result(&self, result: &Value) -> anyhow::Result<CommandEnd> {
        if self.printing.json {
            print::json(result)?;
        } else {
            for block in result["content"].as_array().into_iter().flatten() {
                let text = block["text"].as_str().map(str::to_owned);
                print::untrusted(&format!("{}\n", text.unwrap_or_else(|| block.to_string())))?;
            }
        }
        Ok(self.end(result["isError"] == true))
    }

    fn end(&self, has_failed: bool) -> CommandEnd {
        if has_failed && !self.always_succeeds { CommandEnd::Failed } else { CommandEnd::Done }
    }
}

/// A catalog that has the tool, made with as little work as possible. The first try is the catalog of the bundled
/// plugins, for which nothing has to be compiled. The second try is a catalog of all plugins, and of the upstream
/// servers whose lists are remembered. The last try is the complete catalog, for which the other servers are started.
/// Commands of families end with the second try. For all other commands, a plugin that may call tools always gets the
/// complete catalog.
async fn catalog_with_tool(
    wanted: &WantedTool,
    context: &CommandContext,
    upstreams: &Upstreams,
) -> Arc<Catalog> {
    let mut loader = context.loader().await;
    let bundled = loader.bundled();
    let bundled = Catalog::new(bundled.into(), Vec::new(), &upstreams.lock).await;
    let may_call_tools = |tool: CatalogTool<'_>| {
        tool.source().plugin().is_some_and(|loaded| loaded.may_call_tools())
    };
    if wanted.find(&bundled).is_some_and(|tool| !may_call_tools(tool)) {
        return Arc::new(bundled);
    }
    let loading = async {
        while loader.next().await {}
        loader.so_far()
    };
    let loading = report_if_slow("loading the plugins (new ones are compiled first)", loading);
    let (plugins, offers) = tokio::join!(loading, upstreams.known_offers());
    plugins.warn();
    let plugins = Arc::new(plugins);
    let known = Catalog::new(plugins.clone(), offers, &upstreams.lock).await;
    if wanted.plugins.is_some() || wanted.find(&known).is_some_and(|tool| !may_call_tools(tool)) {
        return Arc::new(known);
    }
    // Only the user of this command waits, so starting the servers has no time limit.
    report_if_slow("starting servers for the first time", upstreams.settled()).await;
    Arc::new(Catalog::new(plugins, upstreams.known_offers().await, &upstreams.lock).await)
}

/// Calls a tool of a catalog, with the terminal as the client.
///
/// # Errors
///
/// The call failed: see [`call::call`].
pub async fn call_tool(
    catalog: &Arc<Catalog>,
    tool: CatalogTool<'_>,
    arguments: Map<String, Value>,
    roots: &Roots,
) -> Result<SourceAnswer, CallFailure> {
    let client = Terminal { roots: roots.clone() };
    let may_call_tools = tool.source().plugin().is_some_and(|loaded| loaded.may_call_tools());
    let inner = may_call_tools.then(|| InnerCalls::new(catalog.clone()));
    let call = Call {
        request: call::request_id(),
        origin: call::Origin::default(),
        work: Work::Tool(ToolCall {
            name: tool.own_name().to_owned(),
            arguments: Arc::new(arguments.into()),
        }),
        roots: roots.clone(),
        context: CallContext { protocol: "2026-07-28".into(), ..CallContext::default() },
        task: false,
        decisions: Vec::new(),
        resumed: None,
        client: &client,
        inner,
    };
    call::call(tool.source(), call).await
}

/// The terminal as the client of a call. It shows progress and log records of plugins. The only request that it answers
/// is `roots/list`.
struct Terminal {
    roots: Roots,
}

impl Client for Terminal {
    fn is_notified(&self) -> bool {
        true
    }

    fn notify(&self, notification: Notification) -> BoxFuture<'_, ()> {
        if let Notification::Plugin(notice) = notification {
            show_notice(&notice);
        }
        Box::pin(std::future::ready(()))
    }

    fn answers(&self, _: &str) -> bool {
        false
    }

    fn ask<'a>(&'a self, method: &'a str, _: Object) -> BoxFuture<'a, Result<Value, RpcError>> {
        let answer = match method {
            "roots/list" => {
                let uris = self.roots.iter().filter_map(|root| uri_of_path(root.path()));
                let roots: Vec<_> = uris.map(|uri| json!({ "uri": uri })).collect();
                Ok(json!({ "roots": roots }))
            }
            _ => Err(unsupported_method(method)),
        };
        Box::pin(std::future::ready(answer))
    }

    fn gone(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            if tokio::signal::ctrl_c().await.is_err() {
                std::future::pending().await
            }
        })
    }

    fn forwarded(&self) -> Forwarded {
        Forwarded { session: "call".into(), ..Forwarded::default() }
    }
}

/// Shows progress or a log record on stderr.
fn show_notice(notice: &CallNotification) {
    let line = match notice {
        CallNotification::Progress { done, total, message } => {
            let total = total.map(|total| format!("/{total}")).unwrap_or_default();
            format!("{done}{total} {}", message.as_deref().unwrap_or_default())
        }
        CallNotification::Log { data: Value::String(text), .. } => text.clone(),
        CallNotification::Log { data, .. } => data.to_string(),
    };
    super::log::note(&portcullis_sanitize::visible_line(&line, 500));
}

/// A block of a plugin's answer as text.
pub fn text(content: &Content) -> String {
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
        Err(error) => json!({"type": "text", "text": error.to_string()}),
    }
}
