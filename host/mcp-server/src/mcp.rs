//! The MCP server: turns requests in rmcp's types into [`Call`](portcullis_core::call::Call)s, and answers into rmcp's
//! results and errors.

mod caller;
mod client;
mod cluster_news;
mod cluster_tasks;
mod consent;
mod convert;
mod failures;
mod inner;
mod input;
mod journals;
mod lists;
mod log_levels;
mod new_upstreams;
mod notifications;
mod project_searches;
mod requests;
mod results;
mod seal;
mod search;
mod selection;
mod serve;
mod session;
mod shared;
mod shared_subscriptions;
mod state_keys;
mod structured;
mod tasks;
mod watches;

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

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
use rmcp::{RoleServer, ServerHandler};

pub use cluster_news::exchange_news;
pub use convert::{Unrepresentable, block};
pub use shared::Shared;
pub use state_keys::{StateKeyError, StateKeys, keys_in_file};

use caller::Caller;
use portcullis_core::definitions::listed_tool;
use portcullis_core::sandbox::Feature;
use portcullis_http_server::SessionShare;
use session::Session;
use shared::MAX_CALLS;

/// The MCP server for one session, or for one request that belongs to no session.
#[derive(Clone)]
pub struct Server {
    shared: Arc<Shared>,
    session: Arc<Session>,
}

impl Server {
    /// A server for a new session, or for one request without a session.
    pub fn new(shared: Arc<Shared>) -> Self {
        Self { shared, session: Arc::default() }
    }

    /// Refuses `method` if no source offers `feature`. Without this check, clients would get empty lists.
    async fn require(&self, feature: Feature, method: &'static str) -> Result<(), ErrorData> {
        Box::pin(self.shared.host.catalog()).await;
        if self.shared.host.supports(feature) { Ok(()) } else { Err(not_offered(method)) }
    }

    /// Serves `initialize`.
    async fn begin_session(
        &self,
        request: InitializeRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        self.shared.host.wait_briefly_for_sources().await;
        let mut result = self.negotiate_initialize(&request)?;
        let caller = Caller::initializing(&cx, &request);
        let selection = self.selection(&caller, &cx)?;
        if self.session.is_initialized.swap(true, Ordering::Relaxed) {
            let why = "this session is already initialized: open another one";
            return Err(ErrorData::invalid_request(why, None));
        }
        if let Some(share) = shared_session(&cx) {
            let _shared_before = self.session.share.set(share);
        }
        if self.session.share.get().is_some_and(|share| share.level().is_some()) {
            self.shared.want_logs(&self.session);
        }
        cx.peer.set_peer_info(request);
        // The client can be asked for its roots only after this answer.
        let projects = self.shared.projects_of_operator(&selection).await;
        result.instructions = self.instructions(&selection, &projects);
        if caller.capabilities.roots.is_some() {
            *self.session.initialized_by.lock() = Some(caller);
        }
        Ok(result)
    }

    /// Runs `work`. If [`MAX_CALLS`] calls are running already, returns the result of `too_many` instead.
    async fn within_limit<T>(
        &self,
        work: impl Future<Output = Result<T, ErrorData>>,
        too_many: impl FnOnce(String) -> Result<T, ErrorData>,
    ) -> Result<T, ErrorData> {
        match self.shared.count_call() {
            Some(_counted) => work.await,
            None => too_many(format!("{MAX_CALLS} calls are running: try again later")),
        }
    }
}

/// The session as all hosts of a cluster know it, if there are several.
fn shared_session(cx: &RequestContext<RoleServer>) -> Option<Arc<SessionShare>> {
    let parts = cx.extensions.get::<http::request::Parts>()?;
    parts.extensions.get::<Arc<SessionShare>>().cloned()
}

fn busy<T>(why: String) -> Result<T, ErrorData> {
    Err(ErrorData::internal_error(why, None))
}

/// Methods that rmcp knows, each with the feature that it needs. A request with one of these methods arrives as a
/// custom request only if its parameters are malformed.
const KNOWN_METHODS: &[(&str, Feature)] = &[
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

/// Like [`KNOWN_METHODS`], for the methods that exist only in revisions up to 2025-11-25.
const KNOWN_LEGACY_METHODS: &[(&str, Feature)] = &[
    ("initialize", Feature::Manifest),
    ("logging/setLevel", Feature::Manifest),
    ("ping", Feature::Manifest),
    ("resources/subscribe", Feature::Resources),
    ("resources/unsubscribe", Feature::Resources),
];

fn not_offered(method: &'static str) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None)
}

/// Large futures are boxed. rmcp uses one future type for all requests. This type is as large as the largest
/// request needs, and rmcp moves it several times.
impl ServerHandler for Server {
    #[expect(deprecated, reason = "clients up to 2025-11-25 have logging")]
    fn get_info(&self) -> ServerConfig {
        let offers = |feature| self.shared.host.supports(feature);
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
        ServerConfig::new(capabilities).with_server_info(implementation)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        Box::pin(self.begin_session(request, cx)).await
    }

    async fn discover(&self, cx: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        Box::pin(self.shared.host.wait_briefly_for_sources()).await;
        let selection = self.selection(&Caller::of(&cx), &cx)?;
        let projects = self.shared.projects_of_operator(&selection).await;
        let mut info = self.get_info();
        info.instructions = self.instructions(&selection, &projects);
        let versions = self.supported_protocol_versions().into_owned();
        Ok(DiscoverResult::from_server_info(versions, info))
    }

    async fn list_tools(
        &self,
        params: Option<PaginatedRequestParams>,
        cx: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        lists::require_first_page(params.as_ref())?;
        Box::pin(self.wait_for_new_upstreams(&cx)).await;
        Box::pin(self.tools(&cx)).await
    }

    fn get_tool(&self, name: &str) -> Option<McpTool> {
        let typed = |tool| serde_json::from_value(listed_tool(name, tool)).ok();
        let Some(shown) = self.shared.host.published_now() else {
            return typed(self.shared.host.bundled_now()?.tool(name)?);
        };
        match shown.tools_now() {
            Some(tools) => self.shared.typed(tools).iter().find(|tool| tool.name == name).cloned(),
            None => typed(shown.catalog.tool(name)?),
        }
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let work = Box::pin(self.tool(params, &cx));
        self.within_limit(work, |why| Ok(convert::error(why).into())).await
    }

    async fn list_prompts(
        &self,
        params: Option<PaginatedRequestParams>,
        cx: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        self.require(Feature::Prompts, "prompts/list").await?;
        lists::require_first_page(params.as_ref())?;
        Box::pin(self.prompts(&cx)).await
    }

    async fn get_prompt(
        &self,
        params: GetPromptRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        self.within_limit(Box::pin(self.prompt(params, &cx)), busy).await
    }

    async fn list_resources(
        &self,
        params: Option<PaginatedRequestParams>,
        cx: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.require(Feature::Resources, "resources/list").await?;
        let cursor = params.and_then(|params| params.cursor);
        self.within_limit(Box::pin(self.resources(cursor, &cx)), busy).await
    }

    async fn list_resource_templates(
        &self,
        params: Option<PaginatedRequestParams>,
        cx: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        self.require(Feature::Resources, "resources/templates/list").await?;
        lists::require_first_page(params.as_ref())?;
        Box::pin(self.templates(&cx)).await
    }

    async fn read_resource(
        &self,
        params: ReadResourceRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.require(Feature::Resources, "resources/read").await?;
        self.within_limit(Box::pin(self.resource(params, &cx)), busy).await
    }

    async fn complete(
        &self,
        params: CompleteRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        self.require(Feature::Completions, "completion/complete").await?;
        self.within_limit(Box::pin(self.completion(params, &cx)), busy).await
    }

    fn accepted_subscription_filter(
        &self,
        asked: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(notifications::accepted_subscriptions(asked))
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        Box::pin(self.notify_subscriber(subscription)).await;
        Ok(())
    }

    async fn subscribe(
        &self,
        params: SubscribeRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.require(Feature::Resources, "resources/subscribe").await?;
        Box::pin(self.subscribe_to(params.uri, &cx)).await
    }

    async fn unsubscribe(
        &self,
        params: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Box::pin(self.unsubscribe_from(&params.uri)).await
    }

    async fn get_task(
        &self,
        params: GetTaskParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        Box::pin(self.task(&params.task_id, &cx)).await.map(GetTaskResult::new)
    }

    async fn update_task(
        &self,
        params: UpdateTaskParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Box::pin(self.answer_task(&params.task_id, params.input_responses, &cx)).await
    }

    async fn cancel_task(
        &self,
        params: CancelTaskParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Box::pin(self.end_task(&params.task_id, &cx)).await
    }

    async fn on_initialized(&self, cx: NotificationContext<RoleServer>) {
        // Over stdio there is only one session.
        let is_only_session = cx.extensions.get::<http::request::Parts>().is_none();
        self.notify_session(cx.peer, is_only_session);
    }

    #[expect(deprecated, reason = "clients up to 2025-11-25 have logging")]
    async fn set_level(
        &self,
        params: rmcp::model::SetLevelRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if !caller::is_legacy(&cx) {
            return Err(not_offered("logging/setLevel"));
        }
        let set = self.session.set_log_level(params.level).await;
        set.map_err(|error| failures::cluster("the log level of a session", &error))?;
        self.shared.want_logs(&self.session);
        Ok(())
    }

    async fn on_roots_list_changed(&self, cx: NotificationContext<RoleServer>) {
        self.roots_have_changed(&cx);
        self.shared.host.upstreams().roots_changed().await;
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        cx: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method.as_str();
        let is_in = |list: &[(&str, Feature)]| {
            list.iter()
                .any(|(known, feature)| *known == method && self.shared.host.supports(*feature))
        };
        let is_known =
            is_in(KNOWN_METHODS) || (is_in(KNOWN_LEGACY_METHODS) && caller::is_legacy(&cx));
        if is_known {
            let message = format!("the parameters of {method} are malformed");
            return Err(ErrorData::invalid_params(message, None));
        }
        let method: Cow<'static, str> = portcullis_sanitize::line(method, 80).into();
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None))
    }
}
