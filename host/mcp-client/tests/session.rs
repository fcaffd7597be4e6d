//! Tests that a session is the same in both eras and over all transports.

mod stand_in;

use portcullis_mcp_client::{Era, Event, InFlight, RequestOutcome, Upstream, UpstreamRequest};
use serde_json::{Value, json};
use stand_in::{Web, call, child, defined, object, said, within};

/// The events of a request as text, without `resultType`, which only one era has.
async fn story(mut call: InFlight) -> Vec<String> {
    let mut story = Vec::new();
    while let Some(event) = call.next().await {
        story.push(match event {
            Event::Progress(params) => format!("progress {}", Value::from(params)),
            Event::Log(params) => format!("log {}", Value::from(params)),
            Event::Updated(params) => format!("updated {}", Value::from(params)),
            Event::Other { method, params } => format!("{method} {}", Value::from(params)),
            Event::Withdrawn(_) => "withdrawn".to_owned(),
            Event::Ask { key, method, params } => {
                let answer = json!({"action": "accept", "content": {"name": "me"}});
                call.answer(key, Ok(answer)).await.expect("it takes an answer");
                format!("asked {method} {}", Value::from(params))
            }
            Event::Done(Ok(RequestOutcome::Complete(mut result))) => {
                if let Some(result) = result.as_object_mut() {
                    result.shift_remove("resultType");
                }
                format!("result {result}")
            }
            Event::Done(Ok(RequestOutcome::NeedInput { requests, state })) => {
                format!("needs {} {state:?}", Value::from(requests))
            }
            Event::Done(Ok(RequestOutcome::Error(error))) => format!("error {error:?}"),
            Event::Done(Err(fault)) => format!("fault {fault}"),
        });
    }
    story
}

/// Calls a tool that asks a question, and answers the question in the way of the era.
async fn asking(upstream: &Upstream, era: Era) -> Vec<String> {
    let params = object(json!({"name": "ask", "arguments": {"method": "elicitation/create"}}));
    let request = UpstreamRequest::new("tools/call", params, "one");
    if era == Era::Legacy {
        return story(upstream.request(request)).await;
    }
    let outcome = upstream.request(request.clone()).outcome().await.expect("it answers");
    let RequestOutcome::NeedInput { requests, state } = outcome else { panic!("{outcome:?}") };
    let asked = format!(
        "asked {} {}",
        requests["who"]["method"].as_str().unwrap_or(""),
        requests["who"]["params"]
    );
    let answers = json!({"who": {"action": "accept", "content": {"name": "me"}}});
    let mut told = vec![asked];
    told.extend(story(upstream.request(request.with_input(object(answers), state))).await);
    told
}

async fn session(upstream: &Upstream, era: Era) -> Vec<String> {
    let listing = upstream.listing().await.expect("it can be listed");
    assert_eq!(listing.peer.era, era);
    let mut told = vec![
        format!("{} {:?}", Value::from(listing.peer.info.clone()), listing.peer.instructions),
        format!("{:?}", listing.tools.iter().map(|tool| &tool.name).collect::<Vec<_>>()),
        Value::from(listing.tools[0].definition.clone()).to_string(),
        listing.tools[0].digest.clone(),
        format!("{:?}", listing.prompts),
        format!("{:?} {:?} {:?}", listing.resources, listing.templates, listing.warnings),
    ];
    let params = json!({"name": "echo", "arguments": {"z": 1, "a": [true, "ü\u{2028}\n"]}});
    told.extend(
        story(upstream.request(UpstreamRequest::new("tools/call", object(params), "one"))).await,
    );
    let params =
        json!({"name": "progress", "arguments": {"steps": 3}, "_meta": {"progressToken": "mine"}});
    told.extend(
        story(upstream.request(UpstreamRequest::new("tools/call", object(params), "one"))).await,
    );
    // Without a progress token, the caller gets no progress.
    told.extend(story(call(upstream, "progress", json!({"steps": 2}))).await);
    told.extend(story(call(upstream, "log", json!({}))).await);
    told.extend(story(call(upstream, "fail", json!({}))).await);
    told.extend(story(call(upstream, "garbage", json!({}))).await);
    told.extend(asking(upstream, era).await);
    for (method, params) in [
        ("resources/read", json!({"uri": "test://one"})),
        ("completion/complete", json!({"ref": {}})),
        ("no/such/method", json!({})),
    ] {
        told.extend(
            story(upstream.request(UpstreamRequest::new(method, object(params), "one"))).await,
        );
    }
    told
}

async fn check(upstream: &Upstream, era: Era) {
    let (told, expected) = (session(upstream, era).await, expected());
    for (place, (told, expected)) in told.iter().zip(&expected).enumerate() {
        assert_eq!(told, expected, "at {place}");
    }
    assert_eq!(told.len(), expected.len());
}

fn expected() -> Vec<String> {
    let echo = json!({"name": "echo", "description": "Says it again.",
        "inputSchema": {"type": "object"}, "odd": {"kept": [1, null]}});
    let arguments = r#"{"z":1,"a":[true,"ü\u2028\n"]}"#.replace("\\u2028", "\u{2028}");
    let texts = |text: &str| json!({"content": [{"type": "text", "text": text}]});
    vec![
        r#"{"name":"stand-in","version":"1.0.0","odd":true} Some("Be kind.")"#.to_owned(),
        r#"["echo", "ask", "change", "hang"]"#.to_owned(),
        echo.to_string(),
        "4ab2e274b8e85815690628a2d5c10e1c553020da44b6c0afb68094ef64490eb4".to_owned(),
        r#"[UpstreamPrompt { name: "greet", wire_name: "greet", definition: {"name": String("greet"), "odd": Number(1)} }]"#.to_owned(),
        concat!(
            r#"[{"uri": String("test://one"), "name": String("one"), "size": Number(3)}] "#,
            r#"[{"uriTemplate": String("test://{x}"), "name": String("x")}] []"#
        )
        .to_owned(),
        format!(
            "result {}",
            json!({"content": [{"type": "hologram", "beams": [1.5, null]},
                {"type": "text", "text": arguments}], "x-odd": {"deep": [[]]}})
        ),
        r#"progress {"progressToken":"mine","progress":1}"#.to_owned(),
        r#"progress {"progressToken":"mine","progress":2}"#.to_owned(),
        r#"progress {"progressToken":"mine","progress":3}"#.to_owned(),
        format!("result {}", texts("done")),
        format!("result {}", texts("done")),
        r#"log {"level":"info","data":"said","odd":1}"#.to_owned(),
        format!("result {}", texts("logged")),
        r#"error RpcError { code: -32099, message: "on purpose", data: Some(Object {"odd": Array [Number(1)]}) }"#.to_owned(),
        format!("result {}", texts("clean")),
        r#"asked elicitation/create {"message":"Who are you?","odd":1}"#.to_owned(),
        format!("result {}", texts(r#"{"action":"accept","content":{"name":"me"}}"#)),
        r#"result {"contents":[{"uri":"test://one","text":"content","odd":[null]}]}"#.to_owned(),
        r#"result {"completion":{"values":["a"]}}"#.to_owned(),
        r#"error RpcError { code: -32601, message: "no/such/method?", data: None }"#.to_owned(),
    ]
}

#[tokio::test]
async fn over_stdio_in_the_legacy_era() {
    within(async {
        check(&child(&["legacy"]), Era::Legacy).await;
    })
    .await;
}

#[tokio::test]
async fn over_stdio_in_the_modern_era() {
    within(async {
        check(&child(&["modern"]), Era::Modern).await;
    })
    .await;
}

#[tokio::test]
async fn over_http_in_the_legacy_era() {
    within(async {
        for options in [&["http", "legacy"][..], &["http", "legacy", "events", "no-get"]] {
            let web = Web::start(options);
            let upstream = defined(json!({"url": web.url}));
            check(&upstream, Era::Legacy).await;
        }
    })
    .await;
}

#[tokio::test]
async fn over_http_in_the_modern_era() {
    within(async {
        for options in [&["http", "modern"][..], &["http", "modern", "events"]] {
            let web = Web::start(options);
            let upstream = defined(json!({"url": web.url, "transport": "http"}));
            check(&upstream, Era::Modern).await;
        }
    })
    .await;
}

#[tokio::test]
async fn over_server_sent_events() {
    within(async {
        let web = Web::start(&["sse", "legacy"]);
        let upstream = defined(json!({"url": web.url, "transport": "sse"}));
        check(&upstream, Era::Legacy).await;
    })
    .await;
}

#[tokio::test]
async fn every_revision_with_a_handshake_is_spoken() {
    within(async {
        for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
            let upstream = child(&["legacy", version]);
            let listing = upstream.listing().await.expect("it can be listed");
            assert_eq!(listing.peer.version, version);
            assert_eq!(said(&upstream, "log", json!({})).await, "logged");
        }
    })
    .await;
}
