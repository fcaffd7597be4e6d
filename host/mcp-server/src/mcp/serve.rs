//! One request for a plugin, over all its rounds: what it needs to know is asked of the client, and
//! what takes long becomes a task.

use std::sync::Arc;

use portcullis_roots::Roots;
use rmcp::RoleServer;
use rmcp::model::{
    CreateTaskResult, InputRequests, InputRequiredResult, InputResponses, JsonObject,
};
use rmcp::service::RequestContext;
use tokio_util::sync::CancellationToken;

use super::input::{Binding, Exchange};
use super::session::{self, Caller};
use super::{Server, tasks};
use portcullis_core::call::{Answer, Call, Failure, What};
use portcullis_core::plugins::Loaded;

/// A request, and whose it is.
pub struct Asked<'a> {
    /// The plugin it is for.
    pub loaded: &'a Arc<Loaded>,
    /// What is asked of it.
    pub what: What,
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
    /// An answer.
    Answer(Answer),
    /// Questions.
    Questions(InputRequiredResult),
    /// Something to ask for later.
    Task(CreateTaskResult),
}

/// Why it gets none of these.
pub enum Refused {
    /// What it sends as the state of an earlier round is none.
    State(&'static str),
    /// The call failed.
    Failed(Failure),
    /// The host did: what to write to its log.
    Host(String),
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl Server {
    async fn roots(
        &self,
        wanted: bool,
        caller: &Caller,
        cx: &RequestContext<RoleServer>,
        exchange: &Exchange,
    ) -> Option<Roots> {
        if !wanted {
            return Some(self.host.roots.none());
        }
        Box::pin(self.session.roots(&self.host.roots, caller, cx, exchange)).await
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "whatever is no question is the answer")]
    pub(super) async fn serve(
        &self,
        asked: Asked<'_>,
        cx: &RequestContext<RoleServer>,
    ) -> Result<Served, Refused> {
        let loaded = asked.loaded;
        // A plugin may look at them.
        self.host.tools().await;
        let caller = Caller::of(cx);
        let binding = Binding {
            plugin: &loaded.plugin.digest,
            name: asked.name,
            principal: caller.principal.as_deref(),
            arguments: asked.arguments,
        };
        let seal = &self.host.seal;
        let mut exchange =
            seal.open(&binding, asked.state, asked.responses).map_err(Refused::State)?;
        let wants_roots = asked.paths || loaded.wants_roots();
        let roots = match self.roots(wants_roots, &caller, cx, &exchange).await {
            Some(roots) => roots,
            // Neither lists nor completions can ask.
            None if !asked.what.may_ask() => {
                self.session.roots_without_asking(&self.host.roots, true)
            }
            None => {
                let asks = exchange.ask_roots();
                let questions = seal.ask(&binding, &exchange, asks);
                return questions.map(Served::Questions).map_err(Refused::Host);
            }
        };
        // Whether it said that it takes long, to a client that knows no tasks.
        let mut at_once = false;
        loop {
            let (mut context, least) = caller.context(&self.session, &exchange);
            self.host.surround(&mut context, loaded, &roots);
            context.background = at_once;
            let call = Call {
                request: exchange.request.clone(),
                what: asked.what.clone(),
                roots: roots.clone(),
                context,
                task: false,
                cancel: CancellationToken::new(),
                decisions: exchange.decided(),
            };
            match session::run(loaded, call, least, &self.host.shutdown, &caller, cx).await? {
                Answer::NeedInput(need) => {
                    let asks = exchange.ask(need, &caller, loaded)?;
                    if caller.modern && !asks.is_empty() {
                        let questions = seal.ask(&binding, &exchange, asks);
                        return questions.map(Served::Questions).map_err(Refused::Host);
                    }
                    ask_now(&mut exchange, asks, (loaded, &asked.what), &caller, cx).await?;
                }
                Answer::Background(_) if at_once => {
                    let why = "it puts off what it has to do at once";
                    return Err(Failure::BrokenPromise(why.into()).into());
                }
                Answer::Background(state) => {
                    exchange.keep(state);
                    if caller.supports(tasks::FEATURE) {
                        let (loaded, what) = (loaded.clone(), asked.what);
                        let task = tasks::Work { loaded, what, roots, caller, exchange };
                        return Ok(Served::Task(task.begin(self)?));
                    }
                    at_once = true;
                }
                answer => return Ok(Served::Answer(answer)),
            }
        }
    }
}

/// Asks a client of the era with `initialize`. Where it does not answer, that is on record.
async fn ask_now(
    exchange: &mut Exchange,
    asks: InputRequests,
    (loaded, what): (&Loaded, &What),
    caller: &Caller,
    cx: &RequestContext<RoleServer>,
) -> Result<(), Failure> {
    let answered = Box::pin(exchange.ask_peer(asks, cx)).await;
    if answered.is_err() {
        let (request, open) = (exchange.request.clone(), exchange.unanswered());
        portcullis_core::call::decided(loaded, what, request, caller.principal.clone(), &open);
    }
    answered
}
