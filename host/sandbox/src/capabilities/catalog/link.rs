//! The host's side of the interface `catalog`.

use wasmtime::component::{HasSelf, Linker};

use super::effect;
use super::grant::CatalogAsk;
use crate::bindings::portcullis::plugin::catalog::{self, Entry, Finding};
use crate::sandbox::InstanceState;

/// Links the interface.
pub(super) fn link(linker: &mut Linker<InstanceState>) -> wasmtime::Result<()> {
    catalog::add_to_linker::<InstanceState, HasSelf<InstanceState>>(linker, |state| state)
}

impl InstanceState {
    /// The tools. There are none if the gate refuses, or if the call has no shared state.
    fn visible_tools(&self) -> Vec<Entry> {
        let Some(shared) = &self.call.shared else { return Vec::new() };
        match self.gate.pass(CatalogAsk::Tools) {
            Ok(permit) => effect::list_tools(permit, shared, &self.gate.trail().plugin()),
            Err(_) => Vec::new(),
        }
    }
}

impl catalog::Host for InstanceState {
    async fn tools(&mut self) -> wasmtime::Result<Vec<Entry>> {
        Ok(self.visible_tools())
    }

    async fn tool(&mut self, name: String) -> wasmtime::Result<Option<Entry>> {
        Ok(self.visible_tools().into_iter().find(|entry| entry.name == name))
    }

    async fn last_result(&mut self, name: String) -> wasmtime::Result<Option<String>> {
        let Some(shared) = &self.call.shared else { return Ok(None) };
        Ok(match self.gate.pass(CatalogAsk::Results) {
            Ok(permit) => effect::last_result(permit, shared, self.call.principal.clone(), &name),
            Err(_) => None,
        })
    }

    async fn find(
        &mut self,
        name: String,
        paths: Vec<Vec<String>>,
    ) -> wasmtime::Result<Vec<Finding>> {
        let unknown = || vec![Finding::Unknown; paths.len()];
        let Some(shared) = &self.call.shared else { return Ok(unknown()) };
        let ask = CatalogAsk::Pointers { tool: portcullis_sanitize::line(&name, 100) };
        let Ok(permit) = self.gate.pass_read(ask) else { return Ok(unknown()) };
        let (principal, left) = (self.call.principal.clone(), &mut self.paths_left);
        Ok(effect::find(permit, shared, principal, &name, &paths, left))
    }
}
