//! The capability `tools`: calls of the tools of other plugins and of upstream servers, for plugins that combine
//! tools. Each call goes through the pipeline of the host like the call of a client.

mod calls;
pub mod effect;
mod grant;
mod link;
#[cfg(test)]
mod tests;

use wasmtime::component::Linker;

use super::{InvalidWant, Registered};
use crate::sandbox::InstanceState;

pub use calls::{AllTools, CallPermit, KnownTools, Started, ToolCalls, ToolRequest, digest_of};
pub use grant::{Pattern, ToolAsk, ToolUse, ToolsGrant};

impl Registered for ToolsGrant {
    const NAME: &'static str = "tools";
    const IMPORTS: &'static [&'static str] = &["portcullis:plugin/tool-calls"];
    const EXAMPLE: &'static str = "call = [\"<tool>\"]";

    fn want(wants: &mut Option<Self>, target: &str, _: &str) -> Result<(), InvalidWant> {
        grant::want(wants, target)
    }

    fn is_as_wanted(&self, want: &Self) -> bool {
        self.patterns().eq(want.patterns())
    }

    fn targets(&self) -> Vec<String> {
        self.patterns().map(ToString::to_string).collect()
    }

    fn can_change(&self) -> bool {
        true
    }

    fn link(linker: &mut Linker<InstanceState>) -> wasmtime::Result<()> {
        link::link(linker)
    }
}
