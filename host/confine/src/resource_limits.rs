//! The resource limits of a confined process.

use serde::{Deserialize, Serialize};

/// Resource limits of a confined process.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ResourceLimits {
    /// Bytes of address space, including memory that is reserved and never used. On Windows, reserved memory does not
    /// count.
    pub address_space: Option<u64>,
    /// Bytes of writable memory of each process of the child. Enforced on Linux and Windows.
    pub memory: Option<u64>,
    /// Seconds of CPU time of each process of the child.
    pub cpu_seconds: Option<u64>,
    /// Maximum size in bytes of a file that the process writes. Not enforced on Windows.
    pub file_bytes: Option<u64>,
}
