//! http hooks: the input is posted, the body is the answer.

use crate::answer::Raw;
use crate::command::LARGEST_ANSWER;
use crate::error::AskError;
use crate::host::HookHost;
use reqwest::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use std::time::Duration;
use tokio::time::timeout;

/// Asks an address. Variables in headers are filled from `allowed` names only.
pub(crate) async fn ask(
    url: &str,
    headers: &[(String, String)],
    allowed: &[String],
    input: Vec<u8>,
    limit: Duration,
    host: &HookHost<'_>,
) -> Raw {
    let value = |name: &str| {
        let found = host.env.iter().find(|(set, _)| set == name).filter(|_| allowed.iter().any(|ok| ok == name));
        found.map(|(_, value)| value.to_string_lossy().into_owned()).unwrap_or_default()
    };
    match timeout(limit, post(url, headers, value, input, host)).await {
        Ok(Ok(raw)) => raw,
        Ok(Err(why)) => Raw::Failed(why),
        Err(_) => Raw::TimedOut(limit, None),
    }
}

async fn post(
    url: &str,
    headers: &[(String, String)],
    value: impl Fn(&str) -> String,
    input: Vec<u8>,
    host: &HookHost<'_>,
) -> Result<Raw, AskError> {
    let mut request = (host.http)()?.post(url).header(CONTENT_TYPE, "application/json").body(input);
    for (name, text) in headers {
        let unusable = || AskError::Header(name.clone());
        let key = HeaderName::try_from(name).map_err(|_| unusable())?;
        request = request.header(key, HeaderValue::try_from(filled(text, &value)).map_err(|_| unusable())?);
    }
    let mut response = request.send().await?;
    let status = response.status().as_u16();
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > LARGEST_ANSWER {
            return Err(AskError::TooLong(LARGEST_ANSWER));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Raw::Http { status, body: String::from_utf8_lossy(&body).into_owned() })
}

/// `$NAME` and `${NAME}` become what `value` says; a dollar before anything else stays.
fn filled(text: &str, value: impl Fn(&str) -> String) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        let braced = after.strip_prefix('{').and_then(|inner| inner.split_once('}'));
        let (name, next) = braced
            .filter(|(name, _)| name_length(name) == name.len())
            .unwrap_or_else(|| after.split_at(name_length(after)));
        match name {
            "" => out.push('$'),
            name => out.push_str(&value(name)),
        }
        rest = next;
    }
    out + rest
}

/// The length of the variable name at the start.
fn name_length(text: &str) -> usize {
    let length = text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
    if text.starts_with(|c: char| c.is_ascii_digit()) { 0 } else { length }
}

/// `*` stands for any run of characters.
pub(crate) fn wildcard(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(mut rest) = pieces.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let Some(last) = pieces.next_back() else { return rest.is_empty() };
    for piece in pieces {
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_filled_by_name() {
        let value = |name: &str| if name == "TOKEN" { "t0p".to_owned() } else { String::new() };
        for (text, expected) in [
            ("Bearer $TOKEN", "Bearer t0p"),
            ("Bearer ${TOKEN}!", "Bearer t0p!"),
            ("$OTHER|${OTHER}|", "||"),
            ("$TOKENS", ""),
            ("5$ and $", "5$ and $"),
            ("$1 ${1} ${", "$1 ${1} ${"),
            ("$$TOKEN", "$t0p"),
            ("", ""),
        ] {
            assert_eq!(filled(text, value), expected, "{text}");
        }
    }

    #[test]
    fn addresses_match_whole() {
        for (pattern, url, expected) in [
            ("https://a.test/hook", "https://a.test/hook", true),
            ("https://a.test/hook", "https://a.test/hooks", false),
            ("https://a.test/*", "https://a.test/hook", true),
            ("https://a.test/*", "https://a.test.evil/hook", false),
            ("https://*.a.test/*", "https://x.a.test/hook", true),
            ("*", "http://any.test", true),
            ("https://*/hook", "https://hook", false),
            ("", "https://a.test", false),
        ] {
            assert_eq!(wildcard(pattern, url), expected, "{pattern} on {url}");
        }
    }
}
