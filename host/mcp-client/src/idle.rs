//! Ends the connection of an unused upstream, and its child process with it. The next use connects again.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use crate::connection::Connection;
use crate::fault::FaultCause;
use crate::shared::{ConnectionState, Shared};

/// Starts the task that ends this connection after the idle time of the definition. Without an idle time, does nothing.
pub(crate) fn keep(shared: &Arc<Shared>, connection: &Arc<Connection>) {
    let Some(longest) = shared.settings.plan.idle else { return };
    let end = shared.end.clone();
    let (shared, connection) = (Arc::downgrade(shared), Arc::downgrade(connection));
    let watching = async move {
        let mut wait = longest;
        loop {
            sleep(wait).await;
            let (Some(shared), Some(connection)) = (shared.upgrade(), connection.upgrade()) else {
                return;
            };
            // A session waits for changes of resources, which only a connected upstream reports.
            if !shared.wanted.borrow().uris.is_empty() {
                wait = longest;
                continue;
            }
            let unused = FaultCause::lost("the host ended it, because it was not used");
            match connection.channel.calls.retire_if_idle(longest, unused) {
                Ok(()) => return stop(&shared, &connection, longest).await,
                Err(left) => wait = left,
            }
        }
    };
    tokio::spawn(async move { end.run_until_cancelled(watching).await });
}

async fn stop(shared: &Shared, connection: &Arc<Connection>, idle: Duration) {
    tracing::info!(
        "the connection to the upstream `{}` is ended: it was not used for {} s",
        shared.settings.name,
        idle.as_secs()
    );
    disconnect(shared, connection).await;
}

/// Ends a connection that accepts no further requests. The next use connects again.
pub(crate) async fn disconnect(shared: &Shared, connection: &Arc<Connection>) {
    {
        let mut slot = shared.slot.lock();
        if let ConnectionState::Ready(now) = &slot.now
            && Arc::ptr_eq(now, connection)
        {
            slot.now = ConnectionState::Idle;
            // The follower would take the end of its subscription for a change, and connect again.
            *shared.follower.lock() = None;
        }
    }
    connection.channel.wire.close().await;
}
