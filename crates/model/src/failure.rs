//! Why no answer came, in words a person can act on and a category a program can.
//!
//! Pure: what the HTTP layer saw goes in, a [`Failure`] comes out. Messages never hold credentials; the
//! client scrubs them as well, because a server may echo what it was sent.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use std::time::Duration;

/// How servers say that a conversation does not fit.
const TOO_LONG_PHRASES: [&str; 6] = [
    "prompt is too long",
    "exceed context limit",
    "exceeds the context",
    "maximum context length",
    "exceeds the available context size",
    "input is too long for requested model",
];
/// The same as an error's type.
const TOO_LONG_WORDS: [&str; 1] = ["exceed_context_size_error"];

/// AWS's names for credentials that are not good (any more).
const CREDENTIAL_ERRORS: [&str; 5] =
    ["expiredtoken", "unrecognizedclient", "invalidclienttoken", "invalidsignature", "signaturedoesnotmatch"];
/// The same in words, for answers that name nothing.
const CREDENTIAL_WORDS: [&str; 3] = ["security token", "signature", "token has expired"];

/// AWS refuses signatures that are older than five minutes.
const SKEW: SignedDuration = SignedDuration::from_mins(4);

/// Enough of an error page to recognise it.
const EXCERPT_MAX: usize = 300;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// Nothing was sent: the configuration does not allow it.
    Setup,
    /// Nothing was sent: the source of the cloud's credential failed, and may not fail again.
    NoCredential,
    /// The host could not be reached, or the connection broke before an answer.
    Connect,
    /// The host's certificate was refused.
    TlsVerify,
    /// No answer began in time.
    NoAnswer,
    /// The stream fell silent.
    Stalled,
    /// The stream ended early.
    Cut,
    /// The stream cannot be understood.
    Garbled,
    /// The answer is no stream at all.
    NotAStream,
    /// An HTTP error.
    Http,
    /// An error event inside a stream that had begun well.
    Stream,
    /// `next` was called after the end.
    Over,
}

#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    pub kind: FailureKind,
    pub status: Option<u16>,
    /// The word that `assistant.error` and `api_retry.error` carry.
    pub category: &'static str,
    pub message: String,
    /// The API's own word for it, such as `rate_limit_error`.
    pub api_type: Option<String>,
    pub request_id: Option<String>,
    /// What the server asked us to wait.
    pub retry_after: Option<Duration>,
    /// When the limit that was hit ends, where the server tells.
    pub reset_at: Option<Timestamp>,
    /// Spent on the API over all attempts, waits between them not counted.
    pub api_ms: u64,
    /// The conversation does not fit: compacting it may help.
    pub prompt_too_long: bool,
    /// The model is overloaded: another one may not be.
    pub overloaded: bool,
}

/// What an HTTP error response told beside its body.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct HttpFacts {
    pub(crate) status: u16,
    pub(crate) request_id: Option<String>,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) reset_at: Option<Timestamp>,
    pub(crate) location: Option<String>,
    /// AWS's name for the error.
    pub(crate) error_type: Option<String>,
    /// The server's clock, and ours at the same time.
    pub(crate) server_time: Option<Timestamp>,
    pub(crate) now: Option<Timestamp>,
}

/// Who was asked, for messages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) host: &'a str,
    /// The variable that chooses the address.
    pub(crate) variable: &'static str,
}

impl Failure {
    /// A failure before anything was sent, such as a missing credential.
    pub fn local(message: impl Into<String>, category: &'static str) -> Self {
        Self { category, ..Self::new(FailureKind::Setup, message) }
    }

    pub(crate) fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            status: None,
            category: "unknown",
            message: message.into(),
            api_type: None,
            request_id: None,
            retry_after: None,
            reset_at: None,
            api_ms: 0,
            prompt_too_long: false,
            overloaded: false,
        }
    }

    /// From an HTTP error and as much of its body as was read.
    pub(crate) fn http(facts: HttpFacts, body: &[u8], place: &Place) -> Self {
        let Place { host, variable } = place;
        let parsed: Value = serde_json::from_slice(body).unwrap_or_default();
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let kind = text(&parsed["error"]["type"]).unwrap_or_default();
        // OpenAI's shape has the telling word in `code`.
        let code = text(&parsed["error"]["code"]).unwrap_or_default();
        let said =
            text(&parsed["error"]["message"]).or_else(|| text(&parsed["message"])).or_else(|| text(&parsed["error"]));
        let request_id = facts.request_id.clone().or_else(|| text(&parsed["request_id"]));
        let status = facts.status;
        let what = match (&said, &facts.location) {
            (Some(said), _) => said.clone(),
            (None, Some(to)) => {
                format!("{host} redirects to {to}; redirects are not followed, so set {variable} to the final address")
            }
            (None, None) => format!("{host} answered: {}", excerpt(body)),
        };
        let label = if kind.is_empty() { String::new() } else { format!("{kind}: ") };
        let hint = skew_hint(&facts).unwrap_or_else(|| hint(status, variable));
        let message = format!("{status} {label}{what}{hint}{}", in_brackets(request_id.as_deref()));
        let api_type = Some(kind.clone()).filter(|kind| !kind.is_empty()).or(facts.error_type);
        Self {
            status: Some(status),
            category: if code == "insufficient_quota" { "billing_error" } else { category(status, &kind, &what) },
            api_type,
            request_id,
            retry_after: facts.retry_after,
            reset_at: facts.reset_at,
            prompt_too_long: status == 413
                || too_long(&what)
                || TOO_LONG_WORDS.contains(&kind.as_str())
                || code == "context_length_exceeded",
            overloaded: status == 529 || kind == "overloaded_error",
            ..Self::new(FailureKind::Http, message)
        }
    }

    /// Whether the credential itself is refused, as opposed to what it may do: too old, unknown, or wrongly signed.
    pub(crate) fn credential_is_over(&self) -> bool {
        let name = self.api_type.as_deref().unwrap_or_default().to_ascii_lowercase();
        let said = self.message.to_ascii_lowercase();
        match self.status {
            Some(401) => true,
            Some(403) => {
                CREDENTIAL_ERRORS.iter().any(|word| name.contains(word))
                    || CREDENTIAL_WORDS.iter().any(|word| said.contains(word))
            }
            _ => false,
        }
    }

    /// From an `error` event after the stream had begun. Its type says which status it would have had.
    pub(crate) fn stream(kind: &str, said: &str, request_id: Option<String>) -> Self {
        let status = match kind {
            "invalid_request_error" => 400,
            "authentication_error" => 401,
            "billing_error" => 402,
            "permission_error" => 403,
            "not_found_error" => 404,
            "request_too_large" => 413,
            "rate_limit_error" => 429,
            "timeout_error" => 504,
            "overloaded_error" => 529,
            _ => 500,
        };
        let message = format!("{kind}: {said}{}", in_brackets(request_id.as_deref()));
        Self {
            status: Some(status),
            category: category(status, kind, said),
            api_type: Some(kind.to_owned()).filter(|kind| !kind.is_empty()),
            request_id,
            prompt_too_long: too_long(said),
            overloaded: status == 529,
            ..Self::new(FailureKind::Stream, message)
        }
    }
}

fn category(status: u16, kind: &str, said: &str) -> &'static str {
    let said = said.to_ascii_lowercase();
    match status {
        _ if kind == "overloaded_error" => "overloaded",
        400 if said.contains("credit balance") || said.contains("spend limit") => "billing_error",
        403 if said.contains("oauth") && said.contains("organization") => "oauth_org_not_allowed",
        401 | 403 => "authentication_failed",
        402 => "billing_error",
        404 if kind == "not_found_error" => "model_not_found",
        408 | 409 => "server_error",
        429 => "rate_limit",
        529 => "overloaded",
        400..500 => "invalid_request",
        500..600 => "server_error",
        _ => "unknown",
    }
}

fn hint(status: u16, variable: &str) -> String {
    match status {
        // Clients key on the last words to offer a login.
        401 => ". The credential was refused: `ralph auth status` shows which one was sent · Please run /login".into(),
        402 => ". The account cannot pay for this request".into(),
        403 => ". The credential is valid but may not do this".into(),
        404 => format!(". Check the model's name and {variable}"),
        413 => ". The request is larger than the API takes".into(),
        _ => String::new(),
    }
}

/// Signatures and tokens carry the time, and are refused where the clocks differ too much.
fn skew_hint(facts: &HttpFacts) -> Option<String> {
    let (server, ours) = (facts.server_time?, facts.now?);
    let apart = server.duration_since(ours);
    let is_skewed = matches!(facts.status, 400 | 401 | 403) && apart.abs() >= SKEW;
    let (minutes, which) = (apart.as_mins().abs(), if apart.is_negative() { "fast" } else { "slow" });
    is_skewed.then(|| format!(". This machine's clock is {minutes} minutes {which}; set it, then try again"))
}

fn too_long(said: &str) -> bool {
    let said = said.to_ascii_lowercase();
    TOO_LONG_PHRASES.iter().any(|phrase| said.contains(phrase))
}

pub(crate) fn in_brackets(request_id: Option<&str>) -> String {
    request_id.map(|id| format!(" (request id {id})")).unwrap_or_default()
}

/// The beginning of a body, on one line and printable.
pub(crate) fn excerpt(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(4 * EXCERPT_MAX)]);
    let words: Vec<&str> =
        text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|w| !w.is_empty()).collect();
    let line = words.join(" ");
    let shown = &line[..line.floor_char_boundary(EXCERPT_MAX)];
    match (shown.is_empty(), shown.len() < line.len()) {
        (true, _) => "(nothing)".to_owned(),
        (false, true) => format!("{shown}…"),
        (false, false) => shown.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Place = Place { host: "api.test", variable: "ANTHROPIC_BASE_URL" };

    fn http(status: u16, body: &str) -> Failure {
        let facts = HttpFacts { status, request_id: Some("req_1".into()), ..HttpFacts::default() };
        Failure::http(facts, body.as_bytes(), &PLACE)
    }

    fn body(kind: &str, message: &str) -> String {
        serde_json::json!({"type":"error","error":{"type":kind,"message":message}}).to_string()
    }

    #[test]
    fn statuses_become_categories() {
        for (status, kind, said, expected) in [
            (400, "invalid_request_error", "bad", "invalid_request"),
            (400, "invalid_request_error", "Your credit balance is too low", "billing_error"),
            (401, "authentication_error", "invalid x-api-key", "authentication_failed"),
            (402, "billing_error", "pay", "billing_error"),
            (403, "permission_error", "no", "authentication_failed"),
            (403, "permission_error", "OAuth is not allowed for this organization", "oauth_org_not_allowed"),
            (404, "not_found_error", "model: x", "model_not_found"),
            (413, "request_too_large", "big", "invalid_request"),
            (429, "rate_limit_error", "slow", "rate_limit"),
            (500, "api_error", "oops", "server_error"),
            (500, "overloaded_error", "Overloaded", "overloaded"),
            (504, "timeout_error", "late", "server_error"),
            (529, "overloaded_error", "Overloaded", "overloaded"),
            (302, "", "", "unknown"),
        ] {
            let failure = http(status, &body(kind, said));
            assert_eq!(failure.category, expected, "{status} {said}");
            assert!(failure.message.contains(said) && failure.message.contains("req_1"), "{failure}");
            assert_eq!(failure.overloaded, expected == "overloaded");
        }
    }

    #[test]
    fn bodies_that_are_no_json_are_shown_in_part() {
        let failure = http(502, &format!("<html>\n<h1>Bad\u{1b}[31m gateway</h1>{}", "é".repeat(5000)));
        assert!(failure.message.starts_with("502 api.test answered: <html> <h1>Bad [31m gateway</h1>éé"), "{failure}");
        assert!(failure.message.len() < 400);
        assert!(http(500, "").message.contains("(nothing)"));
        assert_eq!(http(404, "nothing here").category, "invalid_request");
    }

    #[test]
    fn a_prompt_that_is_too_long_is_recognised() {
        for (status, said, expected) in [
            (400, "prompt is too long: 213 tokens > 200 maximum", true),
            (400, "input length and `max_tokens` exceed context limit: 1 + 2 > 3", true),
            (413, "", true),
            (400, "the request exceeds the available context size, try increasing it", true),
            (400, "Input is too long for requested model.", true),
            (400, "messages: at least one is required", false),
        ] {
            assert_eq!(http(status, &body("e", said)).prompt_too_long, expected, "{said}");
        }
    }

    #[test]
    fn a_redirect_says_where_to() {
        let facts = HttpFacts { status: 308, location: Some("https://else.test/".into()), ..HttpFacts::default() };
        let failure = Failure::http(facts, b"", &PLACE);
        assert!(failure.message.contains("https://else.test/") && failure.message.contains("ANTHROPIC_BASE_URL"));
    }

    #[test]
    fn a_clock_that_is_wrong_is_said_where_it_matters() {
        let now: Timestamp = "2026-11-15T12:00:00Z".parse().unwrap();
        let said = |status: u16, server: &str| {
            let server_time = format!("2026-11-15T{server}Z").parse().ok();
            let facts = HttpFacts { status, server_time, now: Some(now), ..HttpFacts::default() };
            Failure::http(facts, b"{\"message\":\"Signature expired\"}", &PLACE).message
        };
        assert!(said(403, "12:20:00").contains("clock is 20 minutes slow"), "{}", said(403, "12:20:00"));
        assert!(said(401, "11:00:00").contains("clock is 60 minutes fast"), "{}", said(401, "11:00:00"));
        assert!(!said(403, "12:01:00").contains("clock") && !said(500, "11:00:00").contains("clock"));
    }

    #[test]
    fn a_credential_that_is_over_is_told_from_one_that_may_not() {
        for (status, name, said, expected) in [
            (401, "", "", true),
            (403, "ExpiredTokenException", "x", true),
            (403, "UnrecognizedClientException", "x", true),
            (403, "", "The security token included in the request is expired", true),
            (403, "AccessDeniedException", "You don't have access to the model with the specified model ID.", false),
            (400, "ExpiredTokenException", "x", false),
        ] {
            let error_type = Some(name.to_owned());
            let facts = HttpFacts { status, error_type, ..HttpFacts::default() };
            let body = serde_json::json!({"message": said}).to_string();
            let failure = Failure::http(facts, body.as_bytes(), &PLACE);
            assert_eq!(failure.credential_is_over(), expected, "{status} {name} {said}");
        }
    }
}
