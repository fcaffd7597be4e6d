//! Tells public network addresses from private and special ones.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address belongs to the public internet. Addresses of this machine, of private networks, of metadata
/// services of clouds, and of tunnels to any of them are not public. The source is IANA's special-purpose address
/// registries, as of 2026.
pub fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_special = a == 0                            // this network
        || address.is_loopback()
        || address.is_private()
        || address.is_link_local()                  // metadata services among them
        || (a == 100 && (64..128).contains(&b))     // carrier-grade NAT
        || (a == 192 && b == 0 && c == 0)           // protocol assignments
        || (a == 192 && b == 88 && c == 99)         // 6to4 relays
        || (a == 198 && (18..20).contains(&b))      // benchmarks
        || address.is_documentation()
        || a >= 224; // multicast, reserved, broadcast
    !is_special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    // The block of global unicast addresses, without tunnels and addresses for documentation.
    let is_global = segments[0] & 0xe000 == 0x2000;
    let is_special = segments[0] == 0x2002                         // 6to4
        || (segments[0] == 0x2001 && segments[1] < 0x0200)      // Teredo, benchmarks, ORCHID
        || (segments[0] == 0x2001 && segments[1] == 0x0db8)     // documentation
        || (segments[0] == 0x3fff && segments[1] < 0x1000); // documentation
    is_global && !is_special
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_addresses_are_not_public() {
        for address in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "127.0.0.1",
            "127.8.9.1",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.51.100.7",
            "203.0.113.9",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:2::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "3fff::1",
            "5f00::1",
            "fc00::1",
            "fd12:3456::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "::127.0.0.1",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn ordinary_addresses_are_public() {
        for address in [
            "1.1.1.1",
            "8.8.8.8",
            "100.63.0.1",
            "100.128.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "198.17.0.1",
            "223.255.255.1",
            "2606:4700::1111",
            "2a00:1450::1",
            "::ffff:8.8.8.8",
        ] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
    }
}
