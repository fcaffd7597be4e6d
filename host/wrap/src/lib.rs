//! Other MCP servers as sources of tools, prompts and resources; and requests of MCP clients, seen through
//! there: what a server reports reaches the client, what it asks is asked, in whichever era each lives.
//!
//! An upstream up to 2025-11-25 asks while a request is on its way; a client of 2026-07-28 is asked in an
//! answer, and comes back with another request. In between, the request on its way is [parked](Wrap).

#![expect(deprecated, reason = "roots, sampling and logging are in both eras until 2027")]

mod client;
mod config;
mod lock;
mod parked;
mod sources;
pub mod views;

use std::time::Duration;

use portcullis_mcp_client::{
    AskKey, Event, Fault, InFlight, Object, Outcome, Request, RpcError, Upstream,
};
use rmcp::model::{LoggingMessageNotificationParam, ProgressNotificationParam};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub use client::{Caller, LEVELS, NoAnswer, ask, features, level_name, rank};
pub use config::Config;
pub use lock::{Claim, Held, Lock, LockError};
use parked::{Parked, Waiting};
pub use sources::{Heard, Offered, Source, Summary, Upstreams};

/// Rounds of questions in one request.
pub const ROUNDS: usize = 10;

/// How long an answer may take: a person may be asked.
pub const ANSWER_TIME: Duration = Duration::from_secs(15 * 60);

/// By which key a client of 2026-07-28 is asked what an older upstream asks.
const KEY: &str = "upstream";

/// What a client of 2026-07-28 sends back with its answers. To be sealed, as the client could change it.
#[derive(Debug, Serialize, Deserialize)]
pub struct State {
    rounds: usize,
    then: Then,
}

#[derive(Debug, Serialize, Deserialize)]
enum Then {
    /// The request is made again, with this state of the upstream.
    Again(Option<String>),
    /// The request that is parked under this name goes on.
    Parked(String),
}

/// What became of a request.
#[derive(Debug)]
pub enum Answer {
    /// The result, as it came, but for what one of the eras lacks.
    Result(Value),
    /// Questions, by their keys, for a client of 2026-07-28.
    Questions {
        /// As the upstream asks them.
        requests: Object,
        /// What has to come back with the answers.
        state: State,
    },
    /// The upstream's error.
    Error(RpcError),
    /// There is no answer.
    Fault(Fault),
    /// The client gave up, or its answers came too late.
    Given(&'static str),
}

/// The requests that wait for an answer of a client.
#[derive(Default)]
pub struct Wrap(Parked);

impl Wrap {
    /// Sees a request through. `before` is what the client sent back: its state, opened, and its answers.
    pub async fn serve(
        &self,
        upstream: &Upstream,
        request: Request,
        before: Option<(State, Object)>,
        caller: &Caller<'_>,
    ) -> Answer {
        let mut rounds = 0;
        let mut flight = match before {
            None => upstream.request(request.clone()),
            Some((state, answers)) => {
                rounds = state.rounds;
                match state.then {
                    Then::Again(state) => {
                        upstream.request(request.clone().with_input(answers, state))
                    }
                    Then::Parked(name) => match self.resume(&name, answers).await {
                        Ok(flight) => flight,
                        Err(answer) => return answer,
                    },
                }
            }
        };
        loop {
            let event = tokio::select! {
                event = flight.next() => event,
                () = caller.given_up() => return Answer::Given("the client gave up"),
            };
            match event {
                None => return Answer::Given("it has ended"),
                Some(Event::Done(Err(fault))) => return Answer::Fault(fault),
                Some(Event::Done(Ok(Outcome::Error(error)))) => return Answer::Error(error),
                Some(Event::Done(Ok(Outcome::Complete(result)))) => {
                    return Answer::Result(fitting(result, &request.method, caller.modern));
                }
                Some(Event::Done(Ok(Outcome::NeedInput { requests, state }))) => {
                    rounds += 1;
                    if rounds > ROUNDS {
                        return Answer::Given("the upstream asked too often");
                    }
                    if caller.modern {
                        let state = State { rounds, then: Then::Again(state) };
                        return Answer::Questions { requests, state };
                    }
                    let answers = match caller.ask_all(requests).await {
                        Ok(answers) => answers,
                        Err(error) => return Answer::Error(error),
                    };
                    flight = upstream.request(request.clone().with_input(answers, state));
                }
                Some(Event::Ask { key, method, params }) => {
                    rounds += 1;
                    if rounds > ROUNDS {
                        return Answer::Given("the upstream asked too often");
                    }
                    if caller.modern && caller.is_asked(&method) {
                        return self.park(flight, key, &method, params, rounds);
                    }
                    let answer = caller.ask(&method, params).await;
                    if let Err(fault) = flight.answer(key, answer).await {
                        return Answer::Fault(fault);
                    }
                }
                Some(event) => tell(event, caller).await,
            }
        }
    }

    fn park(
        &self,
        flight: InFlight,
        key: AskKey,
        method: &str,
        params: Object,
        rounds: usize,
    ) -> Answer {
        let Some(name) = self.0.park(Waiting { flight, key }) else {
            return Answer::Given("too many requests wait for answers of clients");
        };
        let mut requests = Object::new();
        requests.insert(KEY.to_owned(), json!({ "method": method, "params": params }));
        Answer::Questions { requests, state: State { rounds, then: Then::Parked(name) } }
    }

    async fn resume(&self, name: &str, mut answers: Object) -> Result<InFlight, Answer> {
        let Some(Waiting { mut flight, key }) = self.0.take(name) else {
            return Err(Answer::Given("the request that this answers has ended in the meantime"));
        };
        let answer = answers
            .remove(KEY)
            .ok_or_else(|| RpcError::new(RpcError::INTERNAL, "the client did not answer"));
        match flight.answer(key, answer).await {
            Ok(()) => Ok(flight),
            Err(fault) => Err(Answer::Fault(fault)),
        }
    }
}

/// What a client is told of a request on its way, where it wants to be told.
async fn tell(event: Event, caller: &Caller<'_>) {
    let told = match event {
        Event::Progress(params) => {
            let Ok(params) = serde_json::from_value::<ProgressNotificationParam>(params.into())
            else {
                return;
            };
            caller.peer().notify_progress(params).await
        }
        Event::Log(params) => {
            let Ok(params) =
                serde_json::from_value::<LoggingMessageNotificationParam>(params.into())
            else {
                return;
            };
            if !caller.wants_log(params.level) {
                return;
            }
            caller.peer().notify_logging_message(params).await
        }
        Event::Updated(_)
        | Event::Other { .. }
        | Event::Withdrawn(_)
        | Event::Ask { .. }
        | Event::Done(_) => return,
    };
    if let Err(error) = told {
        tracing::debug!("a notice of an upstream did not reach the client: {error}");
    }
}

/// What only one of the eras has is added or left out; everything else stays.
fn fitting(mut result: Value, method: &str, modern: bool) -> Value {
    if let Some(result) = result.as_object_mut() {
        if !modern {
            for key in ["resultType", "ttlMs", "cacheScope"] {
                result.remove(key);
            }
            return Value::Object(std::mem::take(result));
        }
        result.entry("resultType").or_insert("complete".into());
        if method == "resources/read" {
            result.entry("ttlMs").or_insert(0.into());
            result.entry("cacheScope").or_insert("private".into());
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_fits_the_era_of_its_client_and_keeps_everything_else() {
        let old = json!({ "contents": [], "vendor": { "a": 1 } });
        let new = fitting(old.clone(), "resources/read", true);
        let expected = json!({
            "contents": [], "vendor": { "a": 1 },
            "resultType": "complete", "ttlMs": 0, "cacheScope": "private",
        });
        assert_eq!(new, expected);
        let said = json!({ "resultType": "complete", "ttlMs": 7, "cacheScope": "public" });
        assert_eq!(fitting(said.clone(), "resources/read", true), said);
        assert_eq!(
            fitting(json!({ "resultType": "complete", "content": [] }), "tools/call", false),
            json!({ "content": [] })
        );
    }
}
