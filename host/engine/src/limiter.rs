//! Limits the memory, tables and core instances of one store.

use std::fmt;

use wasmtime::{ResourceLimiter, Result};

use crate::{Limits, size};

/// Counts the memory and tables of all core instances of one store together.
pub struct Limiter {
    memory_left: usize,
    table_left: usize,
    instances: usize,
}

impl Limiter {
    /// A limiter for a store that holds no memory and no table yet.
    pub fn new(limits: &Limits) -> Self {
        Self {
            memory_left: size(limits.memory_bytes),
            table_left: size(limits.table_entries),
            instances: usize::try_from(limits.instances.get()).unwrap_or(usize::MAX),
        }
    }
}

/// The guest reached a limit. The field is the limit's name in `portcullis.toml`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitHit(pub &'static str);

impl fmt::Display for LimitHit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the limit `{}` was reached", self.0)
    }
}

impl std::error::Error for LimitHit {}

impl ResourceLimiter for Limiter {
    fn memory_growing(&mut self, current: usize, to: usize, _: Option<usize>) -> Result<bool> {
        take(&mut self.memory_left, current, to, "memory-bytes")
    }

    fn table_growing(&mut self, current: usize, to: usize, _: Option<usize>) -> Result<bool> {
        take(&mut self.table_left, current, to, "table-entries")
    }

    fn instances(&self) -> usize {
        self.instances
    }

    fn tables(&self) -> usize {
        self.instances
    }

    fn memories(&self) -> usize {
        self.instances
    }
}

/// Takes the growth from what is left. If too little is left, returns an error and not `false`: after `false`, most
/// guests end in a trap that does not name the limit.
fn take(left: &mut usize, current: usize, to: usize, name: &'static str) -> Result<bool> {
    match left.checked_sub(to.saturating_sub(current)) {
        Some(rest) => {
            *left = rest;
            Ok(true)
        }
        None => Err(LimitHit(name).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_memories_together_are_limited() {
        let mut limiter = Limiter { memory_left: 100, table_left: 5, instances: 1 };
        assert!(limiter.memory_growing(0, 60, None).unwrap());
        assert!(limiter.memory_growing(0, 40, None).unwrap());
        let error = limiter.memory_growing(40, 41, None).unwrap_err();
        assert_eq!(error.downcast_ref(), Some(&LimitHit("memory-bytes")));
        assert!(limiter.table_growing(0, 6, None).is_err());
    }
}
