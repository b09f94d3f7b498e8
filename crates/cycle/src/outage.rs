//! Is the API unreachable or overloaded? And how long does the loop wait before it tries again?
//!
//! An outage is nobody's fault in the run, so it is waited out like a usage limit. A usage limit names its end
//! (`reset`); an outage does not, so the waits grow. Deliberately absent: refused keys and bad requests, which
//! no wait repairs.

/// The API could not be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outage {
    /// The agent's error, for people.
    pub words: String,
    /// Whether the endpoint sent an HTTP answer: the address is then right.
    pub answered: bool,
}

/// The first wait. Agents have tried several times by themselves before they fail.
const WAIT_MS: u64 = 10_000;
/// The longest wait: a service that is back is noticed within this time.
const WAIT_MAX_MS: u64 = 5 * 60 * 1000;
/// What is kept of an error.
const WORDS_MAX: usize = 300;

/// Errors of connections, in lower case, as our agent, Node programs and system libraries word them.
const UNREACHABLE: [&str; 24] = [
    "cannot reach ",
    "the connection to ",
    "was cut off:",
    "connection error",
    "connection refused",
    "connection reset",
    "connection closed",
    "connection timed out",
    "econnrefused",
    "econnreset",
    "enotfound",
    "eai_again",
    "etimedout",
    "enetunreach",
    "ehostunreach",
    "getaddrinfo",
    "network is unreachable",
    "unable to connect to api",
    "fetch failed",
    "socket hang up",
    "failed to lookup address",
    "name resolution",
    "request timed out",
    "did not answer",
];

/// Errors that the service itself reports, in lower case.
const OVERLOADED: [&str; 6] =
    ["overloaded", "service unavailable", "internal server error", "bad gateway", "gateway timeout", "server_error"];

/// HTTP statuses of a service that is down or overloaded.
pub(crate) fn is_outage_status(status: u16) -> bool {
    matches!(status, 408 | 500..=599)
}

/// Reads an error's text. Callers ask only about errors: what an agent says about its work can hold these words.
pub(crate) fn outage_in(text: &str) -> Option<Outage> {
    text.lines().find_map(outage_in_line)
}

/// Reads standard error, where other things than the API are spoken of: the line has to name the API.
pub(crate) fn outage_on_stderr(text: &str) -> Option<Outage> {
    text.lines().filter(|line| line.to_lowercase().contains("api")).find_map(outage_in_line)
}

fn outage_in_line(line: &str) -> Option<Outage> {
    let lower = line.to_lowercase();
    let answered = names_status(&lower) || OVERLOADED.iter().any(|words| lower.contains(words));
    let unreachable = UNREACHABLE.iter().any(|words| lower.contains(words));
    (answered || unreachable).then(|| Outage { words: crate::bounded(line.trim(), WORDS_MAX), answered })
}

/// `API Error: 502 …`.
fn names_status(lower: &str) -> bool {
    let after = lower.split_once("api error: ").map(|(_, after)| after);
    let digits = after.and_then(|after| after.get(..3)).and_then(|digits| digits.parse().ok());
    digits.is_some_and(is_outage_status)
}

/// How long the `tries`th wait of one outage lasts, from 1.
pub(crate) fn wait_ms(tries: u32) -> u64 {
    WAIT_MS.saturating_mul(1 << tries.saturating_sub(1).min(16)).min(WAIT_MAX_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outages_are_told_from_other_errors() {
        for (text, expected) in [
            ("API Error: cannot reach api.test: Connection refused (os error 111). Check the network", Some(false)),
            ("API Error: the connection to api.test broke: reset by peer", Some(false)),
            ("API Error: the answer of api.test was cut off: it ended early", Some(false)),
            ("API Error: Connection error.", Some(false)),
            ("Unable to connect to API (ECONNREFUSED)", Some(false)),
            ("getaddrinfo ENOTFOUND api.test", Some(false)),
            ("API Error: 500 api_error: oops", Some(true)),
            ("API Error: 502 api.test answered: <html>", Some(true)),
            ("API Error: 529 overloaded_error: Overloaded", Some(true)),
            ("503 Service Unavailable", Some(true)),
            ("API Error: 400 invalid_request_error: bad", None),
            ("API Error: 401 authentication_error: invalid x-api-key", None),
            ("API Error: 429 rate_limit_error: slow down", None),
            ("the build failed", None),
            ("", None),
        ] {
            assert_eq!(outage_in(text).map(|outage| outage.answered), expected, "{text}");
        }
    }

    #[test]
    fn on_standard_error_only_a_line_about_the_api_counts() {
        assert!(outage_on_stderr("noise\nAPI Error: Connection error.").is_some());
        assert_eq!(outage_on_stderr("mcp server db: ECONNREFUSED"), None);
    }

    #[test]
    fn waits_grow_to_five_minutes() {
        let waits: Vec<u64> = (1..8).map(|tries| wait_ms(tries) / 1000).collect();
        assert_eq!(waits, [10, 20, 40, 80, 160, 300, 300]);
        assert_eq!(wait_ms(u32::MAX), 300_000);
    }
}
