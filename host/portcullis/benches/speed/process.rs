//! What the system says of a server's process.

use std::time::Duration;

/// Linux counts processor time for programs in this many parts of a second on all architectures.
const TICKS_PER_SECOND: f64 = 100.0;

/// Resident memory in bytes, where the system reports it.
#[expect(clippy::disallowed_methods, reason = "the system tells it in a file")]
pub fn resident(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib * 1024)
}

/// The processor time that all threads of a process have used so far, in the program and in the kernel, where the system
/// reports it.
#[expect(clippy::disallowed_methods, reason = "the system tells it in a file")]
pub fn processor_time(process: u32) -> Option<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program, in parentheses, may contain spaces. After it, `utime` and `stime` are the fields 12 and 13.
    let (_, fields) = stat.rsplit_once(')')?;
    let ticks = fields.split_whitespace().skip(11).take(2).map(str::parse::<f64>);
    let ticks = ticks.sum::<Result<f64, _>>().ok()?;
    Some(Duration::from_secs_f64(ticks / TICKS_PER_SECOND))
}
