//! Tests of the handshake, and of servers that do not start.

mod stand_in;

use portcullis_mcp_client::{ClientSettings, Definition, Era, FaultCause, Upstream, UpstreamState};
use serde_json::json;
use stand_in::{Web, call, child, child_with, defined, has_seen, said, within};

#[tokio::test]
async fn a_server_for_both_eras_is_used_in_the_modern_era() {
    within(async {
        let web = Web::start(&["http"]);
        for upstream in [child(&[]), defined(json!({"url": web.url}))] {
            assert_eq!(upstream.listing().await.unwrap().peer.era, Era::Modern);
        }
        let legacy = child_with(&[], json!({"protocol": "legacy"}));
        assert_eq!(legacy.listing().await.unwrap().peer.era, Era::Legacy);
        assert!(!said(&legacy, "seen", json!({})).await.contains("discover"));
    })
    .await;
}

/// The era of the connection that answers the next call.
async fn era_of(upstream: &Upstream) -> Era {
    said(upstream, "log", json!({})).await;
    let state = upstream.state();
    let UpstreamState::Ready { peer, .. } = state else { panic!("not connected: {state:?}") };
    peer.era
}

#[tokio::test]
async fn a_server_for_both_eras_is_used_in_the_preferred_era() {
    within(async {
        let web = Web::start(&["http"]);
        for upstream in [child(&[]), defined(json!({"url": web.url}))] {
            upstream.prefer(Era::Legacy);
            assert_eq!(era_of(&upstream).await, Era::Legacy);
            assert!(!said(&upstream, "seen", json!({})).await.contains("discover"));
            upstream.prefer(Era::Modern);
            assert_eq!(era_of(&upstream).await, Era::Modern);
            upstream.prefer(Era::Legacy);
            assert_eq!(era_of(&upstream).await, Era::Legacy);
        }
    })
    .await;
}

#[tokio::test]
async fn a_server_for_one_era_is_used_in_it_and_is_not_connected_again() {
    within(async {
        let (modern, legacy) = (Web::start(&["http", "modern"]), Web::start(&["http", "legacy"]));
        for (upstream, era) in [
            (child(&["modern"]), Era::Modern),
            (defined(json!({"url": modern.url})), Era::Modern),
            (child(&["legacy"]), Era::Legacy),
            (child(&["legacy", "exits"]), Era::Legacy),
            (defined(json!({"url": legacy.url})), Era::Legacy),
        ] {
            for preferred in [Era::Legacy, Era::Modern] {
                upstream.prefer(preferred);
                assert_eq!(era_of(&upstream).await, era, "{preferred:?}");
            }
            // Each era was preferred once, so the server's answer to both handshakes is known.
            let before = said(&upstream, "seen", json!({})).await;
            for preferred in [Era::Legacy, Era::Modern] {
                upstream.prefer(preferred);
                assert_eq!(era_of(&upstream).await, era, "{preferred:?}");
            }
            let after = said(&upstream, "seen", json!({})).await;
            for method in ["initialize", "server/discover"] {
                assert_eq!(after.matches(method).count(), before.matches(method).count());
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_configured_protocol_is_stronger_than_the_preferred_era() {
    within(async {
        for (protocol, era, preferred) in
            [("legacy", Era::Legacy, Era::Modern), ("2026-07-28", Era::Modern, Era::Legacy)]
        {
            let upstream = child_with(&[], json!({"protocol": protocol}));
            upstream.prefer(preferred);
            assert_eq!(era_of(&upstream).await, era);
        }
    })
    .await;
}

#[tokio::test]
async fn a_server_that_ends_at_an_unknown_request_is_restarted() {
    within(async {
        let upstream = child(&["legacy", "exits"]);
        assert_eq!(upstream.listing().await.unwrap().peer.era, Era::Legacy);
        assert!(!said(&upstream, "seen", json!({})).await.contains("discover"));
        // The era is known now, so the restarted server gets no unknown request.
        let _ended = call(&upstream, "die", json!({})).outcome().await.unwrap_err();
        assert_eq!(said(&upstream, "log", json!({})).await, "logged");
    })
    .await;
}

#[tokio::test]
async fn a_server_that_ignores_unknown_requests_is_used_in_the_legacy_era() {
    within(async {
        let web = Web::start(&["http", "silent"]);
        for upstream in [child(&["silent"]), defined(json!({"url": web.url}))] {
            assert_eq!(upstream.listing().await.unwrap().peer.era, Era::Legacy);
            assert_eq!(said(&upstream, "log", json!({})).await, "logged");
        }
    })
    .await;
}

#[tokio::test]
async fn a_server_that_answers_nothing_is_given_up() {
    within(async {
        let upstream = child_with(&["mute"], json!({"start-seconds": 1}));
        let fault = upstream.listing().await.unwrap_err();
        assert!(matches!(fault.trouble, FaultCause::TimedOut(_)), "{fault}");
        assert!(fault.to_string().contains("start-seconds"), "{fault}");
    })
    .await;
}

#[tokio::test]
async fn a_configured_protocol_is_not_replaced() {
    within(async {
        let web = Web::start(&["http", "legacy"]);
        let pinned = json!({"url": web.url, "protocol": "2026-07-28"});
        for upstream in
            [child_with(&["legacy"], json!({"protocol": "2026-07-28"})), defined(pinned)]
        {
            let fault = upstream.listing().await.unwrap_err();
            assert!(fault.to_string().contains("2026-07-28"), "{fault}");
            assert!(matches!(fault.trouble, FaultCause::Configuration(_)), "{fault}");
        }
        let legacy = child_with(&["modern"], json!({"protocol": "legacy"}));
        let fault = legacy.listing().await.unwrap_err();
        assert!(matches!(fault.trouble, FaultCause::Configuration(_)), "{fault}");
        assert!(fault.to_string().contains("remove `protocol`"), "{fault}");
        assert!(!fault.to_string().contains("violates the protocol"), "{fault}");
        let unknown = child(&["legacy", "2099-01-01"]).listing().await.unwrap_err();
        assert!(unknown.to_string().contains("2099-01-01"), "{unknown}");
    })
    .await;
}

#[tokio::test]
async fn without_a_transport_server_sent_events_are_tried_too() {
    within(async {
        let web = Web::start(&["sse", "legacy"]);
        let upstream = defined(json!({"url": web.url}));
        assert_eq!(said(&upstream, "log", json!({})).await, "logged");
        let http = defined(json!({"url": web.url, "transport": "http"}));
        let fault = call(&http, "log", json!({})).outcome().await.unwrap_err();
        assert!(matches!(fault.trouble, FaultCause::Refused(404, _)), "{fault}");
    })
    .await;
}

#[tokio::test]
async fn after_a_failure_there_is_a_reported_pause() {
    within(async {
        let drive = if cfg!(windows) { "C:" } else { "" };
        let upstream = defined(json!({"command": format!("{drive}/no/such/program")}));
        assert!(matches!(upstream.state(), UpstreamState::Idle));
        let fault = call(&upstream, "echo", json!({})).outcome().await.unwrap_err();
        assert!(matches!(fault.trouble, FaultCause::NotRunning(_)), "{fault}");
        assert!(fault.to_string().starts_with("tools/call at the upstream `stand-in`:"), "{fault}");
        assert!(fault.to_string().contains("/no/such/program"), "{fault}");
        let fault = call(&upstream, "echo", json!({})).outcome().await.unwrap_err();
        assert!(matches!(fault.trouble, FaultCause::Connecting { .. }), "{fault}");
        assert!(fault.to_string().contains("the next attempt is possible in 1 s"), "{fault}");
        assert!(matches!(upstream.state(), UpstreamState::Resting { .. }));
    })
    .await;
}

#[tokio::test]
async fn a_failure_to_connect_names_its_cause() {
    within(async {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        drop(listener);
        let fault = defined(json!({"url": url})).listing().await.unwrap_err();
        assert!(matches!(fault.trouble, FaultCause::NotRunning(_)), "{fault}");
        let locked = Web::start(&["http", "locked"]);
        let fault = defined(json!({"url": locked.url})).listing().await.unwrap_err();
        assert!(matches!(fault.trouble, FaultCause::Login(_)), "{fault}");
        assert!(fault.to_string().contains("upstream login"), "{fault}");
        assert!(fault.to_string().contains("`headers`"), "{fault}");
        let headers = json!({"Authorization": "Bearer another/key"});
        let upstream = defined(json!({"url": locked.url, "headers": headers}));
        let fault = upstream.listing().await.unwrap_err().to_string();
        assert!(fault.contains("who are you? Bearer … Bearer …"), "{fault}");
        assert!(!fault.contains("another"), "{fault}");
        let headers = json!({"Authorization": "Bearer key"});
        let upstream = defined(json!({"url": locked.url, "headers": headers}));
        assert_eq!(said(&upstream, "log", json!({})).await, "logged");
        let elsewhere = Web::start(&["http", "elsewhere"]);
        let fault = defined(json!({"url": elsewhere.url})).listing().await.unwrap_err();
        assert!(matches!(fault.trouble, FaultCause::Refused(307, _)), "{fault}");
        let foreign = Web::start(&["sse", "foreign"]);
        let upstream = defined(json!({"url": foreign.url, "transport": "sse"}));
        let fault = upstream.listing().await.unwrap_err();
        assert!(fault.to_string().contains("another server"), "{fault}");
    })
    .await;
}

#[tokio::test]
async fn a_child_gets_the_environment_that_it_is_given_and_little_else() {
    within(async {
        let upstream = child_with(&[], json!({"env": {"TOKEN": "t", "LANG": "xx"}}));
        let env = said(&upstream, "env", json!({})).await;
        let env: std::collections::BTreeMap<String, String> = serde_json::from_str(&env).unwrap();
        assert_eq!((env["TOKEN"].as_str(), env["LANG"].as_str()), ("t", "xx"));
        let few = "HOME LANG PATH TMPDIR TOKEN";
        let on_windows = "APPDATA COMSPEC HOMEDRIVE HOMEPATH LANG LOCALAPPDATA PATH PATHEXT PROGRAMDATA PROGRAMFILES \
                          SYSTEMDRIVE SYSTEMROOT TEMP TMP TOKEN USERPROFILE WINDIR";
        let few = if cfg!(windows) { on_windows } else { few };
        // Wine gives each program variables of its own.
        let is_of_wine = |name: &str| cfg!(windows) && name.starts_with("WINE");
        let is_known = |name: &String| {
            is_of_wine(name) || few.split(' ').any(|few| few.eq_ignore_ascii_case(name))
        };
        assert!(env.keys().all(is_known), "{env:?}");
        let needed = if cfg!(windows) { &["SystemRoot", "TEMP", "USERPROFILE"][..] } else { &["HOME"] };
        assert!(needed.iter().all(|name| env.contains_key(*name)), "{env:?}");
    })
    .await;
}

#[tokio::test]
async fn the_connection_is_made_with_the_first_use_and_shared() {
    within(async {
        let definition: Definition =
            serde_json::from_value(json!({"command": stand_in::program(), "args": ["stdio"]}))
                .unwrap();
        let upstream =
            Upstream::new("shared", definition, ClientSettings::new("test", "1")).unwrap();
        assert!(
            matches!(upstream.state(), UpstreamState::Idle) && upstream.known_listing().is_none()
        );
        let (one, other) = (upstream.clone(), upstream.clone());
        let both = tokio::join!(said(&one, "log", json!({})), said(&other, "log", json!({})));
        assert_eq!(both, ("logged".to_owned(), "logged".to_owned()));
        has_seen(&upstream, "server/discover").await;
        let seen = said(&upstream, "seen", json!({})).await;
        assert_eq!(seen.matches("server/discover").count(), 1, "{seen}");
    })
    .await;
}
