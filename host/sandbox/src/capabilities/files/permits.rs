//! A call of each effect of `files`, one call a line. `tests/permits.rs` compiles these calls, and checks that they
//! do not compile with faults.

use portcullis_sandbox::capabilities::files::{FileUse, effect};

pub fn hand_over(permit: Permit<FileUse>) { drop(effect::hand_over(permit)); }
