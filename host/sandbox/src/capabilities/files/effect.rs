//! Using files: the crate `portcullis-files` opens, makes, changes and removes them, and each of its functions
//! takes the permit that is handed over here.

use portcullis_files::{Access, FilePermit, FileUse, Judge, Outcome};

use crate::gate::{Gate, Permit};

/// Hands a permit over to the crate that uses the file.
pub fn hand_over(permit: Permit<FileUse>) -> Box<dyn FilePermit> {
    Box::new(permit)
}

impl Judge for Gate {
    fn permit(&self, wanted: FileUse) -> Option<Box<dyn FilePermit>> {
        let permit = match wanted.access {
            Access::Read => self.pass_read(wanted),
            Access::Write => self.pass(wanted),
        };
        // The refusal is on record; the guest is told by an error code.
        permit.ok().map(hand_over)
    }

    fn refuse(&self, wanted: FileUse, why: &'static str) {
        // The refusal is on record; the guest is told by an error code of its own.
        let _recorded = self.refuse_always(&wanted, why);
    }
}

impl FilePermit for Permit<FileUse> {
    fn record(self: Box<Self>, outcome: Outcome) -> bool {
        match outcome {
            Outcome::Done => self.record_done("opened").is_ok(),
            Outcome::Failed(why) => Self::record(*self, why).is_ok(),
            Outcome::Refused(why) => {
                // What changes something was on record before; the guest gets the code of the system.
                let was_recorded = self.is_recorded();
                let _denied = self.revoke(why);
                was_recorded
            }
        }
    }
}
