//! The HTTP stack: its construction, the headers of responses, and the meaning of its errors.
//!
//! Everything that knows reqwest's and rustls's types is here or in [`crate::Client`]. The crypto provider
//! is chosen in one place, [`build`].

use crate::config::{ClientConfig, ProxyEnv, is_loopback};
use crate::failure::{Failure, FailureKind, HttpFacts, Place};
use crate::retry;
use cloud::world::{HttpRequest, HttpResponse};
use jiff::Timestamp;
use reqwest::header::HeaderMap;
use std::error::Error;
use std::time::Duration;
use url::Url;

/// Finds dead HTTP/2 connections of long silent streams before the idle deadline does.
const KEEP_ALIVE: Duration = Duration::from_secs(30);

pub(crate) struct Stack {
    pub(crate) http: reqwest::Client,
    /// CA files that could not be used, named when a certificate is refused.
    pub(crate) skipped_ca: Vec<String>,
}

/// Why there is no HTTP client, or no answer beside the Messages API.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HttpError {
    #[error("the API address is no URL: {0}")]
    BaseUrl(String),
    #[error("the proxy cannot be used: {0}")]
    Proxy(String),
    #[error("the HTTP client cannot be set up: {0}")]
    Setup(String),
    #[error("{0}")]
    Tls(crate::TlsError),
    #[error("{url} is no address: {why}")]
    Address { url: String, why: String },
    #[error("{0}")]
    Transport(String),
    #[error("status {0}")]
    Status(u16),
    #[error("the answer is too long")]
    TooLong,
}

/// Costs a few milliseconds where the system's certificates must be read, so it is done at the first
/// request, and for a plain-http endpoint they are not read at all.
pub(crate) fn build(config: &ClientConfig, endpoint: &Url) -> Result<Stack, HttpError> {
    // An error means that somebody has installed a provider already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder()
        .no_proxy()
        // A redirect would carry the key to another host.
        .redirect(reqwest::redirect::Policy::none())
        // Compression makes a stream wait for its next block.
        .gzip(false)
        .connect_timeout(config.timeouts.connect)
        .tcp_keepalive(KEEP_ALIVE)
        .http2_keep_alive_interval(KEEP_ALIVE)
        .http2_keep_alive_timeout(KEEP_ALIVE);
    let proxy = proxy_for(endpoint, &config.proxy);
    let mut skipped_ca = Vec::new();
    let secure = |address: &str| address.starts_with("https:");
    // Of two endpoints that are used together one may be a plain address and the other not.
    let any_secure = config.cloud.iter().flat_map(|cloud| cloud.endpoint.addresses()).any(|url| secure(url.as_str()));
    if any_secure || secure(endpoint.as_str()) || proxy.as_deref().is_some_and(secure) {
        let mut certificates = Vec::new();
        for file in &config.extra_ca_files {
            let read = std::fs::read(file).map_err(|error| error.to_string());
            let parsed =
                read.and_then(|pem| reqwest::Certificate::from_pem_bundle(&pem).map_err(|error| error.to_string()));
            match parsed {
                Ok(bundle) => certificates.extend(bundle),
                Err(error) => skipped_ca.push(format!("{} ({error})", file.display())),
            }
        }
        builder = builder.tls_certs_merge(certificates);
        if config.tls.accept_any {
            builder = builder.tls_danger_accept_invalid_certs(true);
        }
        if let Some(identity) = config.tls.identity().map_err(HttpError::Tls)? {
            builder = builder.identity(identity);
        }
    } else {
        builder = builder.tls_certs_only([]);
    }
    if let Some(address) = proxy {
        let bypass = config.proxy.no_proxy.as_deref().unwrap_or_default().replace(' ', ",");
        let proxy = reqwest::Proxy::all(address).map_err(|error| HttpError::Proxy(root(&error)))?;
        builder = builder.proxy(proxy.no_proxy(reqwest::NoProxy::from_string(&bypass)));
    }
    let http = builder.build().map_err(|error| HttpError::Setup(root(&error)))?;
    Ok(Stack { http, skipped_ca })
}

/// The HTTP client of this configuration's own endpoint, for a relay before it.
pub fn endpoint_client(config: &ClientConfig) -> Result<reqwest::Client, HttpError> {
    let endpoint = Url::parse(&config.base_url).map_err(|error| HttpError::BaseUrl(error.to_string()))?;
    build(config, &endpoint).map(|stack| stack.http)
}

/// A client builder for other hosts, with this configuration's proxy and certificates.
pub fn plain_client(config: &ClientConfig) -> Result<reqwest::ClientBuilder, HttpError> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder().no_proxy().connect_timeout(config.timeouts.connect);
    if let Some(address) = any_proxy(config) {
        let bypass = config.proxy.no_proxy.as_deref().unwrap_or_default().replace(' ', ",");
        let proxy = reqwest::Proxy::all(address).map_err(|error| HttpError::Proxy(root(&error)))?;
        builder = builder.proxy(proxy.no_proxy(reqwest::NoProxy::from_string(&bypass)));
    }
    Ok(builder)
}

/// The proxy's host where pages are fetched through one.
pub fn proxy_host(config: &ClientConfig) -> Option<String> {
    Url::parse(&any_proxy(config)?).ok()?.host_str().map(str::to_owned)
}

fn any_proxy(config: &ClientConfig) -> Option<String> {
    let page = Url::parse("https://page.invalid").ok()?;
    proxy_for(&page, &config.proxy)
}

/// A POST beside the Messages API: no credentials, no retries, a small answer or a reason.
pub(crate) async fn post_plain(
    config: &ClientConfig,
    url: &str,
    body: String,
    most: usize,
) -> Result<Vec<u8>, HttpError> {
    let endpoint =
        Url::parse(url).map_err(|error| HttpError::Address { url: url.to_owned(), why: error.to_string() })?;
    let stack = build(config, &endpoint)?;
    let request = stack.http.post(endpoint).header("content-type", "application/json").body(body);
    let mut response = request.send().await.map_err(|error| HttpError::Transport(root(&error)))?;
    if !response.status().is_success() {
        return Err(HttpError::Status(response.status().as_u16()));
    }
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| HttpError::Transport(root(&error)))? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > most {
            return Err(HttpError::TooLong);
        }
    }
    Ok(bytes)
}

/// Why a small request came to nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SmallError {
    #[error("{0} is no address")]
    Address(String),
    #[error("{0}")]
    Transport(String),
    #[error("the answer is longer than {0} bytes")]
    TooLong(usize),
    #[error("no answer within {0} s")]
    Late(u64),
}

/// One request to a token endpoint or metadata server: no retries, no redirects, a bounded answer.
pub async fn send_small(config: &ClientConfig, request: HttpRequest, most: usize) -> Result<HttpResponse, SmallError> {
    let url = Url::parse(&request.url).map_err(|_| SmallError::Address(request.url.clone()))?;
    let mut config = config.clone();
    if request.without_proxy {
        config.proxy = ProxyEnv::default();
    }
    let wait = request.wait;
    let sending = async {
        let stack = build(&config, &url).map_err(|error| SmallError::Transport(error.to_string()))?;
        let method = reqwest::Method::from_bytes(request.method.as_bytes()).unwrap_or_default();
        let mut builder = stack.http.request(method, url.clone()).body(request.body);
        for (name, value) in &request.headers {
            builder = builder.header(name, value);
        }
        let mut response = builder.send().await.map_err(|error| SmallError::Transport(root(&error)))?;
        let header = |(name, value): (&reqwest::header::HeaderName, &reqwest::header::HeaderValue)| {
            Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
        };
        let headers = response.headers().iter().filter_map(header).collect();
        let mut answer = HttpResponse { status: response.status().as_u16(), headers, body: Vec::new() };
        while let Some(chunk) = response.chunk().await.map_err(|error| SmallError::Transport(root(&error)))? {
            answer.body.extend_from_slice(&chunk);
            if answer.body.len() > most {
                return Err(SmallError::TooLong(most));
            }
        }
        Ok(answer)
    };
    tokio::time::timeout(wait, sending).await.unwrap_or(Err(SmallError::Late(wait.as_secs())))
}

/// The proxy for this endpoint. Each variable stands in for the other, as with the reference, but a plain
/// request to this very machine goes through a proxy only if `http_proxy` says so.
pub(crate) fn proxy_for(endpoint: &Url, env: &ProxyEnv) -> Option<String> {
    // The HTTP stack takes a star for names only, and a host may be a number.
    if env.no_proxy.as_deref().unwrap_or_default().split([',', ' ']).any(|entry| entry == "*") {
        return None;
    }
    let set = |value: &Option<String>| value.clone().filter(|value| !value.trim().is_empty());
    let (https, http) = (set(&env.https), set(&env.http));
    let chosen = match endpoint.scheme() {
        "https" => https.or(http),
        _ if is_loopback(endpoint) => http,
        _ => http.or(https),
    }?;
    Some(proxy_address(&chosen))
}

/// People leave the scheme out.
fn proxy_address(given: &str) -> String {
    let given = given.trim();
    if given.contains("://") { given.to_owned() } else { format!("http://{given}") }
}

/// Whether a proxy variable's value can be used at all.
pub fn is_proxy_address(given: &str) -> bool {
    Url::parse(&proxy_address(given)).is_ok_and(|url| url.has_host())
}

/// What broke between us and the host.
pub(crate) fn transport_failure(error: &reqwest::Error, place: &Place, skipped_ca: &[String]) -> Failure {
    let Place { host, variable } = place;
    let cause = root(error);
    if refused_certificate(error) {
        let skipped = if skipped_ca.is_empty() {
            String::new()
        } else {
            format!(" These CA files could not be used: {}.", skipped_ca.join(", "))
        };
        return Failure::new(
            FailureKind::TlsVerify,
            format!(
                "the certificate of {host} is not trusted: {cause}. If a proxy re-signs traffic, give its CA in NODE_EXTRA_CA_CERTS.{skipped}"
            ),
        );
    }
    if error.is_connect() {
        let what = if error.is_timeout() { "no connection in time".to_owned() } else { cause };
        return Failure::new(
            FailureKind::Connect,
            format!("cannot reach {host}: {what}. Check the network, {variable} and the proxy settings"),
        );
    }
    Failure::new(FailureKind::Connect, format!("the connection to {host} broke: {cause}"))
}

/// The innermost cause: the outer ones only say "error sending request" and may show the address.
pub(crate) fn root(error: &reqwest::Error) -> String {
    causes(error).last().map_or_else(|| "no reason given".to_owned(), ToString::to_string)
}

fn refused_certificate(error: &reqwest::Error) -> bool {
    let refused =
        |cause: &(dyn Error + 'static)| matches!(cause.downcast_ref(), Some(rustls::Error::InvalidCertificate(_)));
    causes(error).any(refused)
}

fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(error.source(), |error| below(*error))
}

/// What an error wraps. An I/O error hides that from `source`, so it is asked itself.
fn below<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    match error.downcast_ref::<std::io::Error>() {
        Some(wrapper) => wrapper.get_ref().map(|wrapped| wrapped as &(dyn Error + 'static)),
        None => error.source(),
    }
}

pub(crate) fn request_id(headers: &HeaderMap) -> Option<String> {
    ["request-id", "x-amzn-requestid", "x-request-id"].iter().find_map(|name| text(headers, name)).map(str::to_owned)
}

pub(crate) fn facts(status: u16, headers: &HeaderMap, now: Timestamp) -> HttpFacts {
    let asked = text(headers, "retry-after").and_then(|value| retry::parse_retry_after(value, now));
    let retry_after = asked.or_else(|| (status == 429).then(|| openai_reset(headers)).flatten());
    let after_wait = retry_after.and_then(|wait| now.checked_add(wait).ok());
    HttpFacts {
        status,
        request_id: request_id(headers),
        retry_after,
        reset_at: after_wait.or_else(|| exhausted_until(headers)),
        location: text(headers, "location").map(without_query),
        server_time: text(headers, "date")
            .and_then(|date| jiff::fmt::rfc2822::parse(date).ok())
            .map(|at| at.timestamp()),
        now: Some(now),
        error_type: text(headers, "x-amzn-errortype").map(|name| name.split(':').next().unwrap_or(name).to_owned()),
    }
}

/// How long OpenAI's limits that have nothing left need to come back: `x-ratelimit-reset-tokens: 6m0s`.
fn openai_reset(headers: &HeaderMap) -> Option<Duration> {
    let reset = |limit: &&str| {
        let is_used_up = text(headers, &format!("x-ratelimit-remaining-{limit}")) == Some("0");
        let wait = text(headers, &format!("x-ratelimit-reset-{limit}")).filter(|_| is_used_up)?;
        Duration::try_from(wait.trim().parse::<jiff::SignedDuration>().ok()?).ok()
    };
    ["requests", "tokens"].iter().filter_map(reset).max()
}

/// When the last of the limits that have nothing left comes back.
fn exhausted_until(headers: &HeaderMap) -> Option<Timestamp> {
    let reset = |name: &str| {
        let limit = name.strip_prefix("anthropic-ratelimit-")?.strip_suffix("-reset")?;
        let left = text(headers, &format!("anthropic-ratelimit-{limit}-remaining"));
        let exhausted = left.map_or(limit.starts_with("unified"), |left| left == "0");
        exhausted.then(|| retry::parse_reset(text(headers, name)?)).flatten()
    };
    headers.keys().filter_map(|name| reset(name.as_str())).max()
}

/// A redirect's query may hold a token of a login page.
fn without_query(location: &str) -> String {
    location.split(['?', '#']).next().unwrap_or_default().to_owned()
}

pub(crate) fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::{HeaderName, HeaderValue};

    #[test]
    fn each_endpoint_finds_its_proxy() {
        let env =
            |https: &str, http: &str| ProxyEnv { https: Some(https.into()), http: Some(http.into()), no_proxy: None };
        for (endpoint, https, http, expected) in [
            ("https://api.test/", "http://s:1", "http://p:1", Some("http://s:1")),
            ("https://api.test/", "", "p:1", Some("http://p:1")),
            ("http://api.test/", "http://s:1", "http://p:1", Some("http://p:1")),
            ("http://api.test/", "s:1", " ", Some("http://s:1")),
            ("http://127.0.0.1:9/", "s:1", "", None),
            ("http://localhost/", "s:1", "", None),
            ("http://[::1]/", "s:1", "p:1", Some("http://p:1")),
            ("https://api.test/", "", "", None),
        ] {
            let got = proxy_for(&endpoint.parse().unwrap(), &env(https, http));
            assert_eq!(got.as_deref(), expected, "{endpoint} {https} {http}");
        }
    }

    #[test]
    fn headers_tell_when_to_come_back() {
        let now: Timestamp = "2026-11-15T00:00:00Z".parse().unwrap();
        let read = |pairs: &[(&'static str, &'static str)]| {
            let pair = |(name, value): &(&'static str, &'static str)| {
                (HeaderName::from_static(name), HeaderValue::from_static(value))
            };
            let facts = facts(429, &pairs.iter().map(pair).collect(), now);
            (facts.retry_after.map(|wait| wait.as_secs()), facts.reset_at.map(|at| at.as_second() - now.as_second()))
        };
        assert_eq!(read(&[]), (None, None));
        assert_eq!(read(&[("retry-after", "90")]), (Some(90), Some(90)));
        assert_eq!(read(&[("retry-after", "rubbish")]), (None, None));
        let limits = [
            ("anthropic-ratelimit-tokens-remaining", "0"),
            ("anthropic-ratelimit-tokens-reset", "2026-11-15T00:01:00Z"),
            ("anthropic-ratelimit-requests-remaining", "5"),
            ("anthropic-ratelimit-requests-reset", "2026-11-15T09:00:00Z"),
        ];
        assert_eq!(read(&limits), (None, Some(60)));
    }

    #[test]
    fn openais_limits_say_when_they_come_back() {
        let now: Timestamp = "2026-11-15T00:00:00Z".parse().unwrap();
        let wait = |status: u16, pairs: &[(&'static str, &'static str)]| {
            let pair = |(name, value): &(&'static str, &'static str)| {
                (HeaderName::from_static(name), HeaderValue::from_static(value))
            };
            facts(status, &pairs.iter().map(pair).collect(), now).retry_after.map(|wait| wait.as_millis())
        };
        let requests = [("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "6m0s")];
        let tokens = [("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "20ms")];
        assert_eq!(wait(429, &requests), Some(360_000));
        assert_eq!(wait(429, &[requests[0], requests[1], tokens[0], tokens[1]]), Some(360_000));
        assert_eq!(wait(429, &[requests[0], requests[1], ("retry-after", "2")]), Some(2_000));
        assert_eq!(wait(500, &requests), None);
        assert_eq!(wait(429, &[("x-ratelimit-remaining-requests", "5"), requests[1]]), None, "there is some left");
    }
}
