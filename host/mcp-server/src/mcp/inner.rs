//! Asks the client the questions of tools that a plugin has called, and passes the client's answers on to these calls.

use std::collections::BTreeMap;
use std::sync::Arc;

use portcullis_core::call::inner::{
    Excludes, InnerAsk, InnerCalls, InnerQuestions, InnerRound, Journal, WholeCatalog,
};
use portcullis_core::call::{CallFailure, Decision, ToolCall};
use portcullis_core::host::Host;
use rmcp::model::{InputRequests, InputResponses};
use serde_json::Value;

use super::caller::Caller;
use super::input::Exchange;
use super::journals::KeptJournal;

/// Splits the key `CALL.KEY` of a question into the number of the call and the key within the call. `None`: the
/// question does not belong to a call that a plugin made.
fn split_key(key: &str) -> Option<(u32, &str)> {
    let (call, rest) = key.split_once('.')?;
    Some((call.parse().ok()?, rest))
}

impl Exchange {
    /// Takes what the plugin's next round needs to call tools: the catalog, the journal and the answers for each
    /// call.
    pub(super) async fn take_inner(
        &mut self,
        host: &Arc<Host>,
        caller: &Caller,
        is_excluded: Excludes,
    ) -> InnerCalls {
        let (catalog, _) = host.tools().await;
        let round = |(call, exchange): (&u32, &mut Self)| {
            let context = exchange.context(caller);
            let decisions = exchange.take_decisions();
            let resumed = exchange.take_upstream_round();
            (*call, InnerRound { context, decisions, resumed })
        };
        let rounds = self.inner.iter_mut().map(round).collect();
        let journal = match std::mem::take(&mut self.journal) {
            KeptJournal::Whole(journal) => *journal,
            // Never reached: `Journals::load` has replaced the digest by the journal.
            KeptJournal::Stored(_) => Journal::default(),
        };
        let waiting = host.clone();
        let whole: WholeCatalog = Arc::new(move || {
            let host = waiting.clone();
            Box::pin(async move { host.whole_catalog().await })
        });
        let all = (!catalog.plugins.is_complete()).then_some(whole);
        InnerCalls { catalog, all, shared: host.shared_state.clone(), is_excluded, journal, rounds }
    }

    /// The questions of the tools that the plugin has called. If the client cannot answer a question, the call
    /// fails, and the plugin gets this failure in its next round.
    pub(super) fn ask_inner(&mut self, asked: InnerQuestions, caller: &Caller) -> InputRequests {
        let InnerQuestions { mut journal, asks } = asked;
        let mut requests = InputRequests::new();
        // Calls that have ended have no questions any more.
        self.inner.retain(|call, _| asks.iter().any(|(asking, _)| asking == call));
        for (call, ask) in asks {
            let before = self.inner.remove(&call);
            let mut exchange = before.unwrap_or_else(|| Self::of_call(&self.request, call));
            match exchange.ask_of_call(ask, caller) {
                Ok(questions) => {
                    let named =
                        questions.into_iter().map(|(key, one)| (format!("{call}.{key}"), one));
                    requests.extend(named);
                    self.inner.insert(call, exchange);
                }
                Err(failure) => journal.fail(call, failure.code(), failure.to_string()),
            }
        }
        self.journal = KeptJournal::Whole(Box::new(journal));
        requests
    }

    /// The questions of the call to which this exchange belongs.
    fn ask_of_call(
        &mut self,
        ask: InnerAsk,
        caller: &Caller,
    ) -> Result<InputRequests, CallFailure> {
        match ask {
            InnerAsk::Plugin(loaded, questions) => self.ask(questions, caller, &loaded),
            InnerAsk::Upstream(requests, state) => {
                self.set_upstream_state(state);
                serde_json::from_value(Value::Object(requests)).map_err(|error| {
                    let why = format!("the upstream server's question is not valid MCP: {error}");
                    CallFailure::Upstream(why)
                })
            }
        }
    }

    /// Passes the answers to questions of called tools on to their calls, and returns all other answers.
    pub(super) fn accept_inner(&mut self, responses: InputResponses) -> InputResponses {
        if self.inner.is_empty() {
            return responses;
        }
        let mut of_calls: BTreeMap<u32, InputResponses> = BTreeMap::new();
        let mut others = InputResponses::new();
        for (key, value) in responses {
            match split_key(&key).filter(|(call, _)| self.inner.contains_key(call)) {
                Some((call, rest)) => {
                    of_calls.entry(call).or_default().insert(rest.to_owned(), value);
                }
                None => drop(others.insert(key, value)),
            }
        }
        for (call, exchange) in &mut self.inner {
            exchange.resume(of_calls.remove(call).unwrap_or_default());
        }
        others
    }

    /// Takes the plugin's calls with decisions that are not recorded yet, each with its request id and these
    /// decisions. Open questions for consent count as unanswered.
    pub(super) fn take_unanswered_inner(&mut self) -> Vec<(ToolCall, String, Vec<Decision>)> {
        let KeptJournal::Whole(journal) = &self.journal else { return Vec::new() };
        let mut all = Vec::new();
        for (call, exchange) in &mut self.inner {
            let decisions = exchange.take_unanswered();
            if let Some(name) = journal.tool(*call).filter(|_| !decisions.is_empty()) {
                let call = ToolCall { name: name.to_owned(), arguments: Arc::default() };
                all.push((call, exchange.request.clone(), decisions));
            }
        }
        all
    }
}
