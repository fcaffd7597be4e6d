//! Unwraps results ([`PassthroughKey`]) in typed messages, without parsing JSON again.

use rmcp::model::{JsonRpcMessage, MetaObject, RequestId, ServerJsonRpcMessage, ServerResult};
use serde::Serialize;
use serde_json::Value;

use crate::PassthroughKey;

impl PassthroughKey {
    /// A message as JSON. If the message carries a wrapped result, that result replaces the typed result.
    ///
    /// # Errors
    ///
    /// The message cannot be serialised.
    pub fn to_json(&self, message: ServerJsonRpcMessage) -> serde_json::Result<Vec<u8>> {
        let JsonRpcMessage::Response(mut response) = message else {
            return serde_json::to_vec(&message);
        };
        match self.take(&mut response.result) {
            Some(result) => serde_json::to_vec(&Reply { jsonrpc: "2.0", id: &response.id, result }),
            None => serde_json::to_vec(&response),
        }
    }

    /// Takes the wrapped result out of a typed result. `None`: the typed result carries no wrapped result.
    fn take(&self, result: &mut ServerResult) -> Option<Value> {
        if let ServerResult::CustomResult(result) = result {
            return result.0.get_mut("_meta")?.as_object_mut()?.remove(self.key());
        }
        meta(result)?.remove(self.key())
    }
}

#[derive(Serialize)]
struct Reply<'a> {
    jsonrpc: &'static str,
    id: &'a RequestId,
    result: Value,
}

fn meta(result: &mut ServerResult) -> Option<&mut MetaObject> {
    match result {
        ServerResult::DiscoverResult(result) => result.meta.as_mut(),
        ServerResult::InitializeResult(result) => result.meta.as_mut(),
        ServerResult::CompleteResult(result) => result.meta.as_mut(),
        ServerResult::GetPromptResult(result) => result.meta.as_mut(),
        ServerResult::ListPromptsResult(result) => result.meta.as_mut(),
        ServerResult::ListResourcesResult(result) => result.meta.as_mut(),
        ServerResult::ListResourceTemplatesResult(result) => result.meta.as_mut(),
        ServerResult::ReadResourceResult(result) => result.meta.as_mut(),
        ServerResult::SubscriptionsListenResult(result) => Some(&mut result.meta),
        ServerResult::ListToolsResult(result) => result.meta.as_mut(),
        ServerResult::ListSkillsResult(result) => result.meta.as_mut(),
        ServerResult::GetSkillResult(result) => result.meta.as_mut(),
        ServerResult::ElicitResult(result) => result.meta.as_mut(),
        ServerResult::CreateTaskResult(result) => result.meta.as_mut(),
        ServerResult::GetTaskResult(result) => result.meta.as_mut(),
        ServerResult::CallToolResult(result) => result.meta.as_mut(),
        ServerResult::InputRequiredResult(result) => result.meta.as_mut(),
        ServerResult::TaskAckResult(result) => result.meta.as_mut(),
        // `take` handles custom results. Empty results, and types that a later version of rmcp adds, carry no wrapped
        // result.
        ServerResult::EmptyResult(_) | ServerResult::CustomResult(_) | _ => None,
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::{CallToolResult, CustomResult, ListToolsResult, ServerNotification};
    use serde_json::json;

    use super::*;

    fn written(raw: &PassthroughKey, result: ServerResult) -> Value {
        let message = ServerJsonRpcMessage::response(result, RequestId::Number(7));
        serde_json::from_slice(&raw.to_json(message).unwrap()).unwrap()
    }

    #[test]
    fn typed_results_are_replaced_as_those_in_bytes_are() {
        let raw = PassthroughKey::new().unwrap();
        let given = json!({"content": [{"type": "hologram"}], "_meta": {"x": 1}, "new": true});
        let mut call = CallToolResult::success(vec![]);
        call.meta = Some(raw.wrap(given.clone()));
        let mut list = ListToolsResult::with_all_items(vec![]);
        list.meta = Some(raw.wrap(given.clone()));
        let custom = CustomResult(json!({"_meta": raw.wrap(given.clone())}));
        let results: [ServerResult; 3] = [call.into(), list.into(), custom.into()];
        for result in results {
            let message = ServerJsonRpcMessage::response(result.clone(), RequestId::Number(7));
            let bytes = raw.unwrap(&serde_json::to_vec(&message).unwrap()).unwrap();
            let expected = json!({"jsonrpc": "2.0", "id": 7, "result": given});
            assert_eq!(serde_json::from_slice::<Value>(&bytes).unwrap(), expected);
            assert_eq!(written(&raw, result), expected);
        }
    }

    #[test]
    fn what_is_not_wrapped_is_written_as_rmcp_does() {
        let raw = PassthroughKey::new().unwrap();
        let mut call = CallToolResult::success(vec![]);
        call.meta = Some(MetaObject(json!({"a": 1}).as_object().unwrap().clone()));
        for message in [
            ServerJsonRpcMessage::response(call.into(), RequestId::Number(1)),
            ServerJsonRpcMessage::response(ServerResult::empty(()), RequestId::String("x".into())),
            ServerJsonRpcMessage::error(
                rmcp::ErrorData::internal_error("no", None),
                Some(RequestId::Number(2)),
            ),
            ServerJsonRpcMessage::notification(ServerNotification::ToolListChangedNotification(
                Default::default(),
            )),
        ] {
            let expected = serde_json::to_vec(&message).unwrap();
            assert_eq!(raw.to_json(message).unwrap(), expected);
        }
    }
}
