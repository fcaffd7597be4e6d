//! Metrics of a running host, in the OpenMetrics text format for Prometheus.
//!
//! Calls and asks are counted from the records of the audit. Caches and memory are read when the metrics are read.
//! Names of plugins and tools are labels. Arguments, paths and addresses are not.

use std::sync::atomic::AtomicU64;

use portcullis_audit::{Counted, Event, Record, Verdict};
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

/// The media type of [`Metrics::text`].
pub const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Upper bounds of the histogram of durations, in seconds: from the duration of a trivial call to more than the default
/// time limit of a task.
const DURATION_BUCKETS_SECONDS: [f64; 12] =
    [0.000_1, 0.001, 0.005, 0.02, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0];

/// The labels of the number of calls.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct CallLabels {
    plugin: String,
    tool: String,
    outcome: String,
}

/// The labels of the durations of calls.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct DurationLabels {
    plugin: String,
    tool: String,
}

/// The labels of the number of asks.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct AskLabels {
    plugin: String,
    capability: String,
    verdict: &'static str,
}

/// The labels of the number of look-ups in caches.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct LookupLabels {
    plugin: String,
    found: &'static str,
}

/// The hits and misses of a plugin's cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheUse {
    /// The name of the plugin.
    pub plugin: String,
    /// Number of look-ups that found a value.
    pub hits: u64,
    /// Number of look-ups that found no value.
    pub misses: u64,
}

/// Counts calls and asks from the records of the audit.
pub struct Metrics {
    calls: Family<CallLabels, Counter<u64, AtomicU64>>,
    durations: Family<DurationLabels, Histogram, fn() -> Histogram>,
    asks: Family<AskLabels, Counter<u64, AtomicU64>>,
}

impl Default for Metrics {
    fn default() -> Self {
        let histogram: fn() -> Histogram = || Histogram::new(DURATION_BUCKETS_SECONDS);
        Self {
            calls: Family::default(),
            durations: Family::new_with_constructor(histogram),
            asks: Family::default(),
        }
    }
}

impl Metrics {
    /// Counts a record of the audit, if the record is an ask or the end of a call.
    pub fn count(&self, record: &Record) {
        let plugin = record.plugin.clone();
        match &record.event {
            Event::Ask { capability, verdict, .. } => {
                self.count_asks(plugin, capability, *verdict, 1)
            }
            Event::More { of: Counted::Asks, capability, verdict, count, .. } => {
                self.count_asks(plugin, capability, *verdict, *count);
            }
            Event::Outcome { .. }
            | Event::More { of: Counted::Outcomes, .. }
            | Event::Approval { .. } => {}
            Event::Call { outcome, duration_us, .. } => {
                // Only the first word of `tool` is a label: the rest may be a URI.
                let tool = record.tool.split(' ').next().unwrap_or_default().to_owned();
                let labels = CallLabels {
                    plugin: plugin.clone(),
                    tool: tool.clone(),
                    outcome: outcome.clone(),
                };
                self.calls.get_or_create(&labels).inc();
                let seconds = std::time::Duration::from_micros(*duration_us).as_secs_f64();
                self.durations.get_or_create(&DurationLabels { plugin, tool }).observe(seconds);
            }
        }
    }

    fn count_asks(&self, plugin: String, capability: &str, verdict: Verdict, times: u64) {
        let labels =
            AskLabels { plugin, capability: capability.to_owned(), verdict: verdict.word() };
        self.asks.get_or_create(&labels).inc_by(times);
    }

    /// The current metrics as text.
    pub fn text(&self, caches: &[CacheUse]) -> String {
        let mut registry = Registry::with_prefix("portcullis");
        registry.register(
            "calls",
            "Calls of plugins and upstream servers, by outcome",
            self.calls.clone(),
        );
        registry.register_with_unit(
            "call_duration",
            "Durations of calls; a call with the tool `job` is deferred work, such as generating a view",
            Unit::Seconds,
            self.durations.clone(),
        );
        registry.register(
            "asks",
            "Requests of plugins for effects, such as HTTP requests, by verdict",
            self.asks.clone(),
        );
        let lookups: Family<LookupLabels, Counter<u64, AtomicU64>> = Family::default();
        for CacheUse { plugin, hits, misses } in caches {
            for (found, times) in [("yes", hits), ("no", misses)] {
                let labels = LookupLabels { plugin: plugin.clone(), found };
                lookups.get_or_create(&labels).inc_by(*times);
            }
        }
        registry.register("cache_lookups", "Look-ups in plugins' caches", lookups);
        if let Some(bytes) = resident_bytes() {
            let memory: Gauge = Gauge::default();
            memory.set(bytes);
            let help = "Resident memory of the host with its plugins, without child processes";
            registry.register_with_unit("resident_memory", help, Unit::Bytes, memory);
        }
        let mut text = String::new();
        text::encode(&mut text, &registry).expect("a string can be written to");
        text
    }
}

/// Resident memory of this process, in bytes. `None`: the system has no `/proc`.
fn resident_bytes() -> Option<i64> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the system reports the memory of the process in this file"
    )]
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<i64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(tool: &str, event: Event) -> Record {
        Record {
            time: String::new(),
            request: String::new(),
            plugin: "p".into(),
            digest: String::new(),
            tool: tool.into(),
            principal: Some("ada".into()),
            event,
        }
    }

    fn call(duration_us: u64) -> Event {
        let (verdict, outcome) = (Verdict::Allowed, "done".into());
        Event::Call {
            verdict,
            outcome,
            duration_us,
            bytes_in: 1,
            bytes_out: 2,
            findings: Vec::new(),
        }
    }

    #[test]
    fn what_was_recorded_is_counted() {
        let metrics = Metrics::default();
        metrics.count(&record("t", call(2_000)));
        metrics.count(&record("t", call(7_000_000)));
        metrics.count(&record("resources/read file:///secret/path", call(10)));
        let ask = Event::Ask {
            capability: "http".into(),
            subject: "GET https://secret.example".into(),
            verdict: Verdict::Denied,
            outcome: None,
        };
        metrics.count(&record("t", ask));
        metrics.count(&record(
            "t",
            Event::More {
                of: Counted::Asks,
                capability: "http".into(),
                verdict: Verdict::Denied,
                outcome: None,
                count: 5,
                total: 5,
                covers: 5,
                first: "GET https://secret.example".into(),
                last: "GET https://secret.example".into(),
            },
        ));
        let text = metrics.text(&[CacheUse { plugin: "p".into(), hits: 3, misses: 1 }]);
        for line in [
            "portcullis_calls_total{plugin=\"p\",tool=\"t\",outcome=\"done\"} 2",
            "portcullis_calls_total{plugin=\"p\",tool=\"resources/read\",outcome=\"done\"} 1",
            "portcullis_call_duration_seconds_bucket{le=\"0.005\",plugin=\"p\",tool=\"t\"} 1",
            "portcullis_call_duration_seconds_count{plugin=\"p\",tool=\"t\"} 2",
            "portcullis_asks_total{plugin=\"p\",capability=\"http\",verdict=\"denied\"} 6",
            "portcullis_cache_lookups_total{plugin=\"p\",found=\"yes\"} 3",
            "# EOF",
        ] {
            assert!(text.lines().any(|one| one == line), "{line} is not in\n{text}");
        }
        assert!(!text.contains("secret"), "{text}");
        assert!(!text.contains("ada"), "{text}");
    }
}
