//! A call of each effect of `cache`, one call a line. `tests/permits.rs` checks that these calls compile, and that they
//! do not compile without their own permit or if a permit is used twice.

use portcullis_sandbox::capabilities::cache::{CacheAsk, effect};

pub fn keep(permit: Permit<CacheAsk>) { drop(effect::keep(permit, any(), any(), any(), any())); }
