//! Tests of lists of versions, with and without an answer of the CDN.

use super::*;
use portcullis_plugin::rehearsal::Rehearsal;

const LIST: &str = r#"{
    "latest": {"version": "1.152.0", "support": "Maintenance", "lts": false},
    "active": {"version": "1.148.9", "support": "Maintenance", "lts": true},
    "1.152": {"version": "1.152.0", "support": "Maintenance", "lts": false},
    "1.148": {"version": "1.148.9", "support": "Maintenance", "lts": true},
    "1.120": {"version": "1.120.50", "support": "Maintenance", "lts": true},
    "1.96": {"version": "1.96.40", "support": "Out of Maintenance", "lts": true}
}"#;

fn url(file: &str) -> String {
    format!("https://sdk.openui5.org/{file}")
}

fn online() -> (Rehearsal, Versions) {
    let rehearsal = Rehearsal::new().page(&url("version.json"), 200, LIST);
    let versions = of(Framework::OpenUi5, &Cdn::default());
    (rehearsal, versions)
}

#[test]
fn the_list_is_fetched_once_and_unchanged() {
    let (rehearsal, versions) = online();
    assert_eq!(versions.source, Source::Cdn);
    assert_eq!(
        Value::Object(versions.entries.clone()),
        serde_json::from_str::<Value>(LIST).unwrap()
    );
    assert_eq!(versions.note(), None);
    assert_eq!(versions.latest().version, "1.152.0");
    assert_eq!(versions.minor("1.120").expect("it is listed").version, "1.120.50");
    assert_eq!(versions.minor("latest"), None);
    assert_eq!(versions.latest_lts(), Some("1.148.9"));
    assert_eq!(of(Framework::OpenUi5, &Cdn::default()), versions);
    assert_eq!(rehearsal.sent().len(), 1);
}

#[test]
fn the_support_of_versions() {
    let (_rehearsal, versions) = online();
    for (version, status, is_lts) in [
        ("1.120.50", "Maintenance", Some(true)),
        ("1.152.0", "Maintenance", Some(false)),
        ("1.96.40", "Out of Maintenance", Some(true)),
        ("1.120.30", "Outdated patch version. Upgrade to '1.120.50'.", Some(true)),
        ("1.120.50-SNAPSHOT", "Outdated patch version. Upgrade to '1.120.50'.", Some(true)),
        ("1.120.51", "Maintenance", Some(true)),
        ("1.150.0", "Out of Maintenance", None),
        ("1.95.0", "Out of Maintenance", None),
        ("1.153.0", "Unknown: newer than '1.152.0', the latest version in the list.", None),
        ("2.0.0", "Unknown: newer than '1.152.0', the latest version in the list.", None),
        ("latest", "Unknown: not a version such as 1.120.30", None),
    ] {
        let support = versions.support(version);
        assert_eq!((support.status.as_str(), support.is_lts), (status, is_lts), "{version}");
        assert_eq!(support.latest, "1.152.0");
        assert_eq!(support.latest_lts.as_deref(), Some("1.148.9"));
    }
}

#[test]
fn the_table_replaces_the_list_with_a_note() {
    let rehearsal = Rehearsal::new();
    for framework in Framework::ALL {
        let versions = of(framework, &Cdn::default());
        let Source::Table { date, why } = &versions.source else { panic!("it is the table") };
        assert!(date.starts_with("20") && date.len() == 10, "{date}");
        let url = format!("{}/version.json", framework.public_cdn());
        assert_eq!(
            *why,
            format!("Failed to fetch resource from CDN. Error: denied by the host for URL: {url}")
        );
        assert!(versions.note().expect("it is labelled").contains(date));
        let latest = Version::parse(versions.latest().version).expect("it is a version");
        assert!(latest >= Version::new(1, 152, 0));
        assert!(versions.releases().all(|(_, listed)| Version::parse(listed.version).is_ok()));
        assert!(versions.minor("1.120").expect("it is maintained until 2030").is_lts);
        assert!(versions.latest_lts().is_some_and(|lts| lts.starts_with("1.148.")));
        // The CDN is not asked again at once.
        assert_eq!(of(framework, &Cdn::default()), versions);
    }
    assert_eq!(rehearsal.sent().len(), 2);
    let (dates, source) = dates(Framework::SapUi5, &Cdn::default());
    assert!(matches!(source, Source::Table { .. }));
    assert_eq!(dates["1.120"]["endOfMaintenance"], "Long-term Maintenance, Q4/2030");
}

#[test]
fn a_cached_list_is_used_without_the_cdn() {
    let _rehearsal = Rehearsal::new();
    let url = url("version.json");
    let record = json!({ "fetched": 1_790_121_600_u64, "body": LIST });
    cache::set(&format!("checked {url}"), record.to_string(), None);
    let versions = of(Framework::OpenUi5, &Cdn::default());
    let Source::Remembered { date, .. } = &versions.source else { panic!("it is remembered") };
    assert_eq!(date, "2026-09-23");
    assert_eq!(versions.minor("1.96").expect("it is listed").version, "1.96.40");
}

#[test]
fn the_newer_of_cache_and_offline_directory_is_used() {
    let folder = tempfile::tempdir().expect("a folder");
    let name = ui5_data::versions_name(Framework::OpenUi5, Document::Versions);
    let list = LIST.replace("1.120.50", "1.120.49");
    let put = |fetched: u64, body: &str| {
        let record = json!({ "fetched": fetched, "body": body });
        fs::write(folder.path().join(&name), record.to_string()).expect("it is writable");
    };
    let path = folder.path().to_str().expect("its path is text");
    for (fetched, body, kept, expected) in [
        (1_790_121_600, list.as_str(), None, Some(("2026-09-23", "1.120.49"))),
        (1_790_121_600, &list, Some(1_790_208_000_u64), Some(("2026-09-24", "1.120.50"))),
        (1_790_294_400, &list, Some(1_790_208_000), Some(("2026-09-25", "1.120.49"))),
        (1_790_294_400, "{}", Some(1_790_208_000), Some(("2026-09-24", "1.120.50"))),
        (1_790_294_400, "{}", None, None),
    ] {
        let _rehearsal = Rehearsal::new().setting(DIRECTORY_SETTING, path);
        put(fetched, body);
        if let Some(kept) = kept {
            let record = json!({ "fetched": kept, "body": LIST });
            cache::set(&format!("checked {}", url("version.json")), record.to_string(), None);
        }
        let versions = of(Framework::OpenUi5, &Cdn::default());
        let found = match &versions.source {
            Source::Remembered { date, .. } => {
                let release = versions.minor("1.120").expect("it is listed");
                Some((date.as_str(), release.version))
            }
            Source::Cdn | Source::Table { .. } => None,
        };
        assert_eq!(found, expected);
    }
}

#[test]
fn unusable_answers_are_reported() {
    for (status, body, told) in [
        (404, "", "Error: The requested resource does not exist for URL: "),
        (503, "", "Error: The requested resource returned unexpected status \"503\" for URL: "),
        (200, "<html>", "Invalid version.json format. Not JSON: "),
        (200, "[]", "Invalid version.json format. Expected an object."),
        (200, "{}", "Invalid version.json format. It names no latest version."),
    ] {
        let _rehearsal = Rehearsal::new().page(&url("version.json"), status, body);
        let versions = of(Framework::OpenUi5, &Cdn::default());
        let Source::Table { why, .. } = versions.source else { panic!("it is the table") };
        assert!(why.contains(told), "{why}");
    }
}

#[test]
fn the_overview_has_the_dates() {
    let overview = json!({ "versions": [
        { "version": "1.152.*", "support": "Maintenance", "lts": false, "eom": "", "eocp": "" },
        { "version": "1.142.*", "support": "Maintenance", "lts": false, "eom": "Q3/2026", "eocp": "Q3/2027" },
        { "version": "*", "support": "Out of Maintenance", "lts": false, "eom": "Q1/2020", "eocp": "" },
        { "version": 1 },
    ], "patches": [] });
    let _rehearsal = Rehearsal::new().page(&url("versionoverview.json"), 200, overview.to_string());
    let (dates, source) = dates(Framework::OpenUi5, &Cdn::default());
    assert_eq!(source, Source::Cdn);
    assert_eq!(
        Value::Object(dates),
        json!({ "1.142": { "endOfMaintenance": "Q3/2026", "endOfCloudProvisioning": "Q3/2027" } })
    );
}

#[test]
fn dates_are_computed_correctly() {
    for (seconds, date) in [
        (0, "1970-01-01"),
        (951_782_400, "2000-02-29"),
        (951_868_800, "2000-03-01"),
        (1_767_225_599, "2025-12-31"),
        (4_107_542_399, "2100-02-28"),
        (4_107_542_400, "2100-03-01"),
    ] {
        assert_eq!(day(seconds), date);
    }
}

#[test]
fn hostile_texts_of_a_list_are_left_out() {
    let long = "x".repeat(100_000);
    let hostile = json!({
        "latest": { "version": "1.152.0", "support": "\u{202e}ignore all", "lts": true, "more": long },
        "1.120": { "version": format!("1.120.0-{long}"), "support": "Maintenance" },
        "1.119": { "version": "1.119.1", "support": long },
        "\u{202e}note": { "version": "1.1.1" },
    });
    let rehearsal = Rehearsal::new().page(&url("version.json"), 200, hostile.to_string());
    for _ in 0..2 {
        let versions = of(Framework::OpenUi5, &Cdn::default());
        assert_eq!(
            Value::Object(versions.entries.clone()),
            json!({
                "latest": { "version": "1.152.0", "support": "Unknown", "lts": true },
                "1.119": { "version": "1.119.1", "support": "Unknown", "lts": false },
            })
        );
    }
    assert_eq!(rehearsal.sent().len(), 1);
}

#[test]
fn a_silent_host_counts_for_both_lists() {
    let rehearsal = Rehearsal::new();
    of(Framework::OpenUi5, &Cdn::default());
    dates(Framework::OpenUi5, &Cdn::default());
    of(Framework::OpenUi5, &Cdn::default());
    let sent = rehearsal.sent();
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].patience, Some(fetched::SHORT_PATIENCE));
    // A host with a useless answer does not count as silent.
    let rehearsal = Rehearsal::new().page(&url("version.json"), 503, "");
    of(Framework::OpenUi5, &Cdn::default());
    dates(Framework::OpenUi5, &Cdn::default());
    of(Framework::OpenUi5, &Cdn::default());
    assert_eq!(rehearsal.sent().len(), 2);
}
