//! A call of each effect of `client`, one call a line. `tests/permits.rs` checks that these calls compile, and that
//! they do not compile without their own permit or if a permit is used twice.

use portcullis_sandbox::capabilities::client::{ClientAsk, effect};

pub fn record_question(permit: Permit<ClientAsk>) { drop(effect::record_question(permit)); }
