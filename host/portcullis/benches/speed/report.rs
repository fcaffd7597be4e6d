//! Prints the measurements as a table with goals.

use std::fmt::Write as _;
use std::time::Duration;

/// The goal of a measure.
pub enum Goal {
    /// Maximum ratio to the time of the native server, at the median.
    Ratio(f64),
    /// Minimum ratio to the throughput of the native server.
    RatioAtLeast(f64),
    /// Maximum time, at the median.
    AtMost(Duration),
}

/// The rows of the table so far.
pub struct Report {
    load: String,
    rows: Vec<[String; 5]>,
}

impl Report {
    /// An empty table. The load of the machine is measured now and at the end.
    pub fn begin() -> Self {
        let head = ["", "native", "portcullis", "ratio", "goal"];
        Self { load: load(), rows: vec![head.map(str::to_owned)] }
    }

    /// Adds two rows: the median and the 99th percentile of the times of both servers. The goals are for the
    /// median.
    pub fn times(&mut self, what: &str, times: &mut [Vec<Duration>; 2], goals: &[Goal]) {
        for times in times.iter_mut() {
            times.sort_unstable();
        }
        for (name, quantile) in [("p50", 0.5), ("p99", 0.99)] {
            let [native, own] = times.each_ref().map(|times| at_quantile(times, quantile));
            let ratio = own.as_secs_f64() / native.as_secs_f64();
            let goals = if name == "p50" { goals } else { &[] };
            let goals: Vec<_> = goals.iter().map(|goal| judge(goal, own, ratio)).collect();
            self.row(
                format!("{what}, {name}"),
                time(native),
                time(own),
                format!("{ratio:.2}"),
                goals.join("; "),
            );
        }
    }

    /// Adds a row with the calls per second of both servers. `least`: the goal for the ratio.
    pub fn throughput(&mut self, what: &str, [native, own]: [f64; 2], least: Option<f64>) {
        let ratio = own / native;
        let goal = least.map(|least| judge(&Goal::RatioAtLeast(least), Duration::ZERO, ratio));
        self.row(
            what.to_owned(),
            format!("{native:.0} /s"),
            format!("{own:.0} /s"),
            format!("{ratio:.2}"),
            goal.unwrap_or_default(),
        );
    }

    /// Adds a row with the processor time per call of both servers, if the system reports it.
    pub fn processor_time(&mut self, what: &str, spent: [Option<Duration>; 2], calls: u32) {
        let [Some(native), Some(own)] = spent.map(|spent| spent.map(|spent| spent / calls)) else {
            return;
        };
        let ratio = format!("{:.2}", own.as_secs_f64() / native.as_secs_f64());
        let what = format!("{what}, processor time per call");
        self.row(what, time(native), time(own), ratio, String::new());
    }

    /// Adds a row with a size in bytes.
    pub fn bytes(&mut self, what: &str, [native, own]: [usize; 2]) {
        let ratio = format!("{:.2}", own as f64 / native as f64);
        let size = |bytes: usize| format!("{bytes} bytes");
        self.row(what.to_owned(), size(native), size(own), ratio, String::new());
    }

    /// Adds a row with the resident memory of both servers in bytes, if the system reports it. `most`: the goal for
    /// Portcullis.
    pub fn memory(&mut self, what: &str, bytes: [Option<u64>; 2], most: Option<u64>) {
        let [Some(native), Some(own)] = bytes else {
            return;
        };
        let mib = |bytes: u64| format!("{:.1} MiB", bytes as f64 / 1024.0 / 1024.0);
        let goal = most.map(|most| format!("{}: {}", mib(most), met(own <= most)));
        let ratio = format!("{:.2}", own as f64 / native as f64);
        self.row(what.to_owned(), mib(native), mib(own), ratio, goal.unwrap_or_default());
    }

    /// Adds a row with a time of Portcullis for which the native server has no counterpart. `most`: its goal.
    pub fn alone(&mut self, what: &str, spent: Duration, most: Option<Duration>) {
        let goal = most.map(|most| judge(&Goal::AtMost(most), spent, 1.0)).unwrap_or_default();
        self.row(what.to_owned(), String::new(), time(spent), String::new(), goal);
    }

    fn row(&mut self, what: String, native: String, own: String, ratio: String, goal: String) {
        self.rows.push([what, native, own, ratio, goal]);
    }

    /// Prints the table as Markdown, and the load of the machine.
    pub fn print(&self) {
        let width = |column: usize| {
            self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)
        };
        let widths = [0, 1, 2, 3, 4].map(width);
        let mut text = String::new();
        for (number, row) in self.rows.iter().enumerate() {
            for (cell, width) in row.iter().zip(widths) {
                write!(text, "| {cell:width$} ").expect("a String takes any text");
            }
            text.push_str("|\n");
            if number == 0 {
                for width in widths {
                    write!(text, "|{:-<1$}", "", width + 2).expect("a String takes any text");
                }
                text.push_str("|\n");
            }
        }
        let cores = std::thread::available_parallelism().map_or(0, usize::from);
        println!("{text}\n{cores} cores; load before {}, after {}", self.load, load());
    }
}

fn judge(goal: &Goal, own: Duration, ratio: f64) -> String {
    match goal {
        Goal::Ratio(most) => format!("{most} x: {}", met(ratio <= *most)),
        Goal::RatioAtLeast(least) => format!("at least {least} x: {}", met(ratio >= *least)),
        Goal::AtMost(most) => format!("{}: {}", time(*most), met(own <= *most)),
    }
}

fn met(met: bool) -> &'static str {
    if met { "met" } else { "MISSED" }
}

fn at_quantile(sorted: &[Duration], quantile: f64) -> Duration {
    let index = (sorted.len() as f64 * quantile) as usize;
    sorted[index.min(sorted.len() - 1)]
}

/// The median of these times.
pub fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// A time as text, in microseconds or milliseconds.
pub fn time(time: Duration) -> String {
    let us = time.as_secs_f64() * 1e6;
    if us < 1000.0 { format!("{us:.1} us") } else { format!("{:.2} ms", us / 1000.0) }
}

/// The load averages of the last minute and of the last five minutes.
#[expect(clippy::disallowed_methods, reason = "the load is in a file of the system's")]
pub fn load() -> String {
    match std::fs::read_to_string("/proc/loadavg") {
        Ok(text) => text.split(' ').take(2).collect::<Vec<_>>().join(", "),
        Err(_) => "unknown".into(),
    }
}
