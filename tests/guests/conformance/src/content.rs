//! Tools of the conformance suite for each kind of content, for progress and for logs.

use std::{thread::sleep, time::Duration};

use crate::{PNG, WAV};
use portcullis_plugin::prelude::*;

/// Time between two progress notifications, as the suite expects.
const PAUSE: Duration = Duration::from_millis(50);

macro_rules! tool {
    ($(#[$doc:meta])* $name:ident, $called:literal, |$request:ident| $answer:expr) => {
        $(#[$doc])*
        #[arguments]
        pub struct $name {}

        impl Tool for $name {
            const NAME: &'static str = $called;
            type Output = Reply;

            fn call(self, $request: &Request) -> Result<Reply, Failure> {
                $answer
            }
        }
    };
}
pub(crate) use tool;

tool!(
    /// Answers with text.
    SimpleText, "test_simple_text",
    |_request| Ok(Reply::new().text("This is a simple text response for testing."))
);

tool!(
    /// Answers with a picture.
    Image, "test_image_content",
    |_request| Ok(Reply::new().image(PNG, "image/png"))
);

tool!(
    /// Answers with sound.
    Audio, "test_audio_content",
    |_request| Ok(Reply::new().audio(WAV, "audio/wav"))
);

tool!(
    /// Answers with a resource.
    Embedded, "test_embedded_resource",
    |_request| Ok(Reply::new().resource(
        "test://embedded-resource",
        "text/plain",
        "This is an embedded resource content.",
    ))
);

tool!(
    /// Answers with several kinds of content.
    Mixed, "test_multiple_content_types",
    |_request| Ok(Reply::new()
        .text("Multiple content types test:")
        .image(PNG, "image/png")
        .resource(
            "test://mixed-content-resource",
            "application/json",
            json!({ "test": "data", "value": 123 }).to_string(),
        ))
);

tool!(
    /// Fails.
    Fails, "test_error_handling",
    |_request| Err(Failure::new("This tool intentionally returns an error for testing"))
);

tool!(
    /// Reports how far it is.
    Progress, "test_tool_with_progress",
    |request| {
        for done in [0.0, 50.0, 100.0] {
            request.progress(done, 100.0, &format!("Completed step {done} of 100"));
            sleep(PAUSE);
        }
        Ok(Reply::new().text("Done."))
    }
);

tool!(
    /// Writes to the client's log.
    Logs, "test_tool_with_logging",
    |request| {
        for message in
            ["Tool execution started", "Tool processing data", "Tool execution completed"]
        {
            request.log(Level::Info, message);
            sleep(PAUSE);
        }
        Ok(Reply::new().text("Logged."))
    }
);

tool!(
    /// Writes to the client's log, if the request asks for that.
    LogsIfAsked, "test_logging_tool",
    |request| {
        request.log(Level::Info, "A log record");
        Ok(Reply::new().text("Logged."))
    }
);

tool!(
    /// Takes a little while.
    Reconnection, "test_reconnection",
    |_request| {
        sleep(2 * PAUSE);
        Ok(Reply::new().text("Reconnection test completed"))
    }
);
