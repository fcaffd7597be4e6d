//! A call of each effect of `http`, one call a line. `tests/permits.rs` compiles these calls, and checks that they
//! do not compile with faults.

use portcullis_sandbox::capabilities::http::{Connection, Request, effect};

pub fn hand_over_request(permit: Permit<Request>) { drop(effect::hand_over_request(permit)); }
pub fn hand_over_connection(permit: Permit<Connection>) { drop(effect::hand_over_connection(permit)); }
