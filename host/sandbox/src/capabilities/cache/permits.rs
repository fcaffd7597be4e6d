//! Calls of each effect of `cache`, which `tests/permits.rs` compiles as they are and with faults. One call a line.

use portcullis_sandbox::capabilities::cache::{CacheAsk, effect};

pub fn keep(permit: Permit<CacheAsk>) { drop(effect::keep(permit, any(), any(), any(), any())); }
