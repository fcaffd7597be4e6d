//! The log and the messages on stderr: as text, or as lines of JSON (`--log-json`).

use std::fmt;
use std::sync::OnceLock;

use portcullis_core::families::LOG_LEVELS;
use portcullis_telemetry::{BoxedLayer, Telemetry};
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::field::MakeExt as _;
use tracing_subscriber::filter::{FilterExt as _, filter_fn};
use tracing_subscriber::fmt::format::debug_fn;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, format::Writer};
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Registry};

/// Whether the log and the messages are lines of JSON.
static AS_JSON: OnceLock<bool> = OnceLock::new();

/// Decides on the format of stderr before anything is written there. Reads the raw arguments, because an error in the
/// arguments has to be reported in this format, too.
pub fn decide_format() {
    let typed = std::env::args_os().skip(1).take_while(|argument| argument != "--");
    let as_json = typed.into_iter().any(|argument| argument == "--log-json");
    if AS_JSON.set(as_json).is_ok() && as_json {
        std::panic::set_hook(Box::new(|panic| {
            let place = panic.location().map(ToString::to_string).unwrap_or_default();
            let what = panic.payload_as_str().unwrap_or("a panic without a text");
            write("ERROR", &format!("the program failed at {place}: {what}"));
        }));
    }
}

/// Whether the log and the messages are lines of JSON.
pub fn is_json() -> bool {
    AS_JSON.get().copied().unwrap_or_default()
}

/// Writes a line of JSON to stderr, independent of the log filter.
fn write(level: &str, message: &str) {
    let mut timestamp = String::new();
    // If the clock fails, the line has no time.
    let _time = SystemTime.format_time(&mut Writer::new(&mut timestamp));
    let mut line = Line(Map::new());
    line.put("timestamp", timestamp);
    line.put("level", level);
    line.put("target", "portcullis");
    line.put("message", message);
    // The line and its end are written in one call, so that a reader never gets a part of the line.
    anstream::eprint!("{}", format!("{}\n", Value::from(line.0)));
}

/// Prints a message to the operator, independent of the log filter.
pub fn say(line: &str) {
    if is_json() { write("INFO", line) } else { anstream::eprint!("{}", format!("{line}\n")) }
}

/// Prints a less important message, independent of the log filter.
pub fn note(line: &str) {
    if is_json() {
        write("INFO", line)
    } else {
        anstream::eprintln!("{}", super::style::faint(line))
    }
}

/// Prints why a command failed.
pub fn fail(why: &str) {
    if is_json() {
        write("ERROR", why);
    } else {
        anstream::eprintln!("{}", super::style::red(&format!("portcullis: {why}")));
    }
}

/// The log filter of `debug`, the most verbose level.
const DEBUG_FILTER: &str = "debug,rmcp=warn,hyper=info,reqwest=info,wasmtime=info,cranelift=info";

/// The log filter for the number of `-v` options and the level that a plugin family's environment variable asks
/// for. If `-v` is given, the variable can only increase the verbosity.
fn filter(verbose: u8, asked: Option<&str>) -> &'static str {
    match (verbose, asked) {
        (0, Some("off")) => "off",
        (0, Some("error")) => "error,rmcp=off",
        (0 | 1, Some("debug")) => DEBUG_FILTER,
        (0, Some("info")) | (1, _) => "info,rmcp=off,plugin=info",
        // rmcp logs the end of an ordinary HTTP request as an error.
        (0, _) => "warn,rmcp=off",
        (_, _) => DEBUG_FILTER,
    }
}

/// The level that the environment variable of a plugin family asks for: see `plugins/*/family.toml`.
#[expect(clippy::disallowed_methods, reason = "families name the variables that are honoured")]
fn family_level() -> Option<&'static str> {
    let is_set = |(variable, value, _): &&(&str, &str, &str)| {
        std::env::var(variable).is_ok_and(|set| set == *value)
    };
    LOG_LEVELS.iter().find(is_set).map(|(_, _, level)| *level)
}

/// Starts logging to stderr. `PORTCULLIS_LOG` overrides `-v` and the variables of plugin families. With
/// `telemetry`, the spans and events of telemetry go to the collector and not to stderr.
#[expect(clippy::disallowed_methods, reason = "PORTCULLIS_LOG is documented for troubleshooting")]
pub fn begin(verbose: u8, as_json: bool, telemetry: Option<&Telemetry>) {
    let default = filter(verbose, family_level());
    let filter = std::env::var("PORTCULLIS_LOG").ok();
    let filter = EnvFilter::try_new(filter.as_deref().unwrap_or(default)).unwrap_or_else(|error| {
        // The log has not begun yet, so the message goes to stderr directly.
        eprintln!("PORTCULLIS_LOG is not a valid log filter, so it is ignored: {error}");
        EnvFilter::new(default)
    });
    let as_json = *AS_JSON.get_or_init(|| as_json);
    match telemetry {
        // Without telemetry, the log is the only layer, and its filter is that of the registry.
        None => tracing_subscriber::registry().with(layer(as_json)).with(filter).init(),
        Some(telemetry) => {
            let of_host = filter_fn(|metadata| metadata.target() != portcullis_telemetry::TARGET);
            let log = layer(as_json).with_filter(filter.and(of_host)).boxed();
            let mut layers = telemetry.layers();
            layers.push(log);
            tracing_subscriber::registry().with(layers).init();
        }
    }
}

/// The layer that writes the log to stderr.
fn layer(as_json: bool) -> BoxedLayer<Registry> {
    let log = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    if as_json {
        return log.event_format(JsonLines).boxed();
    }
    let colours = anstream::AutoStream::choice(&std::io::stderr());
    // The log contains untrusted text of plugins and upstream servers, so it is sanitised.
    let fields = debug_fn(|writer, field, value| {
        let value = format!("{value:?}");
        let value = portcullis_sanitize::visible(&value);
        match field.name() {
            "message" => write!(writer, "{value}"),
            name => write!(writer, "{name}={value}"),
        }
    });
    let log = log.fmt_fields(fields.delimited(" "));
    log.with_ansi(colours != anstream::ColorChoice::Never).without_time().with_target(false).boxed()
}

/// The JSON format: one object per line with `timestamp`, `level`, `target`, `message` and the event's other fields,
/// such as `request`. If the message of a plugin is a JSON object, the line has `data` instead of `message`.
struct JsonLines;

impl<S, N> FormatEvent<S, N> for JsonLines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut timestamp = String::new();
        SystemTime.format_time(&mut Writer::new(&mut timestamp))?;
        let metadata = event.metadata();
        let mut line = Line(Map::new());
        line.put("timestamp", timestamp);
        line.put("level", metadata.level().to_string());
        line.put("target", metadata.target());
        // A plugin's level replaces the level of the host's event.
        event.record(&mut line);
        if let Some(Value::String(level)) = line.0.get_mut("level") {
            *level = level.rsplit("::").next().unwrap_or_default().to_ascii_uppercase();
        }
        let message = line.0.get("message").and_then(Value::as_str);
        let data: Option<Map<String, Value>> = message
            .filter(|_| metadata.target() == PLUGIN_TARGET)
            .and_then(|message| serde_json::from_str(message).ok());
        if let Some(data) = data {
            line.0.remove("message");
            line.put("data", data);
        }
        let line = Value::from(line.0).to_string();
        writeln!(writer, "{}", portcullis_sanitize::visible_json(&line))
    }
}

/// The log target of plugins' messages.
const PLUGIN_TARGET: &str = "plugin";

struct Line(Map<String, Value>);

impl Line {
    fn put(&mut self, key: &str, value: impl Into<Value>) {
        self.0.insert(key.to_owned(), value.into());
    }
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field.name(), value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field.name(), value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field.name(), value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field.name(), value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field.name(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::filter;

    #[test]
    fn a_family_level_cannot_reduce_the_verbosity() {
        for (verbose, asked, expected) in [
            (0, None, "warn"),
            (0, Some("off"), "off"),
            (0, Some("error"), "error"),
            (0, Some("info"), "info"),
            (0, Some("debug"), "debug"),
            (1, None, "info"),
            (1, Some("off"), "info"),
            (1, Some("debug"), "debug"),
            (2, None, "debug"),
            (2, Some("error"), "debug"),
        ] {
            let found = filter(verbose, asked);
            assert!(found.starts_with(expected), "{verbose} {asked:?}: {found}");
        }
    }
}
