//! Calls of each effect of `actions`, which `tests/permits.rs` compiles as they are and with faults. One call a line.

use portcullis_sandbox::capabilities::actions::{ActionAsk, effect};

pub fn call(permit: Permit<ActionAsk>) { drop(effect::PermittedTool::new(any(), any(), vec![permit])); }
