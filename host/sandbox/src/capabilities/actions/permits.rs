//! A call of each effect of `actions`, one call a line. `tests/permits.rs` compiles these calls, and checks that
//! they do not compile with faults.

use portcullis_sandbox::capabilities::actions::{ActionAsk, effect};

pub fn call(permit: Permit<ActionAsk>) { drop(effect::PermittedTool::new(any(), any(), vec![permit])); }
