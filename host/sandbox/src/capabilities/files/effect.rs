//! Hands permits over to the crate `portcullis-files`, which opens, creates, changes and removes files.

use portcullis_files::{Access, FilePermit, FileUse, Judge, Outcome};

use crate::gate::{Gate, Permit};

/// Converts a permit for the crate that uses the file.
pub fn hand_over(permit: Permit<FileUse>) -> Box<dyn FilePermit> {
    Box::new(permit)
}

impl Judge for Gate {
    fn permit(&self, wanted: FileUse) -> Option<Box<dyn FilePermit>> {
        let permit = match wanted.access {
            Access::Read => self.pass_read(wanted),
            Access::Write => self.pass(wanted),
        };
        // If the gate refuses, it has recorded the refusal, and the guest gets an error code.
        permit.ok().map(hand_over)
    }

    fn refuse(&self, wanted: FileUse, why: &'static str) {
        // The refusal is recorded and logged. The crate `portcullis-files` gives the guest an error code.
        let _recorded = self.refuse_always(&wanted, why);
    }
}

impl FilePermit for Permit<FileUse> {
    fn record(self: Box<Self>, outcome: Outcome) -> bool {
        match outcome {
            Outcome::Done => self.record_done("opened").is_ok(),
            Outcome::Failed(why) => Self::record(*self, why).is_ok(),
            Outcome::Refused(why) => {
                // If the ask was recorded before its effect, the guest gets the system's error code. Otherwise the
                // guest learns only that the use is not permitted.
                let was_recorded = self.is_recorded();
                let _denied = self.revoke(why);
                was_recorded
            }
        }
    }
}
