//! Failures that do not look like one: some agents answer `end_turn` and have the error as their text.

use crate::rpc::{RpcError, code};

/// An error as a message is short.
const ERROR_TEXT_MAX: usize = 2_000;

/// How far from each other a status and a word that makes it one may stand.
const NEAR: usize = 60;

const STATUSES: [u16; 10] = [400, 401, 402, 403, 404, 429, 500, 502, 503, 529];

/// Words that make a number beside them an HTTP status.
const STATUS_WORDS: [&str; 9] = [
    "status",
    "http",
    "error",
    "unauthorized",
    "forbidden",
    "too many requests",
    "rate limit",
    "overloaded",
    "retry limit",
];

/// Errors by their words alone, and the status that they stand for.
const PHRASES: [(&str, u16); 10] = [
    ("invalid api key", 401),
    ("incorrect api key", 401),
    ("authentication_error", 401),
    ("rate_limit_error", 429),
    ("rate limit exceeded", 429),
    ("usage limit reached", 429),
    ("resource_exhausted", 429),
    ("exceeded your current quota", 429),
    ("overloaded_error", 529),
    // codex, when the answer ends in the middle.
    ("stream disconnected before completion", 503),
];

/// The status that a text speaks of, if it is about an error.
pub(super) fn status_in(text: &str) -> Option<u16> {
    let text = text.to_lowercase();
    let phrase = PHRASES.iter().find(|(phrase, _)| text.contains(phrase)).map(|(_, status)| *status);
    phrase.or_else(|| STATUSES.into_iter().find(|status| speaks_of(&text, *status)))
}

fn speaks_of(text: &str, status: u16) -> bool {
    let number = status.to_string();
    text.match_indices(&number).any(|(at, _)| {
        let is_digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
        let bytes = text.as_bytes();
        let is_whole = !is_digit(at.checked_sub(1).and_then(|before| bytes.get(before)))
            && !is_digit(bytes.get(at + number.len()));
        let start = text.floor_char_boundary(at.saturating_sub(NEAR));
        let end = text.ceil_char_boundary((at + number.len() + NEAR).min(text.len()));
        let around = &text[start..end];
        is_whole && STATUS_WORDS.iter().any(|word| around.contains(word))
    })
}

/// The last message of a turn that reported no usage: the error that it is, if it is one. An agent that worked and
/// talks about a status has reported usage, or says more.
pub(super) fn in_answer(last: &str, has_usage: bool) -> Option<u16> {
    if has_usage || last.len() > ERROR_TEXT_MAX { None } else { status_in(last) }
}

/// A JSON-RPC error, as a status of the API where it stands for one, and a text.
pub(super) fn of_error(error: &RpcError) -> (Option<u16>, String) {
    let text = error.text();
    let status = match error.code {
        code::NO_LOGIN => Some(401),
        // One agent uses the HTTP status as the code.
        status @ 400..=599 => u16::try_from(status).ok(),
        _ => {
            let data = error.data.as_ref().map(ToString::to_string).unwrap_or_default();
            status_in(&text).or_else(|| status_in(&data))
        }
    };
    (status, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn errors_are_found_in_texts() {
        for (text, status) in [
            ("exceeded retry limit, last status: 429 Too Many Requests, request id: x", Some(429)),
            ("unexpected status 401 Unauthorized: no key", Some(401)),
            ("API Error: 529 overloaded", Some(529)),
            ("Invalid API key", Some(401)),
            ("stream disconnected before completion: connection closed", Some(503)),
            ("{\"error\":{\"status\":\"RESOURCE_EXHAUSTED\"}}", Some(429)),
            ("I changed line 401 of a.rs.", None),
            ("There are 4290 errors", None),
            ("All done. <promise>COMPLETE</promise>", None),
            ("", None),
        ] {
            assert_eq!(in_answer(text, false), status, "{text}");
            assert_eq!(in_answer(text, true), None, "{text}");
        }
        assert_eq!(in_answer(&format!("status 429 {}", "x".repeat(ERROR_TEXT_MAX)), false), None);
    }

    #[test]
    fn errors_of_the_protocol_have_their_status() {
        for (error, status) in [
            (RpcError::new(code::NO_LOGIN, "log in"), Some(401)),
            (RpcError::new(401, "no"), Some(401)),
            (RpcError::new(429, "no"), Some(429)),
            (RpcError::new(code::INTERNAL, "Internal error").with(json!({"details": "HTTP 503"})), Some(503)),
            (RpcError::new(code::INTERNAL, "Internal error"), None),
        ] {
            assert_eq!(of_error(&error).0, status, "{error:?}");
        }
        let error = RpcError::new(code::INTERNAL, "Internal error").with(json!({"details": "why"}));
        assert_eq!(of_error(&error).1, "Internal error: why");
    }
}
