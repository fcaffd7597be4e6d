//! A test plugin that calls the tools of other plugins.

use std::time::{SystemTime, UNIX_EPOCH};

use portcullis_plugin::prelude::*;
use portcullis_plugin::serde_json::Value;
use portcullis_plugin::tool_calls::{Completion, Outcome};

/// One call.
#[data]
#[derive(Clone)]
struct One {
    /// The tool.
    tool: String,
    /// Its arguments.
    #[serde(default)]
    with: Option<Value>,
}

/// Calls tools and tells how each ended.
#[arguments]
struct CallTools {
    /// The calls.
    calls: Vec<One>,
    /// Whether each waits for the one before.
    #[serde(default)]
    in_turn: bool,
    /// What decides about the calls.
    #[serde(default)]
    program: String,
    /// The time limit of the run.
    #[serde(default)]
    milliseconds: Option<u32>,
    /// Whether to start only after the call.
    #[serde(default)]
    unbegun: bool,
}

impl Tool for CallTools {
    const NAME: &'static str = "call_tools";
    type Output = String;

    fn call(self, _request: &Request) -> Result<String, Failure> {
        let mut told = Vec::new();
        if !self.unbegun {
            tool_calls::begin(&self.program, self.milliseconds).map_err(Failure::new)?;
        }
        for One { tool, with } in self.calls {
            tool_calls::start(&tool, &with.unwrap_or_else(|| json!({})).to_string());
            if self.in_turn {
                told.extend(tool_calls::next().map(line));
            }
        }
        while let Some(next) = tool_calls::next() {
            told.push(line(next));
        }
        Ok(told.join("\n"))
    }
}

/// Calls one tool again and again.
#[arguments]
struct CallOften {
    /// The call.
    call: One,
    /// How often.
    times: u32,
}

impl Tool for CallOften {
    const NAME: &'static str = "call_often";
    type Output = String;

    fn call(self, _request: &Request) -> Result<String, Failure> {
        tool_calls::begin("", None).map_err(Failure::new)?;
        let One { tool, with } = self.call;
        let arguments = with.unwrap_or_else(|| json!({})).to_string();
        let (mut values, mut bytes, mut last) = (0, 0, String::new());
        for _ in 0..self.times {
            tool_calls::start(&tool, &arguments);
            match tool_calls::next().map(|next| next.outcome) {
                Some(Outcome::Value(value)) => (values, bytes) = (values + 1, bytes + value.len()),
                Some(Outcome::Failed(failure)) => {
                    last = format!("{}: {}", failure.kind, failure.message)
                }
                None => last = "none".into(),
            }
        }
        Ok(format!("{values} values of {bytes} bytes, then {last}"))
    }
}

/// Calls a tool with the time of day, and then one that asks: it does something else when it is run again.
#[arguments]
struct CallByTheClock {
    /// A tool that takes a text.
    first: String,
    /// The call that asks.
    then: One,
}

impl Tool for CallByTheClock {
    const NAME: &'static str = "call_by_the_clock";
    type Output = String;

    fn call(self, _request: &Request) -> Result<String, Failure> {
        tool_calls::begin("", None).map_err(Failure::new)?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos();
        tool_calls::start(&self.first, &json!({ "text": now.to_string() }).to_string());
        tool_calls::next();
        tool_calls::start(&self.then.tool, &self.then.with.unwrap_or_default().to_string());
        Ok(tool_calls::next().map(line).unwrap_or_default())
    }
}

/// Calls a tool and does not wait for its end; or computes for ever after it.
#[arguments]
struct CallAndLeave {
    /// The call.
    call: One,
    /// Whether it computes for ever once the call has ended.
    #[serde(default)]
    and_spin: bool,
}

impl Tool for CallAndLeave {
    const NAME: &'static str = "call_and_leave";
    type Output = &'static str;

    fn call(self, _request: &Request) -> Result<&'static str, Failure> {
        tool_calls::begin("", None).map_err(Failure::new)?;
        tool_calls::start(
            &self.call.tool,
            &self.call.with.unwrap_or_else(|| json!({})).to_string(),
        );
        if self.and_spin {
            tool_calls::next();
            let mut turns = 0_u64;
            while std::hint::black_box(turns) < u64::MAX {
                turns += 1;
            }
        }
        Ok("left")
    }
}

/// Tells which tools it may call.
#[arguments]
struct SeeCallable {}

impl Tool for SeeCallable {
    const NAME: &'static str = "see_callable";
    type Output = String;

    fn call(self, _request: &Request) -> Result<String, Failure> {
        let names =
            tool_calls::names().into_iter().map(|(name, source)| format!("{source}: {name}"));
        let described = tool_calls::describe(&["echo".to_owned()]);
        let described = described.into_iter().map(|tool| tool.input_schema.to_string());
        Ok(names.chain(described).collect::<Vec<_>>().join("\n"))
    }
}

fn line(Completion { call, outcome, .. }: Completion) -> String {
    match outcome {
        Outcome::Value(value) => format!("{call}: {value}"),
        Outcome::Failed(failure) => format!("{call}: {}: {}", failure.kind, failure.message),
    }
}

plugin! {
    name: "caller",
    tools: [CallTools, CallOften, CallByTheClock, CallAndLeave, SeeCallable],
    wants: [Want::tools("*", "to call them")],
}
