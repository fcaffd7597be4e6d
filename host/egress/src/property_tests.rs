//! Property tests: `is_public` against tables of address blocks, and origins against their own text.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use proptest::sample::select;

use crate::{Origin, is_public};

/// Blocks that are not globally reachable, or are multicast or reserved: IANA's special-purpose registries and RFC
/// 1112. The registry lists a few reachable addresses within `192.0.0.0/24`. They count as not public here.
const SPECIAL_V4: &[&str] = &[
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
];

/// The same kinds of blocks for IPv6, and the blocks that embed IPv4 addresses (NAT64, 6to4, Teredo, IPv4-compatible
/// addresses).
const SPECIAL_V6: &[&str] = &[
    "::/128",
    "::1/128",
    "::/96",
    "64:ff9b::/96",
    "64:ff9b:1::/48",
    "100::/64",
    "100:0:0:1::/64",
    "2001::/23",
    "2001::/32",
    "2001:2::/48",
    "2001:10::/28",
    "2001:20::/28",
    "2001:30::/28",
    "2001:db8::/32",
    "2002::/16",
    "3fff::/20",
    "5f00::/16",
    "fc00::/7",
    "fe80::/10",
    "fec0::/10",
    "ff00::/8",
];

/// The block of global unicast addresses.
const GLOBAL_V6: &str = "2000::/3";

/// The bits of a block's first address, and the length of the prefix.
fn block(text: &str) -> (u128, u32) {
    let (first, length) = text.split_once('/').unwrap();
    let length: u32 = length.parse().unwrap();
    match first.parse().unwrap() {
        IpAddr::V4(first) => (u128::from(u32::from(first)), 96 + length),
        IpAddr::V6(first) => (u128::from(first), length),
    }
}

/// Whether a block contains an address.
fn holds(text: &str, bits: u128) -> bool {
    let (first, length) = block(text);
    first.checked_shr(128 - length) == bits.checked_shr(128 - length)
}

/// The model: compares the bits of the address with the tables.
fn is_listed_public(address: IpAddr) -> bool {
    let v4 = |bits: u32| !SPECIAL_V4.iter().any(|block| holds(block, u128::from(bits)));
    match address {
        IpAddr::V4(address) => v4(u32::from(address)),
        IpAddr::V6(address) => {
            let bits = u128::from(address);
            if bits >> 32 == 0xffff {
                return v4(u32::try_from(bits & 0xffff_ffff).unwrap());
            }
            holds(GLOBAL_V6, bits) && !SPECIAL_V6.iter().any(|block| holds(block, bits))
        }
    }
}

/// An address near the first or the last address of a block of the tables, or within the block, or any address.
fn address() -> impl Strategy<Value = IpAddr> {
    let blocks = select([SPECIAL_V4, SPECIAL_V6, &[GLOBAL_V6]].concat());
    let near = (blocks, any::<u128>(), -2_i64..=2, 0..3).prop_map(|(text, inside, off, place)| {
        let (first, length) = block(text);
        let rest = u128::MAX.checked_shr(length).unwrap_or(0);
        let bits = match place {
            0 => first.wrapping_add_signed(off.into()),
            1 => (first | rest).wrapping_add_signed(off.into()),
            _ => first | (inside & rest),
        };
        match text.contains('.') {
            true => IpAddr::V4(Ipv4Addr::from((bits & 0xffff_ffff) as u32)),
            false => IpAddr::V6(Ipv6Addr::from(bits)),
        }
    });
    let mapped = any::<u32>().prop_map(|bits| IpAddr::V6(Ipv4Addr::from(bits).to_ipv6_mapped()));
    let any_v4 = any::<u32>().prop_map(|bits| IpAddr::V4(bits.into()));
    let any_v6 = any::<u128>().prop_map(|bits| IpAddr::V6(bits.into()));
    prop_oneof![4 => near, 1 => mapped, 1 => any_v4, 1 => any_v6]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 4096, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn an_address_is_public_unless_a_registry_lists_it(address in address()) {
        prop_assert_eq!(is_public(address), is_listed_public(address), "{}", address);
        if let IpAddr::V4(v4) = address {
            // The IPv4-mapped form counts as the IPv4 address. Other IPv6 forms that embed an IPv4 address are never
            // public.
            prop_assert_eq!(is_public(v4.to_ipv6_mapped().into()), is_public(address));
            let bits = u128::from(u32::from(v4));
            let (nat64, teredo) = ((0x0064_ff9b << 96) | bits, (0x2001 << 112) | bits);
            for carrier in [bits, nat64, (0x2002 << 112) | (bits << 80), teredo] {
                prop_assert!(!is_public(Ipv6Addr::from(carrier).into()), "{}", Ipv6Addr::from(carrier));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_displayed_origin_is_parsed_as_itself(
        scheme in select(vec!["", "https://", "http://", "HTTP://", "ftp://", "://"]),
        host in "[a-cA-C0-9.*@:/?#%\\[\\]\u{fc}\u{ff0e}-]{0,12}",
        port in select(vec!["", ":", ":0", ":80", ":443", ":65535", ":65536"]),
    ) {
        let text = format!("{scheme}{host}{port}");
        let Ok(origin) = text.parse::<Origin>() else { return Ok(()) };
        prop_assert_eq!(origin.to_string().parse::<Origin>(), Ok(origin.clone()), "{}", text);
        prop_assert_eq!(origin.url().parse::<Origin>(), Ok(origin.clone()), "{}", text);
        // The host has one spelling, without a user name.
        prop_assert!(!origin.host().is_empty() && !origin.host().contains('@'), "{}", text);
        prop_assert_eq!(origin.host().to_ascii_lowercase(), origin.host());
        prop_assert!(!origin.host().contains(['*', '/', '?', '#', '%']), "{}", text);
    }
}
