//! The open connections: limits their number, and decides which connection is closed to make room for a new one.
//!
//! A peer on another machine is *known* for a time after one of its requests passed all checks. A connection is that
//! of a *stranger* if its peer is not known and no request on the connection has passed all checks.

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

/// Time for which a peer is known after its last request that passed all checks.
const KNOWN_FOR: Duration = Duration::from_secs(600);

/// Largest number of known peers.
const MAX_KNOWN_PEERS: usize = 1024;

/// The open connections.
pub(crate) struct Connections {
    max_open: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next: u64,
    /// The connections by their numbers, oldest first.
    open: BTreeMap<u64, Entry>,
    /// The known peers, and the times of their last requests.
    known: HashMap<PeerAddress, Instant>,
}

struct Entry {
    peer: PeerAddress,
    /// The client of the connection's requests. `None`: no request has passed the checks.
    client: Option<Client>,
    /// Number of requests that are being served.
    serving: u32,
    close: CancellationToken,
}

/// One connection. It counts as open until this value is dropped, or until it is closed for a new connection.
pub(crate) struct Connection {
    /// The peer of the connection.
    pub(crate) peer: PeerAddress,
    /// Cancelled when the connection has to be closed.
    pub(crate) close: CancellationToken,
    number: u64,
    all: Weak<Connections>,
}

impl Connections {
    pub(crate) fn new(max_open: NonZeroU32) -> Arc<Self> {
        Arc::new(Self { max_open: max_open.get() as usize, state: Mutex::default() })
    }

    /// Largest number of connections of strangers: three quarters of all. The rest is for known peers.
    fn strangers_share(&self) -> usize {
        (self.max_open - self.max_open / 4).max(1)
    }

    /// Largest number of connections of one client: three quarters of all, or all if `client` may be several clients.
    fn client_share(&self, client: &Client) -> usize {
        if client.is_everybody() {
            self.max_open
        } else {
            (self.max_open - self.max_open / 4).max(1)
        }
    }

    /// Adds a connection. If there are too many, closes the connection that [`State::victim`] chooses. `None`: each
    /// connection serves a request of a client that passed the checks, so the new connection is refused.
    pub(crate) fn open(self: &Arc<Self>, peer: PeerAddress, now: Instant) -> Option<Connection> {
        let mut state = self.state.lock();
        let is_stranger = !state.is_known(peer, now);
        let strangers = state.open.values().filter(|one| state.is_stranger(one, now)).count();
        let is_full = state.open.len() >= self.max_open;
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
        seen.is_some_and(|seen| now.saturating_duration_since(*seen) < KNOWN_FOR)
    }

    fn is_stranger(&self, entry: &Entry, now: Instant) -> bool {
        entry.client.is_none() && !self.is_known(entry.peer, now)
    }

    /// The connection to close. The first choice is the oldest connection of the stranger that has the most
    /// connections. The second choice is a connection without a request that passed the checks: the oldest such
    /// connection of the peer that has the most of them. The third choice is the oldest idle connection of the client
    /// that has the most idle connections.
    fn victim(&self, now: Instant) -> Option<u64> {
        self.oldest_of_most(|one| self.is_stranger(one, now).then_some(Client::Address(one.peer)))
            .or_else(|| {
                self.oldest_of_most(|one| one.client.is_none().then_some(Client::Address(one.peer)))
            })
            .or_else(|| self.oldest_of_most(|one| one.client.clone().filter(|_| one.serving == 0)))
    }

    /// The oldest connection of the client with the most connections. `client_of`: the client of a connection, or
    /// `None` to skip the connection.
    fn oldest_of_most(&self, client_of: impl Fn(&Entry) -> Option<Client>) -> Option<u64> {
        let mut found: HashMap<Client, (usize, u64)> = HashMap::new();
        for (number, entry) in &self.open {
            if let Some(client) = client_of(entry) {
                found.entry(client).or_insert((0, *number)).0 += 1;
            }
        }
        let most = found.into_values().max_by_key(|(count, oldest)| (*count, u64::MAX - oldest));
        most.map(|(_, oldest)| oldest)
    }
}

impl Connection {
    /// Notes that a request of this client passed the checks. Returns whether the client may have this connection.
    pub(crate) fn assign(&self, client: Client, now: Instant) -> bool {
        let Some(all) = self.all.upgrade() else { return true };
        let mut state = all.state.lock();
        // A loopback address does not become known, because several programs share it.
        if !self.peer.is_loopback() {
            if state.known.len() >= MAX_KNOWN_PEERS {
                state.known.retain(|_, seen| now.saturating_duration_since(*seen) < KNOWN_FOR);
            }
            if state.known.len() < MAX_KNOWN_PEERS {
                state.known.insert(self.peer, now);
            }
        }
        let is_of_client = |entry: &Entry| entry.client.as_ref() == Some(&client);
        match state.open.get(&self.number) {
            // The connection is being closed, but may still serve this request.
            None => return true,
            Some(entry) if is_of_client(entry) => return true,
            Some(_) => {}
        }
        if state.open.values().filter(|entry| is_of_client(entry)).count()
            >= all.client_share(&client)
        {
            return false;
        }
        if let Some(entry) = state.open.get_mut(&self.number) {
            entry.client = Some(client);
        }
        true
    }

    /// Counts a request as being served, until the returned value is dropped.
    pub(crate) fn serving(self: &Arc<Self>) -> Serving {
        self.update_serving(|serving| serving + 1);
        Serving(self.clone())
    }

    fn update_serving(&self, change: impl FnOnce(u32) -> u32) {
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

/// A request that is being served.
pub(crate) struct Serving(Arc<Connection>);

impl Serving {
    /// Counts the request as being served until the response was written or dropped. Returns the response.
    pub(crate) fn until_written(self, response: HttpResponse) -> HttpResponse {
        response.map(|inner| CountedBody { inner, _serving: self }.boxed())
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.0.update_serving(|serving| serving.saturating_sub(1));
    }
}

/// A body that keeps its request counted until it is dropped.
struct CountedBody<B> {
    inner: B,
    _serving: Serving,
}

impl<B: Body + Unpin> Body for CountedBody<B> {
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
        Client::Principal(Principal::Subject { issuer: "i".into(), subject: name.into() })
    }

    fn connections(most: u32) -> Arc<Connections> {
        Connections::new(NonZeroU32::new(most).unwrap())
    }

    #[test]
    fn the_oldest_connection_of_the_stranger_with_the_most_is_closed_first() {
        let (all, now) = (connections(8), Instant::now());
        let other = all.open(peer(1), now).unwrap();
        let flood: Vec<_> = (0..5).map(|_| all.open(peer(2), now).unwrap()).collect();
        // Strangers may have six of eight connections.
        let one_more = all.open(peer(2), now).unwrap();
        assert!(flood[0].close.is_cancelled() && !flood[1].close.is_cancelled());
        assert!(!other.close.is_cancelled() && !one_more.close.is_cancelled());
    }

    #[test]
    fn a_quarter_of_the_connections_is_for_known_peers() {
        let (all, now) = (connections(8), Instant::now());
        let ours = all.open(peer(1), now).unwrap();
        assert!(ours.assign(known("a"), now));
        drop(ours);
        let flood: Vec<_> = (0..20).filter_map(|_| all.open(peer(2), now)).collect();
        let closed = || flood.iter().filter(|one| one.close.is_cancelled()).count();
        assert_eq!(closed(), 14);
        // The peer is known: it may have connections that strangers may not have.
        let again: Vec<_> = (0..2).map(|_| all.open(peer(1), now).unwrap()).collect();
        assert_eq!(closed(), 14);
        assert!(again.iter().all(|one| !one.close.is_cancelled()));
        // After a time, the peer is a stranger again.
        let late = now + KNOWN_FOR;
        let _late = all.open(peer(1), late).unwrap();
        assert_eq!(closed(), 15);
    }

    #[test]
    fn an_idle_connection_is_closed_and_a_busy_one_of_a_client_is_not() {
        let (all, now) = (connections(4), Instant::now());
        let open = |name: &str| {
            let one = Arc::new(all.open(peer(1), now).unwrap());
            assert!(one.assign(known(name), now));
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
    fn one_client_may_have_three_quarters_of_the_connections() {
        let (all, now) = (connections(4), Instant::now());
        let open = |_| {
            let one = all.open(peer(1), now).unwrap();
            let is_let_in = one.assign(known("a"), now);
            (one, is_let_in)
        };
        let ours: Vec<_> = (0..4).map(open).collect();
        assert_eq!(ours.iter().filter(|(_, is_let_in)| *is_let_in).count(), 3);
        assert!(ours[3].0.assign(known("b"), now));
        // Without tokens, programs of this machine have no limit: they have the same address.
        let local = PeerAddress::of([127, 0, 0, 1].into());
        let ours: Vec<_> = (0..3).map(|_| all.open(local, now).unwrap()).collect();
        assert!(ours.iter().all(|one| one.assign(Client::Address(local), now)));
    }
}
