//! Calls of each effect of `catalog`, which `tests/permits.rs` compiles as they are and with faults. One call a line.

use portcullis_sandbox::capabilities::catalog::{CatalogAsk, effect};

pub fn list_tools(permit: Permit<CatalogAsk>) { drop(effect::list_tools(permit, any(), any())); }
pub fn find(permit: Permit<CatalogAsk>) { drop(effect::find(permit, any(), any(), any(), any(), any())); }
pub fn last_result(permit: Permit<CatalogAsk>) { drop(effect::last_result(permit, any(), any(), any())); }
