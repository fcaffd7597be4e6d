//! One request for a source, over all its rounds: questions of the source are asked of the client, and what takes
//! long becomes a task.

use portcullis_roots::Roots;
use rmcp::RoleServer;
use rmcp::model::{
    CreateTaskResult, InputRequests, InputRequiredResult, InputResponses, JsonObject,
};
use rmcp::service::RequestContext;
use serde_json::Value;

use super::client::RequestClient;
use super::input::{Binding, Exchange};
use super::session::Caller;
use super::{Server, tasks};
use portcullis_core::call::{self, Answer, Answered, Call, CallFailure, Work};
use portcullis_core::source::Source;

/// A request, and which source it is for.
pub struct Asked<'a> {
    /// The source.
    pub source: Source<'a>,
    /// What is asked of it.
    pub work: Work,
    /// By the name that the client used.
    pub name: &'a str,
    /// With these arguments.
    pub arguments: &'a JsonObject,
    /// Whether some of them name paths.
    pub paths: bool,
    /// The state of the round before, sealed.
    pub state: Option<&'a str>,
    /// The answers to what that round asked.
    pub responses: Option<InputResponses>,
}

/// What the client gets.
pub enum Served {
    /// A plugin's answer.
    Answer(Answer),
    /// A result that is sent as it is.
    Whole(Value),
    /// Questions.
    Questions(InputRequiredResult),
    /// Something to ask for later.
    Task(CreateTaskResult),
}

/// Why it gets none of these.
pub enum Refused {
    /// The client's `requestState` is invalid.
    State(&'static str),
    /// The call failed.
    Failed(CallFailure),
    /// The host failed: text for the log.
    Host(String),
}

impl From<CallFailure> for Refused {
    fn from(failure: CallFailure) -> Self {
        Self::Failed(failure)
    }
}

impl Server {
    /// The roots of a call. `None`: the client has to be asked for them in an answer.
    async fn roots(
        &self,
        asked: &Asked<'_>,
        caller: &Caller,
        cx: &RequestContext<RoleServer>,
        exchange: &Exchange,
    ) -> Option<Roots> {
        let wanted = asked.source.plugin().is_some_and(|loaded| loaded.wants_roots());
        if !asked.paths && !wanted {
            return Some(self.shared.host.roots.none());
        }
        let roots =
            Box::pin(self.session.roots(&self.shared.host.roots, caller, cx, exchange)).await;
        // Neither lists nor completions can ask.
        let cannot_ask = || self.session.last_roots(&self.shared.host.roots, true);
        roots.or_else(|| (!call::may_ask(&asked.work)).then(cannot_ask))
    }

    /// Serves a request over all its rounds.
    #[expect(clippy::wildcard_enum_match_arm, reason = "whatever is no question is the answer")]
    pub(super) async fn serve(
        &self,
        asked: Asked<'_>,
        cx: &RequestContext<RoleServer>,
    ) -> Result<Served, Refused> {
        if asked.source.plugin().is_some() {
            // A plugin may read the list of tools during the call, so the list is made first.
            self.shared.host.tools().await;
        }
        let caller = Caller::of(cx);
        let binding = Binding {
            source: asked.source.identity(),
            name: asked.name,
            principal: caller.principal.as_deref(),
            arguments: asked.arguments,
        };
        let seal = &self.shared.seal;
        let mut exchange =
            seal.open(&binding, asked.state, asked.responses.clone()).map_err(Refused::State)?;
        let Some(roots) = self.roots(&asked, &caller, cx, &exchange).await else {
            let asks = exchange.ask_roots();
            let questions = seal.ask(&binding, &exchange, asks);
            return questions.map(Served::Questions).map_err(Refused::Host);
        };
        // The plugin deferred its work and the client does not know tasks: the work is done in this request.
        let mut at_once = false;
        loop {
            let answer =
                match self.round(&asked, &caller, cx, &mut exchange, &roots, at_once).await? {
                    Answered::Typed(answer) => answer,
                    Answered::Whole(result) => return Ok(Served::Whole(result)),
                    Answered::Questions { requests, state } => {
                        exchange.park(state);
                        let questions = seal.pass_on(&binding, &exchange, requests);
                        return questions.map(Served::Whole).map_err(Refused::Host);
                    }
                };
            let Some(loaded) = asked.source.plugin() else { return Ok(Served::Answer(answer)) };
            match answer {
                Answer::NeedInput(need) => {
                    let asks = exchange.ask(need, &caller, loaded)?;
                    if caller.modern && !asks.is_empty() {
                        let questions = seal.ask(&binding, &exchange, asks);
                        return questions.map(Served::Questions).map_err(Refused::Host);
                    }
                    ask_now(&mut exchange, asks, &asked, &caller, cx).await?;
                }
                Answer::Background(_) if at_once => {
                    let why =
                        "the plugin defers its work again, and the client does not know tasks";
                    return Err(CallFailure::BrokenPromise(why.into()).into());
                }
                Answer::Background(state) => {
                    exchange.keep(state);
                    if caller.supports(tasks::FEATURE) {
                        let (loaded, work) = (loaded.clone(), asked.work);
                        let task = tasks::TaskWork { loaded, work, roots, caller, exchange };
                        return Ok(Served::Task(task.begin(self)?));
                    }
                    at_once = true;
                }
                answer => return Ok(Served::Answer(answer)),
            }
        }
    }

    /// One round: up to the answer, or up to questions.
    async fn round(
        &self,
        asked: &Asked<'_>,
        caller: &Caller,
        cx: &RequestContext<RoleServer>,
        exchange: &mut Exchange,
        roots: &Roots,
        at_once: bool,
    ) -> Result<Answered, CallFailure> {
        let mut context = caller.context(exchange);
        if let Some(loaded) = asked.source.plugin() {
            self.shared.host.surround(&mut context, loaded, roots);
        }
        context.background = at_once;
        let client = RequestClient::new(self, caller, cx);
        let call = Call {
            request: exchange.request.clone(),
            work: asked.work.clone(),
            roots: roots.clone(),
            context,
            task: false,
            decisions: exchange.decided(),
            resumed: exchange.resumed(),
            client: &client,
        };
        let answered = call::call(asked.source, call).await?;
        if let (Work::Tool(_), Some(structured)) = (&asked.work, answered.structured()) {
            let principal = caller.principal.clone();
            self.shared
                .host
                .shared_state
                .keep_result(principal, asked.name, || structured.to_string());
        }
        Ok(answered)
    }
}

/// Asks a client of the era with `initialize`. Where it does not answer, that is on record.
async fn ask_now(
    exchange: &mut Exchange,
    asks: InputRequests,
    asked: &Asked<'_>,
    caller: &Caller,
    cx: &RequestContext<RoleServer>,
) -> Result<(), CallFailure> {
    let answered = Box::pin(exchange.ask_peer(asks, cx)).await;
    if answered.is_err() {
        let (request, open) = (exchange.request.clone(), exchange.unanswered());
        call::decided(asked.source, &asked.work, request, caller.principal.clone(), &open);
    }
    answered
}
