//! Internal addresses, and TLS with `rustls` and the cryptography of `ring`.

use std::{
    error::Error,
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

/// Installs the crypto provider of this process, once. Must run before a client is created.
pub fn install_crypto_provider() {
    // The result is an error if a provider is installed already, which is the same one.
    drop(rustls::crypto::ring::default_provider().install_default());
}

/// Returns whether a connection failed because the peer is not trusted or does not speak TLS.
pub fn is_tls_error(failure: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(failure);
    while let Some(error) = cause {
        if error.is::<rustls::Error>() {
            return true;
        }
        // `io::Error` does not return the error that it wraps from `source`.
        let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        cause = match wrapped {
            Some(wrapped) => Some(wrapped),
            None => error.source(),
        };
    }
    false
}

/// Address at which Azure serves virtual machines. Other clouds use link-local addresses.
const AZURE_WIRE: Ipv4Addr = Ipv4Addr::new(168, 63, 129, 16);

/// Returns whether an address is internal: this machine, a private network, a cloud's own services,
/// multicast, broadcast or reserved. An IPv6 address that embeds an IPv4 address is judged by it.
pub fn is_internal_address(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_internal_v4(address),
        IpAddr::V6(address) => {
            let segments = address.segments();
            let is_site_local = segments[0] & 0xffc0 == 0xfec0;
            // NAT64 prefixes that a network chooses itself (RFC 8215).
            let is_local_nat64 = segments.starts_with(&[0x64, 0xff9b, 1]);
            address.is_unspecified()
                || address.is_loopback()
                || address.is_multicast()
                || address.is_unique_local()
                || address.is_unicast_link_local()
                || is_site_local
                || is_local_nat64
                || embedded_v4(address).is_some_and(is_internal_v4)
        }
    }
}

fn is_internal_v4(address: Ipv4Addr) -> bool {
    let [first, second, third, _] = address.octets();
    let is_shared = first == 100 && second & 0xc0 == 64;
    let is_protocol = [first, second, third] == [192, 0, 0];
    let is_benchmark = first == 198 && second & 0xfe == 18;
    // From 224 on: multicast, reserved and broadcast addresses.
    first == 0
        || first >= 224
        || address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || is_shared
        || is_protocol
        || is_benchmark
        || address == AZURE_WIRE
}

/// Returns the embedded IPv4 address: compatible, mapped, translated, NAT64, 6to4, Teredo, ISATAP.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let (high, low) = match address.segments() {
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..]
        | [_, _, _, _, 0 | 0x200, 0x5efe, high, low] => (high, low),
        [0x2001, 0, .., high, low] => (!high, !low),
        _ => return None,
    };
    Some(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn internal_addresses_are_detected_in_every_notation() {
        for internal in [
            "127.0.0.1",
            "127.255.0.1",
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "100.100.100.200",
            "100.127.255.255",
            "168.63.129.16",
            "192.0.0.192",
            "198.18.0.1",
            "198.19.255.255",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::ffff:0:127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::7f00:1",
            "64:ff9b:1:2::5db8:d822",
            "2002:7f00:1::",
            "2002:c0a8:101::1",
            "2001:0:4136:e378:8000:63bf:80ff:fffe",
            "2001:db8::5efe:10.0.0.1",
            "fd00:ec2::254",
            "fc00::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(is_internal_address(internal.parse().unwrap()), "{internal}");
        }
        for public in [
            "93.184.216.34", "1.1.1.1", "100.63.255.255", "100.128.0.1", "172.15.0.1",
            "172.32.0.1", "169.253.0.1", "192.0.1.1", "198.20.0.1", "223.255.255.255",
            "2606:4700::1111", "::ffff:93.184.216.34", "64:ff9b::5db8:d822", "2002:5db8:d822::1",
            "2001:4860:4860::8888",
        ] {
            assert!(!is_internal_address(public.parse().unwrap()), "{public}");
        }
    }
}
