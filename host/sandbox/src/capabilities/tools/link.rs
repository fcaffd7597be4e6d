//! The host's side of the interface `tool-calls`.

use tokio::sync::oneshot;
use wasmtime::bail;
use wasmtime::component::{HasSelf, Linker};

use super::calls::{KnownTools, Started, ToolCalls, ToolRequest, digest_of};
use super::effect;
use super::grant::{ToolAsk, ToolUse};
use crate::bindings::portcullis::plugin::catalog::Entry;
use crate::bindings::portcullis::plugin::tool_calls::{
    self, Beginning, Callable, Completion, Failure,
};
use crate::sandbox::InstanceState;

/// Links the interface.
pub(super) fn link(linker: &mut Linker<InstanceState>) -> wasmtime::Result<()> {
    tool_calls::add_to_linker::<InstanceState, HasSelf<InstanceState>>(linker, |state| state)
}

impl InstanceState {
    /// The tools that the guest may call: tools of other sources that are granted, wanted and callable.
    fn callable_tools(&self) -> Vec<&Entry> {
        let Some(calls) = &self.call.tool_calls else { return Vec::new() };
        let (grants, wants) = (self.gate.grants(), self.gate.wants());
        let (Some(granted), Some(wanted)) = (&grants.tools, &wants.tools) else {
            return Vec::new();
        };
        let plugin = self.gate.trail().plugin();
        let KnownTools { entries, is_callable } = &calls.known;
        let may = |name: &str| granted.has(name) && wanted.has(name) && is_callable(name);
        entries.iter().filter(|entry| entry.source != *plugin && may(&entry.name)).collect()
    }

    /// Waits until all plugins are loaded, if some are not.
    async fn wait_for_all_tools(&mut self) {
        let waiting = self.call.tool_calls.as_mut().and_then(|calls| calls.all.take());
        let Some(all) = waiting else { return };
        let known = all().await;
        if let Some(calls) = &mut self.call.tool_calls {
            calls.known = known;
        }
    }

    /// The state of the capability, and the number for the next call of the run. An error if the run has not begun.
    fn next_call(&mut self) -> wasmtime::Result<(&mut ToolCalls, u32)> {
        let calls = self.call.tool_calls.as_mut();
        let begun = calls.and_then(|calls| Some((calls.started?, calls)));
        let Some((next, calls)) = begun else { bail!("it called a tool before it began its run") };
        calls.started = Some(next.saturating_add(1));
        Ok((calls, next))
    }
}

fn callable(entry: &Entry) -> Callable {
    let Entry { name, source, title, description, input_schema, output_schema, hints, .. } =
        entry.clone();
    Callable { name, source, title, description, input_schema, output_schema, hints }
}

impl tool_calls::Host for InstanceState {
    async fn names(&mut self) -> wasmtime::Result<Vec<(String, String)>> {
        let calls = self.call.tool_calls.as_mut();
        // A guest that asks again may have missed a tool of a plugin that is still being loaded.
        if calls.is_some_and(|calls| std::mem::replace(&mut calls.is_listed, true)) {
            self.wait_for_all_tools().await;
        }
        let tools = self.callable_tools().into_iter();
        Ok(tools.map(|entry| (entry.name.clone(), entry.source.clone())).collect())
    }

    async fn describe(&mut self, names: Vec<String>) -> wasmtime::Result<Vec<Callable>> {
        // A guest that asks for all tools may search them, so none may be missing.
        let may_be_missing = names.is_empty() || {
            let known = self.callable_tools();
            names.iter().any(|name| !known.iter().any(|entry| entry.name == *name))
        };
        if may_be_missing {
            self.wait_for_all_tools().await;
        }
        let is_named = |entry: &&Entry| names.is_empty() || names.contains(&entry.name);
        Ok(self.callable_tools().into_iter().filter(is_named).map(callable).collect())
    }

    async fn begin(
        &mut self,
        program: String,
        milliseconds: Option<u32>,
    ) -> wasmtime::Result<Result<Beginning, String>> {
        let Some(calls) = &mut self.call.tool_calls else {
            return Ok(Err("tools cannot be called during this call".into()));
        };
        if calls.started.replace(0).is_some() {
            bail!("it began its run twice");
        }
        let digest = (!program.is_empty()).then(|| digest_of(&program));
        match self.gate.pass(ToolAsk(ToolUse::Begin(digest))) {
            Ok(permit) => match effect::begin(permit, calls, program, milliseconds).await {
                Some(begun) => Ok(begun),
                None => bail!("the call has ended"),
            },
            Err(denied) => Ok(Err(denied.to_string())),
        }
    }

    async fn start(&mut self, name: String, arguments: String) -> wasmtime::Result<u32> {
        let gate = self.gate.clone();
        let (calls, call) = self.next_call()?;
        let started = Started::of(&name, &arguments);
        let request = match calls.replayed.get(call as usize) {
            Some(before) if *before == started => {
                ToolRequest::Start { call, tool: name, arguments, permit: None }
            }
            Some(_) => bail!(
                "it was run again after a question, and its call {call} is not the same as before"
            ),
            None => match gate.pass(ToolAsk(ToolUse::Call { call, tool: name })) {
                Ok(permit) => {
                    effect::start(permit, calls, arguments);
                    return Ok(call);
                }
                Err(denied) => {
                    let failure = Failure { kind: "denied".into(), message: denied.to_string() };
                    ToolRequest::Refuse { call, started, failure }
                }
            },
        };
        // Sending fails if the call has ended.
        let _ended = calls.requests.send(request);
        Ok(call)
    }

    async fn next(&mut self) -> wasmtime::Result<Option<Completion>> {
        let Some(calls) = &self.call.tool_calls else { return Ok(None) };
        let (reply, next) = oneshot::channel();
        let _ended = calls.requests.send(ToolRequest::Next(reply));
        match next.await {
            Ok(next) => Ok(next),
            Err(_) => bail!("the call has ended"),
        }
    }
}
