//! Serves one request of a client: calls the source, passes the source's questions to the client, and starts
//! a task if the plugin asks to go on in the background.

use portcullis_roots::Roots;
use rmcp::RoleServer;
use rmcp::model::{
    CreateTaskResult, InputRequests, InputRequiredResult, InputResponses, JsonObject,
};
use rmcp::service::RequestContext;
use serde_json::Value;

use super::caller::{Caller, TASKS_FEATURE};
use super::client::RequestClient;
use super::input::Exchange;
use super::journals::JournalError;
use super::seal::{Binding, SealError};
use super::{Server, tasks};
use portcullis_core::call::inner::InnerQuestions;
use portcullis_core::call::{self, Call, CallFailure, PluginAnswer, SourceAnswer, ToolCall, Work};
use portcullis_core::source::Source;

/// A client's request with the source that serves it.
pub struct SourceRequest<'a> {
    /// The source.
    pub source: Source<'a>,
    /// The work that the source does.
    pub work: Work,
    /// The client's name for the tool, prompt or resource, or the method of a request that has none of these.
    pub name: &'a str,
    /// The arguments.
    pub arguments: &'a JsonObject,
    /// Whether some arguments are paths.
    pub has_paths: bool,
    /// The sealed state of the previous round.
    pub state: Option<&'a str>,
    /// The client's answers to the questions of the previous round.
    pub responses: Option<InputResponses>,
}

/// The result of a request for the client.
pub enum RequestResult {
    /// The answer of a plugin.
    Plugin(PluginAnswer),
    /// The JSON for the client: the result of an upstream server, or an `InputRequiredResult` with questions about the
    /// server's call.
    Upstream(Value),
    /// Questions to the client.
    InputRequired(InputRequiredResult),
    /// A task, whose result the client fetches later.
    Task(CreateTaskResult),
}

/// Why a request has no result.
pub enum RequestFailure {
    /// The client's `requestState` is invalid, or the journal that the `requestState` names is gone. The text is for
    /// the client.
    State(&'static str),
    /// The call failed.
    Call(CallFailure),
    /// The host failed. The error is for the log.
    Host(HostFault),
}

/// A fault of the host.
#[derive(Debug, thiserror::Error)]
pub enum HostFault {
    /// A state could not be sealed.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// The journal of a run could not be kept.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl From<CallFailure> for RequestFailure {
    fn from(failure: CallFailure) -> Self {
        Self::Call(failure)
    }
}

impl From<SealError> for RequestFailure {
    fn from(error: SealError) -> Self {
        Self::Host(error.into())
    }
}

impl From<JournalError> for RequestFailure {
    fn from(error: JournalError) -> Self {
        Self::Host(error.into())
    }
}

impl Server {
    /// The roots of a call. `None`: the client has not sent its roots, so the result of this request has to ask for
    /// them (`InputRequiredResult`).
    async fn roots(
        &self,
        request: &SourceRequest<'_>,
        caller: &Caller,
        cx: &RequestContext<RoleServer>,
        exchange: &Exchange,
    ) -> Option<Roots> {
        let wants_roots = request.source.plugin().is_some_and(|loaded| loaded.wants_roots());
        if !request.has_paths && !wants_roots {
            return Some(self.shared.host.roots().none());
        }
        let (operator, named) = (self.shared.host.roots(), exchange.roots());
        let roots = Box::pin(self.session.roots(&operator, caller, &cx.peer, named)).await;
        // The answers to lists and completions cannot contain questions.
        let cannot_ask = || self.session.last_roots(&operator, true);
        roots.or_else(|| (!call::may_ask(&request.work)).then(cannot_ask))
    }

    /// Serves a request. If the source has questions, a modern client gets them as the result, and repeats the
    /// request with the answers. A legacy client gets them as requests of the server while its own request waits.
    #[expect(clippy::wildcard_enum_match_arm, reason = "all other answers are final")]
    pub(super) async fn serve(
        &self,
        request: SourceRequest<'_>,
        cx: &RequestContext<RoleServer>,
    ) -> Result<RequestResult, RequestFailure> {
        let caller = Caller::of(cx);
        let binding = Binding {
            source: request.source.identity(),
            name: request.name,
            principal: caller.principal.as_deref(),
            arguments: request.arguments,
        };
        let seal = &self.shared.seal;
        let mut exchange = self.exchange(&binding, &request).await?;
        let Some(roots) = self.roots(&request, &caller, cx, &exchange).await else {
            let questions = exchange.ask_roots();
            let result = seal.ask(&binding, &exchange, questions)?;
            return Ok(RequestResult::InputRequired(result));
        };
        // Whether the plugin is called again within this request, because the client does not support tasks.
        let mut without_task = false;
        loop {
            let answer =
                match self.round(&request, &caller, cx, &mut exchange, &roots, without_task).await?
                {
                    SourceAnswer::Plugin(answer) => answer,
                    SourceAnswer::Upstream(result) => return Ok(RequestResult::Upstream(result)),
                    SourceAnswer::UpstreamQuestions { requests, state } => {
                        exchange.set_upstream_state(state);
                        let result = seal.ask_for_upstream(&binding, &exchange, requests)?;
                        return Ok(RequestResult::Upstream(result));
                    }
                    SourceAnswer::InnerQuestions(asked) => {
                        let asked = self.ask_of_run(asked, &mut exchange, &request, &caller, cx);
                        let Some(questions) = asked.await? else { continue };
                        let result = seal.ask(&binding, &exchange, questions)?;
                        return Ok(RequestResult::InputRequired(result));
                    }
                };
            let Some(loaded) = request.source.plugin() else {
                return Ok(RequestResult::Plugin(answer));
            };
            match answer {
                PluginAnswer::NeedInput(need) => {
                    let questions = exchange.ask(need, &caller, loaded)?;
                    if caller.modern && !questions.is_empty() {
                        let result = seal.ask(&binding, &exchange, questions)?;
                        return Ok(RequestResult::InputRequired(result));
                    }
                    self.ask_during_request(&mut exchange, questions, &request, &caller, cx)
                        .await?;
                }
                PluginAnswer::Background(_) if without_task => {
                    let why =
                        "the plugin defers its work again, and the client does not support tasks";
                    return Err(CallFailure::BrokenPromise(why.into()).into());
                }
                PluginAnswer::Background(state) => {
                    exchange.set_state(state);
                    if caller.supports(TASKS_FEATURE) {
                        let (loaded, work) = (loaded.clone(), request.work);
                        let task = tasks::TaskWork { loaded, work, roots, caller, exchange };
                        return Ok(RequestResult::Task(Box::pin(task.start(self)).await?));
                    }
                    without_task = true;
                }
                answer => return Ok(RequestResult::Plugin(answer)),
            }
        }
    }

    /// Opens the sealed state of the request, or begins a new exchange. For a plugin, makes the list of tools first.
    async fn exchange(
        &self,
        binding: &Binding<'_>,
        request: &SourceRequest<'_>,
    ) -> Result<Exchange, RequestFailure> {
        if request.source.plugin().is_some() {
            // Making the list also publishes it to plugins, which may read it during the call.
            self.shared.host.tools().await;
        }
        let mut exchange = self
            .shared
            .seal
            .open(binding, request.state, request.responses.clone())
            .map_err(RequestFailure::State)?;
        self.shared.journals.load(&mut exchange.journal).await.map_err(RequestFailure::State)?;
        Ok(exchange)
    }

    /// Handles the questions of the tools that a plugin has called. `Some`: the result of the request, which asks a
    /// modern client. `None`: the next round can begin, because a legacy client has already answered or no question is
    /// left.
    async fn ask_of_run(
        &self,
        asked: InnerQuestions,
        exchange: &mut Exchange,
        request: &SourceRequest<'_>,
        caller: &Caller,
        cx: &RequestContext<RoleServer>,
    ) -> Result<Option<InputRequests>, RequestFailure> {
        let questions = exchange.ask_inner(asked, caller);
        if caller.modern && !questions.is_empty() {
            self.shared.journals.store(&mut exchange.journal).await?;
            return Ok(Some(questions));
        }
        self.ask_during_request(exchange, questions, request, caller, cx).await?;
        Ok(None)
    }

    /// One round, which ends with an answer or with questions.
    async fn round(
        &self,
        request: &SourceRequest<'_>,
        caller: &Caller,
        cx: &RequestContext<RoleServer>,
        exchange: &mut Exchange,
        roots: &Roots,
        without_task: bool,
    ) -> Result<SourceAnswer, CallFailure> {
        let mut context = exchange.context(caller);
        if let Some(loaded) = request.source.plugin() {
            self.shared.host.attach_shared_state(&mut context, loaded, roots);
        }
        context.background = without_task;
        let client = RequestClient::new(self, caller, cx);
        let may_call_tools = matches!(request.work, Work::Tool(_))
            && request.source.plugin().is_some_and(|loaded| loaded.may_call_tools());
        let inner = match may_call_tools {
            true => {
                let excludes = self.excludes(caller, cx);
                Some(exchange.take_inner(&self.shared.host, caller, excludes).await)
            }
            false => None,
        };
        let call = Call {
            request: exchange.request.clone(),
            origin: caller.origin.clone(),
            work: request.work.clone(),
            roots: roots.clone(),
            context,
            task: false,
            decisions: exchange.take_decisions(),
            resumed: exchange.take_upstream_round(),
            client: &client,
            inner,
        };
        let answer = call::call(request.source, call).await?;
        if let Work::Tool(_) = &request.work {
            let (principal, state) = (caller.principal.clone(), &self.shared.host.shared_state);
            state.keep_result(principal, request.name, || answer.data());
        }
        Ok(answer)
    }

    /// Asks a legacy client. If the client does not answer, open questions for consent are
    /// recorded as unanswered.
    async fn ask_during_request(
        &self,
        exchange: &mut Exchange,
        questions: InputRequests,
        request: &SourceRequest<'_>,
        caller: &Caller,
        cx: &RequestContext<RoleServer>,
    ) -> Result<(), CallFailure> {
        let answered = Box::pin(exchange.ask_peer(questions, cx)).await;
        if answered.is_err() {
            let (id, decisions) = (exchange.request.clone(), exchange.take_unanswered());
            let principal = caller.principal.clone();
            call::record_decisions(
                request.source,
                &request.work,
                id,
                principal.clone(),
                &decisions,
            );
            let catalog = self.shared.host.catalog().await;
            for (work, id, decisions) in exchange.take_unanswered_inner() {
                if let Some(tool) = catalog.tool(&work.name) {
                    let work = Work::Tool(ToolCall { name: tool.own_name().to_owned(), ..work });
                    call::record_decisions(tool.source(), &work, id, principal.clone(), &decisions);
                }
            }
        }
        answered
    }
}
