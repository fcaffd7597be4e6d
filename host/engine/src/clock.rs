//! The epoch clock: a thread that ticks while guests run, and sleeps when no guest has run for some ticks.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, Thread};
use std::time::Duration;

use wasmtime::EngineWeak;

/// Length of a tick. At a tick, a guest that computes yields to other guests.
pub const TICK: Duration = Duration::from_millis(1);

/// Ticks without a guest after which the thread sleeps, so that calls in quick succession need not wake
/// the thread each time.
const IDLE_TICKS: u32 = 50;

/// Advances the epoch of one engine.
pub struct Clock {
    engine: EngineWeak,
    running: AtomicU32,
    thread: OnceLock<Thread>,
}

impl Clock {
    pub(super) fn new(engine: EngineWeak) -> Self {
        Self { engine, running: AtomicU32::new(0), thread: OnceLock::new() }
    }

    pub(super) fn run(clock: &Arc<Self>) -> Running {
        let before = clock.running.fetch_add(1, Ordering::SeqCst);
        let thread = clock.thread.get_or_init(|| {
            let ticking = clock.clone();
            thread::Builder::new()
                .name("epoch".into())
                .spawn(move || ticking.tick())
                .expect("the system has a thread for the clock")
                .thread()
                .clone()
        });
        if before == 0 {
            thread.unpark();
        }
        Running(clock.clone())
    }

    fn tick(&self) {
        let mut idle_ticks = 0;
        loop {
            if self.running.load(Ordering::SeqCst) > 0 {
                idle_ticks = 0;
            } else if idle_ticks < IDLE_TICKS {
                idle_ticks += 1;
            } else {
                thread::park();
                continue;
            }
            thread::sleep(TICK);
            match self.engine.upgrade() {
                Some(engine) => engine.increment_epoch(),
                None => return,
            }
        }
    }
}

/// A guest that runs. The clock ticks at least until this value is dropped.
pub struct Running(Arc<Clock>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}
