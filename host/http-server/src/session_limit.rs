//! Limits the number of sessions: of all clients together, and of each client.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::client_address::Client;

/// The places for sessions.
pub(crate) struct SessionLimits {
    most: u32,
    most_of_one: u32,
    taken: Mutex<HashMap<Client, u32>>,
}

/// The place of one session. The place becomes free when this value is dropped.
pub(crate) struct SessionSlot {
    all: Arc<SessionLimits>,
    client: Client,
}

impl SessionLimits {
    /// Places for `most` sessions. One client may have `most_of_one` of them. `None`: half, rounded up.
    pub(crate) fn new(most: NonZeroU32, most_of_one: Option<NonZeroU32>) -> Arc<Self> {
        let most = most.get();
        let most_of_one = most_of_one.map_or(most.div_ceil(2), NonZeroU32::get);
        Arc::new(Self { most, most_of_one, taken: Mutex::default() })
    }

    /// Takes a place for one session.
    ///
    /// # Errors
    ///
    /// There is no free place, or the client has too many sessions. The error is a text for the client.
    pub(crate) fn take(self: &Arc<Self>, client: Client) -> Result<SessionSlot, &'static str> {
        let mut taken = self.taken.lock();
        let own = taken.get(&client).copied().unwrap_or_default();
        if own >= self.most_of_one && !client.is_everybody() {
            return Err("you have too many sessions: end one of them, or wait until one has ended");
        }
        if taken.values().sum::<u32>() >= self.most {
            return Err("there are too many sessions: try again later");
        }
        taken.insert(client.clone(), own + 1);
        Ok(SessionSlot { all: self.clone(), client })
    }
}

impl Drop for SessionSlot {
    fn drop(&mut self) {
        let mut taken = self.all.taken.lock();
        if let Some(own) = taken.get_mut(&self.client) {
            *own -= 1;
            if *own == 0 {
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
