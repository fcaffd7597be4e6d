//! Calls of each effect of `client`, which `tests/permits.rs` compiles as they are and with faults. One call a line.

use portcullis_sandbox::capabilities::client::{ClientAsk, effect};

pub fn record_question(permit: Permit<ClientAsk>) { drop(effect::record_question(permit)); }
