//! The SSRF guard: which addresses a probe on somebody's behalf may dial. Pure.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use thiserror::Error;

/// An address that may not be dialled, and what kind of address it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{address} is {kind}; on your own machine, `--allow-private` lets Roundtrip dial such addresses")]
pub struct Forbidden {
    /// The address.
    pub address: IpAddr,
    /// What kind of address it is, with its article: `a loopback address`.
    pub kind: &'static str,
}

/// Decides on the very address that is to be dialled, so that neither a spelling of a host nor a change of its DNS
/// records gets around it.
///
/// # Errors
/// When the address is not a public unicast one.
pub fn check(address: IpAddr) -> Result<(), Forbidden> {
    let kind = match address {
        IpAddr::V4(v4) => ipv4_kind(v4),
        IpAddr::V6(v6) => ipv6_kind(v6),
    };
    kind.map_or(Ok(()), |kind| Err(Forbidden { address, kind }))
}

/// IPv4 ranges that are not public unicast (IANA's special-purpose registry, RFC 6890), most specific first.
const IPV4: [(Ipv4Addr, u32, &str); 19] = [
    (Ipv4Addr::UNSPECIFIED, 32, "the unspecified address"),
    (Ipv4Addr::UNSPECIFIED, 8, "an address of this network"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "a private address"),
    (Ipv4Addr::new(100, 64, 0, 0), 10, "a shared (CGNAT) address"),
    // Metadata service of a cloud that is not link-local.
    (Ipv4Addr::new(168, 63, 129, 16), 32, "a metadata service address"),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "a loopback address"),
    (
        Ipv4Addr::new(169, 254, 169, 254),
        32,
        "a metadata service address",
    ),
    (Ipv4Addr::new(169, 254, 0, 0), 16, "a link-local address"),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "a private address"),
    (
        Ipv4Addr::new(192, 0, 0, 0),
        24,
        "a reserved (IETF protocol) address",
    ),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "a documentation address"),
    (
        Ipv4Addr::new(192, 88, 99, 0),
        24,
        "a reserved (6to4 relay) address",
    ),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "a private address"),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "a benchmarking address"),
    (Ipv4Addr::new(198, 51, 100, 0), 24, "a documentation address"),
    (Ipv4Addr::new(203, 0, 113, 0), 24, "a documentation address"),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "a multicast address"),
    (Ipv4Addr::BROADCAST, 32, "the broadcast address"),
    (Ipv4Addr::new(240, 0, 0, 0), 4, "a reserved address"),
];

/// IPv6 ranges that are not public unicast, most specific first.
const IPV6: [(Ipv6Addr, u32, &str); 14] = [
    (Ipv6Addr::UNSPECIFIED, 128, "the unspecified address"),
    (Ipv6Addr::LOCALHOST, 128, "a loopback address"),
    (
        Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, 0, 0),
        48,
        "a local NAT64 address",
    ),
    (Ipv6Addr::new(0x100, 0, 0, 0, 0, 0, 0, 0), 64, "a discard address"),
    (
        Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 0),
        48,
        "a benchmarking address",
    ),
    (
        Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0),
        32,
        "a documentation address",
    ),
    (
        Ipv6Addr::new(0x2001, 0x10, 0, 0, 0, 0, 0, 0),
        28,
        "a reserved (ORCHID) address",
    ),
    (
        Ipv6Addr::new(0x2001, 0x20, 0, 0, 0, 0, 0, 0),
        28,
        "a reserved (ORCHID) address",
    ),
    (
        Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0),
        20,
        "a documentation address",
    ),
    (
        Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
        128,
        "a metadata service address",
    ),
    (
        Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0),
        7,
        "a private (unique local) address",
    ),
    (
        Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0),
        10,
        "a link-local address",
    ),
    (
        Ipv6Addr::new(0xfec0, 0, 0, 0, 0, 0, 0, 0),
        10,
        "a site-local address",
    ),
    (
        Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0),
        8,
        "a multicast address",
    ),
];

fn ipv4_kind(address: Ipv4Addr) -> Option<&'static str> {
    IPV4.iter()
        .find(|(range, bits, _)| shares_prefix(address.to_bits().into(), range.to_bits().into(), *bits + 96))
        .map(|(_, _, kind)| *kind)
}

fn ipv6_kind(address: Ipv6Addr) -> Option<&'static str> {
    let in_table = IPV6
        .iter()
        .find(|(range, bits, _)| shares_prefix(address.to_bits(), range.to_bits(), *bits))
        .map(|(_, _, kind)| *kind);
    let in_unicast = || shares_prefix(address.to_bits(), 0x2000 << 112, 3);
    in_table.or_else(|| match embedded_ipv4(address) {
        Some(hidden) => ipv4_kind(hidden),
        // Outside 2000::/3 nothing is global unicast (RFC 4291, section 2.4).
        None => (!in_unicast()).then_some("a reserved address"),
    })
}

/// The IPv4 address that a translator or tunnel would send the datagrams to.
fn embedded_ipv4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let ipv4 = |high: u16, low: u16| Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low));
    match address.segments() {
        // IPv4-mapped, IPv4-compatible and IPv4-translated (RFC 4291, RFC 2765), NAT64 (RFC 6052), and 6to4 (RFC 3056).
        [0, 0, 0, 0, 0, 0xffff | 0, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => Some(ipv4(high, low)),
        // Teredo (RFC 4380): the client's address, inverted.
        [0x2001, 0, .., high, low] => Some(ipv4(!high, !low)),
        _ => None,
    }
}

fn shares_prefix(a: u128, b: u128, bits: u32) -> bool {
    let differing = a ^ b;
    differing.leading_zeros() >= bits
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn kind(address: &str) -> Option<&'static str> {
        check(address.parse().unwrap())
            .err()
            .map(|forbidden| forbidden.kind)
    }

    #[test]
    fn public_addresses_may_be_dialled() {
        for address in [
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.167.255.255",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2606:4700::1111",
            "2a00:1450:4001:80b::2004",
            "64:ff9b::808:808",
            "2002:808:808::1",
            "::ffff:8.8.8.8",
        ] {
            assert_eq!(kind(address), None, "{address}");
        }
    }

    #[test]
    fn special_addresses_may_not() {
        let cases = [
            ("0.0.0.0", "the unspecified address"),
            ("0.1.2.3", "an address of this network"),
            ("10.0.0.1", "a private address"),
            ("100.64.0.1", "a shared (CGNAT) address"),
            ("100.127.255.255", "a shared (CGNAT) address"),
            ("127.0.0.1", "a loopback address"),
            ("127.255.255.254", "a loopback address"),
            ("169.254.1.1", "a link-local address"),
            ("169.254.169.254", "a metadata service address"),
            ("168.63.129.16", "a metadata service address"),
            ("172.16.0.1", "a private address"),
            ("172.31.255.255", "a private address"),
            ("192.0.0.8", "a reserved (IETF protocol) address"),
            ("192.0.2.1", "a documentation address"),
            ("192.168.1.1", "a private address"),
            ("198.18.0.1", "a benchmarking address"),
            ("198.19.255.255", "a benchmarking address"),
            ("198.51.100.1", "a documentation address"),
            ("203.0.113.1", "a documentation address"),
            ("224.0.0.1", "a multicast address"),
            ("239.255.255.255", "a multicast address"),
            ("240.0.0.1", "a reserved address"),
            ("255.255.255.255", "the broadcast address"),
            ("::", "the unspecified address"),
            ("::1", "a loopback address"),
            ("fc00::1", "a private (unique local) address"),
            ("fd12:3456::1", "a private (unique local) address"),
            ("fd00:ec2::254", "a metadata service address"),
            ("fe80::1", "a link-local address"),
            ("febf::1", "a link-local address"),
            ("fec0::1", "a site-local address"),
            ("ff02::1", "a multicast address"),
            ("2001:db8::1", "a documentation address"),
            ("3fff:fff::1", "a documentation address"),
            ("2001:2::1", "a benchmarking address"),
            ("100::1", "a discard address"),
            ("4000::1", "a reserved address"),
            ("64:ff9b:1::1", "a local NAT64 address"),
            ("::ffff:127.0.0.1", "a loopback address"),
            ("::ffff:0:10.0.0.1", "a private address"),
            ("::127.0.0.1", "a loopback address"),
            ("64:ff9b::a9fe:a9fe", "a metadata service address"),
            ("2002:7f00:1::1", "a loopback address"),
            ("2002:c0a8:101::1", "a private address"),
            // Teredo with the client 192.168.0.1, inverted.
            ("2001:0:4136:e378:8000:63bf:3f57:fffe", "a private address"),
        ];
        for (address, expected) in cases {
            assert_eq!(kind(address), Some(expected), "{address}");
        }
    }

    #[test]
    fn other_spellings_of_a_host_are_the_same_address() {
        for spelling in [
            "http://0x7f.1/",
            "http://2130706433/",
            "http://0177.0.0.1/",
            "http://127.1/",
            "http://[::ffff:7f00:1]/",
        ] {
            let url = url::Url::parse(spelling).unwrap();
            let address = match url.host().unwrap() {
                url::Host::Ipv4(v4) => IpAddr::V4(v4),
                url::Host::Ipv6(v6) => IpAddr::V6(v6),
                url::Host::Domain(name) => panic!("{spelling} is taken for the name {name}"),
            };
            assert_eq!(
                check(address).unwrap_err().kind,
                "a loopback address",
                "{spelling}"
            );
        }
    }

    proptest! {
        #[test]
        fn an_ipv4_address_is_judged_alike_however_it_is_hidden(bits in any::<u32>()) {
            let plain = Ipv4Addr::from_bits(bits);
            let hidden = [
                plain.to_ipv6_mapped(),
                Ipv6Addr::from_bits(0x0064_ff9b_u128 << 96 | u128::from(bits)),
                Ipv6Addr::from_bits(0x2002_u128 << 112 | u128::from(bits) << 80 | 1),
                Ipv6Addr::from_bits(0x2001_0000_u128 << 96 | u128::from(!bits)),
            ];
            for address in hidden {
                prop_assert_eq!(
                    check(plain.into()).is_ok(),
                    check(address.into()).is_ok(),
                    "{} in {}", plain, address
                );
            }
        }

        #[test]
        fn the_standard_library_never_knows_better(bits in any::<u32>()) {
            let address = Ipv4Addr::from_bits(bits);
            let special = address.is_loopback()
                || address.is_private()
                || address.is_link_local()
                || address.is_multicast()
                || address.is_documentation()
                || address.is_broadcast()
                || address.is_unspecified();
            prop_assert!(!special || check(address.into()).is_err());
        }
    }
}
