//! Tests that check which asks a grant of the catalog covers.

use super::*;
use crate::gate::Ask as _;

#[test]
fn a_grant_of_tools_covers_no_results() {
    let grant: CatalogGrant = toml::from_str("read = [\"tools\"]").unwrap();
    assert!(CatalogAsk::Tools.is_within(&grant));
    assert!(!CatalogAsk::Results.is_within(&grant) && !grant.needs_results());
    let about = CatalogAsk::Pointers { tool: "t".into() };
    assert!(!about.is_within(&grant));
    let grant: CatalogGrant = toml::from_str("read = [\"pointers\"]").unwrap();
    assert!(about.is_within(&grant) && grant.needs_results());
    assert!(!CatalogAsk::Results.is_within(&grant));
}
