//! Questions of plugins, upstream servers and the host to the client, in both eras of MCP.
//!
//! A plugin ends a round with questions and is called again with the answers. A client of 2026-07-28 gets the questions
//! as the answer to its request, with a sealed state that it sends back. To an older client, the host sends each
//! question as a request.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::RoleServer;
use rmcp::model::{InputRequest, InputRequests, InputResponses};
use rmcp::service::RequestContext;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::caller::Caller;
use super::client::{self, NoAnswer};
use super::consent;
use super::journals::KeptJournal;
use super::session::ClientRoots;
use portcullis_core::bindings::types::{Action, Answer, Ask, FormAnswer, Root};
use portcullis_core::call::upstream::{MAX_ROUNDS, RoundState};
use portcullis_core::call::{CallFailure, Decision, question};
use portcullis_core::capabilities::client::PermittedQuestions;
use portcullis_core::plugins::LoadedPlugin;
use portcullis_core::sandbox::CallContext;
use portcullis_mcp_client::Object;

/// The key of the host's question for the client's roots.
pub(super) const ROOTS_KEY: &str = "portcullis.roots";

/// The kind of a question.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
enum Kind {
    Form,
    Consent,
    Visit,
    Sample,
    Roots,
}

/// The questions and answers of one call so far. A client of 2026-07-28 carries them as sealed state between rounds.
#[derive(Debug, Serialize, Deserialize)]
pub struct Exchange {
    /// The correlation id, which is the same in every round.
    pub request: String,
    rounds: usize,
    /// The questions that are not answered yet, by key.
    asked: BTreeMap<String, Kind>,
    /// The client's answers so far, by key.
    answered: BTreeMap<String, (Kind, Value)>,
    /// The texts of open questions for consent, by key.
    consents: BTreeMap<String, String>,
    /// Decisions that are not recorded yet.
    decisions: Vec<Decision>,
    /// The plugin's own state, in base64.
    state: Option<String>,
    /// The state of an upstream server's previous round.
    #[serde(default)]
    upstream: Option<RoundState>,
    /// The client's answers to an upstream server's questions.
    #[serde(skip)]
    upstream_answers: Object,
    /// Answers that came with the client's first request, before any question was asked.
    #[serde(skip)]
    early_answers: InputResponses,
    /// The calls that the plugin made in earlier rounds, if it calls tools.
    #[serde(default)]
    pub(super) journal: KeptJournal,
    /// The questions and answers of tools that the plugin has called, by the number of the call.
    #[serde(default)]
    pub(super) inner: BTreeMap<u32, Exchange>,
}

impl Default for Exchange {
    fn default() -> Self {
        Self {
            request: portcullis_core::call::request_id(),
            rounds: 0,
            asked: BTreeMap::new(),
            answered: BTreeMap::new(),
            consents: BTreeMap::new(),
            decisions: Vec::new(),
            state: None,
            upstream: None,
            upstream_answers: Object::new(),
            early_answers: InputResponses::new(),
            journal: KeptJournal::default(),
            inner: BTreeMap::new(),
        }
    }
}

impl Exchange {
    /// A new exchange with the answers that came with the client's first request.
    pub fn with_early_answers(early_answers: InputResponses) -> Self {
        Self { early_answers, ..Self::default() }
    }

    /// The exchange of a call that a plugin makes. `run`: the correlation id of the plugin's own call.
    pub(super) fn of_call(run: &str, call: u32) -> Self {
        Self { request: format!("{run}.{call}"), ..Self::default() }
    }

    /// Continues the exchange with the client's answers to the questions of the previous round.
    pub fn resume(&mut self, responses: InputResponses) {
        if self.upstream.is_some() {
            self.upstream_answers = responses.into_iter().collect();
        } else {
            self.accept(responses);
        }
    }

    /// The questions of a plugin, in MCP's types. Questions that the client answered in its first request and questions
    /// that the host answers itself are left out.
    ///
    /// # Errors
    ///
    /// The client does not support a question, the plugin asks no question or an invalid one, or there were too many
    /// rounds.
    pub fn ask(
        &mut self,
        questions: PermittedQuestions,
        caller: &Caller,
        loaded: &LoadedPlugin,
    ) -> Result<InputRequests, CallFailure> {
        let need = questions.into_need();
        self.rounds += 1;
        if self.rounds > MAX_ROUNDS {
            let why = format!("the plugin asked questions in more than {MAX_ROUNDS} rounds");
            return Err(CallFailure::PluginFailed(why));
        }
        self.set_state(need.state);
        if need.asks.is_empty() {
            let why = "the plugin needs input, and asks no question";
            return Err(CallFailure::BrokenPromise(why.into()));
        }
        let mut requests = InputRequests::new();
        for (key, ask) in need.asks {
            if let Ask::Consent(consent) = &ask {
                let question = question(&ask);
                if let Some((value, outcome)) =
                    consent::answer_without_asking(consent, caller, loaded)
                {
                    self.decisions.push(Decision { question, outcome: outcome.into() });
                    self.answered.insert(key, (Kind::Consent, value));
                    continue;
                }
                self.consents.insert(key.clone(), question);
            }
            let (kind, feature, request) = request(&ask, &loaded.plugin.name)?;
            if !caller.supports(feature) {
                return Err(CallFailure::PluginFailed(format!(
                    "the plugin needs the client feature `{feature}`, which this client does not support"
                )));
            }
            // An answer that came before the question is not consent.
            let early = self.early_answers.remove(&key).filter(|_| kind != Kind::Consent);
            match early.filter(|value| answer(kind, value).is_some()) {
                Some(value) => {
                    self.answered.insert(key, (kind, value));
                }
                None => {
                    self.asked.insert(key.clone(), kind);
                    requests.insert(key, request);
                }
            }
        }
        Ok(requests)
    }

    /// Takes the state of an upstream server's previous round, with the client's answers.
    pub fn take_upstream_round(&mut self) -> Option<(RoundState, Object)> {
        Some((self.upstream.take()?, std::mem::take(&mut self.upstream_answers)))
    }

    /// Keeps the state for an upstream server's next round.
    pub fn set_upstream_state(&mut self, state: RoundState) {
        self.upstream = Some(state);
    }

    /// The host's question for the client's roots.
    pub fn ask_roots(&mut self) -> InputRequests {
        self.asked.insert(ROOTS_KEY.into(), Kind::Roots);
        let request = serde_json::from_value(json!({"method": "roots/list"}));
        [(ROOTS_KEY.to_owned(), request.expect("this is a roots/list request"))].into()
    }

    /// Asks a legacy client one question after the other, and accepts its answers.
    ///
    /// # Errors
    ///
    /// The client does not answer in time, answers with an error, or cancels its request.
    pub async fn ask_peer(
        &mut self,
        requests: InputRequests,
        cx: &RequestContext<RoleServer>,
    ) -> Result<(), CallFailure> {
        let mut responses = InputResponses::new();
        for (key, request) in requests {
            let answer = match client::ask(&cx.peer, json!(request), cx.ct.cancelled()).await {
                Ok(answer) => answer,
                // A malformed answer counts as no answer, in both eras.
                Err(NoAnswer::Malformed) => Value::Null,
                Err(NoAnswer::Gone) => return Err(CallFailure::Cancelled),
                Err(late @ NoAnswer::TimedOut) => {
                    return Err(CallFailure::TimedOut(late.to_string()));
                }
                Err(why @ NoAnswer::Failed(_)) => {
                    return Err(CallFailure::PluginFailed(why.to_string()));
                }
            };
            responses.insert(key, answer);
        }
        self.accept(responses);
        Ok(())
    }

    /// Keeps the state for the plugin's next round.
    pub fn set_state(&mut self, state: Option<Vec<u8>>) {
        self.state = state.map(|state| STANDARD.encode(state));
    }

    /// Accepts answers to open questions. Other answers are ignored.
    pub fn accept(&mut self, responses: InputResponses) {
        let responses = self.accept_inner(responses);
        for (key, value) in responses {
            if let Some(kind) = self.asked.remove(&key) {
                if let Some(question) = self.consents.remove(&key) {
                    let outcome = match value["action"].as_str() {
                        Some("accept") => "accepted",
                        Some("decline") => "declined",
                        Some("cancel") => "cancelled",
                        _ => "unanswered",
                    };
                    self.decisions.push(Decision { question, outcome: outcome.into() });
                }
                self.answered.insert(key, (kind, value));
            }
        }
    }

    /// The client's answer to the host's question for its roots, if there is one.
    pub fn roots(&self) -> Option<ClientRoots> {
        let (_, value) = self.answered.get(ROOTS_KEY)?;
        let Some(roots) = roots(value) else {
            tracing::warn!(
                "the client declares roots, and its answer to `roots/list` is malformed"
            );
            return Some(ClientRoots::Unknown);
        };
        Some(ClientRoots::Named(roots.into_iter().map(|root| root.uri).collect()))
    }

    /// Takes the decisions that are not recorded yet. The next round of the call records them.
    pub fn take_decisions(&mut self) -> Vec<Decision> {
        std::mem::take(&mut self.decisions)
    }

    /// Like [`Self::take_decisions`]. Open questions for consent count as unanswered.
    pub fn take_unanswered(&mut self) -> Vec<Decision> {
        let open = std::mem::take(&mut self.consents).into_values();
        let open = open.map(|question| Decision { question, outcome: "unanswered".into() });
        self.decisions.extend(open);
        self.take_decisions()
    }

    /// The context of the call, which the plugin can read.
    pub fn context(&self, caller: &Caller) -> CallContext {
        CallContext {
            protocol: caller.protocol.clone(),
            principal: caller.principal.clone(),
            meta: caller.meta.clone(),
            features: caller.features(),
            answers: self.answers(),
            state: self.state(),
            ..CallContext::default()
        }
    }

    /// The answers for the plugin, without malformed ones.
    fn answers(&self) -> BTreeMap<String, Answer> {
        let own = self.answered.iter().filter(|(key, _)| *key != ROOTS_KEY);
        own.filter_map(|(key, (kind, value))| Some((key.clone(), answer(*kind, value)?))).collect()
    }

    /// The plugin's state from the previous round.
    fn state(&self) -> Option<Vec<u8>> {
        self.state.as_ref().and_then(|state| STANDARD.decode(state).ok())
    }
}

/// Converts a question to MCP's types. Also returns the kind of the question and the client feature that it needs.
fn request(ask: &Ask, plugin: &str) -> Result<(Kind, &'static str, InputRequest), CallFailure> {
    let parse = |text: &str| -> Result<Value, CallFailure> {
        serde_json::from_str(text).map_err(|error| {
            CallFailure::BrokenPromise(format!("the plugin's question is not JSON: {error}"))
        })
    };
    let (kind, feature, request) = match ask {
        Ask::Form(form) => {
            let params = json!({
                "mode": "form", "message": form.message, "requestedSchema": parse(&form.schema)?,
            });
            let request = json!({"method": "elicitation/create", "params": params});
            (Kind::Form, "elicitation.form", request)
        }
        Ask::Visit(visit) => {
            let params = json!({
                "mode": "url", "message": visit.message, "url": visit.url,
                "elicitationId": portcullis_core::call::request_id(),
            });
            let request = json!({"method": "elicitation/create", "params": params});
            (Kind::Visit, "elicitation.url", request)
        }
        Ask::Consent(consent) => {
            let params = consent::form(consent, plugin);
            let request = json!({"method": "elicitation/create", "params": params});
            (Kind::Consent, "elicitation.form", request)
        }
        Ask::Sample(text) => {
            let request = json!({"method": "sampling/createMessage", "params": parse(text)?});
            (Kind::Sample, "sampling", request)
        }
        Ask::Roots => (Kind::Roots, "roots", json!({"method": "roots/list"})),
        Ask::Other(_) => {
            return Err(CallFailure::BrokenPromise(
                "the plugin asks a question that this host does not support".into(),
            ));
        }
    };
    let request = serde_json::from_value(request).map_err(|error| {
        CallFailure::BrokenPromise(format!("the plugin's question is not valid MCP: {error}"))
    })?;
    Ok((kind, feature, request))
}

fn answer(kind: Kind, value: &Value) -> Option<Answer> {
    let action = || match value["action"].as_str() {
        Some("accept") => Some(Action::Accept),
        Some("decline") => Some(Action::Decline),
        Some("cancel") => Some(Action::Cancel),
        _ => None,
    };
    Some(match kind {
        Kind::Form => {
            let content = value.get("content").filter(|content| content.is_object());
            let action = action()?;
            if action == Action::Accept && content.is_none() {
                return None;
            }
            Answer::Form(FormAnswer { action, content: content.map(Value::to_string) })
        }
        Kind::Visit => Answer::Visit(action()?),
        Kind::Consent => Answer::Consent(action()?),
        Kind::Sample => Answer::Sample(value.is_object().then(|| value.to_string())?),
        Kind::Roots => Answer::Roots(roots(value)?),
    })
}

/// The roots in a result of `roots/list`. `None`: the result is malformed.
fn roots(value: &Value) -> Option<Vec<Root>> {
    let text = |root: &Value, key: &str| root[key].as_str().map(str::to_owned);
    let all = value["roots"].as_array()?.iter();
    all.map(|root| Some(Root { uri: text(root, "uri")?, name: text(root, "name") })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_without_a_question_are_ignored() {
        let mut exchange = Exchange::default();
        exchange.asked.insert("name".into(), Kind::Form);
        exchange.accept(
            [
                ("name".to_owned(), json!({"action": "accept", "content": {"name": "a"}})),
                ("else".to_owned(), json!({"action": "accept", "content": {}})),
            ]
            .into(),
        );
        let answers = exchange.answers();
        assert_eq!(answers.len(), 1);
        assert!(matches!(&answers["name"], Answer::Form(form) if form.action == Action::Accept));
    }

    #[test]
    fn roots_in_a_malformed_answer_are_unknown() {
        let answered = |value: Value| {
            let mut exchange = Exchange::default();
            assert_eq!(exchange.roots(), None);
            exchange.ask_roots();
            exchange.accept([(ROOTS_KEY.to_owned(), value)].into());
            exchange.roots()
        };
        for malformed in [
            json!(null),
            json!({}),
            json!({"roots": null}),
            json!({"roots": {"uri": "file:///a"}}),
            json!({"roots": ["file:///a"]}),
            json!({"roots": [{"uri": "file:///a"}, {"name": "b"}]}),
            json!([{"uri": "file:///a"}]),
        ] {
            assert!(answer(Kind::Roots, &malformed).is_none(), "{malformed}");
            assert_eq!(answered(malformed), Some(ClientRoots::Unknown));
        }
        let named = |uris: &[&str]| {
            let uris = uris.iter().map(|&uri| uri.to_owned());
            Some(ClientRoots::Named(uris.collect()))
        };
        assert_eq!(answered(json!({"roots": []})), named(&[]));
        let one = json!({"roots": [{"uri": "file:///a", "name": 7, "x": 1}]});
        assert_eq!(answered(one), named(&["file:///a"]));
    }

    #[test]
    fn a_malformed_answer_counts_as_no_answer() {
        for value in [json!(null), json!(1), json!({"action": "accept"}), json!({"action": "x"})] {
            assert!(answer(Kind::Form, &value).is_none(), "{value}");
        }
    }
}
