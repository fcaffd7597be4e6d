//! A call of each effect of `cache`, one call a line. `tests/permits.rs` compiles these calls, and checks that they
//! do not compile with faults.

use portcullis_sandbox::capabilities::cache::{CacheAsk, effect};

pub fn keep(permit: Permit<CacheAsk>) { drop(effect::keep(permit, any(), any(), any(), any())); }
