//! Ids of the requests that hosts send to a client of one session: each host has ids of its own.
//!
//! rmcp counts the requests of a session from 0 at each host. A client's response may arrive at any host, so the id says
//! which host waits for it.

use std::borrow::Cow;

use portcullis_cluster_state::HostId;
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, JsonRpcMessage, RequestId, ServerJsonRpcMessage, ServerNotification,
};
use rmcp::transport::Transport;

/// A transport of rmcp. If several hosts serve the session, the ids of this host's requests begin with the host's name.
pub(crate) struct HostIds<T> {
    inner: T,
    host: Option<HostId>,
}

impl<T> HostIds<T> {
    /// The transport of a session that this host serves alone (`None`) or with others.
    pub(crate) fn new(inner: T, host: Option<HostId>) -> Self {
        Self { inner, host }
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for HostIds<T> {
    type Error = T::Error;

    fn name() -> Cow<'static, str> {
        T::name()
    }

    fn send(
        &mut self,
        mut message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        if let Some(host) = &self.host {
            mark(&mut message, host);
        }
        self.inner.send(message)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        let mut message = self.inner.receive().await?;
        if let Some(host) = &self.host
            && let Some(id) = responded(&mut message)
            && let Some((waiting, number)) = parse(id)
            && waiting == *host
        {
            *id = RequestId::Number(number);
        }
        Some(message)
    }

    async fn close(&mut self) -> Result<(), T::Error> {
        self.inner.close().await
    }
}

/// The host that waits for this response of a client. `None`: the message is no response to a request of a cluster's host.
pub(crate) fn waiting_host(message: &mut ClientJsonRpcMessage) -> Option<HostId> {
    parse(responded(message)?).map(|(host, _)| host)
}

/// Marks a request, or the cancellation of one, with the host that sends it.
fn mark(message: &mut ServerJsonRpcMessage, host: &HostId) {
    let id = match message {
        JsonRpcMessage::Request(request) => Some(&mut request.id),
        JsonRpcMessage::Notification(sent) => cancelled(&mut sent.notification),
        JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => None,
    };
    if let Some(id) = id
        && let RequestId::Number(number) = id
    {
        *id = RequestId::String(format!("{host}.{number}").into());
    }
}

/// The id of the request that a notification cancels.
fn cancelled(sent: &mut ServerNotification) -> Option<&mut RequestId> {
    let ServerNotification::CancelledNotification(cancelled) = sent else { return None };
    cancelled.params.request_id.as_mut()
}

/// The id of the request that a message responds to.
fn responded(message: &mut ClientJsonRpcMessage) -> Option<&mut RequestId> {
    match message {
        JsonRpcMessage::Response(response) => Some(&mut response.id),
        JsonRpcMessage::Error(response) => response.id.as_mut(),
        JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
    }
}

fn parse(id: &RequestId) -> Option<(HostId, i64)> {
    let RequestId::String(id) = id else { return None };
    let (host, number) = id.split_once('.')?;
    Some((HostId::parse(host)?, number.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A transport that keeps what is sent, and from which a message can be received.
    struct Pipe {
        sent: Vec<Value>,
        received: Vec<Value>,
    }

    impl Transport<RoleServer> for Pipe {
        type Error = std::io::Error;

        fn send(
            &mut self,
            message: ServerJsonRpcMessage,
        ) -> impl Future<Output = Result<(), std::io::Error>> + Send + 'static {
            self.sent.push(serde_json::to_value(message).unwrap());
            std::future::ready(Ok(()))
        }

        async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
            Some(serde_json::from_value(self.received.pop()?).unwrap())
        }

        async fn close(&mut self) -> Result<(), std::io::Error> {
            Ok(())
        }
    }

    fn of(host: Option<&HostId>, received: &[Value]) -> HostIds<Pipe> {
        HostIds::new(Pipe { sent: Vec::new(), received: received.to_vec() }, host.cloned())
    }

    #[tokio::test]
    async fn the_id_of_a_request_leads_its_answer_to_the_host_that_asked() {
        let (one, two) = (HostId::new().unwrap(), HostId::new().unwrap());
        let request = json!({"jsonrpc": "2.0", "id": 0, "method": "roots/list"});
        let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 0}});
        let mut ids = Vec::new();
        for host in [&one, &two] {
            let mut transport = of(Some(host), &[]);
            for message in [&request, &cancelled] {
                transport.send(serde_json::from_value(message.clone()).unwrap()).await.unwrap();
            }
            let [asked, cancelled] = &transport.inner.sent[..] else { panic!("two messages") };
            assert_eq!(asked["id"], cancelled["params"]["requestId"]);
            ids.push(asked["id"].clone());
        }
        assert_ne!(ids[0], ids[1], "two hosts never use one id");
        let answer = json!({"jsonrpc": "2.0", "id": ids[0], "result": {"roots": []}});
        let refusal = json!({"jsonrpc": "2.0", "id": ids[0], "error": {"code": 1, "message": ""}});
        for response in [answer, refusal] {
            let mut message = serde_json::from_value(response.clone()).unwrap();
            assert_eq!(waiting_host(&mut message), Some(one.clone()));
            let got = of(Some(&one), &[response]).receive().await.unwrap();
            assert_eq!(serde_json::to_value(got).unwrap()["id"], 0);
        }
    }

    #[tokio::test]
    async fn a_host_alone_leaves_ids_as_they_are() {
        let mut transport = of(None, &[]);
        let request = json!({"jsonrpc": "2.0", "id": 7, "method": "roots/list"});
        transport.send(serde_json::from_value(request).unwrap()).await.unwrap();
        assert_eq!(transport.inner.sent[0]["id"], 7);
        let host = HostId::new().unwrap();
        for id in [json!(1), json!("a"), json!("a.1"), json!(format!("{host}.x"))] {
            let message = json!({"jsonrpc": "2.0", "id": id, "result": {}});
            let mut message = serde_json::from_value(message).unwrap();
            assert_eq!(waiting_host(&mut message), None);
        }
    }
}
