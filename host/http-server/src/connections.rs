//! The table of open connections: how many there may be, from whom, and which one is closed for a new one.

use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroU32;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::client_address::{Client, PeerAddress};
use crate::responses::HttpResponse;

/// After a request that was let in: how long the peer is known.
const KNOWN: Duration = Duration::from_secs(600);

/// Peers that are known at the same time.
const PEERS: usize = 1024;

/// All connections.
pub(crate) struct Connections {
    most: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next: u64,
    /// In the order in which they came.
    open: BTreeMap<u64, Entry>,
    /// Peers of whom a request was let in, and when the last one was.
    known: HashMap<PeerAddress, Instant>,
}

struct Entry {
    peer: PeerAddress,
    /// Whose requests were let in.
    client: Option<Client>,
    /// Requests that are being answered.
    serving: u32,
    close: CancellationToken,
}

/// One connection. It is open until this is dropped.
pub(crate) struct Connection {
    /// Who is at its other end.
    pub(crate) peer: PeerAddress,
    /// Fires when it has to go.
    pub(crate) close: CancellationToken,
    number: u64,
    all: Weak<Connections>,
}

impl Connections {
    pub(crate) fn new(most: NonZeroU32) -> Arc<Self> {
        Arc::new(Self { most: most.get() as usize, state: Mutex::default() })
    }

    /// What strangers may have of all connections: three quarters. The rest is for those who are known.
    fn strangers_share(&self) -> usize {
        (self.most - self.most / 4).max(1)
    }

    /// What one client may have of all connections: three quarters.
    fn client_share(&self, client: &Client) -> usize {
        if client.is_everybody() { self.most } else { (self.most - self.most / 4).max(1) }
    }

    /// Takes in a connection. Where there are too many, one of a stranger has to go for it, or else one
    /// on which nothing is being answered. `None`: something is being answered on each of them.
    pub(crate) fn open(self: &Arc<Self>, peer: PeerAddress, now: Instant) -> Option<Connection> {
        let mut state = self.state.lock();
        let is_stranger = !state.is_known(peer, now);
        let strangers = state.open.values().filter(|one| state.is_stranger(one, now)).count();
        let is_full = state.open.len() >= self.most;
        if is_full || (is_stranger && strangers >= self.strangers_share()) {
            let victim = state.victim(now)?;
            if let Some(victim) = state.open.remove(&victim) {
                victim.close.cancel();
            }
        }
        let (number, close) = (state.next, CancellationToken::new());
        state.next += 1;
        let entry = Entry { peer, client: None, serving: 0, close: close.clone() };
        state.open.insert(number, entry);
        Some(Connection { peer, close, number, all: Arc::downgrade(self) })
    }
}

impl State {
    fn is_known(&self, peer: PeerAddress, now: Instant) -> bool {
        let seen = self.known.get(&peer);
        seen.is_some_and(|seen| now.saturating_duration_since(*seen) < KNOWN)
    }

    fn is_stranger(&self, entry: &Entry, now: Instant) -> bool {
        entry.client.is_none() && !self.is_known(entry.peer, now)
    }

    /// Which connection has to go: the oldest of the stranger who has most of them; else one without a
    /// request that was let in; else the oldest, on which nothing is being answered, of the client who has
    /// most of those.
    fn victim(&self, now: Instant) -> Option<u64> {
        self.oldest_of_most(|one| {
            self.is_stranger(one, now).then_some(Client::PeerAddress(one.peer))
        })
        .or_else(|| {
            self.oldest_of_most(|one| one.client.is_none().then_some(Client::PeerAddress(one.peer)))
        })
        .or_else(|| self.oldest_of_most(|one| one.client.clone().filter(|_| one.serving == 0)))
    }

    fn oldest_of_most(&self, whose: impl Fn(&Entry) -> Option<Client>) -> Option<u64> {
        let mut found: HashMap<Client, (usize, u64)> = HashMap::new();
        for (number, entry) in &self.open {
            if let Some(client) = whose(entry) {
                found.entry(client).or_insert((0, *number)).0 += 1;
            }
        }
        let most = found.into_values().max_by_key(|(count, oldest)| (*count, u64::MAX - oldest));
        most.map(|(_, oldest)| oldest)
    }
}

impl Connection {
    /// A request of this client was let in on it. Whether the client may have this connection.
    pub(crate) fn belongs_to(&self, client: Client, now: Instant) -> bool {
        let Some(all) = self.all.upgrade() else { return true };
        let mut state = all.state.lock();
        // On loopback, somebody else could be at the same address.
        if !self.peer.is_loopback() {
            if state.known.len() >= PEERS {
                state.known.retain(|_, seen| now.saturating_duration_since(*seen) < KNOWN);
            }
            if state.known.len() < PEERS {
                state.known.insert(self.peer, now);
            }
        }
        let has = |entry: &Entry| entry.client.as_ref() == Some(&client);
        match state.open.get(&self.number) {
            // It has to go, and may answer this one before.
            None => return true,
            Some(entry) if has(entry) => return true,
            Some(_) => {}
        }
        if state.open.values().filter(|entry| has(entry)).count() >= all.client_share(&client) {
            return false;
        }
        if let Some(entry) = state.open.get_mut(&self.number) {
            entry.client = Some(client);
        }
        true
    }

    /// A request is being answered on it, until the whole answer has been written.
    pub(crate) fn serving(self: &Arc<Self>) -> Serving {
        self.count(|serving| serving + 1);
        Serving(self.clone())
    }

    fn count(&self, change: impl FnOnce(u32) -> u32) {
        let Some(all) = self.all.upgrade() else { return };
        if let Some(entry) = all.state.lock().open.get_mut(&self.number) {
            entry.serving = change(entry.serving);
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(all) = self.all.upgrade() {
            all.state.lock().open.remove(&self.number);
        }
    }
}

/// A request that is being answered.
pub(crate) struct Serving(Arc<Connection>);

impl Serving {
    /// The same answer; the request is being answered until its last byte was taken.
    pub(crate) fn until_written(self, reply: HttpResponse) -> HttpResponse {
        reply.map(|inner| Watched { inner, _serving: self }.boxed())
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.0.count(|serving| serving.saturating_sub(1));
    }
}

/// A body that holds something until it is dropped.
struct Watched<B> {
    inner: B,
    _serving: Serving,
}

impl<B: Body + Unpin> Body for Watched<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        Pin::new(&mut self.inner).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::principal::Principal;

    fn peer(last: u8) -> PeerAddress {
        PeerAddress::of([192, 0, 2, last].into())
    }

    fn known(name: &str) -> Client {
        Client::Known(Principal::Subject { issuer: "i".into(), subject: name.into() })
    }

    fn connections(most: u32) -> Arc<Connections> {
        Connections::new(NonZeroU32::new(most).unwrap())
    }

    #[test]
    fn the_oldest_connection_of_the_stranger_with_most_of_them_goes_first() {
        let (all, now) = (connections(8), Instant::now());
        let other = all.open(peer(1), now).unwrap();
        let flood: Vec<_> = (0..5).map(|_| all.open(peer(2), now).unwrap()).collect();
        // Strangers have six of eight.
        let one_more = all.open(peer(2), now).unwrap();
        assert!(flood[0].close.is_cancelled() && !flood[1].close.is_cancelled());
        assert!(!other.close.is_cancelled() && !one_more.close.is_cancelled());
    }

    #[test]
    fn a_share_is_for_those_who_are_known() {
        let (all, now) = (connections(8), Instant::now());
        let ours = all.open(peer(1), now).unwrap();
        assert!(ours.belongs_to(known("a"), now));
        drop(ours);
        let flood: Vec<_> = (0..20).filter_map(|_| all.open(peer(2), now)).collect();
        let closed = || flood.iter().filter(|one| one.close.is_cancelled()).count();
        assert_eq!(closed(), 14);
        // The peer is known: its connections go where strangers may not.
        let again: Vec<_> = (0..2).map(|_| all.open(peer(1), now).unwrap()).collect();
        assert_eq!(closed(), 14);
        assert!(again.iter().all(|one| !one.close.is_cancelled()));
        // After a while, it is a stranger again.
        let late = now + KNOWN;
        let _late = all.open(peer(1), late).unwrap();
        assert_eq!(closed(), 15);
    }

    #[test]
    fn what_is_being_answered_is_never_broken_off_and_what_is_idle_makes_room() {
        let (all, now) = (connections(4), Instant::now());
        let open = |name: &str| {
            let one = Arc::new(all.open(peer(1), now).unwrap());
            assert!(one.belongs_to(known(name), now));
            one
        };
        let ours: Vec<_> = ["a", "a", "b", "c"].map(open).into();
        let busy: Vec<_> = ours.iter().map(Connection::serving).collect();
        assert!(all.open(peer(1), now).is_none());
        drop(busy);
        assert!(all.open(peer(1), now).is_some());
        assert!(ours[0].close.is_cancelled() && !ours[1].close.is_cancelled());
    }

    #[test]
    fn one_client_has_its_share() {
        let (all, now) = (connections(4), Instant::now());
        let open = |_| {
            let one = all.open(peer(1), now).unwrap();
            let is_let_in = one.belongs_to(known("a"), now);
            (one, is_let_in)
        };
        let ours: Vec<_> = (0..4).map(open).collect();
        assert_eq!(ours.iter().filter(|(_, is_let_in)| *is_let_in).count(), 3);
        assert!(ours[3].0.belongs_to(known("b"), now));
        // Without tokens, programs of this machine cannot be told apart.
        let local = PeerAddress::of([127, 0, 0, 1].into());
        let ours: Vec<_> = (0..3).map(|_| all.open(local, now).unwrap()).collect();
        assert!(ours.iter().all(|one| one.belongs_to(Client::PeerAddress(local), now)));
    }
}
