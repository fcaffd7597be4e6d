//! Tests against a collector on loopback. The collector is written from the OTLP specification
//! (<https://opentelemetry.io/docs/specs/otlp/#otlphttp>) and decodes with the messages of opentelemetry-proto.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value};
use portcullis_egress::Secret;
use prost::Message as _;
use tracing_subscriber::layer::SubscriberExt as _;

use super::*;

/// One request to the collector.
struct Arrived {
    path: String,
    head: String,
    body: Vec<u8>,
}

fn read_request(stream: &mut BufReader<TcpStream>) -> Option<Arrived> {
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let start = head.len();
        stream.read_line(&mut head).ok().filter(|read| *read > 0)?;
        let line = head[start..].trim().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    let path = head.split(' ').nth(1)?.to_owned();
    Some(Arrived { path, head, body })
}

/// A collector that answers each request with a status after a delay.
fn collector(status: u16, delay: Duration) -> (String, Receiver<Arrived>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (sender, arrived) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let sender = sender.clone();
            std::thread::spawn(move || {
                let mut stream = BufReader::new(stream.unwrap());
                while let Some(request) = read_request(&mut stream) {
                    let _sent = sender.send(request);
                    std::thread::sleep(delay);
                    let answer = format!("HTTP/1.1 {status} x\r\ncontent-length: 0\r\n\r\n");
                    if stream.get_mut().write_all(answer.as_bytes()).is_err() {
                        break;
                    }
                }
            });
        }
    });
    (address, arrived)
}

fn settings(endpoint: &str) -> Settings {
    Settings::configured(endpoint, BTreeMap::new(), Sent::default()).unwrap()
}

const REMOTE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// Records one call as the core does, and other spans and events in the span of the call.
fn record(telemetry: &Telemetry) {
    let subscriber = tracing_subscriber::registry().with(telemetry.layers());
    tracing::subscriber::with_default(subscriber, || {
        let span = tracing::trace_span!(
            target: TARGET,
            "call",
            otel.name = "tools/call read",
            otel.kind = "server",
            mcp.method.name = "tools/call",
            gen_ai.tool.name = "read",
            portcullis.request.id = "r-1",
            traceparent = REMOTE,
            "error.type" = tracing::field::Empty,
            otel.status_code = tracing::field::Empty,
        );
        span.in_scope(|| {
            tracing::warn!(target: "plugin", "an ARGUMENT of the call");
            tracing::error!("`ARGUMENT` cannot be read");
            let other = tracing::error_span!("another", ARGUMENT = "ARGUMENT");
            drop(other.entered());
            span.record("error.type", "denied");
            span.record("otel.status_code", "ERROR");
            tracing::event!(target: TARGET, tracing::Level::INFO, portcullis.request.id = "r-1", "call ended");
        });
    });
}

fn text<'a>(attributes: &'a [KeyValue], key: &str) -> Option<&'a str> {
    let found = attributes.iter().find(|one| one.key == key)?;
    let Value::StringValue(text) = found.value.as_ref()?.value.as_ref()? else { return None };
    Some(text)
}

#[test]
fn a_call_arrives_as_a_span_and_a_log_record_and_nothing_else_does() {
    let (endpoint, arrived) = collector(200, Duration::ZERO);
    let telemetry = Telemetry::start(&settings(&endpoint)).unwrap();
    record(&telemetry);
    telemetry.end();
    let requests: Vec<_> = arrived.try_iter().collect();
    assert!(requests.iter().all(|one| !one.body.windows(8).any(|part| part == b"ARGUMENT")));
    let body = |path: &str| &requests.iter().find(|one| one.path == path).unwrap().body[..];

    let traces = ExportTraceServiceRequest::decode(body("/v1/traces")).unwrap();
    let resource = traces.resource_spans[0].resource.as_ref().unwrap();
    assert!(text(&resource.attributes, "service.name").is_some());
    let spans = &traces.resource_spans[0].scope_spans[0].spans;
    assert_eq!(spans.len(), 1);
    let span = &spans[0];
    assert_eq!((span.name.as_str(), span.kind), ("tools/call read", 2));
    assert_eq!(span.trace_id, 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c_u128.to_be_bytes());
    assert_eq!(span.parent_span_id, 0xb7ad_6b71_6920_3331_u64.to_be_bytes());
    assert_eq!(text(&span.attributes, "mcp.method.name"), Some("tools/call"));
    assert_eq!(text(&span.attributes, "gen_ai.tool.name"), Some("read"));
    assert_eq!(text(&span.attributes, "error.type"), Some("denied"));
    assert_eq!(span.status.as_ref().map(|status| status.code), Some(2));
    assert!(span.events.is_empty());

    let logs = ExportLogsServiceRequest::decode(body("/v1/logs")).unwrap();
    let records = &logs.resource_logs[0].scope_logs[0].log_records;
    assert_eq!(records.len(), 1);
    assert_eq!(text(&records[0].attributes, "portcullis.request.id"), Some("r-1"));
    assert_eq!((&records[0].trace_id, &records[0].span_id), (&span.trace_id, &span.span_id));
}

#[test]
fn the_headers_of_the_configuration_are_sent() {
    let (endpoint, arrived) = collector(200, Duration::ZERO);
    let file = std::env::temp_dir().join(format!("telemetry-{}", std::process::id()));
    std::fs::write(&file, "Bearer for-the-collector\n").unwrap();
    let headers = BTreeMap::from([("authorization".to_owned(), Secret::File(file.clone()))]);
    let settings =
        Settings::configured(&endpoint, headers, Sent { logs: false, ..Sent::default() }).unwrap();
    let telemetry = Telemetry::start(&settings).unwrap();
    record(&telemetry);
    telemetry.end();
    std::fs::remove_file(file).unwrap();
    let requests: Vec<_> = arrived.try_iter().collect();
    assert!(!requests.is_empty() && requests.iter().all(|one| one.path == "/v1/traces"));
    let sent = |one: &Arrived| one.head.contains("authorization: Bearer for-the-collector");
    assert!(requests.iter().all(sent));
    assert!(!format!("{settings:?}").contains("for-the-collector"));
}

#[test]
fn logs_are_sent_without_traces() {
    let (endpoint, arrived) = collector(200, Duration::ZERO);
    let settings =
        Settings::configured(&endpoint, BTreeMap::new(), Sent { traces: false, ..Sent::default() })
            .unwrap();
    let telemetry = Telemetry::start(&settings).unwrap();
    let subscriber = tracing_subscriber::registry().with(telemetry.layers());
    tracing::subscriber::with_default(subscriber, || {
        assert!(tracing::span_enabled!(target: TARGET, tracing::Level::TRACE));
    });
    record(&telemetry);
    telemetry.end();
    let paths: Vec<_> = arrived.try_iter().map(|one| one.path).collect();
    assert_eq!(paths, ["/v1/logs"]);
}

#[test]
fn a_collector_that_is_down_slow_or_broken_delays_no_call_and_the_end_by_two_seconds_at_most() {
    let (slow, _arrived) = collector(200, Duration::from_secs(30));
    let (broken, _refused) = collector(503, Duration::ZERO);
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for endpoint in [format!("http://{nobody}"), slow, broken] {
        let telemetry = Telemetry::start(&settings(&endpoint)).unwrap();
        let began = Instant::now();
        // More calls than the queue holds, so that a full queue is tested, too.
        for _ in 0..5000 {
            record(&telemetry);
        }
        let each = began.elapsed() / 5000;
        assert!(each < Duration::from_millis(2), "{endpoint}: {each:?} for one call");
        let began = Instant::now();
        telemetry.end();
        let took = began.elapsed();
        assert!(took < END_TIME + Duration::from_millis(500), "{endpoint}: the end took {took:?}");
    }
}

#[test]
fn the_environment_names_the_collector_as_the_specification_says() {
    let of = |pairs: &'static [(&'static str, &'static str)]| {
        Settings::of_environment(move |name| {
            pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        })
    };
    assert_eq!(of(&[]).unwrap(), None);
    assert_eq!(of(&[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")]).unwrap(), None);
    let found = of(&[
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://collector.example/otlp/"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20b, x-other = c"),
    ]);
    let found = found.unwrap().unwrap();
    assert_eq!(found.address("v1/logs"), "https://collector.example/otlp/v1/logs");
    let headers = found.headers.read().unwrap();
    assert_eq!(
        (&headers["x-key"], &headers["x-other"]),
        (&"a b".parse().unwrap(), &"c".parse().unwrap())
    );
    for wrong in ["collector", "ftp://h", "http://me:s3cr3t@h", "http://h/?key=s3cr3t"] {
        let error = Settings::configured(wrong, BTreeMap::new(), Sent::default()).unwrap_err();
        assert!(!error.to_string().contains("s3cr3t"), "{error}");
    }
    let wrong: &[_] =
        &[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://h"), ("OTEL_EXPORTER_OTLP_HEADERS", "s3cr3t")];
    assert!(of(wrong).is_err_and(|error| !error.to_string().contains("s3cr3t")));
    for (value, expected) in [("true", true), ("TRUE", true), ("1", false), ("false", false)] {
        assert_eq!(Settings::is_disabled(|_| Some(value.to_owned())), expected, "{value}");
    }
}

#[test]
fn records_of_the_audit_arrive_if_they_are_asked_for_with_or_without_log_records_of_calls() {
    for (logs, audit) in [(false, true), (true, true), (true, false)] {
        let (endpoint, arrived) = collector(200, Duration::ZERO);
        let sent = Sent { traces: false, logs, audit };
        let settings = Settings::configured(&endpoint, BTreeMap::new(), sent).unwrap();
        let telemetry = Telemetry::start(&settings).unwrap();
        record(&telemetry);
        let log = telemetry.audit_log();
        assert_eq!(log.is_some(), audit);
        if let Some(log) = log {
            log.send(
                "weather denied http: GET x".to_owned(),
                r#"{"event":"ask"}"#.to_owned(),
                true,
            );
        }
        telemetry.end();
        let of = |request: Arrived| ExportLogsServiceRequest::decode(&request.body[..]).unwrap();
        let scopes: Vec<_> = arrived
            .try_iter()
            .map(of)
            .flat_map(|logs| logs.resource_logs)
            .flat_map(|logs| logs.scope_logs)
            .collect();
        let is_audit = |name: &str| name == "portcullis.audit";
        let named = |logs: &opentelemetry_proto::tonic::logs::v1::ScopeLogs| {
            logs.scope.as_ref().is_some_and(|scope| is_audit(&scope.name))
        };
        let (of_audit, of_calls): (Vec<_>, Vec<_>) = scopes.into_iter().partition(named);
        assert_eq!((of_calls.len(), of_audit.len()), (usize::from(logs), usize::from(audit)));
        for log in of_audit.into_iter().flat_map(|logs| logs.log_records) {
            assert_eq!(log.severity_text, "WARN");
            let Some(Value::StringValue(body)) = log.body.and_then(|body| body.value) else {
                panic!("a body is text");
            };
            assert_eq!(body, "weather denied http: GET x");
            assert_eq!(
                text(&log.attributes, "portcullis.audit.record"),
                Some(r#"{"event":"ask"}"#)
            );
        }
    }
}
