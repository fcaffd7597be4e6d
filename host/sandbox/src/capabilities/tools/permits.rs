//! Calls of each effect of `tools`, which `tests/permits.rs` compiles as they are and with faults. One call a line.

use portcullis_sandbox::capabilities::tools::{ToolAsk, effect};

pub fn begin(permit: Permit<ToolAsk>) { drop(effect::begin(permit, any(), any(), any())); }
pub fn start(permit: Permit<ToolAsk>) { drop(effect::start(permit, any(), any())); }
