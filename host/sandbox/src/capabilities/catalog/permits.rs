//! A call of each effect of `catalog`, one call a line. `tests/permits.rs` compiles these calls, and checks that
//! they do not compile with faults.

use portcullis_sandbox::capabilities::catalog::{CatalogAsk, effect};

pub fn list_tools(permit: Permit<CatalogAsk>) { drop(effect::list_tools(permit, any(), any())); }
pub fn find(permit: Permit<CatalogAsk>) { drop(effect::find(permit, any(), any(), any(), any(), any())); }
pub fn last_result(permit: Permit<CatalogAsk>) { drop(effect::last_result(permit, any(), any(), any())); }
