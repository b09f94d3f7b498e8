//! What both kinds of remote servers share: the client, its requests, and what their failures mean.

use reqwest::header::{HeaderMap, HeaderName, HeaderValue, WWW_AUTHENTICATE};
use reqwest::redirect::{Attempt, Policy};
use reqwest::{ClientBuilder, RequestBuilder, Response, StatusCode};
use std::error::Error;
use std::time::Duration;
use tokio::time::timeout;
use tools::bounded::cut;

/// Until a server's answer begins.
pub(crate) const FIRST_BYTE: Duration = Duration::from_mins(1);

/// Between two hosts, once the address is known.
const CONNECT: Duration = Duration::from_secs(10);

/// Within one server; more is a loop.
const REDIRECTS: usize = 5;

/// Read of a refusal, to tell why.
const REFUSAL_MAX: usize = 64 * 1024;

/// Shown of it.
const REFUSAL_SHOWN: usize = 300;

#[derive(Debug, thiserror::Error)]
pub(crate) enum WebError {
    #[error("it cannot be reached: {0}")]
    Unreachable(String),
    #[error("it did not begin to answer within {} s", .0.as_secs())]
    Slow(Duration),
    #[error("it wants authorization; log in with 'mcp login', or give its header in \"headers\" of the configuration")]
    Unauthorized,
    #[error("it answered HTTP {status}{}", .said.as_ref().map(|said| format!(": {said}")).unwrap_or_default())]
    Refused { status: u16, said: Option<String> },
    #[error("its answer is longer than {0} bytes")]
    TooLong(usize),
    #[error("its answer is not understood: {0}")]
    Unclear(String),
}

impl WebError {
    /// Whether the same request may do better in a moment.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Self::Unreachable(_) | Self::Slow(_) => true,
            Self::Refused { status, .. } => *status >= 500 || matches!(status, 408 | 429),
            Self::Unauthorized | Self::TooLong(_) | Self::Unclear(_) => false,
        }
    }
}

/// A header that no request can carry. Not its value: it is likely a credential.
#[derive(Debug, thiserror::Error)]
#[error("the header {0:?} is not valid")]
pub(crate) struct BadHeader(String);

/// Finishes the caller's builder (proxy, certificates) for a server that may hold credentials of ours.
pub(crate) fn client(builder: ClientBuilder) -> reqwest::Result<reqwest::Client> {
    builder.connect_timeout(CONNECT).redirect(Policy::custom(same_origin)).build()
}

/// Another host must not get the headers that were meant for this one.
fn same_origin(attempt: Attempt) -> reqwest::redirect::Action {
    let first = attempt.previous().first();
    let stays = first.is_some_and(|first| first.origin() == attempt.url().origin());
    if stays && attempt.previous().len() <= REDIRECTS { attempt.follow() } else { attempt.stop() }
}

pub(crate) fn headers(given: &[(String, String)]) -> Result<HeaderMap, BadHeader> {
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        let parsed = HeaderName::try_from(name).ok().zip(HeaderValue::try_from(value).ok());
        let (name, mut value) = parsed.ok_or_else(|| BadHeader(name.clone()))?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

/// Sends, and waits for the answer to begin.
pub(crate) async fn send(request: RequestBuilder, patience: Duration) -> Result<Response, WebError> {
    match timeout(patience, request.send()).await {
        Ok(Ok(response)) => Ok(response),
        Ok(Err(error)) => Err(WebError::Unreachable(root(&error))),
        Err(_) => Err(WebError::Slow(patience)),
    }
}

/// What a refusal means; its body is read only as far as it may be shown.
pub(crate) async fn refusal(response: Response) -> (WebError, Vec<u8>) {
    let status = response.status();
    let challenged = response.headers().contains_key(WWW_AUTHENTICATE);
    if status == StatusCode::UNAUTHORIZED || (status == StatusCode::FORBIDDEN && challenged) {
        return (WebError::Unauthorized, Vec::new());
    }
    let body = body(response, REFUSAL_MAX).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&body);
    let said = Some(text.trim()).filter(|text| !text.is_empty()).map(|text| cut(text, REFUSAL_SHOWN));
    (WebError::Refused { status: status.as_u16(), said }, body)
}

pub(crate) async fn body(mut response: Response, max: usize) -> Result<Vec<u8>, WebError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| WebError::Unreachable(root(&error)))? {
        body.extend_from_slice(&chunk);
        if body.len() > max {
            return Err(WebError::TooLong(max));
        }
    }
    Ok(body)
}

/// The innermost cause: the outer ones only say "error sending request" and may show the address.
pub(crate) fn root(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_header_is_named_without_its_value() {
        let given = |name: &str, value: &str| headers(&[(name.to_owned(), value.to_owned())]);
        assert_eq!(given("Authorization", "Bearer x").unwrap()["authorization"], "Bearer x");
        for (name, value) in [("a b", "secret"), ("x", "sec\nret"), ("", "secret")] {
            let error = given(name, value).unwrap_err().to_string();
            assert!(error.contains("header") && !error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn only_what_may_pass_is_tried_again() {
        let refused = |status| WebError::Refused { status, said: None };
        for (error, expected) in [
            (WebError::Unreachable("refused".into()), true),
            (WebError::Slow(FIRST_BYTE), true),
            (refused(503), true),
            (refused(429), true),
            (refused(404), false),
            (WebError::Unauthorized, false),
            (WebError::Unclear("html".into()), false),
        ] {
            assert_eq!(error.may_pass(), expected, "{error}");
        }
    }
}
