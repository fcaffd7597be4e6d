//! wasmtime: its settings, limits, epoch clock, threads for guests, and compiled code on disk.

mod blocking;
mod clock;
pub mod code;
mod compile;
pub mod compiler;
mod component_file;
mod error;
mod guests;
#[cfg(target_os = "linux")]
mod in_place;
mod limiter;
mod limits;
mod output;

use std::sync::Arc;

use wasmtime::{Enabled, InstanceAllocationStrategy, PoolingAllocationConfig};

pub use blocking::on_a_thread;
pub use clock::{Clock, Running};
pub use component_file::ComponentFile;
pub use error::{CodeError, CompilerError, ComponentFileError};
pub use guests::Guests;
pub use limiter::{LimitHit, Limiter};
pub use limits::{Limits, MAX_COMPONENT_BYTES, SomeLimits, size};
pub use output::Output;

/// The target of compiled code: that of this binary.
pub const TARGET: &str = env!("PORTCULLIS_TARGET");

/// Maximum number of calls that run at the same time; further calls wait. Each call holds a slot of the pool.
pub const CALLS: u32 = 64;

/// Maximum number of instances that are ready for a call. Each instance holds a slot of the pool.
pub const SPARES: u32 = 16;

/// Runs components. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    wasmtime: wasmtime::Engine,
    clock: Arc<Clock>,
}

impl Engine {
    /// An engine whose pool has room for linear memories of up to `memory_bytes` each.
    ///
    /// # Errors
    ///
    /// Where the system has no address space for the pool.
    pub fn new(memory_bytes: u64) -> wasmtime::Result<Self> {
        let mut config = compile::settings(TARGET)?;
        let mut pool = PoolingAllocationConfig::new();
        let slots = CALLS + SPARES;
        pool.total_component_instances(slots)
            .total_stacks(slots)
            .total_memories(slots * 4)
            .total_tables(slots * 8)
            .total_core_instances(slots * 16)
            .total_gc_heaps(slots)
            .max_core_instances_per_component(64)
            .max_memories_per_component(4)
            .max_tables_per_component(8)
            .max_memory_size(usize::try_from(memory_bytes).unwrap_or(usize::MAX))
            .table_elements(100_000)
            // Resetting a used slot in place is cheaper than returning its pages to the system and
            // getting new ones: see docs/PERFORMANCE.md.
            .linear_memory_keep_resident(1024 * 1024)
            .table_keep_resident(64 * 1024)
            .async_stack_keep_resident(64 * 1024)
            .pagemap_scan(Enabled::Auto);
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
        #[cfg(target_os = "linux")]
        config.with_custom_code_memory(Some(Arc::new(in_place::InPlace)));
        let wasmtime = wasmtime::Engine::new(&config)?;
        let clock = Arc::new(Clock::new(wasmtime.weak()));
        Ok(Self { wasmtime, clock })
    }

    /// The engine of wasmtime.
    pub fn wasmtime(&self) -> &wasmtime::Engine {
        &self.wasmtime
    }

    /// Keeps the epoch clock ticking until the returned value is dropped.
    pub fn run(&self) -> Running {
        Clock::run(&self.clock)
    }
}
