//! Tests that check which asks a grant of the store covers.

use super::*;
use crate::gate::Ask as _;

#[test]
fn writes_up_to_the_granted_bytes_are_within() {
    let grant: StoreGrant = toml::from_str("bytes = 100").unwrap();
    for (act, expected) in [
        (StoreUse::Open, true),
        (StoreUse::Delete, true),
        (StoreUse::Keep(100), true),
        (StoreUse::Keep(101), false),
        (StoreUse::Keep(u64::MAX), false),
    ] {
        assert_eq!(
            StoreAsk { key: "k".into(), caller_only: false, act }.is_within(&grant),
            expected,
            "{act:?}"
        );
    }
}

#[test]
fn zero_bytes_are_not_a_grant() {
    assert!(toml::from_str::<StoreGrant>("bytes = 0").is_err());
}
