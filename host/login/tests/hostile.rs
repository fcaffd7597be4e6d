//! Tests of logins against malicious and faulty servers and issuers: no unsafe address is shown to the user, and no
//! code or token is sent to another server.

use portcullis_login::NoToken;
use serde_json::json;
use crate::stand_in::{Reply, Stand, come_back, within};

const RESOURCE: &str = "/.well-known/oauth-protected-resource/mcp";
const ISSUER: &str = "/.well-known/oauth-authorization-server";

/// Attempts a login that must fail before an address is shown and before a token is requested. Returns the error.
async fn refused(stand: &Stand, settings: &str) -> String {
    let login = stand.login(settings, None);
    let shown = async |address: &str| -> Result<(), String> { panic!("{address} was shown") };
    let error = login.authorize(shown).await.unwrap_err();
    let error = portcullis_sanitize::error_chain(&error);
    assert!(stand.asked("POST /token").is_empty(), "{error}");
    error
}

#[tokio::test]
async fn metadata_of_another_server_or_issuer_is_refused() {
    within(async {
        let stand = Stand::start().await;
        let mut resource = stand.resource();
        resource["resource"] = "https://evil.example/mcp".into();
        stand.reply(RESOURCE, Reply::Json(resource));
        assert!(refused(&stand, "").await.contains("another server"));
        stand.reply(RESOURCE, Reply::Json(stand.resource()));
        for name in ["https://evil.example", "", &format!("{}/other", stand.origin)] {
            stand.issuer_says("issuer", name.into());
            assert!(refused(&stand, "").await.contains("it is not used"), "{name}");
        }
        stand.issuer_says("issuer", stand.origin.clone().into());
        let error = refused(&stand, "issuer = \"https://sso.example\"").await;
        assert!(error.contains("`issuer`"), "{error}");
        for servers in [json!([]), json!(["not a URL"]), json!(["http://as.example"]), json!(7)] {
            let mut resource = stand.resource();
            resource["authorization_servers"] = servers;
            stand.reply(RESOURCE, Reply::Json(resource));
            refused(&stand, "").await;
        }
    })
    .await;
}

#[tokio::test]
async fn an_issuer_without_pkce_is_refused() {
    within(async {
        let stand = Stand::start().await;
        for methods in [json!(null), json!([]), json!(["plain"]), json!("S256")] {
            stand.issuer_says("code_challenge_methods_supported", methods);
            assert!(refused(&stand, "").await.contains("PKCE"));
        }
    })
    .await;
}

#[tokio::test]
async fn unsafe_authorization_endpoints_are_not_shown() {
    within(async {
        let stand = Stand::start().await;
        for address in [
            "javascript:alert(document.domain)",
            "file:///etc/passwd",
            "http://as.example/authorize",
            "https://user:pw@as.example/authorize",
            "calculator:$(touch%20x)",
            "a:$(calc.exe)",
            "\\\\evil\\share",
        ] {
            stand.issuer_says("authorization_endpoint", address.into());
            let error = refused(&stand, "").await;
            assert!(error.contains("authorization_endpoint"), "{error}");
        }
        let odd = "https://as.example/$(touch x)/`id`/a;b|c?d='e'&f=\"$(g)\"";
        stand.issuer_says("authorization_endpoint", odd.into());
        let login = stand.login("", None);
        let agent = async |address: &str| {
            assert!(
                !address.contains(['$', '(', '`', ';', '|', '\'', '"', ' ', '\\']),
                "{address}"
            );
            come_back(address, "code=a&state=STATE").await.map(drop)
        };
        login.authorize(agent).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn documents_that_are_private_or_endless_or_malformed_are_not_read() {
    within(async {
        let stand = Stand::start().await;
        let login = stand.login("", None);
        for place in ["https://169.254.169.254/latest", "https://10.0.0.1/x", "http://as.example/x"]
        {
            let mut headers = http::HeaderMap::new();
            let value = format!("Bearer resource_metadata=\"{place}\"");
            headers.insert("www-authenticate", value.parse().unwrap());
            let challenge = portcullis_login::Challenge::of(401, &headers).unwrap();
            let _person = login.refused(None, challenge).await.unwrap_err();
            let shown = async |address: &str| -> Result<(), String> { panic!("{address}") };
            let error = login.authorize(shown).await.unwrap_err();
            let error = portcullis_sanitize::error_chain(&error);
            assert!(error.contains("private network") || error.contains("not https"), "{error}");
        }
        for (reply, expected) in [
            (Reply::Redirect("https://169.254.169.254/".into()), "private network"),
            (Reply::Redirect("http://as.example/".into()), "only https"),
            (Reply::Redirect(RESOURCE.into()), "redirects"),
            (Reply::Redirect("file:///etc/passwd".into()), ""),
            (Reply::Bytes(50 * 1024 * 1024), "too long"),
        ] {
            stand.reply(RESOURCE, reply);
            let error = refused(&stand, "").await;
            assert!(error.contains(expected), "{error}");
        }
        stand.reply(RESOURCE, Reply::Json(stand.resource()));
        stand.reply(ISSUER, Reply::Bytes(50 * 1024 * 1024));
        assert!(refused(&stand, "").await.contains("too long"));
        stand.reply(ISSUER, Reply::Json(json!(["not", "an", "object"])));
        refused(&stand, "").await;
        let elsewhere = json!("https://10.0.0.1/token");
        stand.issuer_says("token_endpoint", elsewhere);
        let agent = async |address: &str| come_back(address, "code=a&state=STATE").await.map(drop);
        let error = stand.login("", None).authorize(agent).await.unwrap_err();
        let error = portcullis_sanitize::error_chain(&error);
        assert!(error.contains("private network"), "{error}");
    })
    .await;
}

#[tokio::test]
async fn a_code_of_another_issuer_is_not_exchanged() {
    within(async {
        let stand = Stand::start().await;
        let from = |issuer: &str| format!("code=a&state=STATE&iss={issuer}");
        for with in [from("https://evil.example"), from(&format!("{}/", stand.origin)), from("")] {
            let agent = async |address: &str| come_back(address, &with).await.map(drop);
            let error = stand.login("", None).authorize(agent).await.unwrap_err();
            let error = portcullis_sanitize::error_chain(&error);
            assert!(error.contains("it is refused"), "{error}");
        }
        stand.issuer_says("authorization_response_iss_parameter_supported", true.into());
        for with in ["code=a&state=STATE", "error=access_denied&state=STATE"] {
            let agent = async |address: &str| come_back(address, with).await.map(drop);
            stand.login("", None).authorize(agent).await.unwrap_err();
        }
        assert!(stand.asked("POST /token").is_empty());
        let right = from(&stand.origin);
        let agent = async |address: &str| come_back(address, &right).await.map(drop);
        stand.login("", None).authorize(agent).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn an_issuer_that_hangs_or_answers_nonsense_ends_a_login_and_nothing_is_stored() {
    within(async {
        let stand = Stand::start().await;
        let folder = tempfile::tempdir().unwrap();
        let login = stand.login("", Some(folder.path()));
        for reply in [
            Reply::Silence,
            Reply::Bytes(50 * 1024 * 1024),
            Reply::Redirect("/elsewhere".into()),
            Reply::Json(json!({"access_token": "a", "token_type": "mac"})),
            Reply::Json(json!({"access_token": "a\r\nx: y", "token_type": "Bearer"})),
            Reply::Status(400, json!({"error": "invalid_client"})),
            Reply::Status(400, json!({"error": "invalid_grant", "error_description": "c0de"})),
        ] {
            stand.reply("/token", reply);
            let agent =
                async |address: &str| come_back(address, "code=c0de&state=STATE").await.map(drop);
            let error = login.authorize(agent).await.unwrap_err();
            let error = portcullis_sanitize::error_chain(&error);
            assert!(error.contains("/token") && !error.contains("c0de"), "{error}");
            assert_eq!(login.token().await, None);
        }
        assert!(
            stand.asked("POST /elsewhere").is_empty() && stand.asked("GET /elsewhere").is_empty()
        );
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    })
    .await;
}

#[tokio::test]
async fn a_stored_token_is_used_for_its_server_and_its_issuer_only() {
    within(async {
        let (stand, other) = (Stand::start().await, Stand::start().await);
        let folder = tempfile::tempdir().unwrap();
        let agent = async |address: &str| come_back(address, "code=a&state=STATE").await.map(drop);
        stand.login("", Some(folder.path())).authorize(agent).await.unwrap();
        assert!(stand.login("", Some(folder.path())).token().await.is_some());
        assert_eq!(other.login("", Some(folder.path())).token().await, None);
        for settings in ["issuer = \"https://other.example\"", "client-id = \"another\""] {
            assert_eq!(
                stand.login(settings, Some(folder.path())).token().await,
                None,
                "{settings}"
            );
        }
        let elsewhere = other.login("", Some(folder.path()));
        let denied = elsewhere.refused(None, other.challenge(401, "")).await;
        assert!(matches!(denied, Err(NoToken::LoginNeeded(_))), "{denied:?}");
    })
    .await;
}

#[tokio::test]
async fn a_token_is_not_sent_without_tls() {
    let far = "http://mcp.example/mcp".parse().unwrap();
    let error = portcullis_login::Login::new("it", &far, Default::default(), None);
    assert!(error.is_err_and(|error| error.to_string().contains("https")));
}
