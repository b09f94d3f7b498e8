//! Names of tools that OpenAI's APIs take: letters, digits, underscores and hyphens, at most 64.
//!
//! Tools of MCP servers have longer names. They are sent shortened, with a hash that keeps them apart, and their calls
//! come back under their own names.

use crate::request::Request;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

const NAME_MAX: usize = 64;

fn is_taken(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (1..=NAME_MAX).contains(&name.len()) && name.bytes().all(plain)
}

/// The name as it is sent.
pub(super) fn sent(name: &str) -> String {
    if is_taken(name) {
        return name.to_owned();
    }
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    let end = format!("_{:016x}", hasher.finish());
    let plain = |sign: char| if sign.is_ascii_alphanumeric() || matches!(sign, '_' | '-') { sign } else { '_' };
    let start: String = name.chars().map(plain).take(NAME_MAX - end.len()).collect();
    start + &end
}

/// The tools of a request that are sent under another name: that one, and their own.
pub(crate) fn changed(request: &Request) -> Vec<(String, String)> {
    let names = request.tools.iter().filter_map(|tool| tool.value()["name"].as_str().map(str::to_owned));
    names.filter(|name| !is_taken(name)).map(|name| (sent(&name), name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_names_are_shortened_and_kept_apart() {
        assert_eq!(sent("mcp__files__read-1"), "mcp__files__read-1");
        let long = format!("mcp__server__{}", "x".repeat(80));
        for name in [long.as_str(), "tool.with/odd:signs", "über", ""] {
            assert!(is_taken(&sent(name)), "{name} {}", sent(name));
            assert_eq!(sent(name), sent(name));
        }
        assert_ne!(sent(&format!("{long}a")), sent(&format!("{long}b")));
    }
}
