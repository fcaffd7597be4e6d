//! Calls of upstream servers. The client's request goes to the server, and the server's result goes to the client. The
//! host adapts names, arguments (by the operator's policy and the tool's defaults), URIs that another source owns, fields
//! that only one of MCP's eras has, and errors.
//!
//! A server of 2025-11-25 or earlier sends its question while our request is still open. A client of 2026-07-28 gets
//! the question as a result, and answers in a new request. The open request to the server is parked until then.

mod defaults;
mod resource_uris;

use std::time::Duration;

use portcullis_mcp_client::{
    Event, InFlight, Object, QuestionKey, RequestOutcome, RpcError, Upstream, UpstreamRequest,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::client::{Client, Notification};
use super::{
    Call, CallFailure, ProtocolError, SourceAnswer, ToolCall, Work, check_arguments, consent,
    unknown_tool,
};
use crate::bindings::Subject;
use crate::sandbox::CallNotification;
use crate::upstreams::UpstreamOffer;
use crate::upstreams::parked::ParkedRequest;
use defaults::with_defaults;

/// Maximum number of rounds of questions in one call.
pub const MAX_ROUNDS: usize = 10;

/// Maximum size of the arguments in bytes. Plugins have the limit `argument-bytes` instead.
pub(super) const MAX_ARGUMENTS: u64 = 4 * 1024 * 1024;

/// How often a client is told that a server is still being started.
const REPORT_EVERY: Duration = Duration::from_secs(5);

/// MCP's error code for an unknown resource, up to 2025-11-25.
const NOT_FOUND: i32 = -32002;

/// JSON-RPC's error code for invalid parameters, which 2026-07-28 also uses for an unknown resource.
const INVALID_PARAMS: i32 = -32602;

/// The key of a question that a server up to 2025-11-25 asks and a client of 2026-07-28 answers.
const KEY: &str = "upstream";

/// The state between two rounds, which a client of 2026-07-28 sends back with its answers. The state must be sealed
/// before it is sent, so that the client cannot change it.
#[derive(Debug, Serialize, Deserialize)]
pub struct RoundState {
    rounds: usize,
    next: Continuation,
}

/// How the request continues with the client's answers.
#[derive(Debug, Serialize, Deserialize)]
enum Continuation {
    /// The request is sent again, with the answers and this state of the server.
    Repeat(Option<String>),
    /// The parked request of this name gets the answers.
    Resume(String),
    /// The request is sent for the first time, if the user agreed.
    Consent,
}

/// The digest of the tool's definition, for the audit. Empty for other work, and for a tool that is not offered.
pub(super) fn digest_of<'a>(offered: &'a UpstreamOffer, work: &Work) -> &'a str {
    match work {
        Work::Tool(call) => tool_of(offered, call).map_or("", |tool| &tool.digest),
        Work::Resources(_)
        | Work::Resource(_)
        | Work::Version(_)
        | Work::Prompt { .. }
        | Work::Completion { .. }
        | Work::Views
        | Work::Job(_) => "",
    }
}

/// The tool of a call. `None`: the tool is not offered.
fn tool_of<'a>(
    offered: &'a UpstreamOffer,
    call: &ToolCall,
) -> Option<&'a portcullis_mcp_client::UpstreamTool> {
    let (at, _) = offered.tools().find(|(_, tool)| tool.name == call.name)?;
    offered.listing.tools.get(at)
}

/// Whether the operator wants the user to agree to a call.
fn wants_consent(offered: &UpstreamOffer, call: &ToolCall) -> bool {
    let policy = tool_of(offered, call).and_then(|tool| offered.source.policies.of(tool));
    policy.is_some_and(crate::upstreams::policy::ToolPolicy::wants_consent)
}

/// Serves a call of an upstream server.
pub(super) async fn serve(
    offered: &UpstreamOffer,
    call: Call<'_>,
) -> Result<SourceAnswer, CallFailure> {
    let server = &offered.source;
    let forwarded = call.client.forwarded();
    let upstream = server.connection_of(forwarded.owner.as_ref());
    let upstream = upstream.map_err(|error| CallFailure::Busy(error.to_string()))?;
    Box::pin(check_unchanged(offered, &upstream, &call)).await?;
    let (method, mut params) = request_of(offered, &call.work)?;
    params.extend(forwarded.meta.map(|meta| ("_meta".to_owned(), meta.into())));
    let mut request = UpstreamRequest::new(method, params, &forwarded.session);
    request.capabilities = forwarded.capabilities;
    request.log_level = forwarded.log_level.map(str::to_owned);
    let mut consent = None;
    if let Work::Tool(tool) = &call.work
        && wants_consent(offered, tool)
    {
        consent = Some(consent::question(&tool.name, &server.name, &request.params));
    }
    let method = request.method.clone();
    let rounds = Rounds { offered, upstream, request, consent, client: call.client };
    // Boxed because this future is large: unboxed, it would enlarge the future of every call.
    let served = Box::pin(rounds.serve(call.resumed)).await;
    if let Work::Tool(tool) = &call.work
        && tool_of(offered, tool).is_none()
    {
        return unknown_tool::answer(&tool.name, served);
    }
    match served {
        Ok(SourceAnswer::Upstream(mut result)) => {
            resource_uris::show(offered, &method, &mut result);
            Ok(SourceAnswer::Upstream(result))
        }
        Err(CallFailure::Protocol(error)) => {
            let Work::Resource(uri) = &call.work else { return Err(CallFailure::Protocol(error)) };
            Err(CallFailure::Protocol(as_not_found(error, &offered.own_uri(uri))))
        }
        other => other,
    }
}

/// Checks that the server still has the tool as it was listed. The list may come from an earlier process of the
/// host. The server is then started and listed first, while the client gets progress notifications.
async fn check_unchanged(
    offered: &UpstreamOffer,
    upstream: &Upstream,
    call: &Call<'_>,
) -> Result<(), CallFailure> {
    let server = &offered.source;
    let listing = upstream.fetched_listing();
    let gone = call.client.gone();
    tokio::pin!(listing, gone);
    let mut reports = 0;
    let listing = loop {
        tokio::select! {
            listing = &mut listing => break listing,
            () = &mut gone => return Err(abandoned("the client cancelled the call")),
            () = tokio::time::sleep(REPORT_EVERY) => {
                reports += 1;
                let message = format!("`{}` is being started", server.name);
                // This value is far below the first progress of the server itself, because progress must increase.
                let done = f64::from(reports) * 1e-6;
                let progress = CallNotification::Progress { done, total: None, message: Some(message) };
                call.client.notify(Notification::Plugin(progress)).await;
            }
        }
    };
    let listing = listing.map_err(|fault| CallFailure::Upstream(fault.to_string()))?;
    let Work::Tool(wanted) = &call.work else { return Ok(()) };
    let listed = tool_of(offered, wanted).map(|tool| (&tool.wire_name, &tool.digest));
    if listed.is_none() && server.is_wrapped() {
        return Ok(());
    }
    if listing.tools.iter().any(|tool| Some((&tool.wire_name, &tool.digest)) == listed) {
        return Ok(());
    }
    Err(CallFailure::Unknown(format!(
        "the tool {} of `{}` has changed since it was listed, or was removed: list the tools again",
        wanted.name, server.name
    )))
}

/// The method of the request, and the parameters with the server's own names.
fn request_of(offered: &UpstreamOffer, work: &Work) -> Result<(&'static str, Object), CallFailure> {
    let unknown = |what: &str, name: &str| CallFailure::Unknown(format!("unknown {what}: {name}"));
    let prompt = |name: &str| {
        let prompt = offered.listing.prompts.iter().find(|prompt| prompt.name == name);
        prompt.map(|prompt| &prompt.wire_name).ok_or_else(|| unknown("prompt", name))
    };
    let (method, params) = match work {
        Work::Tool(call) => {
            let Some(tool) = tool_of(offered, call) else {
                return match offered.source.is_wrapped() {
                    true => Ok(("tools/call", unknown_tool::probe())),
                    false => Err(unknown("tool", &call.name)),
                };
            };
            let arguments = match offered.source.policies.of(tool) {
                Some(policy) => policy.apply(&call.arguments).map_err(|refusal| {
                    CallFailure::Denied(format!("`{}`: {refusal}", call.name))
                })?,
                None => (*call.arguments).clone(),
            };
            let arguments = with_defaults(&tool.definition, &arguments);
            // Only the server checks the arguments if the schema is invalid, or if the server is wrapped: the clients of
            // a wrapped server get the server's own errors.
            if !offered.source.is_wrapped()
                && let Ok(schema) = &*offered.source.schema(tool)
            {
                check_arguments(schema, &tool.name, &arguments)?;
            }
            ("tools/call", json!({ "name": tool.wire_name, "arguments": arguments }))
        }
        Work::Prompt { name, arguments } => {
            let mut params = json!({ "name": prompt(name)? });
            if !arguments.is_empty() {
                params["arguments"] = object(arguments).into();
            }
            ("prompts/get", params)
        }
        Work::Resource(uri) => ("resources/read", json!({ "uri": offered.own_uri(uri) })),
        Work::Completion { subject, argument, value, context } => {
            let reference = match subject {
                Subject::Prompt(name) => json!({ "type": "ref/prompt", "name": prompt(name)? }),
                Subject::Template(uri) => {
                    json!({ "type": "ref/resource", "uri": offered.own_uri(uri) })
                }
            };
            let mut params =
                json!({ "ref": reference, "argument": { "name": argument, "value": value } });
            if !context.is_empty() {
                params["context"] = json!({ "arguments": object(context) });
            }
            ("completion/complete", params)
        }
        Work::Resources(_) | Work::Version(_) | Work::Views | Work::Job(_) => {
            return Err(CallFailure::Unknown(
                "upstream servers do not support this request".into(),
            ));
        }
    };
    Ok((method, params.as_object().cloned().unwrap_or_default()))
}

fn object(pairs: &[(String, String)]) -> Object {
    pairs.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect()
}

/// Maps the error of 2026-07-28 for a missing resource to the code -32002. When the error is sent, this code becomes
/// that of the client's revision.
fn as_not_found(mut error: ProtocolError, uri: &str) -> ProtocolError {
    let data: Option<Value> =
        error.data.as_deref().and_then(|data| serde_json::from_str(data).ok());
    if error.code == INVALID_PARAMS && data.is_some_and(|data| data["uri"] == uri) {
        error.code = NOT_FOUND;
    }
    error
}

/// An error of a server or client, with its message sanitised for display.
fn protocol_error(error: RpcError) -> CallFailure {
    CallFailure::Protocol(ProtocolError {
        code: i32::try_from(error.code).unwrap_or(-32603),
        message: portcullis_sanitize::plain(&error.message),
        data: error.data.map(|data| data.to_string()),
    })
}

fn abandoned(why: &str) -> CallFailure {
    CallFailure::Abandoned(why.to_owned())
}

/// How a request began.
enum FirstStep {
    /// The request was sent or resumed, after this number of rounds.
    Sent(Box<InFlight>, usize),
    /// The user is asked for consent first.
    Asks(SourceAnswer),
}

/// One request with its rounds of questions.
struct Rounds<'a> {
    offered: &'a UpstreamOffer,
    /// The connection to the server for the client's session.
    upstream: Upstream,
    request: UpstreamRequest,
    /// The question for the user's consent before the request. `None`: the user is not asked.
    consent: Option<Object>,
    client: &'a dyn Client,
}

impl Rounds<'_> {
    /// Sends the request, or resumes it with the state and the answers that the client sent back.
    async fn serve(
        self,
        resumed: Option<(RoundState, Object)>,
    ) -> Result<SourceAnswer, CallFailure> {
        let upstream = &self.upstream;
        let (mut flight, mut rounds) = match self.begin(resumed).await? {
            FirstStep::Sent(flight, rounds) => (*flight, rounds),
            FirstStep::Asks(questions) => return Ok(questions),
        };
        let gone = self.client.gone();
        tokio::pin!(gone);
        loop {
            let event = tokio::select! {
                event = flight.next() => event,
                () = &mut gone => return Err(abandoned("the client cancelled the call")),
            };
            match event {
                None => return Err(abandoned("the request has ended")),
                Some(Event::Done(Err(fault))) => {
                    return Err(CallFailure::Upstream(fault.to_string()));
                }
                Some(Event::Done(Ok(RequestOutcome::Error(error)))) => {
                    return Err(protocol_error(error));
                }
                Some(Event::Done(Ok(RequestOutcome::Complete(result)))) => {
                    let modern = self.client.is_modern();
                    return Ok(SourceAnswer::Upstream(adapt_result_to_client(
                        result,
                        &self.request.method,
                        modern,
                    )));
                }
                Some(Event::Done(Ok(RequestOutcome::NeedInput { requests, state }))) => {
                    rounds = next_round(rounds)?;
                    if self.client.is_modern() {
                        let state = RoundState { rounds, next: Continuation::Repeat(state) };
                        return Ok(SourceAnswer::UpstreamQuestions { requests, state });
                    }
                    let answers = self.ask_all(requests).await.map_err(protocol_error)?;
                    flight = upstream.request(self.request.clone().with_input(answers, state));
                }
                Some(Event::Ask { key, method, params }) => {
                    rounds = next_round(rounds)?;
                    if self.client.is_modern() && self.client.answers(&method) {
                        return self.park(flight, key, &method, params, rounds);
                    }
                    let answer = self.client.ask(&method, params).await;
                    let sent = flight.answer(key, answer).await;
                    sent.map_err(|fault| CallFailure::Upstream(fault.to_string()))?;
                }
                Some(Event::Progress(params)) => {
                    self.client.notify(Notification::Progress(params)).await;
                }
                Some(Event::Log(params)) => self.client.notify(Notification::Log(params)).await,
                Some(Event::Updated(_) | Event::Other { .. } | Event::Withdrawn(_)) => {}
            }
        }
    }

    /// Begins or resumes the request. If the user's consent is needed, the user is asked first.
    async fn begin(&self, resumed: Option<(RoundState, Object)>) -> Result<FirstStep, CallFailure> {
        let upstream = &self.upstream;
        let Some((state, mut answers)) = resumed else {
            if let Some(question) = &self.consent {
                if !self.client.answers(consent::METHOD) {
                    return Err(consent::missing("the client cannot ask its user"));
                }
                if self.client.is_modern() {
                    let request = json!({ "method": consent::METHOD, "params": question });
                    let requests = Object::from_iter([(consent::KEY.to_owned(), request)]);
                    let state = RoundState { rounds: 0, next: Continuation::Consent };
                    return Ok(FirstStep::Asks(SourceAnswer::UpstreamQuestions {
                        requests,
                        state,
                    }));
                }
                let answer = self.client.ask(consent::METHOD, question.clone()).await;
                consent::check(Some(&answer.map_err(protocol_error)?))?;
            }
            return Ok(FirstStep::Sent(Box::new(upstream.request(self.request.clone())), 0));
        };
        let flight = match state.next {
            Continuation::Repeat(state) => {
                upstream.request(self.request.clone().with_input(answers, state))
            }
            Continuation::Resume(name) => self.resume(&name, answers).await?,
            Continuation::Consent => {
                consent::check(answers.remove(consent::KEY).as_ref())?;
                upstream.request(self.request.clone())
            }
        };
        Ok(FirstStep::Sent(Box::new(flight), state.rounds))
    }

    /// Asks the client every question of a round, and returns the answers.
    async fn ask_all(&self, requests: Object) -> Result<Object, RpcError> {
        let mut answers = Object::new();
        for (key, request) in requests {
            let method = request["method"].as_str().unwrap_or_default();
            let params = request["params"].as_object().cloned().unwrap_or_default();
            answers.insert(key, self.client.ask(method, params).await?);
        }
        Ok(answers)
    }

    /// Parks the request, and returns the server's question for the client.
    fn park(
        &self,
        flight: InFlight,
        key: QuestionKey,
        method: &str,
        params: Object,
        rounds: usize,
    ) -> Result<SourceAnswer, CallFailure> {
        let parked = self.offered.source.parked.park(ParkedRequest { flight, key });
        let name = parked.map_err(|error| abandoned(&error.to_string()))?;
        let mut requests = Object::new();
        requests.insert(KEY.to_owned(), json!({ "method": method, "params": params }));
        Ok(SourceAnswer::UpstreamQuestions {
            requests,
            state: RoundState { rounds, next: Continuation::Resume(name) },
        })
    }

    /// Answers the question of the parked request with this name, and returns the request.
    async fn resume(&self, name: &str, mut answers: Object) -> Result<InFlight, CallFailure> {
        let parked = self.offered.source.parked.take(name);
        let ParkedRequest { mut flight, key } = parked.ok_or_else(|| {
            abandoned("the upstream request that was waiting for this answer has already ended")
        })?;
        flight.continue_with(&self.request.params);
        let answer = answers
            .remove(KEY)
            .ok_or_else(|| RpcError::new(RpcError::INTERNAL, "the client did not answer"));
        let sent = flight.answer(key, answer).await;
        sent.map_err(|fault| CallFailure::Upstream(fault.to_string()))?;
        Ok(flight)
    }
}

fn next_round(rounds: usize) -> Result<usize, CallFailure> {
    if rounds >= MAX_ROUNDS {
        return Err(abandoned("the upstream server asked too many questions"));
    }
    Ok(rounds + 1)
}

/// Adds or removes the fields that only one of MCP's eras has. All other fields stay.
fn adapt_result_to_client(mut result: Value, method: &str, modern: bool) -> Value {
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
        let new = adapt_result_to_client(old.clone(), "resources/read", true);
        let expected = json!({
            "contents": [], "vendor": { "a": 1 },
            "resultType": "complete", "ttlMs": 0, "cacheScope": "private",
        });
        assert_eq!(new, expected);
        let said = json!({ "resultType": "complete", "ttlMs": 7, "cacheScope": "public" });
        assert_eq!(adapt_result_to_client(said.clone(), "resources/read", true), said);
        assert_eq!(
            adapt_result_to_client(
                json!({ "resultType": "complete", "content": [] }),
                "tools/call",
                false
            ),
            json!({ "content": [] })
        );
    }

    #[test]
    fn a_missing_resource_has_one_code() {
        let error = |code, data: Option<&str>| ProtocolError {
            code,
            message: "m".into(),
            data: data.map(str::to_owned),
        };
        for (sent, expected) in [
            (error(-32602, Some(r#"{"uri":"a://b"}"#)), NOT_FOUND),
            (error(NOT_FOUND, None), NOT_FOUND),
            (error(-32602, Some(r#"{"uri":"a://c"}"#)), -32602),
            (error(-32602, None), -32602),
            (error(-32603, Some(r#"{"uri":"a://b"}"#)), -32603),
        ] {
            assert_eq!(as_not_found(sent.clone(), "a://b").code, expected, "{sent:?}");
        }
    }
}
