//! Tests of what a grant of the catalog holds.

use super::*;
use crate::gate::Ask as _;

#[test]
fn results_are_not_part_of_tools() {
    let grant: CatalogGrant = toml::from_str("read = [\"tools\"]").unwrap();
    assert!(CatalogAsk(Part::Tools).is_within(&grant));
    assert!(!CatalogAsk(Part::Results).is_within(&grant) && !grant.has_results());
}
