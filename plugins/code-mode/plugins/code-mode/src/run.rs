//! The tool `run_code`.

use std::cell::RefCell;
use std::rc::Rc;

use code_mode_script::{FinishedCall, HostFunctions, RunSeed};
use portcullis_plugin::prelude::*;
use portcullis_plugin::tool_calls::{Completion, Outcome};
use serde_json::Value;

use crate::cut::cut;
use crate::describe::described;
use crate::search::{found, summary};

/// Maximum size of the value in the answer, in bytes of JSON: some 6,000 tokens.
const MAX_RESULT: usize = 20_000;

/// Maximum number of log lines that are kept.
const MAX_LINES: usize = 100;
/// Maximum size of all log lines that are kept, in bytes. The last line may exceed this size.
const MAX_LOGGED: usize = 4_000;

/// Maximum number of calls in the answer.
const MAX_CALLS: usize = 40;

/// Runs a program in JavaScript or TypeScript: the body of an async function. It calls tools with
/// `await tools.<source>.<name>(args)`, several at once with Promise.all, and the value that it returns is the answer.
/// A failed call throws a ToolError. console.log is shown. There are no files, no network, no timers and no modules.
/// Return little: filter, count and join in the program.
#[arguments]
pub struct RunCode {
    /// The program.
    code: String,
    /// Ends the run after this many milliseconds.
    #[serde(rename = "timeout_ms")]
    #[schemars(range(min = 1, max = 600_000))]
    timeout_ms: Option<u32>,
}

/// One call of a tool.
#[data]
#[derive(Clone)]
pub struct CallMade {
    /// The tool.
    tool: String,
    /// Duration of the call in milliseconds, measured by the plugin's clock.
    ms: u64,
    /// Whether it succeeded.
    ok: bool,
}

/// The outcome of a run.
#[data]
pub struct RunOutcome {
    /// The value that the program returned.
    result: Value,
    /// What the program logged.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    logs: Vec<String>,
    /// The calls of tools, in the order in which they ended.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    calls: Vec<CallMade>,
    /// A remark about parts of the answer that were cut off.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    cut: Option<String>,
}

impl Tool for RunCode {
    const NAME: &'static str = "run_code";
    const HINTS: Hints = Hints::new().read_only(false).destructive(true).open_world(true);
    type Output = Json<RunOutcome>;

    fn call(self, request: &Request) -> Result<Json<RunOutcome>, Failure> {
        let begun = tool_calls::begin(&self.code, self.timeout_ms).map_err(Failure::new)?;
        let beginning = RunSeed { milliseconds: begun.milliseconds, seed: begun.seed };
        let seen = Rc::new(RefCell::new(RunLog::default()));
        let around = HostBridge { seen: seen.clone(), now: begun.milliseconds, open: Vec::new() };
        let outcome = code_mode_script::run(&self.code, beginning, around);
        let seen = seen.take();
        for (level, line) in &seen.lines {
            request.log(level_of(level), line.as_str());
        }
        match outcome {
            Ok(value) => Ok(Json(seen.ran(&value)?)),
            Err(error) => Err(Failure::new(seen.failed(&error.to_string()))),
        }
    }
}

fn level_of(name: &str) -> Level {
    match name {
        "debug" => Level::Debug,
        "warning" => Level::Warning,
        "error" => Level::Error,
        _ => Level::Info,
    }
}

/// The log lines and calls of a run.
#[derive(Default)]
struct RunLog {
    /// The lines, each with its level.
    lines: Vec<(String, String)>,
    bytes: usize,
    lost: usize,
    calls: Vec<CallMade>,
}

impl RunLog {
    fn logs(&self) -> Vec<String> {
        let line = |(level, line): &(String, String)| match level.as_str() {
            "info" => line.clone(),
            level => format!("{level}: {line}"),
        };
        let mut logs: Vec<_> = self.lines.iter().map(line).collect();
        if self.lost > 0 {
            logs.push(format!("… {} more lines", self.lost));
        }
        logs
    }

    fn ran(self, value: &str) -> Result<RunOutcome, Failure> {
        let value = serde_json::from_str(value)?;
        let (result, is_cut) = cut(value, MAX_RESULT);
        let mut missing = Vec::new();
        if is_cut {
            missing.push(format!(
                "the result had over {MAX_RESULT} bytes: return less, or a part of it at a time"
            ));
        }
        if self.calls.len() > MAX_CALLS {
            missing.push(format!(
                "{} calls, of which the last {MAX_CALLS} are shown",
                self.calls.len()
            ));
        }
        let logs = self.logs();
        let calls = self.calls[self.calls.len().saturating_sub(MAX_CALLS)..].to_vec();
        let cut = (!missing.is_empty()).then(|| missing.join("; "));
        Ok(RunOutcome { result, logs, calls, cut })
    }

    /// The error message of a failed run. It lists the calls that were made, since their effects remain.
    fn failed(&self, error: &str) -> String {
        let mut text = error.to_owned();
        if !self.calls.is_empty() {
            let one = |call: &CallMade| {
                format!("{} ({})", call.tool, if call.ok { "done" } else { "failed" })
            };
            let mut calls: Vec<_> = self.calls.iter().take(MAX_CALLS).map(one).collect();
            if let Some(more @ 1..) = self.calls.len().checked_sub(MAX_CALLS) {
                calls.push(format!("and {more} more"));
            }
            text += &format!("\nCalls made before, whose effects remain: {}", calls.join(", "));
        }
        let logs = self.logs();
        if !logs.is_empty() {
            text += &format!("\nLogged: {}", logs.join("\n"));
        }
        text
    }
}

/// A call that is under way: its number, its tool, and when it started.
type PendingCall = (u32, String, u64);

/// Connects a program to the host's tools, and records its calls and log lines.
struct HostBridge {
    seen: Rc<RefCell<RunLog>>,
    now: u64,
    open: Vec<PendingCall>,
}

impl HostFunctions for HostBridge {
    fn names(&mut self) -> Vec<(String, String)> {
        tool_calls::names()
    }

    fn start(&mut self, tool: &str, arguments: &str) -> u32 {
        let call = tool_calls::start(tool, arguments);
        self.open.push((call, tool.to_owned(), self.now));
        call
    }

    fn next(&mut self) -> Option<FinishedCall> {
        let Completion { call, milliseconds, outcome } = tool_calls::next()?;
        self.now = milliseconds.max(self.now);
        let answer = match outcome {
            Outcome::Value(value) => Ok(value),
            Outcome::Failed(failure) => Err((failure.kind, failure.message)),
        };
        if let Some(place) = self.open.iter().position(|(open, ..)| *open == call) {
            let (_, tool, began) = self.open.swap_remove(place);
            let made = CallMade { tool, ms: self.now.saturating_sub(began), ok: answer.is_ok() };
            self.seen.borrow_mut().calls.push(made);
        }
        Some(FinishedCall { call, milliseconds, answer })
    }

    fn log(&mut self, level: &str, line: &str) {
        let mut seen = self.seen.borrow_mut();
        if seen.lines.len() >= MAX_LINES || seen.bytes >= MAX_LOGGED {
            seen.lost += 1;
            return;
        }
        let left = MAX_LOGGED - seen.bytes;
        let short: String = line.chars().take(left).collect();
        let more = if short.len() < line.len() { "…" } else { "" };
        seen.bytes += short.len();
        seen.lines.push((level.to_owned(), short + more));
    }

    fn search(&mut self, query: &str, limit: usize) -> String {
        let tools = tool_calls::describe(&[]);
        let one = |tool: &tool_calls::Callable| {
            let description = summary(tool.description.as_deref().unwrap_or_default());
            json!({ "name": tool.name, "source": tool.source, "description": description })
        };
        let found: Vec<_> = found(&tools, query, limit).into_iter().map(one).collect();
        Value::from(found).to_string()
    }

    fn describe(&mut self, names: &[String]) -> String {
        described(names, &tool_calls::describe(names))
    }
}
