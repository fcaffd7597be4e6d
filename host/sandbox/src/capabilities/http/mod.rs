//! The capability `http`: requests to hosts that the operator names.

mod arguments;
pub mod effect;
mod grant;
mod link;
mod short_form;
#[cfg(test)]
mod tests;

use serde_json::Value;
use wasmtime::component::Linker;

use super::{InvalidWant, Registered};
use crate::sandbox::InstanceState;

pub use arguments::{ArgumentRule, HostPattern};
pub use grant::{HttpGrant, HttpRule};
pub use link::Http;
pub use portcullis_egress::{Connection, Request};

impl Registered for HttpGrant {
    const NAME: &'static str = "http";
    const IMPORTS: &'static [&'static str] = &["wasi:http/"];
    const EXAMPLE: &'static str = "hosts = [\"<host>\"]";

    fn want(wants: &mut Option<Self>, target: &str, access: &str) -> Result<(), InvalidWant> {
        grant::want(wants, target, access)
    }

    fn targets(&self) -> Vec<String> {
        grant::targets(self)
    }

    fn can_change(&self) -> bool {
        self.allows_unsafe_request()
    }

    /// Private networks, headers, and the hosts that a call may name are not compared: only the operator can name
    /// them.
    fn is_as_wanted(&self, want: &Self) -> bool {
        self.has_rules_of(want) && want.has_rules_of(self) && self.has_arguments_as(want)
    }

    fn of_call(&self, wants: &Self, arguments: &Value) -> Option<(Self, Self)> {
        self.named_in(wants, arguments)
    }

    fn link(linker: &mut Linker<InstanceState>) -> wasmtime::Result<()> {
        link::link(linker)
    }

    fn link_concurrent(linker: &mut Linker<InstanceState>) -> wasmtime::Result<()> {
        link::link_concurrent(linker)
    }
}
