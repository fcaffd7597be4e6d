//! A call of each effect of `files`, one call a line. `tests/permits.rs` checks that these calls compile, and that they
//! do not compile without their own permit or if a permit is used twice.

use portcullis_sandbox::capabilities::files::{FileUse, effect};

pub fn hand_over(permit: Permit<FileUse>) { drop(effect::hand_over(permit)); }
