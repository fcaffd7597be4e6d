//! A call of each effect of `store`, one call a line. `tests/permits.rs` compiles these calls, and checks that they
//! do not compile with faults.

use portcullis_sandbox::capabilities::store::{StoreAsk, effect};

pub fn open(permit: Permit<StoreAsk>) { drop(effect::open(permit, any(), any())); }
pub fn keep(permit: Permit<StoreAsk>) { drop(effect::keep(permit, any())); }
pub fn remove(permit: Permit<StoreAsk>) { drop(effect::remove(permit, any(), any())); }
