//! Calls of each effect of `files`, which `tests/permits.rs` compiles as they are and with faults. One call a line.

use portcullis_sandbox::capabilities::files::{FileUse, effect};

pub fn hand_over(permit: Permit<FileUse>) { drop(effect::hand_over(permit)); }
