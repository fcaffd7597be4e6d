//! Refreshes the listing of an upstream in the background: when the upstream says that its lists changed, and
//! periodically. After a failure, the next refresh waits for longer.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

use crate::shared::Shared;

/// How long to wait after one, two, and three or more failed refreshes in a row.
const PATIENCE: [Duration; 3] =
    [Duration::from_secs(30), Duration::from_secs(60), Duration::from_secs(120)];

/// The shortest time between two refreshes. It bounds the refreshes that notifications of the upstream cause.
const CALM: Duration = Duration::from_secs(1);

/// Starts the task that refreshes the listing.
pub(crate) fn keep(shared: &Arc<Shared>) {
    let (end, changed) = (shared.end.clone(), shared.settings.changed.clone());
    let period = shared.settings.plan.refresh;
    let shared = Arc::downgrade(shared);
    let keeping = async move {
        let mut failures = 0;
        let mut due = period.map(|period| Instant::now() + period);
        loop {
            let by_the_clock = async {
                match due {
                    Some(due) => sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = changed.notified() => {}
                () = by_the_clock => {}
            }
            let Some(succeeded) = once(&shared).await else { return };
            let now = Instant::now();
            if succeeded {
                failures = 0;
                due = period.map(|period| now + period);
                sleep(CALM).await;
            } else {
                let wait = PATIENCE[failures.min(PATIENCE.len() - 1)];
                failures += 1;
                due = Some(now + wait);
                sleep_until(now + wait).await;
            }
        }
    };
    tokio::spawn(async move { end.run_until_cancelled(keeping).await });
}

/// Refreshes once, and returns whether that succeeded. `None`: the upstream was dropped.
async fn once(shared: &Weak<Shared>) -> Option<bool> {
    let shared = shared.upgrade()?;
    shared.outdated();
    // The listing was not requested yet, so it need not be refreshed.
    if shared.known_listing().is_none() && shared.settings.plan.refresh.is_none() {
        return Some(true);
    }
    match shared.refresh().await {
        Ok(_) => Some(true),
        Err(fault) => {
            tracing::warn!("{fault}");
            Some(false)
        }
    }
}
