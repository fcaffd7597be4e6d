//! A call of each effect of `process`, one call a line. `tests/permits.rs` compiles these calls, and checks that
//! they do not compile with faults.

use portcullis_sandbox::capabilities::process::{ProcessAsk, effect};

pub fn request(permit: Permit<ProcessAsk>) { drop(effect::request(permit, any(), any(), any(), any())); }
pub fn start(permit: Permit<ProcessAsk>) { drop(effect::start(permit, any(), any(), any())); }
