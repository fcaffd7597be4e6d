//! Keeping what is known of an upstream's offers true: when it is said that they changed, by the clock,
//! and with patience where that fails.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

use crate::upstream::Inner;

/// How long to wait after a refresh that failed, and after further ones.
const PATIENCE: [Duration; 3] =
    [Duration::from_secs(30), Duration::from_secs(60), Duration::from_secs(120)];

/// Between two refreshes that the upstream causes. It may say that it changed as often as it likes.
const CALM: Duration = Duration::from_secs(1);

/// From now on, sees to it that the listing holds.
pub(crate) fn keep(inner: &Arc<Inner>) {
    let (end, changed) = (inner.end.clone(), inner.settings.changed.clone());
    let period = inner.settings.plan.refresh;
    let inner = Arc::downgrade(inner);
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
            let Some(succeeded) = once(&inner).await else { return };
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

/// Refreshes. `None`: there is nothing left to refresh for.
async fn once(inner: &Weak<Inner>) -> Option<bool> {
    let inner = inner.upgrade()?;
    inner.outdated();
    // Nobody has asked for it yet: then it need not be kept.
    if inner.known().is_none() && inner.settings.plan.refresh.is_none() {
        return Some(true);
    }
    match inner.refresh().await {
        Ok(_) => Some(true),
        Err(fault) => {
            tracing::warn!("{fault}");
            Some(false)
        }
    }
}
