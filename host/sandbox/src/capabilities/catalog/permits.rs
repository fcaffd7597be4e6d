//! A call of each effect of `catalog`, one call a line. `tests/permits.rs` checks that these calls compile, and that
//! they do not compile without their own permit or if a permit is used twice.

use portcullis_sandbox::capabilities::catalog::{CatalogAsk, effect};

pub fn list_tools(permit: Permit<CatalogAsk>) { drop(effect::list_tools(permit, any(), any())); }
pub fn find(permit: Permit<CatalogAsk>) { drop(effect::find(permit, any(), any(), any(), any(), any())); }
pub fn last_result(permit: Permit<CatalogAsk>) { drop(effect::last_result(permit, any(), any(), any())); }
