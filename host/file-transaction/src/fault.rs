//! Simulated faults for tests: at a certain step, the process is killed or the disk is full.

use std::cell::Cell;
use std::io;

thread_local! {
    static STEPS_LEFT: Cell<Option<(u32, Fault)>> = const { Cell::new(None) };
    static DEAD: Cell<bool> = const { Cell::new(false) };
    static OLD: Cell<bool> = const { Cell::new(false) };
}

/// The kind of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The process is killed: no later step is carried out.
    Killed,
    /// The disk is full, once.
    Full,
}

/// Sets a fault for this thread, after a number of steps.
pub fn after(steps: u32, fault: Fault) {
    DEAD.set(false);
    STEPS_LEFT.set(Some((steps, fault)));
}

/// Whether the fault has occurred. Clears the fault.
pub fn end() -> bool {
    DEAD.set(false);
    STEPS_LEFT.take().is_none()
}

/// Whether the process counts as killed.
pub fn is_dead() -> bool {
    DEAD.get()
}

/// Whether the file system counts as old: it cannot exchange names and cannot rename without replacing.
pub fn is_old() -> bool {
    OLD.get()
}

/// Sets for the current thread whether the file system counts as old.
pub fn set_old(is_old: bool) {
    OLD.set(is_old);
}

/// Counts a step, and fails if the fault is due.
pub fn step() -> io::Result<()> {
    let Some((left, fault)) = STEPS_LEFT.get() else { return Ok(()) };
    if left > 0 {
        STEPS_LEFT.set(Some((left - 1, fault)));
        return Ok(());
    }
    STEPS_LEFT.set(None);
    match fault {
        Fault::Full => Err(io::ErrorKind::StorageFull.into()),
        Fault::Killed => {
            DEAD.set(true);
            std::panic::resume_unwind(Box::new("killed"))
        }
    }
}
