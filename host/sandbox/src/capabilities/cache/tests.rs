//! Tests that check which asks a grant of the cache covers.

use super::*;
use crate::gate::Ask as _;

#[test]
fn a_value_larger_than_the_cache_is_not_within() {
    let grant: CacheGrant = toml::from_str("bytes = 100").unwrap();
    for (bytes, expected) in [(0, true), (100, true), (101, false)] {
        assert_eq!(CacheAsk { key: "k".into(), bytes }.is_within(&grant), expected);
    }
    assert!(!grant.disk, "without `disk`, the cache is in memory only");
}
