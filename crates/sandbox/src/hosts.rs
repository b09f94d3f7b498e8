//! Matching a name or an address against a list of hosts. Pure.
//!
//! A pattern is a name (`example.com`) or everything below one (`*.example.com`). Matching is by whole
//! labels, after the name has been brought to its one plain form; a name that has none matches nothing.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Hosts that may be reached. A denied pattern wins over an allowed one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hosts {
    allowed: Vec<Pattern>,
    denied: Vec<Pattern>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Pattern {
    Any,
    Exactly(String),
    Below(String),
}

/// The longest name that DNS knows.
const NAME_MAX: usize = 253;

impl Hosts {
    /// The patterns that make no sense are returned beside it: they match nothing, and should be said.
    pub fn new(allowed: &[String], denied: &[String]) -> (Self, Vec<String>) {
        let mut wrong = Vec::new();
        let mut read = |texts: &[String]| {
            let parsed = texts.iter().filter_map(|text| {
                let pattern = Pattern::parse(text);
                if pattern.is_none() {
                    wrong.push(text.clone());
                }
                pattern
            });
            parsed.collect()
        };
        let hosts = Self { allowed: read(allowed), denied: read(denied) };
        (hosts, wrong)
    }

    /// Whether nothing at all is allowed.
    pub fn is_empty(&self) -> bool {
        self.allowed.is_empty()
    }

    /// Whether a name or an address is on the list and not denied.
    pub fn allows(&self, host: &str) -> bool {
        let Some(name) = plain(host) else { return false };
        self.allowed.iter().any(|pattern| pattern.matches(&name)) && !self.denies(&name)
    }

    fn denies(&self, name: &str) -> bool {
        self.denied.iter().any(|pattern| pattern.matches(name))
    }

    /// Whether a connection to `address` may be made for a host that is allowed. This machine and its
    /// link are reached only by who names them: any name could be made to resolve to them.
    pub fn allows_address(&self, host: &str, address: IpAddr) -> bool {
        let address = canonical(address);
        if self.denies(&address.to_string()) {
            return false;
        }
        is_elsewhere(address) || plain(host).is_some_and(|name| self.names(&name))
    }

    /// Listed itself, not by a wildcard, and itself a name of this machine or an address.
    fn names(&self, name: &str) -> bool {
        let local = name == "localhost" || name.parse::<IpAddr>().is_ok();
        local && self.allowed.contains(&Pattern::Exactly(name.to_owned()))
    }
}

impl Pattern {
    fn parse(text: &str) -> Option<Self> {
        if text == "*" {
            return Some(Self::Any);
        }
        match text.strip_prefix("*.") {
            // A whole top-level domain is a typing error.
            Some(rest) => {
                plain(rest).filter(|name| name.contains('.') && name.parse::<IpAddr>().is_err()).map(Self::Below)
            }
            None => plain(text).map(Self::Exactly),
        }
    }

    fn matches(&self, name: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Exactly(other) => name == other,
            Self::Below(other) => {
                name.strip_suffix(other.as_str()).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
            }
        }
    }
}

/// A host in its one form: lower case, no dot at the end, addresses as they are usually written.
fn plain(host: &str) -> Option<String> {
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    if let Some(address) = bare {
        return address.parse::<Ipv6Addr>().ok().map(|address| canonical(address.into()).to_string());
    }
    if let Ok(address) = host.parse::<IpAddr>() {
        return Some(canonical(address).to_string());
    }
    let name = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    let labels_fine = name.split('.').all(|label| {
        let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
        label.len() <= 63
            && edge(label.chars().next())
            && edge(label.chars().next_back())
            && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
    });
    // `127.1`, `2130706433`, `0x7f.0.0.1`: addresses in forms that only some programs read.
    let last = name.rsplit('.').next().unwrap_or_default();
    let numeric = last.starts_with(|c: char| c.is_ascii_digit());
    (labels_fine && !numeric && name.len() <= NAME_MAX).then_some(name)
}

/// An IPv4 address in IPv6 clothes is the IPv4 address.
fn canonical(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(six) => six.to_ipv4_mapped().or_else(|| translated(six)).map_or(address, IpAddr::V4),
        IpAddr::V4(_) => address,
    }
}

/// `64:ff9b::/96`: the network translates it back.
fn translated(six: Ipv6Addr) -> Option<Ipv4Addr> {
    let [0x64, 0xff9b, 0, 0, 0, 0, high, low] = six.segments() else { return None };
    let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
    Some(Ipv4Addr::new(a, b, c, d))
}

fn is_elsewhere(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(four) => {
            !(four.is_loopback()
                || four.is_link_local()
                || four.is_unspecified()
                || four.is_multicast()
                || four.is_broadcast()
                || four.octets()[0] == 0)
        }
        IpAddr::V6(six) => {
            let link_local = six.segments()[0] & 0xffc0 == 0xfe80;
            // `::a.b.c.d`, long out of use, and both `::` and `::1`.
            let compatible = six.segments()[..6] == [0; 6];
            !(link_local || compatible || six.is_multicast())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(allowed: &[&str], denied: &[&str]) -> Hosts {
        let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        Hosts::new(&texts(allowed), &texts(denied)).0
    }

    #[test]
    fn adversary_27_an_empty_list_is_nothing() {
        for host in ["example.com", "localhost", "127.0.0.1", ""] {
            assert!(!hosts(&[], &[]).allows(host), "{host}");
        }
    }

    #[test]
    fn adversary_28_only_the_name_itself_matches() {
        let list = hosts(&["docs.python.org", "*.example.com"], &[]);
        for host in ["docs.python.org", "DOCS.python.org", "docs.python.org.", "a.example.com", "a.b.example.com"] {
            assert!(list.allows(host), "{host}");
        }
        for host in [
            "docs.python.org.evil.test",
            "evildocs.python.org",
            "python.org",
            "example.com",
            ".example.com",
            "evilexample.com",
            "evil.test#docs.python.org",
            "user@docs.python.org",
            "docs.python.org\\.evil.test",
            "docs%2epython.org",
            "docs.python.org\0.evil.test",
            "d\u{43e}cs.python.org",
            "docs.python.org..",
            "docs.python.org:80",
            "2130706433",
            "0x7f.0.0.1",
            "127.1",
            "",
        ] {
            assert!(!list.allows(host), "{host:?}");
        }
    }

    #[test]
    fn denied_wins_and_nonsense_is_told() {
        let list = hosts(&["*"], &["evil.test", "*.evil.test", "10.0.0.1"]);
        assert!(list.allows("fine.test") && !list.allows("evil.test") && !list.allows("a.evil.test"));
        assert!(!list.allows_address("fine.test", "10.0.0.1".parse().unwrap()));
        let (_, wrong) = Hosts::new(&["*.com".into(), "http://x.test".into(), "a b".into(), "ok.test".into()], &[]);
        assert_eq!(wrong, ["*.com", "http://x.test", "a b"]);
    }

    #[test]
    fn this_machine_is_reached_only_by_who_names_it() {
        let list = hosts(&["*", "localhost", "127.0.0.2"], &[]);
        for (host, address, fine) in [
            ("rebind.test", "93.184.216.34", true),
            ("rebind.test", "10.1.2.3", true),
            ("rebind.test", "127.0.0.1", false),
            ("rebind.test", "169.254.169.254", false),
            ("rebind.test", "0.0.0.0", false),
            ("rebind.test", "::1", false),
            ("rebind.test", "::ffff:127.0.0.1", false),
            ("rebind.test", "64:ff9b::7f00:1", false),
            ("rebind.test", "fe80::1", false),
            ("rebind.test", "2606:2800:220:1::1", true),
            ("localhost", "127.0.0.1", true),
            ("127.0.0.2", "127.0.0.2", true),
            ("127.0.0.3", "127.0.0.3", false),
        ] {
            assert_eq!(list.allows_address(host, address.parse().unwrap()), fine, "{host} {address}");
        }
    }

    #[test]
    fn addresses_have_one_form() {
        let list = hosts(&["[::1]", "10.0.0.1"], &[]);
        assert!(list.allows("[::1]") && list.allows("[0:0::1]") && list.allows("[::ffff:10.0.0.1]"));
        assert!(!list.allows("[::2]") && !list.allows("010.0.0.1"));
    }
}
