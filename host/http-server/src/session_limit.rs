//! Limits the number of sessions: of all clients together, and of each client.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::client_address::Client;

/// The places for sessions.
pub(crate) struct SessionLimits {
    max_sessions: u32,
    max_per_client: u32,
    taken: Mutex<HashMap<Client, u32>>,
}

/// The place of one session. The place becomes free when this value is dropped.
pub(crate) struct SessionSlot {
    all: Arc<SessionLimits>,
    client: Client,
}

impl SessionLimits {
    /// Places for `max_sessions` sessions. One client may have `max_per_client` of them. `None`: half of them, rounded
    /// up. A loopback address may have all of them, because it may be several clients.
    pub(crate) fn new(max_sessions: NonZeroU32, max_per_client: Option<NonZeroU32>) -> Arc<Self> {
        let max_sessions = max_sessions.get();
        let max_per_client = max_per_client.map_or(max_sessions.div_ceil(2), NonZeroU32::get);
        Arc::new(Self { max_sessions, max_per_client, taken: Mutex::default() })
    }

    /// Takes a place for one session.
    ///
    /// # Errors
    ///
    /// There is no free place, or the client has too many sessions. The error is a text for the client.
    pub(crate) fn take(self: &Arc<Self>, client: Client) -> Result<SessionSlot, &'static str> {
        let mut taken = self.taken.lock();
        let of_client = taken.get(&client).copied().unwrap_or_default();
        if of_client >= self.max_per_client && !client.is_everybody() {
            return Err("you have too many sessions: end one of them, or wait until one has ended");
        }
        if taken.values().sum::<u32>() >= self.max_sessions {
            return Err("there are too many sessions: try again later");
        }
        taken.insert(client.clone(), of_client + 1);
        Ok(SessionSlot { all: self.clone(), client })
    }
}

impl Drop for SessionSlot {
    fn drop(&mut self) {
        let mut taken = self.all.taken.lock();
        if let Some(of_client) = taken.get_mut(&self.client) {
            *of_client -= 1;
            if *of_client == 0 {
                taken.remove(&self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client_address::PeerAddress;
    use crate::principal::Principal;

    #[test]
    fn one_client_leaves_places_for_others() {
        let limits = SessionLimits::new(NonZeroU32::new(5).unwrap(), None);
        let client = |name: &str| {
            Client::Principal(Principal::Subject { issuer: "i".into(), subject: name.into() })
        };
        let take = |name: &str| limits.take(client(name)).ok();
        let mut first: Vec<_> = (0..5).filter_map(|_| take("a")).collect();
        assert_eq!(first.len(), 3);
        let second: Vec<_> = (0..5).filter_map(|_| take("b")).collect();
        assert_eq!(second.len(), 2);
        assert!(take("c").is_none());
        first.pop();
        assert!(take("c").is_some());
        drop((first, second));
        assert!(limits.taken.lock().is_empty());
        // All programs of this machine have the same address, so they may take all places.
        let local = || limits.take(Client::Address(PeerAddress::of([127, 0, 0, 1].into()))).ok();
        assert_eq!((0..9).map_while(|_| local()).collect::<Vec<_>>().len(), 5);
    }
}
