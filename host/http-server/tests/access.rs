//! Tests that the rules about who may send requests can be replaced while the server runs.

use portcullis_http_server::{Access, AccessRules};
use serde_json::json;

use crate::client::{Reply, TestServer};

const OLD: &str = "0123456789abcdef-old";
const NEW: &str = "0123456789abcdef-new";

fn with_token(token: &str) -> AccessRules {
    AccessRules { token: Some(token.to_owned()), ..AccessRules::default() }
}

async fn served() -> (TestServer, Access) {
    let access = Access::new(with_token(OLD)).unwrap();
    let server = TestServer::start(|settings| settings.access = access.clone()).await;
    (server, access)
}

async fn echo(server: &TestServer, token: &str, header: (&str, &str)) -> Reply {
    let bearer = format!("Bearer {token}");
    server.modern(&[("authorization", &bearer), header], "echo", json!({"text": "x"})).await
}

#[tokio::test]
async fn a_replaced_token_is_refused_from_the_next_request_on() {
    let (server, access) = served().await;
    let none = ("x-none", "");
    assert_eq!(echo(&server, OLD, none).await.status, 200);
    assert_eq!(echo(&server, NEW, none).await.status, 401);
    access.replace(with_token(NEW)).unwrap();
    assert_eq!(echo(&server, OLD, none).await.status, 401);
    assert_eq!(echo(&server, NEW, none).await.status, 200);
}

#[tokio::test]
async fn a_connection_that_is_open_gets_the_new_rules() {
    let (server, access) = served().await;
    let mut connection = server.connect().await;
    let bearer = format!("Bearer {OLD}");
    for expected in [404, 401] {
        let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
        connection.send("POST /messages?sessionId=x", &headers, "{}").await;
        let reply = connection.reply().await;
        assert_eq!(reply.status, expected, "{reply:?}");
        access.replace(with_token(NEW)).unwrap();
    }
}

#[tokio::test]
async fn hosts_origins_and_profiles_are_replaced_together_and_the_servers_own_origin_stays() {
    let (server, access) = served().await;
    let own = format!("http://127.0.0.1:{}", server.address.port());
    let (foreign, own) = (("origin", "https://app.example"), ("origin", own.as_str()));
    let host = ("host", "mcp.example");
    let bearer = ("authorization", "Bearer 0123456789abcdef-old");
    let profile = async || server.send("GET /mcp/small", &[bearer], "").await.status;
    for header in [foreign, host] {
        assert_eq!(echo(&server, OLD, header).await.status, 403, "{header:?}");
    }
    assert_eq!((echo(&server, OLD, own).await.status, profile().await), (200, 404));
    let rules = AccessRules {
        allowed_hosts: vec!["mcp.example".into()],
        allowed_origins: vec!["https://app.example".into()],
        profiles: ["small".to_owned()].into(),
        ..with_token(OLD)
    };
    access.replace(rules).unwrap();
    for header in [foreign, host, own] {
        assert_eq!(echo(&server, OLD, header).await.status, 200, "{header:?}");
    }
    assert_ne!(profile().await, 404);
}

#[tokio::test]
async fn addresses_are_accepted_as_hosts_where_they_are_allowed_and_names_are_not() {
    let access = Access::new(AccessRules::default()).unwrap();
    let server = TestServer::start(|settings| settings.access = access.clone()).await;
    let status =
        async |host| server.modern(&[("host", host)], "echo", json!({"text": "x"})).await.status;
    let addresses = ["10.1.2.3", "10.1.2.3:9090", "[fd00::1]:9090", "[fd00::1]"];
    for host in addresses {
        assert_eq!(status(host).await, 403, "{host}");
    }
    access.replace(AccessRules { any_address: true, ..AccessRules::default() }).unwrap();
    for host in addresses {
        assert_eq!(status(host).await, 200, "{host}");
    }
    for host in ["evil.example", "10.1.2.3.evil.example", "10.1.2"] {
        assert_eq!(status(host).await, 403, "{host}");
    }
}

#[tokio::test]
async fn invalid_rules_change_nothing() {
    let (server, access) = served().await;
    let origin =
        AccessRules { allowed_origins: vec!["app.example".into()], ..AccessRules::default() };
    let host = AccessRules { allowed_hosts: vec!["https://a".into()], ..AccessRules::default() };
    for (rules, expected) in [(origin, "app.example"), (host, "https://a")] {
        assert!(Access::new(rules.clone()).unwrap_err().to_string().contains(expected));
        assert!(access.replace(rules).unwrap_err().to_string().contains(expected));
        assert_eq!(echo(&server, OLD, ("x-none", "")).await.status, 200);
        assert_eq!(echo(&server, NEW, ("x-none", "")).await.status, 401);
    }
}
