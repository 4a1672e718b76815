//! Which addresses a call may go to.
//!
//! An address is judged as what it leads to: one that carries another inside (IPv4 in IPv6, by any of the ways that
//! exist) is judged by the inner one or refused for the way. What is not known to be the public internet is refused.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A block of addresses, such as `10.0.0.0/8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cidr {
    first: IpAddr,
    prefix: u8,
}

/// Why a text is no block of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CidrError {
    #[error("expected an address and a prefix length, such as `10.0.0.0/8`")]
    Shape,
    #[error("the prefix is longer than the address")]
    Prefix,
    #[error("bits are set behind the prefix")]
    HostBits,
}

impl Cidr {
    /// This machine's own addresses.
    pub const LOOPBACK: [Self; 2] = [Self::v4([127, 0, 0, 0], 8), Self::v6([0, 0, 0, 0, 0, 0, 0, 1], 128)];

    /// All private networks, and this machine's own addresses.
    pub const PRIVATE: [Self; 6] = [
        Self::v4([10, 0, 0, 0], 8),
        Self::v4([127, 0, 0, 0], 8),
        Self::v4([172, 16, 0, 0], 12),
        Self::v4([192, 168, 0, 0], 16),
        Self::v6([0, 0, 0, 0, 0, 0, 0, 1], 128),
        Self::v6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7),
    ];

    const fn v4(first: [u8; 4], prefix: u8) -> Self {
        let [a, b, c, d] = first;
        Self { first: IpAddr::V4(Ipv4Addr::new(a, b, c, d)), prefix }
    }

    const fn v6(first: [u16; 8], prefix: u8) -> Self {
        let [a, b, c, d, e, f, g, h] = first;
        Self { first: IpAddr::V6(Ipv6Addr::new(a, b, c, d, e, f, g, h)), prefix }
    }

    /// IPv4 and IPv6 are apart: `0.0.0.0/0` contains no IPv6 address, mapped or not.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.first, address) {
            (IpAddr::V4(first), IpAddr::V4(address)) => {
                (u32::from(first) ^ u32::from(address)).leading_zeros() >= u32::from(self.prefix)
            }
            (IpAddr::V6(first), IpAddr::V6(address)) => {
                (u128::from(first) ^ u128::from(address)).leading_zeros() >= u32::from(self.prefix)
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }

    fn covers(&self, other: &Self) -> bool {
        self.prefix <= other.prefix && self.contains(other.first)
    }

    /// Whether all of it is private, so that a deployment may open it.
    pub fn is_private(&self) -> bool {
        Cidr::PRIVATE.iter().any(|range| range.covers(self))
    }
}

impl FromStr for Cidr {
    type Err = CidrError;

    fn from_str(text: &str) -> Result<Self, CidrError> {
        let (address, prefix) = text.split_once('/').ok_or(CidrError::Shape)?;
        let first: IpAddr = address.parse().map_err(|_| CidrError::Shape)?;
        let is_number = !prefix.is_empty() && prefix.bytes().all(|byte| byte.is_ascii_digit());
        let prefix: u8 =
            Some(prefix).filter(|_| is_number).and_then(|text| text.parse().ok()).ok_or(CidrError::Shape)?;
        let (bits, behind) = match first {
            IpAddr::V4(first) => (32, u32::from(first).checked_shl(u32::from(prefix)).unwrap_or(0) != 0),
            IpAddr::V6(first) => (128, u128::from(first).checked_shl(u32::from(prefix)).unwrap_or(0) != 0),
        };
        match (prefix > bits, behind) {
            (true, _) => Err(CidrError::Prefix),
            (false, true) => Err(CidrError::HostBits),
            (false, false) => Ok(Self { first, prefix }),
        }
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.prefix)
    }
}

/// What an address that is not public is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Range {
    /// This machine, or a private network: open where the deployment says so.
    Private,
    /// The services that tell a machine of a cloud who it is, and hand out its credentials.
    Metadata,
    LinkLocal,
    Documentation,
    /// Shared by the customers of a carrier.
    SharedByCarrier,
    Multicast,
    Unspecified,
    /// A way to put one address into another that nobody needs today: compatible, 6to4, Teredo, ISATAP.
    Tunnel,
    SiteLocal,
    /// Reserved, for benchmarks, or not given to anybody.
    Reserved,
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Private => "a private address",
            Self::Metadata => "the address of a metadata service",
            Self::LinkLocal => "a link-local address",
            Self::Documentation => "an address for documentation",
            Self::SharedByCarrier => "an address shared by a carrier's customers",
            Self::Multicast => "a multicast address",
            Self::Unspecified => "no address",
            Self::Tunnel => "an address that carries another one",
            Self::SiteLocal => "a site-local address",
            Self::Reserved => "a reserved address",
        })
    }
}

/// Never, whatever the deployment says. In this order, so that the narrower name comes first.
const NEVER: [(Cidr, Range); 34] = [
    (Cidr::v4([169, 254, 169, 254], 32), Range::Metadata),
    (Cidr::v4([169, 254, 170, 2], 32), Range::Metadata),
    (Cidr::v4([168, 63, 129, 16], 32), Range::Metadata),
    (Cidr::v4([100, 100, 100, 200], 32), Range::Metadata),
    (Cidr::v4([192, 0, 0, 192], 32), Range::Metadata),
    (Cidr::v6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0], 32), Range::Metadata),
    (Cidr::v6([0xfd20, 0xce, 0, 0, 0, 0, 0, 0], 32), Range::Metadata),
    (Cidr::v6([0xfd00, 0xc1, 0, 0, 0, 0, 0, 0], 32), Range::Metadata),
    (Cidr::v4([0, 0, 0, 0], 32), Range::Unspecified),
    (Cidr::v4([0, 0, 0, 0], 8), Range::Reserved),
    (Cidr::v4([100, 64, 0, 0], 10), Range::SharedByCarrier),
    (Cidr::v4([169, 254, 0, 0], 16), Range::LinkLocal),
    (Cidr::v4([192, 0, 0, 0], 24), Range::Reserved),
    (Cidr::v4([192, 0, 2, 0], 24), Range::Documentation),
    (Cidr::v4([192, 31, 196, 0], 24), Range::Reserved),
    (Cidr::v4([192, 52, 193, 0], 24), Range::Reserved),
    (Cidr::v4([192, 88, 99, 0], 24), Range::Tunnel),
    (Cidr::v4([192, 175, 48, 0], 24), Range::Reserved),
    (Cidr::v4([198, 18, 0, 0], 15), Range::Reserved),
    (Cidr::v4([198, 51, 100, 0], 24), Range::Documentation),
    (Cidr::v4([203, 0, 113, 0], 24), Range::Documentation),
    (Cidr::v4([224, 0, 0, 0], 4), Range::Multicast),
    (Cidr::v4([240, 0, 0, 0], 4), Range::Reserved),
    (Cidr::v6([0, 0, 0, 0, 0, 0, 0, 0], 128), Range::Unspecified),
    (Cidr::v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10), Range::LinkLocal),
    (Cidr::v6([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10), Range::SiteLocal),
    (Cidr::v6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8), Range::Multicast),
    (Cidr::v6([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48), Range::Tunnel),
    (Cidr::v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 32), Range::Tunnel),
    (Cidr::v6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32), Range::Documentation),
    (Cidr::v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23), Range::Reserved),
    (Cidr::v6([0x2002, 0, 0, 0, 0, 0, 0, 0], 16), Range::Tunnel),
    (Cidr::v6([0x3ffe, 0, 0, 0, 0, 0, 0, 0], 16), Range::Reserved),
    (Cidr::v6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20), Range::Documentation),
];

const NAT64: Cidr = Cidr::v6([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96);
const GLOBAL_UNICAST: Cidr = Cidr::v6([0x2000, 0, 0, 0, 0, 0, 0, 0], 3);

/// The address to connect to, in its plainest form, or why it is none that may be called.
pub(super) fn judge(address: IpAddr, allow_private: &[Cidr]) -> Result<IpAddr, Range> {
    let address = address.to_canonical();
    if let Some((_, range)) = NEVER.iter().find(|(cidr, _)| cidr.contains(address)) {
        return Err(*range);
    }
    if Cidr::PRIVATE.iter().any(|cidr| cidr.contains(address)) {
        let is_open = allow_private.iter().any(|cidr| cidr.contains(address));
        return if is_open { Ok(address) } else { Err(Range::Private) };
    }
    match address {
        IpAddr::V4(_) => Ok(address),
        IpAddr::V6(inner) => judge_v6(inner),
    }
}

/// One that is in no list of its own.
fn judge_v6(address: Ipv6Addr) -> Result<IpAddr, Range> {
    let whole = IpAddr::V6(address);
    if NAT64.contains(whole) {
        // A gateway to IPv4 is only for what is public there; no deployment opens its private networks this way.
        return judge(IpAddr::V4(last_four(address)), &[]).map(|_| whole);
    }
    if address.segments()[..6] == [0; 6] || is_isatap(address) {
        return Err(Range::Tunnel);
    }
    if GLOBAL_UNICAST.contains(whole) { Ok(whole) } else { Err(Range::Reserved) }
}

fn last_four(address: Ipv6Addr) -> Ipv4Addr {
    let [.., a, b, c, d] = address.octets();
    Ipv4Addr::new(a, b, c, d)
}

/// The second half names an IPv4 address to tunnel to.
fn is_isatap(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    matches!(segments[4], 0 | 0x200) && segments[5] == 0x5efe
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn cidr(text: &str) -> Cidr {
        text.parse().unwrap()
    }

    // X6
    #[test]
    fn every_range_that_is_not_public_has_a_name() {
        let table = [
            ("127.0.0.1", Range::Private),
            ("10.1.2.3", Range::Private),
            ("172.31.255.255", Range::Private),
            ("192.168.0.1", Range::Private),
            ("::1", Range::Private),
            ("fd12::1", Range::Private),
            ("::ffff:127.0.0.1", Range::Private),
            ("64:ff9b::7f00:1", Range::Private),
            ("169.254.169.254", Range::Metadata),
            ("::ffff:169.254.169.254", Range::Metadata),
            ("64:ff9b::a9fe:a9fe", Range::Metadata),
            ("fd00:ec2::254", Range::Metadata),
            ("168.63.129.16", Range::Metadata),
            ("169.254.1.1", Range::LinkLocal),
            ("fe80::1", Range::LinkLocal),
            ("192.0.2.1", Range::Documentation),
            ("2001:db8::1", Range::Documentation),
            ("3fff::1", Range::Documentation),
            ("100.64.0.1", Range::SharedByCarrier),
            ("100.127.255.255", Range::SharedByCarrier),
            ("224.0.0.1", Range::Multicast),
            ("ff02::1", Range::Multicast),
            ("0.0.0.0", Range::Unspecified),
            ("::", Range::Unspecified),
            ("0.1.2.3", Range::Reserved),
            ("198.18.0.1", Range::Reserved),
            ("255.255.255.255", Range::Reserved),
            ("2001:2::1", Range::Reserved),
            ("4000::1", Range::Reserved),
            ("100::1", Range::Reserved),
            ("::8.8.8.8", Range::Tunnel),
            ("::127.0.0.1", Range::Tunnel),
            ("2002:7f00:1::", Range::Tunnel),
            ("2001:0:4136:e378:8000:63bf:3fff:fdd2", Range::Tunnel),
            ("64:ff9b:1::1", Range::Tunnel),
            ("2600::5efe:7f00:1", Range::Tunnel),
            ("fec0::1", Range::SiteLocal),
        ];
        for (text, range) in table {
            assert_eq!(judge(ip(text), &[]), Err(range), "{text}");
        }
    }

    // X6
    #[test]
    fn public_addresses_pass_and_are_told_in_their_plainest_form() {
        for text in
            ["8.8.8.8", "1.1.1.1", "100.63.255.255", "172.32.0.1", "2606:4700::1111", "64:ff9b::808:808"]
        {
            assert_eq!(judge(ip(text), &[]), Ok(ip(text)), "{text}");
        }
        assert_eq!(judge(ip("::ffff:8.8.8.8"), &[]), Ok(ip("8.8.8.8")));
    }

    // X6
    #[test]
    fn a_deployment_opens_private_ranges_and_nothing_else() {
        let open = [cidr("127.0.0.0/8"), cidr("10.0.0.0/8"), cidr("fc00::/7")];
        for text in ["127.0.0.1", "10.9.9.9", "fd12::1", "::ffff:10.0.0.1"] {
            assert!(judge(ip(text), &open).is_ok(), "{text}");
        }
        let everything = [cidr("0.0.0.0/0"), cidr("::/0")];
        for text in
            ["169.254.169.254", "169.254.0.1", "100.64.0.1", "fe80::1", "fd00:ec2::254", "224.0.0.1", "::"]
        {
            assert!(judge(ip(text), &everything).is_err(), "{text}");
        }
        assert_eq!(judge(ip("64:ff9b::a00:1"), &open), Err(Range::Private), "not through a gateway");
        assert_eq!(judge(ip("192.168.0.1"), &open), Err(Range::Private));
        assert!(cidr("10.1.0.0/16").is_private() && cidr("::1/128").is_private());
        for text in ["0.0.0.0/0", "10.0.0.0/7", "169.254.0.0/16", "8.8.8.0/24", "::/0", "fe80::/10"] {
            assert!(!cidr(text).is_private(), "{text}");
        }
    }

    // X6
    #[test]
    fn a_block_is_an_address_and_a_prefix_without_further_bits() {
        assert_eq!(cidr("10.0.0.0/8").to_string(), "10.0.0.0/8");
        assert_eq!(cidr("::1/128").to_string(), "::1/128");
        for text in ["10.0.0.0", "10.0.0.0/", "10.0.0.0/+8", "10.0.0.0/a", "x/8", "/8", ""] {
            assert_eq!(text.parse::<Cidr>(), Err(CidrError::Shape), "{text}");
        }
        assert_eq!("10.0.0.0/33".parse::<Cidr>(), Err(CidrError::Prefix));
        assert_eq!("10.0.0.1/8".parse::<Cidr>(), Err(CidrError::HostBits));
        assert_eq!("::1/64".parse::<Cidr>(), Err(CidrError::HostBits));
    }

    proptest! {
        // X6
        #[test]
        fn however_an_address_is_wrapped_it_is_not_judged_milder(bits in any::<u32>()) {
            let plain = Ipv4Addr::from(bits);
            if judge(IpAddr::V4(plain), &[]).is_err() {
                let [a, b, c, d] = plain.octets();
                let (high, low) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
                let wrapped = [
                    Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, high, low),
                    Ipv6Addr::new(0, 0, 0, 0, 0, 0, high, low),
                    Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
                    Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, high, low),
                    Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
                    Ipv6Addr::new(0x2001, 0, 1, 1, 0, 0, !high, !low),
                    Ipv6Addr::new(0x2600, 0, 0, 0, 0, 0x5efe, high, low),
                ];
                for address in wrapped {
                    prop_assert!(judge(IpAddr::V6(address), &[]).is_err(), "{address}");
                }
            }
        }
    }
}
