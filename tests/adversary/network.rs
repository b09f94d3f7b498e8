//! Host allow-lists by prefix or suffix, and addresses that lead home.

use crate::kit::{Rules, judge};
use crate::loopback::{Loopback, reply};
use serde_json::{Value, json};

fn fetches(urls: &[String]) -> Vec<(&'static str, Value)> {
    urls.iter().map(|url| ("WebFetch", json!({"url": url, "prompt": "what is it?"}))).collect()
}

#[test]
fn n27_without_a_rule_no_host_is_reached() {
    let urls: Vec<String> = ["https://docs.python.org/", "http://localhost/", "https://x.test", ""]
        .iter()
        .map(|url| (*url).to_owned())
        .collect();
    let judged = judge(&[], &Rules::default(), &fetches(&urls));
    assert!(judged.denied.iter().all(|denied| *denied), "{:?}", judged.denied);
}

#[test]
fn n28_a_rule_for_a_host_is_for_that_host() {
    let urls = [
        "https://docs.python.org.evil.test/",
        "https://evil.test#docs.python.org",
        "https://evil.test/docs.python.org",
        "https://evil.test?docs.python.org",
        "https://docs.python.org@evil.test/",
        "https://user@docs.python.org/",
        "https://user:pass@docs.python.org/",
        "https://evil.test\\@docs.python.org/",
        "https://docs.python.org\\.evil.test/",
        "https://docs.python.org\u{0}.evil.test/",
        "https://docs.python.org%00.evil.test/",
        "https://docs.python.org%2eevil.test/",
        "https://d\u{43e}cs.python.org/",
        "https://docs.pyth\u{585}n.org/",
        "https://xdocs.python.org/",
        "https://python.org/",
        "https://docs.python.org.",
        "https://docs.python.org:443@evil.test/",
        "https:docs.python.org.evil.test",
        "ftp://docs.python.org/",
        "file:///etc/passwd",
        "data:text/html,docs.python.org",
        "javascript:docs.python.org",
        "docs.python.org",
        "https://[::ffff:127.0.0.1]/docs.python.org",
        "http://2130706433/",
        "http://127.1/",
        "http://0x7f.1/",
        "http://localhost/",
        "http://169.254.169.254/latest/meta-data/",
    ];
    // With a dot at its end it is the same host; whether it is fetched is another question.
    let urls: Vec<String> = urls.iter().filter(|url| !url.ends_with('.')).map(|url| (*url).to_owned()).collect();
    for rule in ["WebFetch(domain:docs.python.org)", "WebFetch(domain:docs.python.org.)"] {
        let judged = judge(&[], &Rules { allow: &[rule], ..Rules::default() }, &fetches(&urls));
        let passed: Vec<&String> =
            urls.iter().zip(&judged.denied).filter(|(_, denied)| !**denied).map(|(url, _)| url).collect();
        assert!(passed.is_empty(), "{rule}: {passed:#?}");
    }
}

#[test]
fn n28_a_wildcard_is_for_subdomains_and_a_denied_host_is_denied_in_every_spelling() {
    let urls = |list: &[&str]| -> Vec<String> { list.iter().map(|url| (*url).to_owned()).collect() };
    let not = urls(&["https://evilexample.test/", "https://example.test/", "https://a.example.test.evil.test/"]);
    let judged = judge(&[], &Rules { allow: &["WebFetch(domain:*.example.test)"], ..Rules::default() }, &fetches(&not));
    assert_eq!(judged.denied, [true; 3]);
    let same = urls(&[
        "https://evil.test/",
        "https://EVIL.test./",
        "https://u@evil.test",
        "https://evil%2Etest/",
        "https://evil\u{3002}test/",
        "https://\u{ff45}vil.test/",
        "https://evil.test:8443/x",
        " https://evil.test/ ",
        "HTTPS://evil.test/",
    ]);
    let rules = Rules { allow: &["WebFetch"], deny: &["WebFetch(domain:evil.test)"], mode: "bypassPermissions" };
    let judged = judge(&[], &rules, &fetches(&same));
    let passed: Vec<&String> =
        same.iter().zip(&judged.denied).filter(|(_, denied)| !**denied).map(|(url, _)| url).collect();
    assert!(passed.is_empty(), "{passed:#?}");
}

/// Allowed or not, a fetch does not reach this machine or its network.
#[test]
fn n28_private_addresses_are_not_fetched_even_where_everything_is_allowed() {
    let page = Loopback::start(|_| reply(200, "text/html", "hush-hush"));
    let port = page.address.rsplit(':').next().unwrap().to_owned();
    let hosts = [
        "127.0.0.1",
        "localhost",
        "LOCALHOST",
        "localhost.",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "0",
        "0.0.0.0",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[0:0:0:0:0:0:0:1]",
        "x.localhost",
        "127.0.0.1.",
        "\u{2460}27.0.0.1",
        "169.254.169.254",
        "10.0.0.1",
        "192.168.0.1",
        "[fe80::1]",
        "[fd00::1]",
        "[64:ff9b::7f00:1]",
        "metadata.google.internal",
    ];
    let urls: Vec<String> =
        hosts.iter().flat_map(|host| [format!("http://{host}:{port}/"), format!("https://{host}:{port}/")]).collect();
    let judged =
        judge(&[], &Rules { allow: &["WebFetch"], mode: "bypassPermissions", ..Rules::default() }, &fetches(&urls));
    assert_eq!(page.arrived().len(), 0, "{:?}", page.arrived());
    for (url, told) in urls.iter().zip(&judged.told) {
        assert!(!told.is_empty() && !told.contains("hush-hush"), "{url}: {told}");
    }
}
