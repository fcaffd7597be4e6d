//! rmcp in, [`Call`](crate::call::Call) out; the only place that decides between a protocol error
//! and `isError`.

mod convert;
mod input;
mod lists;
mod news;
mod requests;
mod serve;
mod session;
mod tasks;

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt, Shared};
use portcullis_roots::Roots;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams,
    CompleteResult, CustomRequest, CustomResult, DiscoverResult, ErrorCode, ErrorData,
    GetPromptRequestParams, GetPromptResponse, GetTaskParams, GetTaskResult, Implementation,
    InitializeRequestParams, InitializeResult, JsonObject, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    PromptsCapability, ReadResourceRequestParams, ReadResourceResponse, ResourcesCapability,
    ServerCapabilities, ServerConfig, SubscribeRequestParams, SubscriptionFilter, Tool as McpTool,
    UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::task_manager::TaskManager;
use rmcp::{RoleServer, ServerHandler};
use tokio::sync::{OnceCell, broadcast};
use tokio_util::sync::CancellationToken;

pub use convert::{block, tool};
pub use session::Principal;

use crate::catalog::Catalog;
use crate::plugins::Plugins;
use crate::sandbox::{Feature, News};
use requests::internal;
use session::Session;

/// Calls that may wait or run at the same time, over all sessions; more are refused at once.
const MAX_CALLS: usize = 512;

/// How long a client's introduction waits for the plugins.
const SOON: Duration = Duration::from_millis(500);

/// News that may wait for a slow client before it misses some.
const NEWS: usize = 256;

/// What all sessions share.
pub struct Host {
    catalog: Shared<BoxFuture<'static, Arc<Catalog>>>,
    tools: OnceCell<Vec<McpTool>>,
    /// The operator's roots.
    roots: Roots,
    seal: input::Seal,
    calls: AtomicUsize,
    tasks: TaskManager,
    news: broadcast::Sender<News>,
    /// Fires when the process is about to end: calls in flight are then given up.
    pub shutdown: CancellationToken,
}

impl Host {
    /// A host that loads its plugins when they are first needed.
    pub fn new(roots: Roots, load: impl Future<Output = Arc<Plugins>> + Send + 'static) -> Self {
        let catalog = load.map(|plugins| Arc::new(Catalog::new(plugins)));
        Self {
            catalog: catalog.boxed().shared(),
            tools: OnceCell::new(),
            roots,
            seal: input::Seal::new(),
            calls: AtomicUsize::new(0),
            tasks: TaskManager::new(),
            news: broadcast::channel(NEWS).0,
            shutdown: CancellationToken::new(),
        }
    }

    /// What clients can see, loaded once.
    pub async fn catalog(&self) -> Arc<Catalog> {
        self.catalog.clone().await
    }

    /// Waits for the plugins, whose advice is part of the introduction; but not for one that takes
    /// long to compile, which a later session will know.
    async fn plugins_soon(&self) {
        if tokio::time::timeout(SOON, self.catalog()).await.is_err() {
            tracing::info!("the plugins are still being loaded");
        }
    }

    async fn tools(&self) -> &[McpTool] {
        let list = || async {
            let catalog = self.catalog().await;
            let all = catalog.tools();
            all.map(|(name, _, tool)| convert::tool(name, &tool.definition)).collect()
        };
        self.tools.get_or_init(list).await
    }

    /// Whether a feature is offered. As long as the plugins are being loaded: it may be.
    fn offers(&self, feature: Feature) -> bool {
        self.catalog.peek().is_none_or(|catalog| match feature {
            Feature::Manifest | Feature::Tools => true,
            Feature::Prompts => catalog.prompts().next().is_some(),
            Feature::Resources | Feature::Completions => catalog.with(feature).next().is_some(),
        })
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

    /// Serves a request, unless too many are being served.
    async fn bounded<T>(
        &self,
        work: impl Future<Output = Result<T, ErrorData>>,
        too_many: impl FnOnce(String) -> Result<T, ErrorData>,
    ) -> Result<T, ErrorData> {
        let before = self.host.calls.fetch_add(1, Ordering::Relaxed);
        let served = if before < MAX_CALLS {
            work.await
        } else {
            too_many(format!("{MAX_CALLS} calls are going on: try again later"))
        };
        self.host.calls.fetch_sub(1, Ordering::Relaxed);
        served
    }
}

fn busy<T>(why: String) -> Result<T, ErrorData> {
    Err(ErrorData::internal_error(why, None))
}

/// Requests that rmcp knows, and what has to be offered for them: where one arrives as a custom
/// request, its parameters were malformed.
const KNOWN: &[(&str, Feature)] = &[
    ("server/discover", Feature::Manifest),
    ("subscriptions/listen", Feature::Manifest),
    ("tasks/get", Feature::Manifest),
    ("tasks/update", Feature::Manifest),
    ("tasks/cancel", Feature::Manifest),
    ("tools/call", Feature::Tools),
    ("tools/list", Feature::Tools),
    ("resources/read", Feature::Resources),
    ("resources/list", Feature::Resources),
    ("resources/templates/list", Feature::Resources),
    ("prompts/get", Feature::Prompts),
    ("prompts/list", Feature::Prompts),
    ("completion/complete", Feature::Completions),
];

/// As [`KNOWN`], but only up to 2025-11-25.
const KNOWN_LEGACY: &[(&str, Feature)] = &[
    ("initialize", Feature::Manifest),
    ("logging/setLevel", Feature::Manifest),
    ("ping", Feature::Manifest),
    ("resources/subscribe", Feature::Resources),
    ("resources/unsubscribe", Feature::Resources),
];

fn not_offered(method: &'static str) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None)
}

impl ServerHandler for Server {
    #[expect(deprecated, reason = "clients up to 2025-11-25 have logging")]
    fn get_info(&self) -> ServerConfig {
        let offers = |feature| self.host.offers(feature);
        let mut capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_logging()
            .enable_tasks()
            .build();
        if offers(Feature::Prompts) {
            let mut prompts = PromptsCapability::default();
            prompts.list_changed = Some(true);
            capabilities.prompts = Some(prompts);
        }
        if offers(Feature::Resources) {
            let mut resources = ResourcesCapability::default();
            (resources.subscribe, resources.list_changed) = (Some(true), Some(true));
            capabilities.resources = Some(resources);
        }
        capabilities.completions = offers(Feature::Completions).then(JsonObject::new);
        let implementation = Implementation::new("portcullis", env!("CARGO_PKG_VERSION"));
        let mut info = ServerConfig::new(capabilities).with_server_info(implementation);
        let advice = self.host.catalog.peek().map(|catalog| {
            let all = catalog.plugins.loaded.iter();
            let advice = all.filter_map(|loaded| loaded.manifest.instructions.as_deref());
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
        // In a box: what is spawned for a request is moved several times.
        let work = Box::pin(self.call_plugin(params, &cx));
        self.bounded(work, |why| Ok(convert::error(why).into())).await
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let catalog = self.host.catalog().await;
        if !self.host.offers(Feature::Prompts) {
            return Err(not_offered("prompts/list"));
        }
        let all = catalog.prompts().map(|(name, prompt)| convert::prompt(name, prompt)).collect();
        let all = serde_json::from_value(all).map_err(|error| internal(error.to_string()))?;
        Ok(ListPromptsResult::with_all_items(all))
    }

    async fn get_prompt(
        &self,
        params: GetPromptRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        self.bounded(Box::pin(self.prompt(params, &cx)), busy).await
    }

    async fn list_resources(
        &self,
        params: Option<PaginatedRequestParams>,
        cx: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.host.catalog().await;
        if !self.host.offers(Feature::Resources) {
            return Err(not_offered("resources/list"));
        }
        let cursor = params.and_then(|params| params.cursor);
        self.bounded(Box::pin(self.resources(cursor, &cx)), busy).await
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let catalog = self.host.catalog().await;
        if !self.host.offers(Feature::Resources) {
            return Err(not_offered("resources/templates/list"));
        }
        let all = catalog.templates().map(convert::template).collect();
        let all = serde_json::from_value(all).map_err(|error| internal(error.to_string()))?;
        Ok(ListResourceTemplatesResult::with_all_items(all))
    }

    async fn read_resource(
        &self,
        params: ReadResourceRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.host.catalog().await;
        if !self.host.offers(Feature::Resources) {
            return Err(not_offered("resources/read"));
        }
        self.bounded(Box::pin(self.resource(params, &cx)), busy).await
    }

    async fn complete(
        &self,
        params: CompleteRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        self.host.catalog().await;
        if !self.host.offers(Feature::Completions) {
            return Err(not_offered("completion/complete"));
        }
        self.bounded(Box::pin(self.completion(params, &cx)), busy).await
    }

    fn accepted_subscription_filter(
        &self,
        asked: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(asked.clone())
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        self.tell(subscription).await;
        Ok(())
    }

    async fn subscribe(
        &self,
        params: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.host.catalog().await;
        if !self.host.offers(Feature::Resources) {
            return Err(not_offered("resources/subscribe"));
        }
        self.subscribe_to(params.uri)
    }

    async fn unsubscribe(
        &self,
        params: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.session.subscriptions.lock().remove(&params.uri);
        Ok(())
    }

    async fn get_task(
        &self,
        params: GetTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        self.host.tasks.get_task(&params.task_id).map(GetTaskResult::new)
    }

    async fn update_task(
        &self,
        params: UpdateTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.host.tasks.update_task(&params.task_id, params.input_responses)
    }

    async fn cancel_task(
        &self,
        params: CancelTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.host.tasks.cancel_task(&params.task_id)
    }

    async fn on_initialized(&self, cx: NotificationContext<RoleServer>) {
        self.follow(cx.peer);
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
        let listed = |list: &[(&str, Feature)]| {
            list.iter().any(|(known, feature)| *known == method && self.host.offers(*feature))
        };
        let known = listed(KNOWN) || (listed(KNOWN_LEGACY) && session::is_legacy(&cx));
        if known {
            let message = format!("the parameters of {method} are not of its form");
            return Err(ErrorData::invalid_params(message, None));
        }
        let method: Cow<'static, str> = crate::text::line(method, 80).into();
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None))
    }
}
