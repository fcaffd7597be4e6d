//! Tells clients apart: by their caller or, if there is none, by their network address.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use crate::principal::Principal;

/// The network address of a peer. An IPv6 address other than that of loopback is cut to its first 64 bits, because one
/// customer of a network usually has all addresses that begin with the same 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct PeerAddress(IpAddr);

impl PeerAddress {
    /// The peer with this address.
    pub(crate) fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V6(address) if !address.is_loopback() => {
                let [a, b, c, d, ..] = address.segments();
                Self(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into())
            }
            address @ (IpAddr::V4(_) | IpAddr::V6(_)) => Self(address),
        }
    }

    /// Whether the peer is on this machine. If so, several programs, or all clients of a proxy, may have this address.
    pub(crate) fn is_loopback(self) -> bool {
        self.0.is_loopback()
    }
}

impl fmt::Display for PeerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            IpAddr::V6(address) if !address.is_loopback() => write!(f, "{address}/64"),
            address @ (IpAddr::V4(_) | IpAddr::V6(_)) => address.fmt(f),
        }
    }
}

/// A client to which limits apply: an authenticated caller, or all callers at one address.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Client {
    Principal(Principal),
    Address(PeerAddress),
}

impl Client {
    /// The client of a request: its caller or, if the caller is not authenticated, its address.
    pub(crate) fn of(principal: Option<&Principal>, peer: PeerAddress) -> Self {
        principal.cloned().map_or(Self::Address(peer), Self::Principal)
    }

    /// Whether this may be several clients, such as programs of this machine that need no token.
    pub(crate) fn is_everybody(&self) -> bool {
        matches!(self, Self::Address(peer) if peer.is_loopback())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_with_the_same_64_bits_are_one_peer() {
        let of = |address: &str| PeerAddress::of(address.parse().unwrap());
        assert_eq!(of("2001:db8:1:2::1"), of("2001:db8:1:2:ffff::9"));
        assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
        assert_ne!(of("192.0.2.2"), of("192.0.2.1"));
        assert!(of("::1").is_loopback() && of("127.0.0.2").is_loopback());
        assert!(!of("::2").is_loopback());
        assert_eq!(of("2001:db8:1:2::1").to_string(), "2001:db8:1:2::/64");
    }
}
