//! A call of each effect of `process`, one call a line. `tests/permits.rs` checks that these calls compile, and that
//! they do not compile without their own permit or if a permit is used twice.

use portcullis_sandbox::capabilities::process::{ProcessAsk, effect};

pub fn request(permit: Permit<ProcessAsk>) { drop(effect::request(permit, any(), any(), any(), any())); }
pub fn start(permit: Permit<ProcessAsk>) { drop(effect::start(permit, any(), any(), any())); }
