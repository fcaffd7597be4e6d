//! A call of each effect of `actions`, one call a line. `tests/permits.rs` checks that these calls compile, and that
//! they do not compile without their own permit or if a permit is used twice.

use portcullis_sandbox::capabilities::actions::{ActionAsk, effect};

pub fn call(permit: Permit<ActionAsk>) { drop(effect::PermittedTool::new(any(), any(), vec![permit])); }
