//! Calls of each effect of `http`, which `tests/permits.rs` compiles as they are and with faults. One call a line.

use portcullis_sandbox::capabilities::http::{Connection, Request, effect};

pub fn hand_over_request(permit: Permit<Request>) { drop(effect::hand_over_request(permit)); }
pub fn hand_over_connection(permit: Permit<Connection>) { drop(effect::hand_over_connection(permit)); }
