//! A call of each effect of `tools`, one call a line. `tests/permits.rs` checks that these calls compile, and that they
//! do not compile without their own permit or if a permit is used twice.

use portcullis_sandbox::capabilities::tools::{ToolAsk, effect};

pub fn begin(permit: Permit<ToolAsk>) { drop(effect::begin(permit, any(), any(), any())); }
pub fn start(permit: Permit<ToolAsk>) { drop(effect::start(permit, any(), any())); }
