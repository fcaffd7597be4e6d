//! A client for the conformance suite of MCP. Makes the tool calls of the scenario, or calls all tools. Then uses all
//! resources and prompts. Answers all questions of the server. The last argument is the URL of the server.
//!
//! `node …/conformance/dist/index.js client --command target/debug/examples/conformance-client
//! --scenario NAME --spec-version 2025-11-25`

use std::error::Error;
use std::time::Duration;

use std::io::Write;

use portcullis_mcp_client::{
    ClientSettings, Definition, Event, Fault, FaultCause, Object, RequestOutcome, RpcError,
    Upstream, UpstreamRequest,
};
use serde_json::{Value, json};
use tempfile::NamedTempFile;

/// Maximum number of times that a request is sent. It is sent again after a login, and with the input that the server
/// needs.
const ROUNDS: usize = 10;

/// Maximum number of logins.
const LOGINS: usize = 3;

/// The URL of the Client ID Metadata Document, for issuers that accept such a URL as a client id. No document is served
/// at this URL.
const DESCRIPTION: &str = "https://conformance-test.local/client-metadata.json";

/// Time for which the client stays connected after its last request, so that the suite can observe reconnections.
const IDLE: Duration = Duration::from_millis(3500);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().next_back().ok_or("the URL is missing")?;
    let variable = |name| std::env::var(name).unwrap_or_default();
    let scenario = variable("MCP_CONFORMANCE_SCENARIO");
    let context: Value =
        serde_json::from_str(&variable("MCP_CONFORMANCE_CONTEXT")).unwrap_or_default();
    let protocol = match variable("MCP_CONFORMANCE_PROTOCOL_VERSION").as_str() {
        "2026-07-28" => "auto",
        _ => "legacy",
    };
    let mut kept = Vec::new();
    let oauth = oauth(&scenario, &context, &mut kept)?;
    let definition: Definition = serde_json::from_value(
        json!({"url": url, "transport": "http", "protocol": protocol, "oauth": oauth}),
    )?;
    let upstream =
        Upstream::new("conformance", definition, ClientSettings::new("portcullis", "0.1.0"))?;
    let mut logins = 0;
    let listing = loop {
        match upstream.listing().await {
            Err(fault) => log_in(&upstream, fault, &mut logins).await?,
            Ok(listing) => break listing,
        }
    };
    for warning in &listing.warnings {
        eprintln!("{warning}");
    }
    match context.get("toolCalls").and_then(Value::as_array) {
        Some(calls) => {
            for call in calls {
                converse(&upstream, "tools/call", object(call.clone()), &mut logins).await?;
            }
        }
        None => {
            for tool in &listing.tools {
                let arguments = match tool.name.as_str() {
                    // This tool is sent the schema of the first tool, as this client received it.
                    "json_schema_echo" => {
                        json!({"schema": listing.tools[0].definition["inputSchema"]})
                    }
                    _ => arguments(&tool.definition["inputSchema"]),
                };
                let params = json!({"name": tool.wire_name, "arguments": arguments});
                converse(&upstream, "tools/call", object(params), &mut logins).await?;
            }
        }
    }
    for resource in &listing.resources {
        let params = json!({"uri": resource["uri"]});
        converse(&upstream, "resources/read", object(params), &mut logins).await?;
    }
    for prompt in &listing.prompts {
        let params = json!({"name": prompt.wire_name, "arguments": {}});
        converse(&upstream, "prompts/get", object(params), &mut logins).await?;
    }
    if scenario == "sse-retry" {
        tokio::time::sleep(IDLE).await;
    }
    upstream.close().await;
    Ok(())
}

fn object(value: Value) -> Object {
    let Value::Object(object) = value else { return Object::new() };
    object
}

/// The `oauth` section that an operator would write for a scenario. Secrets are in temporary files, which `kept` keeps.
fn oauth(
    scenario: &str,
    context: &Value,
    kept: &mut Vec<NamedTempFile>,
) -> Result<Value, Box<dyn Error>> {
    if !scenario.starts_with("auth/") {
        return Ok(Value::Null);
    }
    let mut oauth = Object::new();
    let given = |key: &str| context.get(key).and_then(Value::as_str);
    for (key, name) in [("client_secret", "client-secret"), ("private_key_pem", "client-key")] {
        let Some(secret) = given(key) else { continue };
        let mut file = NamedTempFile::new()?;
        file.write_all(secret.as_bytes())?;
        oauth.insert(name.to_owned(), json!({"file": file.path()}));
        kept.push(file);
    }
    match given("client_id") {
        Some(id) => oauth.insert("client-id".to_owned(), id.into()),
        None => oauth.insert("client-metadata-url".to_owned(), DESCRIPTION.into()),
    };
    if scenario.contains("client-credentials") {
        oauth.insert("grant".to_owned(), "client-credentials".into());
    }
    Ok(oauth.into())
}

/// Logs in if the fault is that a login is needed. Opening the address is enough: the suite's issuer redirects at once.
async fn log_in(
    upstream: &Upstream,
    fault: Fault,
    logins: &mut usize,
) -> Result<(), Box<dyn Error>> {
    let (FaultCause::Login(_), Some(login)) = (&fault.trouble, upstream.login()) else {
        return Err(fault.into());
    };
    *logins += 1;
    if *logins > LOGINS {
        return Err(fault.into());
    }
    eprintln!("{fault}");
    let browser =
        reqwest::Client::builder().redirect(reqwest::redirect::Policy::limited(3)).build()?;
    let opened = async |address: &str| browser.get(address).send().await.map(drop);
    let authorized = login.authorize(opened).await?;
    eprintln!("{authorized:?}");
    Ok(())
}

/// Sends a request until it is answered: again after a login, and again with the input that the server asks for.
async fn converse(
    upstream: &Upstream,
    method: &str,
    params: Object,
    logins: &mut usize,
) -> Result<(), Box<dyn Error>> {
    let mut request = UpstreamRequest::new(method, params, "conformance");
    for _ in 0..ROUNDS {
        let mut call = upstream.request(request.clone());
        while let Some(event) = call.next().await {
            match event {
                Event::Ask { key, method, params } => {
                    call.answer(key, answer(&method, &params)).await?;
                }
                Event::Done(Ok(RequestOutcome::NeedInput { requests, state })) => {
                    let answers = requests.iter().filter_map(|(key, asked)| {
                        let params = asked.get("params").cloned().map(object).unwrap_or_default();
                        let answer = answer(asked.get("method")?.as_str()?, &params).ok()?;
                        Some((key.clone(), answer))
                    });
                    request = request.with_input(answers.collect(), state);
                    break;
                }
                Event::Done(Err(fault)) => {
                    log_in(upstream, fault, logins).await?;
                    break;
                }
                Event::Done(done) => {
                    eprintln!("{method}: {done:?}");
                    return Ok(());
                }
                Event::Progress(_)
                | Event::Log(_)
                | Event::Updated(_)
                | Event::Other { .. }
                | Event::Withdrawn(_) => {}
            }
        }
    }
    Err(format!("{method}: it always needs something more").into())
}

/// The answer of a user who agrees to everything.
fn answer(method: &str, params: &Object) -> Result<Value, RpcError> {
    match method {
        "elicitation/create" => {
            let content = params.get("requestedSchema").map(arguments).unwrap_or_default();
            Ok(json!({"action": "accept", "content": content}))
        }
        "sampling/createMessage" => Ok(json!({
            "role": "assistant",
            "model": "none",
            "content": {"type": "text", "text": "Paris"},
        })),
        "roots/list" => Ok(json!({"roots": []})),
        _ => Err(RpcError::new(RpcError::METHOD_NOT_FOUND, "not known")),
    }
}

/// A value for each property of a schema.
fn arguments(schema: &Value) -> Value {
    let properties = schema.get("properties").and_then(Value::as_object);
    let filled = properties.into_iter().flatten().map(|(name, schema)| {
        let value = schema.get("default").cloned().unwrap_or_else(|| {
            match schema.get("type").and_then(Value::as_str) {
                Some("number" | "integer") => json!(5),
                Some("boolean") => json!(true),
                Some("array") => json!([]),
                Some("object") => arguments(schema),
                _ => schema.pointer("/enum/0").cloned().unwrap_or_else(|| json!("text")),
            }
        });
        (name.clone(), value)
    });
    Value::Object(filled.collect())
}
