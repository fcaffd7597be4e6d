//! wasmtime: its settings, limits, epoch clock, threads for guests, and compiled code on disk.

mod blocking;
mod clock;
pub mod code;
mod compile;
pub mod compiler;
mod component_file;
mod engine_kind;
mod error;
mod guests;
#[cfg(target_os = "linux")]
mod in_place;
mod limiter;
mod limits;
mod output;

use std::sync::{Arc, OnceLock};

use wasmtime::{Enabled, InstanceAllocationStrategy, PoolingAllocationConfig};

pub use blocking::on_a_thread;
pub use clock::{Clock, Running};
pub use component_file::ComponentFile;
pub use engine_kind::EngineKind;
pub use error::{CodeError, CompilerError, ComponentFileError};
pub use guests::Guests;
pub use limiter::{LimitHit, Limiter};
pub use limits::{Limits, MAX_COMPONENT_BYTES, SomeLimits, size};
pub use output::Output;

/// The target of compiled code, which is the target of this binary.
pub const TARGET: &str = env!("PORTCULLIS_TARGET");

/// Maximum number of plugins' calls that run at the same time; further calls wait. Each call holds a slot in wasmtime's
/// pool of instances.
pub const CALLS: u32 = 64;

/// Maximum number of prepared instances, which wait for a call. Each instance holds a slot of the pool.
pub const SPARES: u32 = 16;

/// Maximum number of linear memories of one component. Each memory takes address space of the pool.
const MAX_MEMORIES: u32 = 4;

/// Maximum number of tables of one component.
const MAX_TABLES: u32 = 8;

/// Minimum number of core instances that the pool has for each slot, on average.
const CORE_INSTANCES: u32 = 16;

/// The engines of the host, one of each kind. Each is made when it is first needed.
pub struct Engines {
    /// The largest value of each limit among all plugins.
    largest: Limits,
    synchronous: OnceLock<Engine>,
    concurrent: OnceLock<Engine>,
}

impl Engines {
    /// Engines for calls within these limits. `largest`: the largest value of each limit among all plugins.
    pub fn new(largest: Limits) -> Self {
        Self { largest, synchronous: OnceLock::new(), concurrent: OnceLock::new() }
    }

    /// The engine of this kind.
    ///
    /// # Errors
    ///
    /// As [`Engine::new`].
    pub fn get(&self, kind: EngineKind) -> wasmtime::Result<&Engine> {
        let place = match kind {
            EngineKind::Synchronous => &self.synchronous,
            EngineKind::Concurrent => &self.concurrent,
        };
        if let Some(engine) = place.get() {
            return Ok(engine);
        }
        let engine = Engine::new(kind, &self.largest)?;
        Ok(place.get_or_init(|| engine))
    }
}

/// Runs components. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    wasmtime: wasmtime::Engine,
    clock: Arc<Clock>,
}

impl Engine {
    /// An engine whose pool has room for calls within these limits. `largest`: the largest value of each limit among
    /// all plugins.
    ///
    /// # Errors
    ///
    /// The system has no address space for the pool, or wasmtime refuses the settings.
    pub fn new(kind: EngineKind, largest: &Limits) -> wasmtime::Result<Self> {
        let instances = largest.instances.get();
        let mut config = kind.settings(TARGET)?;
        let mut pool = PoolingAllocationConfig::new();
        let slots = CALLS + SPARES;
        let stacks = match kind {
            EngineKind::Synchronous => slots,
            // Each instance inside a component may wait on a stack of its own.
            EngineKind::Concurrent => slots.saturating_mul(instances.max(CORE_INSTANCES)),
        };
        pool.total_component_instances(slots)
            .total_stacks(stacks)
            .total_memories(slots * MAX_MEMORIES)
            .total_tables(slots * MAX_TABLES)
            .total_core_instances(slots.saturating_mul(instances.max(CORE_INSTANCES)))
            .total_gc_heaps(slots)
            .max_core_instances_per_component(instances)
            .max_memories_per_component(MAX_MEMORIES)
            .max_tables_per_component(MAX_TABLES)
            .max_memory_size(size(largest.memory_bytes))
            .table_elements(size(largest.table_entries))
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

#[cfg(test)]
mod tests {
    use std::num::{NonZeroU32, NonZeroU64};

    use wasmtime::component::{Component, Linker};

    use super::*;

    fn number(mut number: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        while number >= 0x80 {
            bytes.push(u8::try_from(number & 0x7f).unwrap() | 0x80);
            number >>= 7;
        }
        bytes.push(u8::try_from(number).unwrap());
        bytes
    }

    fn section(id: u8, content: &[u8]) -> Vec<u8> {
        let length = number(u32::try_from(content.len()).unwrap());
        [&[id], &length[..], content].concat()
    }

    /// A component with one module, which is instantiated `instances` times.
    fn component(module: &[u8], instances: u32) -> Vec<u8> {
        let module = [b"\0asm\x01\0\0\0", module].concat();
        let all = [number(instances), [0, 0, 0].repeat(instances as usize)].concat();
        [&b"\0asm\x0d\0\x01\0"[..], &section(1, &module), &section(2, &all)].concat()
    }

    /// Instantiates a component in a fresh engine for these limits.
    fn instantiate(limits: &Limits, component: &[u8]) -> wasmtime::Result<()> {
        let engine = Engine::new(EngineKind::Synchronous, limits)?;
        let component = Component::new(engine.wasmtime(), component)?;
        let mut store = wasmtime::Store::new(engine.wasmtime(), ());
        Linker::new(engine.wasmtime()).instantiate(&mut store, &component).map(drop)
    }

    #[test]
    fn the_pool_has_room_for_limits_above_the_defaults() {
        let large = Limits {
            memory_bytes: NonZeroU64::new(512 << 20).unwrap(),
            table_entries: NonZeroU64::new(200_000).unwrap(),
            instances: NonZeroU32::new(100).unwrap(),
            ..Limits::default()
        };
        let memory = section(5, &[&[1, 0], &number(8000)[..]].concat());
        let table = section(4, &[&[1, 0x70, 0], &number(150_000)[..]].concat());
        for (what, module, instances) in
            [("memory-bytes", memory, 1), ("table-entries", table, 1), ("instances", vec![], 100)]
        {
            let bytes = component(&module, instances);
            instantiate(&large, &bytes).unwrap_or_else(|error| panic!("{what}: {error:#}"));
            assert!(instantiate(&Limits::default(), &bytes).is_err(), "{what}");
        }
    }
}
