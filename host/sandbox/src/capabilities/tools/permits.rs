//! A call of each effect of `tools`, one call a line. `tests/permits.rs` compiles these calls, and checks that they
//! do not compile with faults.

use portcullis_sandbox::capabilities::tools::{ToolAsk, effect};

pub fn begin(permit: Permit<ToolAsk>) { drop(effect::begin(permit, any(), any(), any())); }
pub fn start(permit: Permit<ToolAsk>) { drop(effect::start(permit, any(), any())); }
