//! Tools of the conformance suite that run as tasks.

use std::{thread::sleep, time::Duration};

use crate::content::tool;
use crate::input::{name, tasks};
use portcullis_plugin::prelude::*;

const TASKS: &str = "extension:io.modelcontextprotocol/tasks";

#[data(open)]
struct Confirmed {
    #[serde(default)]
    confirm: bool,
}

/// Continues the call as a task. Fails for clients without support for tasks.
fn as_task(request: &Request) -> Result<(), Failure> {
    if !request.supports(TASKS) {
        return Err(Failure::missing_capability(&tasks()));
    }
    request.background()
}

/// Greets at once.
#[arguments]
pub struct Greet {
    name: String,
}

impl Tool for Greet {
    const NAME: &'static str = "greet";
    type Output = String;

    fn call(self, _request: &Request) -> Result<String, Failure> {
        Ok(format!("Hello, {}!", self.name))
    }
}

/// Takes as long as it is told to.
#[arguments]
pub struct SlowCompute {
    seconds: f64,
    #[serde(default)]
    label: Option<String>,
}

impl Tool for SlowCompute {
    const NAME: &'static str = "slow_compute";
    type Output = String;

    fn call(self, request: &Request) -> Result<String, Failure> {
        request.background()?;
        let steps = (self.seconds.clamp(0.0, 60.0) * 20.0) as u32;
        for step in 0..steps {
            if request.cancelled() {
                // The host gives the reason.
                return Err(Failure::new(""));
            }
            request.progress(f64::from(step), f64::from(steps), "computing");
            sleep(Duration::from_millis(50));
        }
        Ok(format!("Computed {}", self.label.unwrap_or_default()))
    }
}

tool!(
    /// Fails after a while.
    FailingJob, "failing_job",
    |request| {
        as_task(request)?;
        sleep(Duration::from_secs(1));
        Err(Failure::new("the job failed"))
    }
);

tool!(
    /// Ends in a JSON-RPC error.
    ProtocolErrorJob, "protocol_error_job",
    |request| {
        as_task(request)?;
        Err(Failure::invalid_arguments("the job could not go on"))
    }
);

/// Asks before it would delete something.
#[arguments]
pub struct ConfirmDelete {
    filename: String,
}

impl Tool for ConfirmDelete {
    const NAME: &'static str = "confirm_delete";
    type Output = String;

    fn call(self, request: &Request) -> Result<String, Failure> {
        as_task(request)?;
        let message = format!("Delete {}?", self.filename);
        let answer = request.ask(form::<Confirmed>("confirm", message).or_declined())?;
        Ok(match answer.accepted() {
            Some(Confirmed { confirm: true }) => format!("Deleted {}", self.filename),
            Some(Confirmed { confirm: false }) | None => format!("Kept {}", self.filename),
        })
    }
}

tool!(
    /// Asks two things at once.
    MultiInput, "multi_input",
    |request| {
        as_task(request)?;
        let (first, second) = request.ask((name("first"), name("second")))?;
        Ok(Reply::new().text(format!("{} and {}", first.name, second.name)))
    }
);

tool!(
    /// Asks first, and goes on in the background.
    AfterInput, "test_tool_with_task",
    |request| {
        let name = request.ask(name("user_name"))?.name;
        as_task(request)?;
        Ok(Reply::new().text(format!("Hello, {name}!")))
    }
);
