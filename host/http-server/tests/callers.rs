//! Tests which hosts, origins and tokens are accepted.

use portcullis_http_server::AccessRules;
use serde_json::json;

use crate::client::{TestServer, access, call, initialize};

const TOKEN: &str = "0123456789abcdef-token";

async fn with_token() -> TestServer {
    TestServer::start(|settings| {
        settings.access = access(|rules| rules.token = Some(TOKEN.to_owned()));
        let page = portcullis_http_server::Page::new(|| ("text/plain", "secret".into()));
        settings.pages.insert("/metrics".into(), page);
    })
    .await
}

#[tokio::test]
async fn other_hosts_and_origins_are_refused_at_every_path() {
    let server = TestServer::start(|settings| {
        settings.access = access(|rules| {
            rules.allowed_origins = vec!["https://app.example".into()];
            rules.allowed_hosts = vec!["mcp.example:8443".into()];
        });
        let page = portcullis_http_server::Page::new(|| ("text/plain", "page".into()));
        settings.pages.insert("/metrics".into(), page);
    })
    .await;
    let port = server.address.port();
    for (name, value, expected) in [
        ("host", "evil.example".to_owned(), 403),
        ("host", format!("evil.example:{port}"), 403),
        ("host", format!("127.0.0.1.evil.example:{port}"), 403),
        ("host", format!("127.0.0.1@evil.example:{port}"), 400),
        ("host", String::new(), 400),
        ("host", "mcp.example".to_owned(), 403),
        ("host", "mcp.example:8443".to_owned(), 200),
        ("host", format!("localhost:{port}"), 200),
        ("host", format!("[::1]:{port}"), 200),
        ("origin", "https://evil.example".to_owned(), 403),
        ("origin", "null".to_owned(), 403),
        ("origin", "http://localhost:5173".to_owned(), 403),
        ("origin", "https://app.example".to_owned(), 200),
        ("origin", "https://app.example:444".to_owned(), 403),
    ] {
        let headers = [(name, value.as_str())];
        let reply = server.modern(&headers, "echo", json!({"text": "x"})).await;
        assert_eq!(reply.status, expected, "{name}: {value}: {reply:?}");
        assert_eq!(server.send("GET /metrics", &headers, "").await.status, expected);
        let posted = server.send("POST /messages?sessionId=x", &headers, "{}").await;
        assert_eq!(posted.status, if expected == 200 { 404 } else { expected });
        if expected != 200 {
            assert_eq!(server.send("GET /sse", &headers, "").await.status, expected);
            let shared = reply.header("access-control-allow-origin");
            assert_eq!(shared, None, "{value}");
        }
    }
}

#[tokio::test]
async fn a_page_of_an_allowed_origin_can_read_the_response() {
    let allow_app = |rules: &mut AccessRules| {
        rules.allowed_origins = vec!["https://app.example".into()];
    };
    let server = TestServer::start(|settings| settings.access = access(allow_app)).await;
    let origin = ("origin", "https://app.example");
    let asked = [
        origin,
        ("access-control-request-method", "POST"),
        ("access-control-request-headers", "authorization,mcp-session-id"),
    ];
    let reply = server.send("OPTIONS /mcp", &asked, "").await;
    assert_eq!(reply.status, 204, "{reply:?}");
    assert_eq!(reply.header("access-control-allow-origin"), Some(origin.1));
    assert_eq!(reply.header("access-control-allow-methods"), Some("GET, POST, DELETE"));
    let headers = reply.header("access-control-allow-headers");
    assert_eq!(headers, Some("authorization,mcp-session-id"));
    let reply = server.modern(&[origin], "echo", json!({"text": "x"})).await;
    assert_eq!(reply.header("access-control-allow-origin"), Some(origin.1));
    assert!(reply.header("access-control-expose-headers").unwrap().contains("mcp-session-id"));
    assert_eq!(reply.header("access-control-allow-credentials"), None);
    let evil = [("origin", "https://evil.example"), asked[1]];
    assert_eq!(server.send("OPTIONS /mcp", &evil, "").await.status, 403);
}

#[tokio::test]
async fn requests_without_the_token_are_refused_at_every_path() {
    let server = with_token().await;
    for wrong in [
        "",
        "Bearer",
        "Bearer ",
        "Bearer wrong",
        "Basic 0123456789abcdef-token",
        "Bearer 0123456789abcdef-toke",
        "Bearer 0123456789abcdef-tokens",
        "0123456789abcdef-token",
    ] {
        let headers = [("authorization", wrong)];
        for reply in [
            server.modern(&headers, "echo", json!({"text": "x"})).await,
            server.post(&headers, &initialize("2025-11-25")).await,
            server.send("GET /sse", &headers, "").await,
            server.send("POST /messages?sessionId=x", &headers, "{}").await,
            server.send("GET /metrics", &headers, "").await,
            server.send(&format!("GET /metrics?token={TOKEN}"), &headers, "").await,
        ] {
            assert_eq!(reply.status, 401, "{wrong}: {reply:?}");
            assert_eq!(reply.header("www-authenticate"), Some("Bearer"));
            assert!(!reply.body.contains("secret"));
        }
    }
    let right = format!("Bearer {TOKEN}");
    let twice = [("authorization", right.as_str()), ("authorization", right.as_str())];
    assert_eq!(server.send("GET /metrics", &twice, "").await.status, 401);
    for right in [right.as_str(), &format!("bearer  {TOKEN} ")] {
        let headers = [("authorization", right)];
        assert_eq!(server.send("GET /metrics", &headers, "").await.body, "secret");
        // The handler knows the caller, and does not get the token.
        let reply = server.modern(&headers, "whoami", json!({})).await;
        assert_eq!(reply.text(), "token false");
        let session = server.session(&headers).await;
        let all = [headers[0], ("mcp-session-id", session.as_str())];
        let reply = server.post(&all, &call(1, "whoami", json!({}))).await;
        assert_eq!(reply.text(), "token false");
    }
}

#[tokio::test]
async fn without_a_configured_token_no_token_is_needed() {
    let server = TestServer::start(|_| {}).await;
    assert_eq!(server.modern(&[], "whoami", json!({})).await.text(), "nobody false");
    let headers = [("authorization", "Bearer anything"), ("cookie", "a=b")];
    assert_eq!(server.modern(&headers, "whoami", json!({})).await.text(), "nobody false");
}
