//! A call of each effect of `store`, one call a line. `tests/permits.rs` checks that these calls compile, and that they
//! do not compile without their own permit or if a permit is used twice.

use portcullis_sandbox::capabilities::store::{StoreAsk, effect};

pub fn open(permit: Permit<StoreAsk>) { drop(effect::open(permit, any(), any())); }
pub fn keep(permit: Permit<StoreAsk>) { drop(effect::keep(permit, any())); }
pub fn keep_in_cluster(permit: Permit<StoreAsk>) { drop(effect::keep_in_cluster(permit, any(), any())); }
pub fn remove(permit: Permit<StoreAsk>) { drop(effect::remove(permit, any(), any())); }
pub fn remove_from_cluster(permit: Permit<StoreAsk>) { drop(effect::remove_from_cluster(permit, any(), any())); }
