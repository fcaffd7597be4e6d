//! A test plugin that is made with the SDK and also uses WASI 0.3.

use portcullis_plugin::prelude::*;
use wasip3::clocks::{monotonic_clock, system_clock};

/// Uses functions of WASI 0.3 that do not wait.
#[arguments]
struct Roll {}

impl Tool for Roll {
    const NAME: &'static str = "roll";
    type Output = String;

    fn call(self, _request: &Request) -> Result<String, Failure> {
        let bytes = wasip3::random::random::get_random_bytes(3).len();
        let is_late = system_clock::now().seconds > 1_700_000_000;
        Ok(format!("{bytes} random bytes, after 2023: {is_late}"))
    }
}

/// Waits in a tool, which is a synchronous function.
#[arguments]
struct Wait {}

impl Tool for Wait {
    const NAME: &'static str = "wait";
    type Output = String;

    fn call(self, _request: &Request) -> Result<String, Failure> {
        wasip3::wit_bindgen::block_on(monotonic_clock::wait_for(1_000_000));
        Ok("it waited".to_owned())
    }
}

plugin! { name: "modern", tools: [Roll, Wait] }
