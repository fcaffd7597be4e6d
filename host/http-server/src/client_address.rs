//! Addresses of clients, as far as they tell clients apart.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use crate::principal::Principal;

/// A peer: an IPv4 address, or the 64 bits of an IPv6 address that one customer of a network has.
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

    /// Whether it is this machine: then many programs, and whoever is behind a proxy, are one peer.
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

/// Who a share of something is for: a caller who is known, or else a peer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Client {
    Known(Principal),
    PeerAddress(PeerAddress),
}

impl Client {
    /// A caller, or the peer where callers are not told apart.
    pub(crate) fn of(principal: Option<&Principal>, peer: PeerAddress) -> Self {
        principal.cloned().map_or(Self::PeerAddress(peer), Self::Known)
    }

    /// Whether it may be everybody: programs of this machine that need no token.
    pub(crate) fn is_everybody(&self) -> bool {
        matches!(self, Self::PeerAddress(peer) if peer.is_loopback())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_of_64_bits_is_one_peer() {
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
