//! The capability `process`: commands that the operator defines, in directories of the call.

pub mod effect;
mod grant;
mod link;
#[cfg(test)]
mod tests;

use wasmtime::component::Linker;

use super::Registered;
use crate::sandbox::State;

pub use effect::Running;
pub use grant::{ProcessAsk, ProcessGrant};

impl Registered for ProcessGrant {
    const NAME: &'static str = "process";
    const IMPORTS: &'static [&'static str] = &["portcullis:plugin/process"];
    const LEAST: &'static str = "commands = [\"COMMAND\"]";

    fn want(sum: &mut Option<Self>, target: &str, _: &str) -> Result<(), String> {
        grant::want(sum, target)
    }

    fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
        link::link(linker)
    }
}
