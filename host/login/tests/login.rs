//! Tests of logins and of renewed tokens, against a local server and a local issuer that follow the standards.

use portcullis_login::{Login, NoToken, Token};
use serde_json::json;
use crate::stand_in::{Reply, Stand, come_back, visit, within};

fn bearer(token: &Token) -> &str {
    token.header().to_str().unwrap()
}

/// Logs in as a user whose browser comes back with a code, and returns the token.
async fn logged_in(login: &Login) -> Token {
    let agent = async |address: &str| come_back(address, "code=a&state=STATE").await.map(drop);
    login.authorize(agent).await.unwrap();
    login.token().await.unwrap()
}

#[tokio::test]
async fn a_person_logs_in_once_and_the_token_is_renewed_for_them() {
    within(async {
        let stand = Stand::start().await;
        let folder = tempfile::tempdir().unwrap();
        let login = stand.login("", Some(folder.path()));
        assert_eq!(login.token().await, None);
        let denied = login.refused(None, stand.challenge(401, "")).await.unwrap_err();
        let NoToken::LoginNeeded(needed) = denied else { panic!("{denied:?}") };
        let what = needed.to_string();
        assert!(what.contains("portcullis upstream login it"), "{what}");
        stand.issue("first", 1);
        let mut shown = String::new();
        let authorized = login
            .authorize(async |address| {
                address.clone_into(&mut shown);
                come_back(address, "code=c0de&state=STATE").await.map(drop)
            })
            .await
            .unwrap();
        assert!(authorized.renews && authorized.issuer == stand.origin, "{authorized:?}");
        for expected in
            ["code_challenge_method=S256", "client_id=registered", "resource=http", "state="]
        {
            assert!(shown.contains(expected), "{shown}");
        }
        let asked = stand.asked("POST /token").pop().unwrap();
        for expected in ["code=c0de", "code_verifier=", "redirect_uri=", "resource="] {
            assert!(asked.contains(expected), "{asked}");
        }
        // `later` is the login of another process. The stored token is about to expire.
        let later = stand.login("", Some(folder.path()));
        stand.issue("second", 3600);
        assert_eq!(bearer(&later.token().await.unwrap()), "Bearer second");
        let asked = stand.asked("POST /token").pop().unwrap();
        assert!(asked.contains("refresh_token=renews-first"), "{asked}");
        // The first process uses the renewed token, too.
        assert_eq!(bearer(&login.token().await.unwrap()), "Bearer second");
        assert_eq!(stand.asked("POST /token").len(), 2, "nobody renewed it twice");
        assert!(later.forget().await.unwrap());
        assert_eq!(login.token().await, None, "a logout in one process is one in all");
    })
    .await;
}

#[tokio::test]
async fn many_requests_that_are_refused_at_once_renew_a_token_once() {
    within(async {
        let stand = Stand::start().await;
        let folder = tempfile::tempdir().unwrap();
        let login = stand.login("", Some(folder.path()));
        let sent = logged_in(&login).await;
        stand.issue("second", 3600);
        let mut all = tokio::task::JoinSet::new();
        let login = std::sync::Arc::new(login);
        for _ in 0..10 {
            let (login, sent, challenge) = (login.clone(), sent.clone(), stand.challenge(401, ""));
            all.spawn(async move { login.refused(Some(&sent), challenge).await.unwrap() });
        }
        for token in all.join_all().await {
            assert_eq!(bearer(&token), "Bearer second");
        }
        assert_eq!(stand.asked("POST /token").len(), 2);
    })
    .await;
}

#[tokio::test]
async fn a_token_that_the_issuer_does_not_renew_needs_a_person_and_is_not_sent_again() {
    within(async {
        let stand = Stand::start().await;
        let login = stand.login("", None);
        let sent = logged_in(&login).await;
        let error = json!({"error": "invalid_grant", "error_description": "renews-first\u{1b}[2J"});
        stand.reply("/token", Reply::Status(400, error));
        for _ in 0..2 {
            let denied = login.refused(Some(&sent), stand.challenge(401, "")).await.unwrap_err();
            assert!(matches!(denied, NoToken::LoginNeeded(_)), "{denied:?}");
        }
        assert_eq!(stand.asked("POST /token").len(), 2, "once for the login, once to renew");
        // A temporary failure of the issuer does not demand a login.
        stand.issue("third", 3600);
        let sent = logged_in(&login).await;
        stand.reply("/token", Reply::Status(503, json!({})));
        let denied = login.refused(Some(&sent), stand.challenge(401, "")).await.unwrap_err();
        assert!(matches!(denied, NoToken::Failed(_)), "{denied:?}");
        let asked = stand.asked("POST /token").len();
        let denied = login.refused(Some(&sent), stand.challenge(401, "")).await.unwrap_err();
        assert!(matches!(denied, NoToken::Failed(_)), "{denied:?}");
        assert_eq!(
            stand.asked("POST /token").len(),
            asked,
            "the issuer is not asked again for a while"
        );
    })
    .await;
}

#[tokio::test]
async fn a_token_is_not_renewed_without_the_lock_on_its_file() {
    within(async {
        let stand = Stand::start().await;
        let folder = tempfile::tempdir().unwrap();
        let login = stand.login("", Some(folder.path()));
        let sent = logged_in(&login).await;
        let file = std::fs::read(folder.path().join("it.json")).unwrap();
        // A directory in the place of the lock file cannot be opened for writing.
        let lock = folder.path().join("it.held");
        let _absent = std::fs::remove_file(&lock);
        std::fs::create_dir(&lock).unwrap();
        stand.issue("second", 3600);
        let denied = login.refused(Some(&sent), stand.challenge(401, "")).await.unwrap_err();
        let NoToken::Failed(error) = denied else { panic!("{denied:?}") };
        let why = portcullis_sanitize::error_chain(&error);
        assert!(why.contains("it.held"), "{why}");
        assert_eq!(stand.asked("POST /token").len(), 1, "for the login only");
        let wider = stand.challenge(403, ", error=\"insufficient_scope\", scope=\"write\"");
        login.refused(Some(&sent), wider).await.unwrap_err();
        assert_eq!(std::fs::read(folder.path().join("it.json")).unwrap(), file);
        login.forget().await.unwrap_err();
        std::fs::remove_dir(&lock).unwrap();
        let renewed = login.refused(Some(&sent), stand.challenge(401, "")).await.unwrap();
        assert_eq!(bearer(&renewed), "Bearer second");
        assert!(login.forget().await.unwrap());
    })
    .await;
}

#[tokio::test]
async fn the_next_login_requests_the_demanded_scopes_and_those_of_the_token() {
    within(async {
        let stand = Stand::start().await;
        let folder = tempfile::tempdir().unwrap();
        let serving = stand.login("", Some(folder.path()));
        let sent = logged_in(&serving).await;
        let more = stand.challenge(403, ", error=\"insufficient_scope\", scope=\"write\"");
        let denied = serving.refused(Some(&sent), more.clone()).await.unwrap_err();
        assert!(matches!(denied, NoToken::LoginNeeded(_)), "{denied:?}");
        assert_eq!(stand.asked("POST /token").len(), 1, "renewing it would allow no more");
        let mut shown = String::new();
        let other = stand.login("", Some(folder.path()));
        stand.issue("second", 3600);
        other
            .authorize(async |address| {
                address.clone_into(&mut shown);
                come_back(address, "code=a&state=STATE").await.map(drop)
            })
            .await
            .unwrap();
        assert!(shown.contains("scope=write+read+offline_access"), "{shown}");
        let token = serving.refused(Some(&sent), more).await.unwrap();
        assert_eq!(bearer(&token), "Bearer second", "the other process has got it");
        // The scopes in the configuration take precedence.
        let bound = stand.login("scopes = [\"read\"]", None);
        let agent = async |address: &str| {
            assert!(
                address.contains("scope=read&") || address.ends_with("scope=read"),
                "{address}"
            );
            come_back(address, "code=a&state=STATE").await.map(drop)
        };
        bound.authorize(agent).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_machine_authenticates_itself_and_its_token_is_not_stored() {
    within(async {
        let stand = Stand::start().await;
        let folder = tempfile::tempdir().unwrap();
        let secret = folder.path().join("secret");
        std::fs::write(&secret, "s3cret:/?\n").unwrap();
        let settings = format!(
            "grant = \"client-credentials\"\nclient-id = \"me\"\nclient-secret = {{ file = {secret:?} }}"
        );
        let login = stand.login(&settings, Some(folder.path()));
        assert_eq!(login.token().await, None);
        let token = login.refused(None, stand.challenge(401, ", scope=\"a\"")).await.unwrap();
        assert_eq!(bearer(&token), "Bearer first");
        let asked = stand.asked("POST /token").pop().unwrap();
        // `me:s3cret%3A%2F%3F` in base64.
        assert!(asked.ends_with("Basic bWU6czNjcmV0JTNBJTJGJTNG"), "{asked}");
        assert!(asked.contains("grant_type=client_credentials") && asked.contains("scope=a"), "{asked}");
        stand.issue("second", 3600);
        let more = stand.challenge(403, ", error=\"insufficient_scope\", scope=\"b\"");
        let token = login.refused(Some(&token), more).await.unwrap();
        assert_eq!(bearer(&token), "Bearer second");
        let asked = stand.asked("POST /token").pop().unwrap();
        assert!(asked.contains("scope=b+a"), "{asked}");
        let error = login.authorize(async |_: &str| Ok::<_, String>(())).await.unwrap_err();
        let error = error.to_string();
        assert!(error.contains("client-credentials"), "{error}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "only the secret");
    })
    .await;
}

#[tokio::test]
async fn a_server_without_metadata_issues_its_tokens_itself() {
    within(async {
        let stand = Stand::start().await;
        stand.reply("/.well-known/oauth-protected-resource/mcp", Reply::Status(404, json!({})));
        for has_metadata in [true, false] {
            if !has_metadata {
                stand.reply(
                    "/.well-known/oauth-authorization-server",
                    Reply::Status(404, json!({})),
                );
            }
            let mut shown = String::new();
            let agent = async |address: &str| {
                address.clone_into(&mut shown);
                come_back(address, "code=a&state=STATE").await.map(drop)
            };
            stand.login("", None).authorize(agent).await.unwrap();
            assert!(shown.starts_with(&format!("{}/authorize?", stand.origin)), "{shown}");
        }
        let wanted = format!("issuer = \"{}/\"", stand.origin);
        let agent = async |_: &str| Err("it must not be shown");
        stand.login(&wanted, None).authorize(agent).await.unwrap_err();
    })
    .await;
}

#[tokio::test]
async fn requests_without_the_state_are_refused_and_the_login_goes_on() {
    within(async {
        let stand = Stand::start().await;
        let login = stand.login("", None);
        login
            .authorize(async |address| {
                for wrong in ["code=evil&state=guessed", "code=evil", "error=access_denied"] {
                    let page = come_back(address, wrong).await?;
                    assert!(page.starts_with("HTTP/1.1 400"), "{page}");
                    assert!(!page.contains("evil"), "{page}");
                }
                let url: url::Url = address.parse().unwrap();
                let back = url.query_pairs().find(|(key, _)| key == "redirect_uri").unwrap().1;
                let page =
                    visit(&format!("{}favicon.ico", back.trim_end_matches("callback"))).await?;
                assert!(page.starts_with("HTTP/1.1 400"), "{page}");
                let page = come_back(address, "code=good&state=STATE").await?;
                assert!(page.starts_with("HTTP/1.1 200"), "{page}");
                Ok::<_, String>(())
            })
            .await
            .unwrap();
        let asked = stand.asked("POST /token");
        assert!(asked.len() == 1 && asked[0].contains("code=good"), "{asked:?}");
    })
    .await;
}

/// The member of an issuer's metadata that lists the client authentication methods.
const METHODS: &str = "token_endpoint_auth_methods_supported";

/// The reply of an issuer that does not register a client as the client asks.
fn unregistered(error: &str) -> Reply {
    Reply::Status(400, json!({ "error": error }))
}

#[tokio::test]
async fn an_issuer_without_a_list_of_methods_registers_a_public_client() {
    within(async {
        let stand = Stand::start().await;
        stand.issuer_omits(METHODS);
        logged_in(&stand.login("", None)).await;
        let asked = stand.asked("POST /register");
        assert_eq!(asked.len(), 1, "{asked:?}");
        assert!(asked[0].contains("\"token_endpoint_auth_method\":\"none\""), "{asked:?}");
        let asked = stand.asked("POST /token").pop().unwrap();
        assert!(asked.contains("client_id=registered") && asked.ends_with(" -"), "{asked}");
    })
    .await;
}

#[tokio::test]
async fn an_issuer_without_a_list_of_methods_and_public_clients_registers_one_with_a_secret() {
    within(async {
        let stand = Stand::start().await;
        stand.issuer_omits(METHODS);
        let registered = json!({"client_id": "me", "client_secret": "s3cret"});
        let registered = Reply::Status(201, registered);
        let replies = vec![unregistered("invalid_client_metadata"), registered];
        stand.reply("/register", Reply::InTurn(replies));
        logged_in(&stand.login("", None)).await;
        let asked = stand.asked("POST /register");
        assert_eq!(asked.len(), 2, "{asked:?}");
        for (asked, method) in asked.iter().zip(["none", "client_secret_basic"]) {
            let expected = format!("\"token_endpoint_auth_method\":\"{method}\"");
            assert!(asked.contains(&expected), "{asked}");
        }
        // `me:s3cret` in base64.
        let asked = stand.asked("POST /token").pop().unwrap();
        assert!(asked.ends_with("Basic bWU6czNjcmV0"), "{asked}");
    })
    .await;
}

#[tokio::test]
async fn a_registration_that_another_method_would_not_change_is_not_repeated() {
    within(async {
        let registered = Reply::Status(201, json!({"client_id": "me", "client_secret": "s"}));
        for (has_list, error) in
            [(true, "invalid_client_metadata"), (false, "invalid_redirect_uri")]
        {
            let stand = Stand::start().await;
            if !has_list {
                stand.issuer_omits(METHODS);
            }
            let replies = vec![unregistered(error), registered.clone()];
            stand.reply("/register", Reply::InTurn(replies));
            let agent = async |_: &str| Err("it must not be shown");
            let why = stand.login("", None).authorize(agent).await.unwrap_err();
            let why = portcullis_sanitize::error_chain(&why);
            assert!(why.contains(error), "{why}");
            assert_eq!(stand.asked("POST /register").len(), 1);
        }
    })
    .await;
}
