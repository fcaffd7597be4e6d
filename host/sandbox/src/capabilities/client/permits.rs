//! A call of each effect of `client`, one call a line. `tests/permits.rs` compiles these calls, and checks that
//! they do not compile with faults.

use portcullis_sandbox::capabilities::client::{ClientAsk, effect};

pub fn record_question(permit: Permit<ClientAsk>) { drop(effect::record_question(permit)); }
