//! The capability `process`: commands that the operator defines, in directories of the call.

pub mod effect;
mod grant;
mod link;
#[cfg(test)]
mod tests;

use wasmtime::component::Linker;

use super::{InvalidWant, Registered};
use crate::sandbox::InstanceState;

pub use effect::Running;
pub use grant::{ProcessAsk, ProcessGrant};

impl Registered for ProcessGrant {
    const NAME: &'static str = "process";
    const IMPORTS: &'static [&'static str] = &["portcullis:plugin/process"];
    const EXAMPLE: &'static str = "commands = [\"<command>\"]";

    fn want(wants: &mut Option<Self>, target: &str, _: &str) -> Result<(), InvalidWant> {
        grant::want(wants, target)
    }

    fn targets(&self) -> Vec<String> {
        self.commands.iter().cloned().collect()
    }

    fn can_change(&self) -> bool {
        true
    }

    fn link(linker: &mut Linker<InstanceState>) -> wasmtime::Result<()> {
        link::link(linker)
    }
}
