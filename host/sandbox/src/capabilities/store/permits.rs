//! Calls of each effect of `store`, which `tests/permits.rs` compiles as they are and with faults. One call a line.

use portcullis_sandbox::capabilities::store::{StoreAsk, effect};

pub fn open(permit: Permit<StoreAsk>) { drop(effect::open(permit, any(), any())); }
pub fn keep(permit: Permit<StoreAsk>) { drop(effect::keep(permit, any())); }
pub fn remove(permit: Permit<StoreAsk>) { drop(effect::remove(permit, any(), any())); }
