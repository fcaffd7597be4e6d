//! A call of each effect of `http`, one call a line. `tests/permits.rs` checks that these calls compile, and that they
//! do not compile without their own permit or if a permit is used twice.

use portcullis_sandbox::capabilities::http::{Connection, Request, effect};

pub fn hand_over_request(permit: Permit<Request>) { drop(effect::hand_over_request(permit)); }
pub fn hand_over_connection(permit: Permit<Connection>) { drop(effect::hand_over_connection(permit)); }
