//! Questions of plugins, upstream servers and the host to the client, in both eras of MCP.
//!
//! A plugin says what it needs and is called again with the answers. For clients of 2026-07-28 the
//! questions travel in the answer, together with a sealed state that the client sends back; older
//! clients are asked by the host itself.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::RoleServer;
use rmcp::model::{
    InputRequest, InputRequests, InputRequiredResult, InputResponses, JsonObject,
    RequestStateCodec, SealOptions,
};
use rmcp::service::RequestContext;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::client::{self, NoAnswer};
use super::consent;
use super::session::Caller;
use portcullis_checked_files::digest;
use portcullis_core::bindings::types::{Action, Answer, Ask, FormAnswer, Root};
use portcullis_core::call::upstream::{ROUNDS, RoundState};
use portcullis_core::call::{CallFailure, Decision, question};
use portcullis_core::capabilities::client::PermittedQuestions;
use portcullis_core::plugins::Loaded;
use portcullis_core::upstreams::ANSWER_TIME;
use portcullis_mcp_client::Object;

/// The host's own question, for the client's roots.
const ROOTS: &str = "portcullis.roots";

/// What kind of question a key stands for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
enum Kind {
    Form,
    Consent,
    Visit,
    Sample,
    Roots,
}

/// The questions and answers of one call so far. This is what is sealed.
#[derive(Debug, Serialize, Deserialize)]
pub struct Exchange {
    /// The correlation id: the same in every round.
    pub request: String,
    rounds: usize,
    /// What has been asked and not yet answered.
    asked: BTreeMap<String, Kind>,
    /// Every earlier answer, as the client gave it.
    answered: BTreeMap<String, (Kind, Value)>,
    /// What the questions for consent are about, by their keys.
    deeds: BTreeMap<String, String>,
    /// What was decided of them, and is not on record yet.
    decided: Vec<Decision>,
    /// The plugin's own state, in base64.
    state: Option<String>,
    /// What an upstream server's round left.
    #[serde(default)]
    upstream: Option<RoundState>,
    /// The client's answers to what an upstream server asked.
    #[serde(skip)]
    passed: Object,
    /// Answers that came with a first request, before anything was asked.
    #[serde(skip)]
    offered: InputResponses,
}

/// What a sealed state belongs to: it is valid only for the same source, name, caller and arguments, and for
/// [`ANSWER_TIME`].
pub struct Binding<'a> {
    /// The source that is asked: see [`Source::identity`](portcullis_core::source::Source::identity).
    pub source: &'a str,
    /// What is asked of it: a tool, a prompt, a resource.
    pub name: &'a str,
    /// Who called it.
    pub principal: Option<&'a str>,
    /// With which arguments.
    pub arguments: &'a JsonObject,
}

impl Binding<'_> {
    fn bytes(&self) -> Vec<u8> {
        let Self { source, name, principal, arguments } = self;
        let arguments = serde_json::to_string(&sorted(arguments)).unwrap_or_default();
        json!([source, name, principal, digest(arguments.as_bytes())]).to_string().into_bytes()
    }
}

/// The members of objects in a fixed order, except for objects within arrays: their order does not count.
fn sorted(object: &JsonObject) -> BTreeMap<&String, Value> {
    object
        .iter()
        .map(|(key, value)| match value.as_object() {
            Some(inner) => (key, json!(sorted(inner))),
            None => (key, value.clone()),
        })
        .collect()
}

/// Seals exchanges with a key that this process made and keeps for itself.
pub struct Seal(RequestStateCodec);

impl Seal {
    /// A new key.
    pub fn new() -> Self {
        let mut key = [0; 32];
        getrandom::fill(&mut key).expect("the system has randomness");
        Self(RequestStateCodec::try_new(key).expect("the key is long enough"))
    }

    /// The exchange that a client sends back, with its answers; or a new one.
    ///
    /// # Errors
    ///
    /// Where the state is not one of ours, not of this call, or too old.
    pub fn open(
        &self,
        binding: &Binding<'_>,
        sealed: Option<&str>,
        responses: Option<InputResponses>,
    ) -> Result<Exchange, &'static str> {
        let Some(sealed) = sealed else {
            return Ok(Exchange { offered: responses.unwrap_or_default(), ..Exchange::default() });
        };
        let mut exchange: Exchange = self.unseal(binding, sealed)?;
        let responses = responses.unwrap_or_default();
        if exchange.upstream.is_some() {
            exchange.passed = responses.into_iter().collect();
        } else {
            exchange.take(responses);
        }
        Ok(exchange)
    }

    /// The answer that asks the client.
    ///
    /// # Errors
    ///
    /// Where the exchange cannot be sealed: a fault of the host.
    pub fn ask(
        &self,
        binding: &Binding<'_>,
        exchange: &Exchange,
        asks: InputRequests,
    ) -> Result<InputRequiredResult, String> {
        Ok(InputRequiredResult::new(Some(asks), Some(self.seal(binding, exchange)?)))
    }

    /// The answer that asks the client what an upstream server asks, in the server's own words.
    ///
    /// # Errors
    ///
    /// Where the exchange cannot be sealed: a fault of the host.
    pub fn pass_on(
        &self,
        binding: &Binding<'_>,
        exchange: &Exchange,
        requests: Object,
    ) -> Result<Value, String> {
        Ok(json!({
            "resultType": "input_required",
            "inputRequests": requests,
            "requestState": self.seal(binding, exchange)?,
        }))
    }

    /// Seals a state, for this request alone.
    ///
    /// # Errors
    ///
    /// Where it cannot be sealed: a fault of the host.
    pub fn seal<T: Serialize>(&self, binding: &Binding<'_>, state: &T) -> Result<String, String> {
        let bytes = binding.bytes();
        let options = SealOptions::new().associated_data(&bytes).ttl(ANSWER_TIME);
        let sealed = self.0.seal_json_with(state, &options);
        sealed.map_err(|error| format!("sealing a request's state: {error}"))
    }

    /// Opens a state that was sealed for this request.
    ///
    /// # Errors
    ///
    /// Where it is not one of ours, not of this request, or too old.
    pub fn unseal<T: serde::de::DeserializeOwned>(
        &self,
        binding: &Binding<'_>,
        sealed: &str,
    ) -> Result<T, &'static str> {
        self.0
            .open_json_with(sealed, &binding.bytes())
            .map_err(|_| "requestState is not what this server gave out for this call")
    }
}

impl Default for Exchange {
    fn default() -> Self {
        Self {
            request: portcullis_core::call::request_id(),
            rounds: 0,
            asked: BTreeMap::new(),
            answered: BTreeMap::new(),
            deeds: BTreeMap::new(),
            decided: Vec::new(),
            state: None,
            upstream: None,
            passed: Object::new(),
            offered: InputResponses::new(),
        }
    }
}

impl Exchange {
    /// The questions of a plugin, as the client is asked. They are empty if the client has answered all of them
    /// already.
    ///
    /// # Errors
    ///
    /// If the client lacks the feature, if the plugin asks no question or an invalid one, or after too many rounds.
    pub fn ask(
        &mut self,
        questions: PermittedQuestions,
        caller: &Caller,
        loaded: &Loaded,
    ) -> Result<InputRequests, CallFailure> {
        let need = questions.into_need();
        self.rounds += 1;
        if self.rounds > ROUNDS {
            return Err(CallFailure::PluginFailed(format!("it asked over {ROUNDS} times")));
        }
        self.keep(need.state);
        if need.asks.is_empty() {
            return Err(CallFailure::BrokenPromise("it needs input and asks nothing".into()));
        }
        let mut requests = InputRequests::new();
        for (key, ask) in need.asks {
            if let Ask::Consent(consent) = &ask {
                let question = question(&ask);
                if let Some((value, outcome)) = consent::beforehand(consent, caller, loaded) {
                    self.decided.push(Decision { question, outcome: outcome.into() });
                    self.answered.insert(key, (Kind::Consent, value));
                    continue;
                }
                self.deeds.insert(key.clone(), question);
            }
            let (kind, feature, request) = request(&ask, &loaded.plugin.name)?;
            if !caller.supports(feature) {
                return Err(CallFailure::PluginFailed(format!(
                    "it has to ask the client for `{feature}`, in which this client takes no part"
                )));
            }
            // Nobody agrees to what was not shown yet.
            let offered = self.offered.remove(&key).filter(|_| kind != Kind::Consent);
            match offered.filter(|value| answer(kind, value).is_some()) {
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

    /// What an upstream server's round left, with the client's answers.
    pub fn resumed(&mut self) -> Option<(RoundState, Object)> {
        Some((self.upstream.take()?, std::mem::take(&mut self.passed)))
    }

    /// Keeps what an upstream server's next round needs.
    pub fn park(&mut self, state: RoundState) {
        self.upstream = Some(state);
    }

    /// The host's own question.
    pub fn ask_roots(&mut self) -> InputRequests {
        self.asked.insert(ROOTS.into(), Kind::Roots);
        let request = serde_json::from_value(json!({"method": "roots/list"}));
        [(ROOTS.to_owned(), request.expect("this is a roots/list request"))].into()
    }

    /// Asks a client of the era with `initialize`.
    ///
    /// # Errors
    ///
    /// Where the client does not answer.
    pub async fn ask_peer(
        &mut self,
        requests: InputRequests,
        cx: &RequestContext<RoleServer>,
    ) -> Result<(), CallFailure> {
        let mut responses = InputResponses::new();
        for (key, request) in requests {
            let answer = match client::ask(&cx.peer, request, cx.ct.cancelled()).await {
                Ok(answer) => answer,
                // An answer of no form counts as not given, in both eras.
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
        self.take(responses);
        Ok(())
    }

    /// Keeps the state for the plugin's next round.
    pub fn keep(&mut self, state: Option<Vec<u8>>) {
        self.state = state.map(|state| STANDARD.encode(state));
    }

    /// Keeps the answers to what was asked; what was not asked is nobody's answer.
    pub fn take(&mut self, responses: InputResponses) {
        for (key, value) in responses {
            if let Some(kind) = self.asked.remove(&key) {
                if let Some(question) = self.deeds.remove(&key) {
                    let outcome = match value["action"].as_str() {
                        Some("accept") => "accepted",
                        Some("decline") => "declined",
                        Some("cancel") => "cancelled",
                        _ => "unanswered",
                    };
                    self.decided.push(Decision { question, outcome: outcome.into() });
                }
                self.answered.insert(key, (kind, value));
            }
        }
    }

    /// The client's roots, if the host asked for them.
    pub fn roots(&self) -> Option<Vec<String>> {
        let (_, value) = self.answered.get(ROOTS)?;
        Some(roots(value).into_iter().map(|root| root.uri).collect())
    }

    /// What users decided and is not on record yet: the next call of the plugin records it.
    pub fn decided(&mut self) -> Vec<Decision> {
        std::mem::take(&mut self.decided)
    }

    /// As [`Self::decided`], where nobody answers any more.
    pub fn unanswered(&mut self) -> Vec<Decision> {
        let open = std::mem::take(&mut self.deeds).into_values();
        let open = open.map(|question| Decision { question, outcome: "unanswered".into() });
        self.decided.extend(open);
        self.decided()
    }

    /// The answers for the plugin. One that is not of its form counts as not given.
    pub fn answers(&self) -> BTreeMap<String, Answer> {
        let own = self.answered.iter().filter(|(key, _)| *key != ROOTS);
        own.filter_map(|(key, (kind, value))| Some((key.clone(), answer(*kind, value)?))).collect()
    }

    /// The plugin's state of the round before.
    pub fn state(&self) -> Option<Vec<u8>> {
        self.state.as_ref().and_then(|state| STANDARD.decode(state).ok())
    }
}

/// A question as MCP puts it, and the feature of the client that it needs.
fn request(ask: &Ask, plugin: &str) -> Result<(Kind, &'static str, InputRequest), CallFailure> {
    let parse = |text: &str| -> Result<Value, CallFailure> {
        serde_json::from_str(text).map_err(|error| {
            CallFailure::BrokenPromise(format!("its question is no JSON: {error}"))
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
            return Err(CallFailure::BrokenPromise("it asks what this host cannot ask".into()));
        }
    };
    let request = serde_json::from_value(request).map_err(|error| {
        CallFailure::BrokenPromise(format!("its question is not as MCP wants it: {error}"))
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
        Kind::Roots => Answer::Roots(roots(value)),
    })
}

fn roots(value: &Value) -> Vec<Root> {
    let text = |root: &Value, key: &str| root[key].as_str().map(str::to_owned);
    let all = value["roots"].as_array().into_iter().flatten();
    all.filter_map(|root| Some(Root { uri: text(root, "uri")?, name: text(root, "name") }))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(text: &str) -> JsonObject {
        serde_json::from_str(text).unwrap()
    }

    fn binding(arguments: &JsonObject) -> Binding<'_> {
        Binding { source: "p", name: "t", principal: None, arguments }
    }

    #[test]
    fn a_state_is_good_for_its_own_call_alone() {
        let seal = Seal::new();
        let (one, two) = (arguments(r#"{"a":1,"b":2}"#), arguments(r#"{"a":2}"#));
        let mut exchange = Exchange::default();
        let asks = exchange.ask_roots();
        let state = seal.ask(&binding(&one), &exchange, asks).unwrap().request_state.unwrap();
        let responses: InputResponses =
            [(ROOTS.to_owned(), json!({"roots": [{"uri": "file:///a"}]}))].into();
        let reordered = arguments(r#"{"b":2,"a":1}"#);
        let opened = seal.open(&binding(&reordered), Some(&state), Some(responses)).unwrap();
        assert_eq!(opened.roots().unwrap(), ["file:///a"]);
        assert!(seal.open(&binding(&two), Some(&state), None).is_err(), "other arguments");
        let other = Binding { name: "u", ..binding(&one) };
        assert!(seal.open(&other, Some(&state), None).is_err(), "another tool");
        let other = Binding { principal: Some("x"), ..binding(&one) };
        assert!(seal.open(&other, Some(&state), None).is_err(), "another caller");
        assert!(seal.open(&binding(&one), Some(&format!("{state}x")), None).is_err(), "tampered");
        assert!(Seal::new().open(&binding(&one), Some(&state), None).is_err(), "another process");
    }

    #[test]
    fn answers_to_what_was_not_asked_do_not_count() {
        let mut exchange = Exchange::default();
        exchange.asked.insert("name".into(), Kind::Form);
        exchange.take(
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
    fn an_answer_that_is_not_of_its_form_counts_as_not_given() {
        for value in [json!(null), json!(1), json!({"action": "accept"}), json!({"action": "x"})] {
            assert!(answer(Kind::Form, &value).is_none(), "{value}");
        }
    }
}
