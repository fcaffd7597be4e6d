//! Tests that changes of lists and resources of an upstream are noticed.

mod stand_in;

use std::sync::Arc;
use std::time::Duration;

use portcullis_mcp_client::{Changes, Listing, Upstream, UpstreamRequest};
use serde_json::json;
use stand_in::{Web, child, child_with, defined, has_seen, object, said, within};

/// Waits for the next listing.
async fn next(changes: &mut tokio::sync::watch::Receiver<Option<Arc<Listing>>>) -> Arc<Listing> {
    changes.changed().await.expect("the upstream is there");
    changes.borrow_and_update().clone().expect("it has been listed")
}

fn expected() -> Changes {
    let names = |name: &str| vec![name.to_owned()];
    Changes { added: names("added"), removed: names("hang"), changed: names("echo") }
}

async fn notices_a_change(upstream: &Upstream) {
    let mut changes = upstream.changes();
    let before = upstream.listing().await.unwrap();
    changes.mark_unchanged();
    said(upstream, "change", json!({})).await;
    let after = next(&mut changes).await;
    assert_eq!(after.changes_since(&before), expected());
    assert_eq!(after.changes_since(&after), Changes::default());
    assert_eq!(upstream.known_listing(), Some(after));
}

#[tokio::test]
async fn a_legacy_upstream_notifies_of_changes() {
    within(async {
        notices_a_change(&child(&["legacy"])).await;
        let web = Web::start(&["sse", "legacy"]);
        notices_a_change(&defined(json!({"url": web.url, "transport": "sse"}))).await;
    })
    .await;
}

#[tokio::test]
async fn a_legacy_upstream_over_http_notifies_of_changes() {
    within(async {
        let web = Web::start(&["http", "legacy"]);
        let upstream = defined(json!({"url": web.url}));
        upstream.listing().await.unwrap();
        has_seen(&upstream, "GET").await;
        notices_a_change(&upstream).await;
    })
    .await;
}

#[tokio::test]
async fn a_modern_upstream_notifies_of_changes_on_request() {
    within(async {
        let web = Web::start(&["http", "modern"]);
        for upstream in [child(&["modern"]), defined(json!({"url": web.url}))] {
            upstream.listing().await.unwrap();
            has_seen(&upstream, "subscriptions/listen").await;
            notices_a_change(&upstream).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_failed_subscription_is_made_again_if_the_upstream_supports_subscriptions() {
    let listens = async |upstream: &Upstream| {
        said(upstream, "seen", json!({})).await.matches("subscriptions/listen").count()
    };
    within(async {
        let upstream = child(&["modern", "stumbles"]);
        upstream.listing().await.unwrap();
        while listens(&upstream).await < 2 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        notices_a_change(&upstream).await;
        let deaf = child(&["modern", "deaf"]);
        deaf.listing().await.unwrap();
        has_seen(&deaf, "subscriptions/listen").await;
        tokio::time::sleep(Duration::from_millis(1500)).await;
        assert_eq!(listens(&deaf).await, 1, "it does not support subscriptions");
    })
    .await;
}

#[tokio::test]
async fn a_listing_is_refreshed_periodically_if_configured() {
    within(async {
        let upstream = child_with(&["legacy", "quiet"], json!({"refresh-seconds": 1}));
        let mut changes = upstream.changes();
        let before = upstream.listing().await.unwrap();
        assert_eq!(next(&mut changes).await, before);
        said(&upstream, "change", json!({})).await;
        assert_eq!(next(&mut changes).await.changes_since(&before), expected());
    })
    .await;
}

#[tokio::test]
async fn a_current_listing_is_not_fetched_again_except_on_demand() {
    within(async {
        let upstream = child(&["modern", "quiet"]);
        let before = upstream.listing().await.unwrap();
        said(&upstream, "change", json!({})).await;
        assert_eq!(upstream.listing().await.unwrap(), before);
        let both = tokio::join!(upstream.refresh(), upstream.refresh());
        assert_eq!(both.0.unwrap().changes_since(&before), expected());
        assert_eq!(both.1.unwrap().changes_since(&before), expected());
        // A listing with a TTL of 0 is fetched each time.
        let brief = child(&["modern", "quiet", "brief"]);
        let before = brief.listing().await.unwrap();
        said(&brief, "change", json!({})).await;
        assert_eq!(brief.listing().await.unwrap().changes_since(&before), expected());
    })
    .await;
}

#[tokio::test]
async fn after_a_crash_the_listing_is_refreshed() {
    within(async {
        let upstream = child(&["legacy", "quiet"]);
        let mut changes = upstream.changes();
        let before = upstream.listing().await.unwrap();
        assert_eq!(next(&mut changes).await, before);
        said(&upstream, "change", json!({})).await;
        let changed = upstream.refresh().await.unwrap();
        assert_eq!(next(&mut changes).await, changed);
        let _crashed = stand_in::call(&upstream, "die", json!({})).outcome().await.unwrap_err();
        // The restarted server has its first list again.
        said(&upstream, "log", json!({})).await;
        assert_eq!(next(&mut changes).await, before);
    })
    .await;
}

#[tokio::test]
async fn a_subscription_reaches_its_subscriber() {
    within(async {
        let web = Web::start(&["http", "modern"]);
        for upstream in [child(&["modern"]), defined(json!({"url": web.url}))] {
            let params = json!({"notifications": {"resourceSubscriptions": ["test://one"]}});
            let request = UpstreamRequest::new("subscriptions/listen", object(params), "one");
            let mut subscription = upstream.request(request);
            let Some(portcullis_mcp_client::Event::Other { method, .. }) =
                subscription.next().await
            else {
                panic!("it is acknowledged")
            };
            assert_eq!(method, "notifications/subscriptions/acknowledged");
            said(&upstream, "touch", json!({})).await;
            let Some(portcullis_mcp_client::Event::Updated(params)) = subscription.next().await
            else {
                panic!("the change is reported")
            };
            assert_eq!(params["uri"], "test://one");
        }
        // Before 2026-07-28, the notification belongs to no request.
        let legacy = child(&["legacy"]);
        let mut notices = legacy.notices();
        said(&legacy, "touch", json!({})).await;
        assert_eq!(notices.recv().await.unwrap().params["uri"], "test://one");
    })
    .await;
}

#[tokio::test]
async fn watched_resources_are_subscribed_in_both_eras_and_on_each_connection() {
    within(async {
        let web = Web::start(&["http", "modern"]);
        let updated = async |upstream: &Upstream| {
            let mut notices = upstream.notices();
            said(upstream, "touch", json!({})).await;
            loop {
                let notice = notices.recv().await.unwrap();
                if notice.method == "notifications/resources/updated" {
                    break notice.params["uri"].clone();
                }
            }
        };
        for upstream in [child(&["modern"]), defined(json!({"url": web.url}))] {
            // The first resource is watched before there is a connection, the second one later.
            let one = upstream.watch("test://one");
            upstream.listing().await.unwrap();
            has_seen(&upstream, "subscriptions/listen").await;
            assert_eq!(updated(&upstream).await, "test://one");
            let _two = upstream.watch("test://two");
            drop(one);
            while said(&upstream, "seen", json!({})).await.matches("subscriptions/listen").count()
                < 2
            {
                tokio::task::yield_now().await;
            }
        }
        let legacy = child(&["legacy"]);
        let one = legacy.watch("test://one");
        let again = legacy.watch("test://one");
        legacy.want_logs("warning");
        has_seen(&legacy, "resources/subscribe \"test://one\"").await;
        has_seen(&legacy, "logging/setLevel \"warning\"").await;
        assert_eq!(updated(&legacy).await, "test://one");
        // One remaining watcher keeps the subscription.
        drop(one);
        let _crashed = stand_in::call(&legacy, "die", json!({})).outcome().await.unwrap_err();
        has_seen(&legacy, "resources/subscribe \"test://one\"").await;
        has_seen(&legacy, "logging/setLevel \"warning\"").await;
        drop(again);
        has_seen(&legacy, "resources/unsubscribe \"test://one\"").await;
    })
    .await;
}

#[tokio::test]
async fn modern_requests_have_the_log_level_and_legacy_upstreams_learn_of_changed_roots() {
    within(async {
        for (era, level) in [("modern", Some("debug")), ("legacy", None)] {
            let upstream = child(&[era]);
            let params = json!({"name": "meta", "arguments": {}});
            let mut request = UpstreamRequest::new("tools/call", object(params), "one");
            request.log_level = Some("debug".to_owned());
            let meta = stand_in::text(upstream.request(request).outcome().await.unwrap());
            let meta: serde_json::Value = serde_json::from_str(&meta).unwrap();
            assert_eq!(meta["io.modelcontextprotocol/logLevel"].as_str(), level);
            upstream.roots_changed().await.unwrap();
        }
        let legacy = child(&["legacy"]);
        legacy.listing().await.unwrap();
        legacy.roots_changed().await.unwrap();
        has_seen(&legacy, "notifications/roots/list_changed").await;
    })
    .await;
}
