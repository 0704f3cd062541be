//! Whose an address may be, by its class.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What the class of an address says of the server behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Loopback, private (RFC 1918), unique local (RFC 4193) or link-local.
    Near,
    /// Anything else: possibly somebody else's.
    Public,
    /// No single server has such an address; holds what it is.
    Nowhere(&'static str),
}

/// The class of `address`. An IPv4 address mapped into IPv6 counts as itself.
pub fn reach(address: IpAddr) -> Reach {
    match address.to_canonical() {
        IpAddr::V4(address) => reach_v4(address),
        IpAddr::V6(address) => reach_v6(address),
    }
}

fn reach_v4(address: Ipv4Addr) -> Reach {
    if address.is_unspecified() {
        Reach::Nowhere("the unspecified address")
    } else if address.octets()[0] == 0 {
        Reach::Nowhere("in 0.0.0.0/8")
    } else if address.is_multicast() {
        Reach::Nowhere("a multicast address")
    } else if address.is_broadcast() {
        Reach::Nowhere("the broadcast address")
    } else if address.is_loopback() || address.is_private() || address.is_link_local() {
        Reach::Near
    } else {
        Reach::Public
    }
}

fn reach_v6(address: Ipv6Addr) -> Reach {
    if address.is_unspecified() {
        Reach::Nowhere("the unspecified address")
    } else if address.is_multicast() {
        Reach::Nowhere("a multicast address")
    } else if address.is_loopback() || address.is_unique_local() || address.is_unicast_link_local() {
        Reach::Near
    } else {
        Reach::Public
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_all(addresses: &[&str], wanted: fn(Reach) -> bool) {
        for text in addresses {
            let found = reach(text.parse().expect("an address"));
            assert!(wanted(found), "{text}: {found:?}");
        }
    }

    #[test]
    fn every_class_of_address_is_known() {
        let near = [
            "127.0.0.1",
            "127.255.255.254",
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.0.1",
            "::1",
            "fc00::1",
            "fdff::1",
            "fe80::1",
            "febf::1",
            "::ffff:127.0.0.1",
            "::ffff:10.1.2.3",
        ];
        assert_all(&near, |found| found == Reach::Near);
        let public = [
            "1.1.1.1",
            "126.255.255.255",
            "172.15.255.255",
            "172.32.0.0",
            "192.167.255.255",
            "192.169.0.0",
            "100.64.0.1",
            "223.255.255.255",
            "2606:4700::1111",
            "fec0::1",
            "::ffff:1.1.1.1",
        ];
        assert_all(&public, |found| found == Reach::Public);
        let nowhere = [
            "0.0.0.0",
            "0.0.0.100",
            "0.255.255.255",
            "224.0.0.1",
            "239.255.255.255",
            "255.255.255.255",
            "::",
            "ff02::1",
            "::ffff:0.0.0.100",
            "::ffff:224.0.0.1",
        ];
        assert_all(&nowhere, |found| matches!(found, Reach::Nowhere(_)));
    }
}
