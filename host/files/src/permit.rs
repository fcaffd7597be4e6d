//! Permits for single uses of files. Each function with an effect takes a permit by value and uses it up by
//! recording the outcome.

use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;
use wasmtime_wasi::p2::{FsError, FsResult};

use super::file_failure::FileFailure;
use super::{FilePermit, FileUse, Judge, Outcome};

/// Proof that the judge allowed one use of a file.
#[must_use = "a permit is for an effect, which takes it by value"]
pub(super) struct Permit(Box<dyn FilePermit>);

impl Permit {
    /// Asks the judge. `None`: the use is refused.
    pub(super) fn ask(judge: &dyn Judge, wanted: FileUse) -> Option<Self> {
        judge.permit(wanted).map(Self)
    }

    /// Uses the permit up: records the outcome of the effect, and then returns the result.
    pub(super) fn record<T>(self, result: Result<T, FileFailure>) -> Result<T, FileFailure> {
        let outcome = match &result {
            Ok(_) => Outcome::Done,
            Err(FileFailure { closed: Some(why), .. }) => Outcome::Refused(why),
            Err(FileFailure { code: ErrorCode::NotPermitted, .. }) => {
                Outcome::Refused("not-permitted")
            }
            Err(FileFailure { code, .. }) => Outcome::Failed(code.name()),
        };
        // Without a record, the guest does not learn whether the file exists.
        if self.0.record(outcome) { result } else { Err(ErrorCode::NotPermitted.into()) }
    }

    /// As [`Self::record`], for a result of wasmtime-wasi.
    pub(super) fn record_wasi<T>(self, result: FsResult<T>) -> FsResult<T> {
        let result = match result {
            Ok(done) => Ok(done),
            Err(error) => match error.downcast() {
                Ok(code) => Err(FileFailure::from(code)),
                // A trap ends the call, and the record of the call says so.
                Err(trap) => return Err(FsError::trap(trap)),
            },
        };
        Ok(self.record(result)?)
    }

    /// Uses the permit up: the recorded change was made.
    pub(super) fn record_made(self) {
        self.0.record(Outcome::Done);
    }

    /// Uses the permit up: the change was not made.
    pub(super) fn record_not_made(self) {
        self.0.record(Outcome::Failed("not-made"));
    }
}
