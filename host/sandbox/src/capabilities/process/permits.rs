//! Calls of each effect of `process`, which `tests/permits.rs` compiles as they are and with faults. One call a line.

use portcullis_sandbox::capabilities::process::{ProcessAsk, effect};

pub fn request(permit: Permit<ProcessAsk>) { drop(effect::request(permit, any(), any(), any(), any())); }
pub fn start(permit: Permit<ProcessAsk>) { drop(effect::start(permit, any(), any(), any())); }
