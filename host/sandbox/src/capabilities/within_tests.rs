//! Property tests of `Ask::is_within`: its results are compared with models that are written in another way.

use std::fmt::Write;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use portcullis_egress::{Connection, Request};
use portcullis_files::{Access, FileUse, Origin};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde::de::DeserializeOwned;

use super::actions::{ActionAsk, ActionsGrant, ToolInput};
use super::cache::{CacheAsk, CacheGrant};
use super::client::{ClientAsk, ClientGrant, Feature};
use super::files::{FilesGrant, Scope};
use super::http::HttpGrant;
use super::process::{ProcessAsk, ProcessGrant};
use super::store::{StoreAsk, StoreGrant, StoreUse};
use crate::gate::Ask;

fn grant<T: DeserializeOwned>(text: &str) -> T {
    toml::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn list<T: std::fmt::Display>(items: &[T]) -> String {
    items.iter().fold(String::new(), |mut text, item| {
        write!(text, "{:?},", item.to_string()).unwrap();
        text
    })
}

/// An origin, and one of its spellings.
#[derive(Debug, Clone, PartialEq)]
struct Spelled {
    scheme: &'static str,
    host: &'static str,
    port: u16,
    text: String,
}

fn spelled() -> impl Strategy<Value = Spelled> {
    let hosts: [&[&str]; 6] = [
        &["a.example", "A.Example", "a.example.", "A.EXAMPLE."],
        &["sub.a.example", "SUB.a.example"],
        &["xn--bcher-kva.example", "b\u{fc}cher.example", "B\u{dc}CHER.example"],
        &["127.0.0.1", "2130706433", "0x7f.1", "0177.0.0.1"],
        &["[::1]", "[0:0:0:0:0:0:0:1]", "[::0001]"],
        &["a.example.evil", "A.example.evil."],
    ];
    let spelling = select(hosts.to_vec()).prop_flat_map(|all| (Just(all[0]), select(all.to_vec())));
    let scheme = select(vec!["http", "https"]);
    let place = (scheme, select(vec![80_u16, 443, 8443]), spelling, any::<bool>());
    place.prop_map(|(scheme, port, (host, text), is_short)| {
        let usual = matches!((scheme, port), ("http", 80) | ("https", 443));
        let text = match (usual && is_short, scheme) {
            (true, "https") => text.to_owned(),
            (true, _) => format!("{scheme}://{text}"),
            (false, _) => format!("{}://{text}:{port}", scheme.to_uppercase()),
        };
        Spelled { scheme, host, port, text }
    })
}

fn methods() -> impl Strategy<Value = Vec<&'static str>> {
    subsequence(vec!["GET", "POST", "PUT", "DELETE"], 1..=4)
}

fn http(hosts: &[Spelled], methods: &[&str]) -> HttpGrant {
    let hosts: Vec<_> = hosts.iter().map(|host| &host.text).collect();
    grant(&format!("hosts = [{}]\nmethods = [{}]", list(&hosts), list(methods)))
}

fn access() -> impl Strategy<Value = Access> {
    select(vec![Access::Read, Access::Write])
}

/// The path of a directory or file. There are few names, so that many paths are beneath others.
fn path() -> impl Strategy<Value = String> {
    vec(select(vec!["a", "b", "ab", "a b"]), 1..4).prop_map(|names| format!("/{}", names.join("/")))
}

fn files(access: Access, scope: Scope, read: &[String], write: &[String]) -> FilesGrant {
    FilesGrant {
        access,
        scope,
        directories: read.iter().map(PathBuf::from).collect(),
        writable: write.iter().map(PathBuf::from).collect(),
    }
}

/// Whether a file lies in a directory, by their texts.
fn lies_in(file: &str, directories: &[String]) -> bool {
    directories
        .iter()
        .any(|directory| file == directory || file.starts_with(&format!("{directory}/")))
}

/// Names that differ little.
fn names() -> impl Strategy<Value = Vec<&'static str>> {
    subsequence(vec!["a", "A", "a ", "aa", "a\0", "", "b", "*"], 1..=8)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_request_is_within_by_scheme_host_port_and_method_in_any_spelling(
        hosts in vec(spelled(), 1..4), more in vec(spelled(), 0..3), asked in spelled(),
        few in methods(), many in methods(), method in select(vec!["GET", "POST", "PUT", "DELETE", "get", ""]),
    ) {
        let ask = Request {
            origin: asked.text.parse().unwrap(), method: method.into(), path: "/".into(),
        };
        let model = |hosts: &[Spelled], methods: &[&str]| methods.contains(&method)
            && hosts.iter().any(|host| (host.scheme, host.host, host.port) == (asked.scheme, asked.host, asked.port));
        let narrow = ask.is_within(&http(&hosts, &few));
        prop_assert_eq!(narrow, model(&hosts, &few));
        let (more, many) = ([&hosts[..], &more].concat(), [few, many].concat());
        let wide = ask.is_within(&http(&more, &many));
        prop_assert_eq!(wide, model(&more, &many));
        prop_assert!(wide || !narrow);
    }

    #[test]
    fn connections_are_public_or_named_or_in_a_range(
        address in prop_oneof![
            any::<[u8; 4]>().prop_map(IpAddr::from), any::<[u8; 16]>().prop_map(IpAddr::from),
            select(vec!["127.0.0.1", "::1", "10.1.2.3", "::ffff:10.1.2.3", "169.254.169.254", "8.8.8.8", "fd00::1"])
                .prop_map(|text| text.parse().unwrap()),
        ],
        host in select(vec!["a.example", "localhost", "127.0.0.1", "[::1]", "10.1.2.3"]),
        named in subsequence(vec!["a.example", "localhost", "127.0.0.1", "[::1]", "10.1.2.3"], 1..=5),
        ranges in subsequence(vec!["10.0.0.0/8", "127.0.0.0/8", "::/0", "fd00::/8"], 0..=4),
    ) {
        let grant: HttpGrant =
            grant(&format!("hosts = [{}]\naddresses = [{}]", list(&named), list(&ranges)));
        let held = Connection { host: host.into(), address }.is_within(&grant);
        let bits = |address: IpAddr| match address.to_canonical() {
            IpAddr::V4(v4) => (4, u128::from(u32::from(v4)) << 96),
            IpAddr::V6(v6) => (6, u128::from(v6)),
        };
        let in_range = ranges.iter().any(|range| {
            let (first, length) = range.split_once('/').unwrap();
            let ((family, first), (own, address)) = (bits(first.parse().unwrap()), bits(address));
            let length: u32 = length.parse().unwrap();
            family == own && (length == 0 || (first ^ address) >> (128 - length) == 0)
        });
        let is_named = named.contains(&host) && (host.trim_matches(['[', ']']) == address.to_string()
            || (host == "localhost" && address.to_canonical().is_loopback()));
        prop_assert_eq!(held, portcullis_egress::is_public(address) || in_range || is_named);
    }

    #[test]
    fn files_are_within_by_place_and_access(
        file in path(), asked in access(), opened_for in access(), granted in access(),
        origin in select(vec![Origin::Argument, Origin::Root, Origin::Directory, Origin::Beside]),
        scope in select(vec![Scope::Arguments, Scope::Roots]),
        read in vec(path(), 0..3), write in vec(path(), 0..3), more in vec(path(), 0..3),
    ) {
        let ask = FileUse { path: file.clone().into(), access: asked, origin, opened_for };
        let held = ask.is_within(&files(granted, scope, &read, &write));
        let writes = asked == Access::Write;
        let model = !(writes && opened_for == Access::Read) && match origin {
            Origin::Argument => !writes || granted == Access::Write,
            Origin::Root => scope == Scope::Roots && (!writes || granted == Access::Write),
            Origin::Directory => lies_in(&file, &write) || (!writes && lies_in(&file, &read)),
            Origin::Beside => false,
        };
        prop_assert_eq!(held, model);
        // A wider grant covers every ask that the narrower grant covers.
        let wider = files(Access::Write, Scope::Roots, &[&read[..], &more].concat(), &[&write[..], &more].concat());
        prop_assert!(!held || ask.is_within(&wider));
        // Directories cover only the files in them.
        prop_assert!(origin != Origin::Directory || !held || lies_in(&file, &[read, write].concat()));
    }

    #[test]
    fn only_equal_names_are_within(
        few in names(), more in names(), name in select(vec!["a", "A", "a ", "aa", "a\0", "", "b", "*", "c"]),
        fault in select(vec![None, Some("nowhere")]),
    ) {
        let all = [few.clone(), more].concat();
        for granted in [&few, &all] {
            let (actions, process): (ActionsGrant, ProcessGrant) =
                (grant(&format!("allow = [{}]", list_of(granted))), grant(&format!("commands = [{}]", list_of(granted))));
            let held = granted.iter().any(|one| one.as_bytes() == name.as_bytes());
            prop_assert_eq!(ActionAsk::of(name, &ToolInput::new("", Arc::default())).is_within(&actions), held);
            let ask = ProcessAsk { command: name.into(), arguments: Vec::new(), directory: None, access: Access::Read, fault };
            prop_assert_eq!(ask.is_within(&process), held && fault.is_none());
        }
    }

    #[test]
    fn amounts_up_to_the_granted_one_are_within(asked in any::<u64>(), granted in 1..=i64::MAX, little in 0_u64..9) {
        let (cache, store): (CacheGrant, StoreGrant) =
            (grant(&format!("bytes = {granted}")), grant(&format!("bytes = {granted}")));
        let granted = granted.unsigned_abs();
        for asked in [asked, granted, granted.saturating_sub(little), granted + little] {
            let fits = u128::from(asked) <= u128::from(granted);
            prop_assert_eq!(CacheAsk { key: String::new(), bytes: asked }.is_within(&cache), fits);
            prop_assert_eq!(StoreAsk { key: String::new(), caller_only: true, act: StoreUse::Keep(asked) }.is_within(&store), fits);
            let delete = StoreAsk { key: String::new(), caller_only: false, act: StoreUse::Delete };
            prop_assert!(delete.is_within(&store));
        }
    }

    #[test]
    fn questions_are_within_by_their_kind_and_agreed_to_by_their_patterns(
        granted in subsequence(vec!["elicitation", "sampling", "roots", "consent"], 1..=4),
        pattern in "[ab*]{0,8}", subject in "[ab*]{0,12}",
    ) {
        let agreed = format!("features = [{}]\nagreed.deed = [{pattern:?}]", list(&granted));
        let grant: ClientGrant = grant(&agreed);
        for feature in [Feature::Elicitation, Feature::Sampling, Feature::Roots, Feature::Consent] {
            let held = granted.contains(&feature.to_string().as_str());
            prop_assert_eq!(ClientAsk { feature, action: String::new() }.is_within(&grant), held);
        }
        prop_assert_eq!(grant.agrees("deed", &subject), matches(pattern.as_bytes(), subject.as_bytes()));
        prop_assert!(!grant.agrees("other", &subject));
    }
}

/// The names as items of a TOML list. A zero byte is written as an escape.
fn list_of(names: &[&str]) -> String {
    names.iter().map(|name| format!("\"{}\",", name.replace('\0', "\\u0000"))).collect()
}

/// Whether a text matches a pattern: letter by letter, with every possible length for each `*`.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    match pattern {
        [] => text.is_empty(),
        [b'*', rest @ ..] => (0..=text.len()).any(|skipped| matches(rest, &text[skipped..])),
        [first, rest @ ..] => text.first() == Some(first) && matches(rest, &text[1..]),
    }
}
