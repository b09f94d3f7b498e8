//! The check of addresses before they are fetched. Pure.
//!
//! Two looks: at the text of the URL before anything is resolved, and at every IP address a name
//! resolves to before it is connected to. Whether the *host* is allowed is for `policy`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use url::{Host, Url};

/// Longer ones carry data out rather than name a page.
const LONGEST_URL: usize = 2000;

/// Names that mean this machine or this network wherever they are used.
const LOCAL_NAMES: [&str; 6] = ["localhost", "local", "internal", "intranet", "lan", "arpa"];

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    #[error("the URL is longer than {LONGEST_URL} characters; use a shorter one")]
    TooLong,
    #[error("the URL contains a backslash, a space or a control character; write them percent-encoded")]
    StrangeCharacter,
    #[error("{0:?} is not a URL ({1}); give one like https://example.com/page")]
    NotAUrl(String, String),
    #[error("only {} and {} can be fetched, not {given}", allowed[0], allowed[1])]
    Scheme { allowed: [&'static str; 2], given: String },
    #[error("the URL carries a user name or password; fetch it without")]
    Credentials,
    #[error("the host of {0:?} is not written plainly; use its usual spelling")]
    OddHost(String),
    #[error(
        "{0} is an address of this machine or a private network, which cannot be fetched; use Bash with curl if it is yours"
    )]
    Private(String),
}

/// Reads a URL and refuses what is not plainly a public page. `http` becomes `https`.
/// `private_allowed` is for tests and for users who ask for it.
pub fn checked(given: &str, private_allowed: bool) -> Result<Url, AddressError> {
    let mut url = plain(given.trim(), ["http", "https"], private_allowed)?;
    let is_private = !is_public_host(&url);
    if url.scheme() == "http" && !(private_allowed && is_private) {
        // Between two web schemes this always succeeds.
        let _ = url.set_scheme("https");
    }
    Ok(url)
}

/// The same for a web socket: `ws` and `wss` become `http` and `https`, which open it.
pub fn socket(given: &str, private_allowed: bool) -> Result<Url, AddressError> {
    if !given.is_ascii() {
        return Err(AddressError::StrangeCharacter);
    }
    let mut url = plain(given, ["ws", "wss"], private_allowed)?;
    // Between two web schemes this always succeeds.
    let _ = url.set_scheme(if url.scheme() == "ws" { "http" } else { "https" });
    Ok(url)
}

/// The address as rules about pages judge it: the same host, `http` or `https`. What is no such address stays as it is and
/// is refused by [`socket`].
pub fn page_of_socket(given: &str) -> String {
    let parsed = Url::parse(given).ok().filter(|url| matches!(url.scheme(), "ws" | "wss"));
    let Some(mut url) = parsed else { return given.to_owned() };
    // Between two web schemes this always succeeds.
    let _ = url.set_scheme(if url.scheme() == "ws" { "http" } else { "https" });
    url.to_string()
}

/// A URL whose host is written plainly and is public, without credentials and without a fragment.
fn plain(given: &str, schemes: [&'static str; 2], private_allowed: bool) -> Result<Url, AddressError> {
    if given.len() > LONGEST_URL {
        return Err(AddressError::TooLong);
    }
    if given.contains(|c: char| c == '\\' || c.is_whitespace() || c.is_control()) {
        return Err(AddressError::StrangeCharacter);
    }
    let mut url = Url::parse(given).map_err(|why| AddressError::NotAUrl(given.into(), why.to_string()))?;
    if !schemes.contains(&url.scheme()) {
        return Err(AddressError::Scheme { allowed: schemes, given: url.scheme().into() });
    }
    let written = written_host(given);
    if written.contains('@') || !url.username().is_empty() || url.password().is_some() {
        return Err(AddressError::Credentials);
    }
    check_host(&url, written, private_allowed)?;
    url.set_fragment(None);
    Ok(url)
}

/// Between the scheme and the path, as it was typed.
fn written_host(given: &str) -> &str {
    let rest = given.split_once("//").map_or("", |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or_default()
}

fn check_host(url: &Url, written: &str, private_allowed: bool) -> Result<(), AddressError> {
    let odd = || AddressError::OddHost(written.into());
    let name = written.rsplit_once(':').filter(|(_, port)| !port.contains(']')).map_or(written, |(name, _)| name);
    match url.host().ok_or_else(odd)? {
        // 127.1, 0x7f000001 and 2130706433 are spellings that only an attacker needs.
        Host::Ipv4(ip) if name != ip.to_string() => return Err(odd()),
        Host::Domain(domain) if domain.ends_with('.') || name.contains('%') || domain.contains("..") => {
            return Err(odd());
        }
        _ => {}
    }
    if private_allowed || is_public_host(url) { Ok(()) } else { Err(AddressError::Private(written.into())) }
}

fn is_public_host(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(domain)) => {
            let last = domain.rsplit('.').next().unwrap_or_default();
            domain.contains('.') && !LOCAL_NAMES.contains(&last)
        }
        Some(Host::Ipv4(ip)) => is_public(IpAddr::V4(ip)),
        Some(Host::Ipv6(ip)) => is_public(IpAddr::V6(ip)),
        None => false,
    }
}

/// May a redirect from `from` to `to` be followed without asking again? Same host (with or without
/// `www.`), same port, and never from https to http.
pub fn same_site(from: &Url, to: &Url) -> bool {
    let host = |url: &Url| url.host_str().map(|host| host.strip_prefix("www.").unwrap_or(host).to_owned());
    host(from) == host(to)
        && from.port_or_known_default() == to.port_or_known_default()
        && (from.scheme() == to.scheme() || to.scheme() == "https")
}

/// Reachable by anybody, so reaching it from here gives nothing away.
pub fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => is_public_v4(ip),
        IpAddr::V6(ip) => is_public_v6(ip),
    }
}

fn is_public_v4(ip: Ipv4Addr) -> bool {
    let [a, b, c, _] = ip.octets();
    !(ip.is_private()
        || ip.is_loopback()
        || ip.is_link_local()
        || ip.is_broadcast()
        || ip.is_documentation()
        || ip.is_multicast()
        || a == 0
        || a >= 240
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && (18..20).contains(&b)))
}

/// Only the global unicast block, without its parts that lead back to IPv4 or nowhere.
fn is_public_v6(ip: Ipv6Addr) -> bool {
    if let Some(v4) = ip.to_ipv4_mapped() {
        return is_public_v4(v4);
    }
    match ip.segments() {
        // Teredo, benchmarking, documentation and other special uses; 6to4 embeds an IPv4 address.
        [0x2001, 0..=0x01ff | 0x0db8, ..] | [0x2002, ..] | [0x3fff, 0..=0x0fff, ..] => false,
        [first, ..] => (0x2000..0x4000).contains(&first),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn public_pages_pass_and_become_https() {
        for (given, url) in [
            ("https://example.com/a?b=c#d", "https://example.com/a?b=c"),
            ("http://example.com", "https://example.com/"),
            ("HTTP://Example.COM:8080/", "https://example.com:8080/"),
            ("https://1.1.1.1/", "https://1.1.1.1/"),
            ("https://[2606:4700::1111]/", "https://[2606:4700::1111]/"),
            ("https://bücher.example/", "https://xn--bcher-kva.example/"),
        ] {
            assert_eq!(checked(given, false).map(String::from).as_deref(), Ok(url), "{given}");
        }
    }

    #[test]
    fn adversary_28_everything_else_is_refused() {
        for given in [
            "",
            "example.com",
            "ftp://example.com",
            "file:///etc/passwd",
            "https:///",
            "https://user@example.com/",
            "https://user:pass@example.com/",
            "https://@example.com/",
            "https://allowed.test@evil.test/",
            "https://allowed.test\\@evil.test/",
            "https://evil.test\\.allowed.test/",
            "https://exa mple.com/",
            "https://example.com/\0.allowed",
            "https://example.com%00.allowed.test/",
            "https://example%2ecom/",
            "https://example.com./",
            "https://localhost/",
            "https://localhost:8080/",
            "https://foo.localhost/",
            "https://printer.local/",
            "https://metadata.google.internal/",
            "https://intranet/",
            "https://127.0.0.1/",
            "https://127.1/",
            "https://2130706433/",
            "https://0x7f000001/",
            "https://017700000001/",
            "https://16843009/",
            "https://169.254.169.254/latest/meta-data/",
            "https://10.0.0.1/",
            "https://172.16.0.1/",
            "https://192.168.1.1/",
            "https://100.64.0.1/",
            "https://0.0.0.0/",
            "https://[::1]/",
            "https://[::]/",
            "https://[::ffff:127.0.0.1]/",
            "https://[::ffff:a9fe:a9fe]/",
            "https://[fe80::1]/",
            "https://[fd00::1]/",
            "https://[64:ff9b::7f00:1]/",
            "https://[2002:7f00:1::]/",
        ] {
            assert!(checked(given, false).is_err(), "{given}");
        }
        assert_eq!(checked(&format!("https://example.com/{}", "a".repeat(2000)), false), Err(AddressError::TooLong));
    }

    #[test]
    fn sockets_are_opened_at_public_addresses_only() {
        for (given, opened) in [
            ("wss://example.com/feed?x=1", Some("https://example.com/feed?x=1")),
            ("ws://example.com:8080/#top", Some("http://example.com:8080/")),
            ("https://example.com/", None),
            ("ws://user:secret@example.com/", None),
            ("ws://example.com/a b", None),
            ("ws://exämple.com/", None),
            ("ws://127.0.0.1/", None),
            ("ws://localhost/", None),
            ("ws://169.254.169.254/latest/", None),
            ("ws://[::1]/", None),
            ("ws://10.0.0.1/", None),
            ("ws://0x7f000001/", None),
            ("nonsense", None),
        ] {
            assert_eq!(socket(given, false).ok().as_ref().map(Url::as_str), opened, "{given}");
        }
        assert!(socket("ws://127.0.0.1:9/", true).is_ok());
        assert_eq!(page_of_socket("WSS://Evil.Test/x"), "https://evil.test/x");
        assert_eq!(page_of_socket("nonsense"), "nonsense");
    }

    #[test]
    fn private_pages_only_on_request_and_then_over_http() {
        let url = checked("http://127.0.0.1:8080/x", true).map(String::from);
        assert_eq!(url.as_deref(), Ok("http://127.0.0.1:8080/x"));
        assert!(checked("http://user@127.0.0.1/", true).is_err());
    }

    #[test]
    fn redirects_stay_on_the_site() {
        let url = |text: &str| Url::parse(text).unwrap();
        let from = url("https://example.com/a");
        for to in ["https://example.com/b", "https://www.example.com/a"] {
            assert!(same_site(&from, &url(to)), "{to}");
        }
        for to in [
            "https://evil.test/a",
            "https://example.com.evil.test/",
            "https://sub.example.com/",
            "https://example.com:8443/",
            "http://example.com/a",
        ] {
            assert!(!same_site(&from, &url(to)), "{to}");
        }
    }

    proptest! {
        #[test]
        fn mapped_addresses_are_judged_like_the_ones_they_map(bits in any::<u32>()) {
            let v4 = Ipv4Addr::from(bits);
            prop_assert_eq!(is_public(IpAddr::V4(v4)), is_public(IpAddr::V6(v4.to_ipv6_mapped())));
        }

        #[test]
        fn no_text_gets_past_with_a_private_address(text in "\\PC{0,60}") {
            if let Ok(url) = checked(&format!("https://{text}"), false) {
                prop_assert!(is_public_host(&url) && url.username().is_empty());
            }
        }
    }
}
