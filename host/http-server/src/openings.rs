//! Which sessions are being opened at this host. Other requests of such a session wait, so that none of them finds a
//! session that is half open.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;

/// The sessions that are being opened.
#[derive(Clone, Default)]
pub(crate) struct Openings(Arc<Mutex<HashMap<String, watch::Receiver<()>>>>);

/// The right of a request to open a session, until this value is dropped.
pub(crate) struct Claim {
    openings: Openings,
    id: String,
    /// Closed when this value is dropped.
    _end: watch::Sender<()>,
}

impl Openings {
    /// Waits while a request opens this session.
    pub(crate) async fn settled(&self, id: &str) {
        loop {
            let opening = self.0.lock().get(id).cloned();
            let Some(mut opening) = opening else { return };
            // It ends with an error, because nothing is ever sent.
            let _ended = opening.changed().await;
        }
    }

    /// Whether a request opens this session now.
    pub(crate) fn has(&self, id: &str) -> bool {
        self.0.lock().contains_key(id)
    }

    /// Claims to open a session. `None`: another request opens it.
    pub(crate) fn claim(&self, id: &str) -> Option<Claim> {
        let (end, opening) = watch::channel(());
        let mut all = self.0.lock();
        if all.contains_key(id) {
            return None;
        }
        all.insert(id.to_owned(), opening);
        Some(Claim { openings: self.clone(), id: id.to_owned(), _end: end })
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.openings.0.lock().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn one_request_opens_a_session_and_the_others_wait_until_it_has_ended() {
        let openings = Openings::default();
        openings.settled("a").await;
        let claim = openings.claim("a").unwrap();
        assert!(openings.claim("a").is_none());
        assert!(openings.claim("b").is_some(), "another session");
        let mut waiting = std::pin::pin!(openings.settled("a"));
        let early = tokio::time::timeout(Duration::from_millis(50), &mut waiting).await;
        assert!(early.is_err(), "it is still being opened");
        drop(claim);
        waiting.await;
        assert!(openings.claim("a").is_some());
    }
}
