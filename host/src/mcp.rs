//! rmcp in, [`Call`](crate::call::Call) out; the only place that decides between a protocol error
//! and `isError`.

mod convert;
mod input;
mod session;

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt, Shared};
use portcullis_raw::Raw;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CustomRequest,
    CustomResult, DiscoverResult, ErrorCode, ErrorData, Implementation, InitializeRequestParams,
    InitializeResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool as McpTool,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{RoleServer, ServerHandler};
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

pub use convert::{block, tool};

use crate::call::Failure;
use crate::plugins::Plugins;
use crate::roots::Roots;
use session::Session;

/// Calls that may wait or run at the same time, over all sessions; more are refused at once.
const MAX_CALLS: usize = 512;

/// How long a client's introduction waits for the plugins.
const SOON: Duration = Duration::from_millis(500);

/// What all sessions share.
pub struct Host {
    plugins: Shared<BoxFuture<'static, Arc<Plugins>>>,
    tools: OnceCell<Vec<McpTool>>,
    /// The operator's roots.
    roots: Roots,
    seal: input::Seal,
    calls: AtomicUsize,
    /// The key under which results travel that rmcp's types would change.
    pub raw: Raw,
    /// Fires when the process is about to end: calls in flight are then given up.
    pub shutdown: CancellationToken,
}

impl Host {
    /// A host that loads its plugins when they are first needed.
    pub fn new(roots: Roots, load: impl Future<Output = Arc<Plugins>> + Send + 'static) -> Self {
        Self {
            plugins: load.boxed().shared(),
            tools: OnceCell::new(),
            roots,
            seal: input::Seal::new(),
            calls: AtomicUsize::new(0),
            raw: Raw::new().expect("the system has random bytes"),
            shutdown: CancellationToken::new(),
        }
    }

    /// The plugins, loaded once.
    pub async fn plugins(&self) -> Arc<Plugins> {
        self.plugins.clone().await
    }

    /// Waits for the plugins, whose advice is part of the introduction; but not for one that takes
    /// long to compile, which a later session will know.
    async fn plugins_soon(&self) {
        if tokio::time::timeout(SOON, self.plugins()).await.is_err() {
            tracing::info!("the plugins are still being loaded");
        }
    }

    async fn tools(&self) -> &[McpTool] {
        let list = || async {
            let plugins = self.plugins().await;
            plugins.tools().map(|(_, tool)| convert::tool(&tool.definition)).collect()
        };
        self.tools.get_or_init(list).await
    }
}

/// One session, or, on transports without sessions, one request.
#[derive(Clone)]
pub struct Server {
    host: Arc<Host>,
    session: Arc<Session>,
}

impl Server {
    /// A session of this host.
    pub fn new(host: Arc<Host>) -> Self {
        Self { host, session: Arc::default() }
    }

    async fn serve(
        &self,
        params: CallToolRequestParams,
        cx: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let plugins = self.host.plugins().await;
        let Some((loaded, tool)) = plugins.tool(&params.name) else {
            return Err(protocol_error(&Failure::UnknownTool(params.name.into_owned())));
        };
        let caller = session::Caller::of(cx);
        let arguments = params.arguments.unwrap_or_default();
        let binding = input::Binding {
            plugin: &loaded.plugin.digest,
            tool: &params.name,
            principal: caller.principal.as_deref(),
            arguments: &arguments,
        };
        let mut exchange = self
            .host
            .seal
            .open(&binding, params.request_state.as_deref(), params.input_responses)
            .map_err(|why| ErrorData::invalid_params(why, None))?;
        let wants_roots = !tool.definition.paths.is_empty() || loaded.wants_roots();
        let roots = if wants_roots {
            match self.session.roots(&self.host.roots, &caller, cx, &exchange).await {
                Some(roots) => roots,
                None => {
                    let asks = exchange.ask_roots();
                    return self.host.seal.ask(&binding, exchange, asks).map_err(internal);
                }
            }
        } else {
            Roots::default()
        };
        loop {
            let (context, least) = caller.context(&self.session, &exchange);
            let call = crate::call::Call {
                request: exchange.request.clone(),
                tool: params.name.clone().into_owned(),
                arguments: arguments.clone().into(),
                roots: roots.clone(),
                context,
                cancel: CancellationToken::new(),
            };
            match session::run(&plugins, call, least, &self.host.shutdown, &caller, cx).await {
                Ok(crate::call::Answer::Done(result)) => {
                    return convert::result(result).map_or_else(
                        |why| answer(&Failure::BrokenPromise(why)),
                        |result| Ok(result.into()),
                    );
                }
                Ok(crate::call::Answer::NeedInput(need)) => {
                    let asks = match exchange.ask(need, &caller) {
                        Ok(asks) => asks,
                        Err(failure) => return answer(&failure),
                    };
                    if caller.modern {
                        return self.host.seal.ask(&binding, exchange, asks).map_err(internal);
                    }
                    if let Err(failure) = exchange.ask_peer(asks, cx).await {
                        return answer(&failure);
                    }
                }
                Err(failure) => return answer(&failure),
            }
        }
    }
}

fn internal(error: String) -> ErrorData {
    tracing::error!("{error}");
    ErrorData::internal_error("the host failed; its log says how", None)
}

/// A failure as the client is told of it: what the caller or the model can mend is an answer that
/// says so, the rest is a protocol error.
fn answer(failure: &Failure) -> Result<CallToolResponse, ErrorData> {
    match failure {
        Failure::InvalidArguments(_)
        | Failure::Denied(_)
        | Failure::TimedOut(_)
        | Failure::TooLarge(_)
        | Failure::PluginFailed(_)
        | Failure::BrokenPromise(_) => Ok(convert::error(failure.to_string()).into()),
        Failure::UnknownTool(_) | Failure::Protocol(_) | Failure::Host(_) | Failure::Cancelled => {
            Err(protocol_error(failure))
        }
    }
}

fn protocol_error(failure: &Failure) -> ErrorData {
    let message = crate::text::line(&failure.to_string(), 1000);
    match failure {
        Failure::UnknownTool(_) => ErrorData::invalid_params(message, None),
        Failure::Protocol(error) => {
            let data = error.data.as_deref().and_then(|data| serde_json::from_str(data).ok());
            ErrorData::new(ErrorCode(error.code), message, data)
        }
        Failure::InvalidArguments(_)
        | Failure::Denied(_)
        | Failure::TimedOut(_)
        | Failure::TooLarge(_)
        | Failure::PluginFailed(_)
        | Failure::BrokenPromise(_)
        | Failure::Host(_)
        | Failure::Cancelled => ErrorData::internal_error(message, None),
    }
}

/// Requests that rmcp knows: where one arrives as a custom request, its parameters were malformed.
const KNOWN: &[&str] = &["initialize", "tools/call", "tools/list", "server/discover"];

/// As [`KNOWN`], but only up to 2025-11-25.
const KNOWN_LEGACY: &[&str] = &["logging/setLevel", "ping"];

fn not_offered(method: &'static str) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None)
}

impl ServerHandler for Server {
    #[expect(deprecated, reason = "clients up to 2025-11-25 have logging")]
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_logging().build();
        let implementation = Implementation::new("portcullis", env!("CARGO_PKG_VERSION"));
        let mut info = ServerConfig::new(capabilities).with_server_info(implementation);
        let advice = self.host.plugins.peek().map(|plugins| {
            let advice = plugins.loaded.iter().filter_map(|l| l.manifest.instructions.as_deref());
            advice.map(crate::text::plain).collect::<Vec<_>>().join("\n\n")
        });
        info.instructions = advice.filter(|advice| !advice.is_empty());
        info
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        self.host.plugins_soon().await;
        cx.peer.set_peer_info(request.clone());
        self.negotiate_initialize(&request)
    }

    async fn discover(&self, _: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        self.host.plugins_soon().await;
        let versions = self.supported_protocol_versions().into_owned();
        Ok(DiscoverResult::from_server_info(versions, self.get_info()))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.host.tools().await.to_vec()))
    }

    fn get_tool(&self, name: &str) -> Option<McpTool> {
        self.host.tools.get()?.iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let before = self.host.calls.fetch_add(1, Ordering::Relaxed);
        let served = if before < MAX_CALLS {
            // In a box: what is spawned for a request is moved several times.
            Box::pin(self.serve(params, &cx)).await
        } else {
            Ok(convert::error(format!("{MAX_CALLS} calls are going on: try again later")).into())
        };
        self.host.calls.fetch_sub(1, Ordering::Relaxed);
        served
    }

    #[expect(deprecated, reason = "clients up to 2025-11-25 have logging")]
    async fn set_level(
        &self,
        params: rmcp::model::SetLevelRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if !session::is_legacy(&cx) {
            return Err(not_offered("logging/setLevel"));
        }
        self.session.set_level(params.level);
        Ok(())
    }

    async fn on_roots_list_changed(&self, _: NotificationContext<RoleServer>) {
        self.session.forget_roots();
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        cx: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method.as_str();
        let known =
            KNOWN.contains(&method) || (KNOWN_LEGACY.contains(&method) && session::is_legacy(&cx));
        if known {
            let message = format!("the parameters of {method} are not of its form");
            return Err(ErrorData::invalid_params(message, None));
        }
        let method: Cow<'static, str> = crate::text::line(method, 80).into();
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None))
    }

    // What is not advertised is not answered: rmcp would answer with empty lists.

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(not_offered("prompts/list"))
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(not_offered("resources/list"))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(not_offered("resources/templates/list"))
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(not_offered("completion/complete"))
    }
}
