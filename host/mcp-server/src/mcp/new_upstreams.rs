//! Sends progress notifications while a client's list waits for upstream servers that are started for the first
//! time.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::ProgressNotificationParam;
use rmcp::service::RequestContext;

use super::Server;

/// Interval of the progress notifications.
const REPORT_EVERY: Duration = Duration::from_secs(5);

impl Server {
    /// If the client wants progress notifications, waits for upstream servers whose lists are not known yet, and
    /// sends progress meanwhile. Otherwise returns at once, and the list itself waits for a limited time.
    pub(super) async fn wait_for_new_upstreams(&self, cx: &RequestContext<RoleServer>) {
        let Some(token) = cx.meta.get_progress_token() else { return };
        let upstreams = self.shared.host.upstreams();
        let settled = upstreams.settled();
        tokio::pin!(settled);
        let mut reports = 0;
        loop {
            tokio::select! {
                () = &mut settled => return,
                () = cx.ct.cancelled() => return,
                () = self.shared.host.shutdown.cancelled() => return,
                () = tokio::time::sleep(REPORT_EVERY) => {}
            }
            reports += 1;
            let mut progress = ProgressNotificationParam::new(token.clone(), f64::from(reports));
            progress.message = Some("MCP servers are being started for the first time".to_owned());
            if let Err(error) = cx.peer.notify_progress(progress).await {
                tracing::debug!("progress did not reach the client: {error}");
            }
        }
    }
}
