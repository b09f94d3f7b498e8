//! One endpoint with its credential. Cheap to make; the HTTP stack comes at the first request and its
//! connections are kept for the next ones.

use crate::ask::{Ask, Event, Reply};
use crate::config::{Auth, ClientConfig, ClientError, CloudEndpoint};
use crate::credential::{Refused, Signable};
use crate::failure::{Failure, FailureKind, Place, excerpt, in_brackets};
use crate::http::{self, HttpError, Stack};
use crate::profile::{self, Feature, Format};
use crate::provider::{AuthPlan, Endpoint, Operation, StreamFormat};
use crate::refused_field::Reduction;
use crate::request::{Request, WEB_SEARCH_BETA};
use crate::secret::Secret;
use bytes::Bytes;
use jiff::Timestamp;
use reqwest::Method;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use serde_json::Value;
use std::sync::{Mutex, OnceLock};
use std::time::Duration;
use tokio::sync::OnceCell;
use tokio::time::timeout;
use url::Url;

const API_VERSION: &str = "2023-06-01";
pub(crate) const BETA_HEADER: &str = "anthropic-beta";
/// The capability a login token needs.
const OAUTH_BETA: &str = "oauth-2025-04-20";
/// An error page longer than this says nothing more.
const ERROR_BODY_MAX: usize = 64 * 1024;
/// The error is known by its status already; its text is not worth a longer wait.
const ERROR_BODY_WAIT: Duration = Duration::from_secs(10);
/// Shorter values are words rather than secrets, and hiding them would garble messages.
const SCRUB_MIN: usize = 8;

pub struct Client {
    pub(crate) config: ClientConfig,
    endpoint: Url,
    custom: HeaderMap,
    stack: OnceLock<Result<Stack, HttpError>>,
    /// What this server has refused by name; later requests go without it from the start.
    refused: Mutex<Vec<Reduction>>,
    /// Bedrock's inference profiles, once they were asked for.
    pub(crate) profiles: OnceCell<Vec<String>>,
}

impl Client {
    pub fn new(config: ClientConfig) -> Result<Self, ClientError> {
        let base = match &config.cloud {
            Some(cloud) => cloud.endpoint.base.clone(),
            None => Url::parse(config.base_url.trim()).map_err(|error| ClientError::BaseUrl(error.to_string()))?,
        };
        if base.host_str().is_none() || !matches!(base.scheme(), "http" | "https") {
            return Err(ClientError::BaseUrl("no host".to_owned()));
        }
        let proxy = http::proxy_for(&base, &config.proxy);
        if proxy.is_some_and(|proxy| Url::parse(&proxy).is_err()) {
            return Err(ClientError::Proxy);
        }
        let mut custom = HeaderMap::new();
        for (name, value) in &config.custom_headers {
            let refused = || ClientError::CustomHeader(name.clone());
            let name = HeaderName::try_from(name.trim()).map_err(|_| refused())?;
            custom.append(name, HeaderValue::try_from(value.trim()).map_err(|_| refused())?);
        }
        Ok(Self {
            config,
            endpoint: base,
            custom,
            stack: OnceLock::new(),
            refused: Mutex::default(),
            profiles: OnceCell::new(),
        })
    }

    pub fn set_auth(&mut self, auth: Auth) {
        self.config.auth = auth;
    }

    /// Asks. Nothing is sent before the first [`Ask::next`].
    pub fn ask(&self, request: &Request) -> Ask<'_> {
        Ask::new(self, request)
    }

    /// Asks and waits for the whole answer, retries included.
    pub async fn ask_once(&self, request: &Request) -> Result<Reply, Box<Failure>> {
        let mut ask = self.ask(request).without_partials();
        loop {
            match ask.next().await {
                Event::Finished(reply) => return Ok(*reply),
                Event::Failed(failure) => return Err(failure),
                Event::Retry(_) | Event::Partials(_) | Event::MessageStart { .. } | Event::Block { .. } => {}
            }
        }
    }

    /// How many tokens the request would occupy. One attempt: the caller can estimate instead.
    pub async fn count_tokens(&self, request: &Request) -> Result<u64, Box<Failure>> {
        if !self.config.profile.has(Feature::CountTokens) {
            return Err(Box::new(self.setup("this endpoint's profile does not count tokens")));
        }
        let body = self.body(Operation::CountTokens, request)?;
        let headers = self.headers(request)?;
        let model = request.model_id();
        let url = self.url(Operation::CountTokens, model);
        let mut response = self.send(Method::POST, model, url, headers, body).await?;
        let body = read_some(&mut response).await;
        let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
        let count = answer["input_tokens"].as_u64().or_else(|| answer["inputTokens"].as_u64());
        count.ok_or_else(|| {
            let message = format!("{} counted no tokens; it answered: {}", self.host_of(model), excerpt(&body));
            Box::new(self.scrubbed(Failure::new(FailureKind::NotAStream, message)))
        })
    }

    /// Sends one request for a stream and returns the response once it has begun as one.
    pub(crate) async fn open(
        &self,
        model: String,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<reqwest::Response, Box<Failure>> {
        let url = self.url(Operation::Stream, &model);
        let mut response = self.send(Method::POST, &model, url, headers, body).await?;
        let kind = http::text(response.headers(), CONTENT_TYPE.as_str()).unwrap_or_default().to_owned();
        let expected = match self.stream_format(&model) {
            StreamFormat::ServerSentEvents => "text/event-stream",
            StreamFormat::EventStream => "application/vnd.amazon.eventstream",
        };
        // A server that names no type is given the benefit of the doubt.
        if kind.is_empty() || kind.to_ascii_lowercase().starts_with(expected) {
            return Ok(response);
        }
        let id = http::request_id(response.headers());
        let body = read_some(&mut response).await;
        let variable = self.base_variable(&model);
        let speaks = match &self.config.cloud {
            Some(_) => {
                format!("Check that nothing stands between, and that {variable}, if set, speaks the provider's API")
            }
            None => {
                format!("Check that {variable} speaks the API of its profile ({})", self.config.profile.name.as_str())
            }
        };
        let message = format!(
            "{} answered with {kind} instead of an event stream: {}. {speaks}{}",
            self.host_of(&model),
            excerpt(&body),
            in_brackets(id.as_deref())
        );
        let failure = Failure { request_id: id, ..Failure::new(FailureKind::NotAStream, message) };
        Err(Box::new(self.scrubbed(failure)))
    }

    /// Sends. A credential that was found by a chain and is refused is asked anew, once.
    pub(crate) async fn send(
        &self,
        method: Method,
        model: &str,
        url: Url,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<reqwest::Response, Box<Failure>> {
        let renewable = |cloud: &&CloudEndpoint| cloud.endpoint.serving(model).auth.is_renewable();
        let Some(cloud) = self.config.cloud.as_ref().filter(renewable) else {
            return self.send_once(model, method, url, headers, body).await;
        };
        let mut refused = None;
        loop {
            let mut signed = headers.clone();
            let covered = signable_headers(&headers);
            let signable = Signable { method: method.as_str(), url: &url, headers: &covered, body: &body };
            let auth = cloud.endpoint.auth_of(model);
            let (added, number) = cloud.credentials.headers(&auth, &signable, refused).await?;
            for (name, value) in added {
                signed.insert(name, self.sensitive(value.expose(), "the credential")?);
            }
            match self.send_once(model, method.clone(), url.clone(), signed, body.clone()).await {
                Err(failure) if refused.is_none() && matches!(failure.status, Some(401 | 403)) => {
                    refused = Some(Refused { number, is_over: failure.credential_is_over() });
                }
                done => return done,
            }
        }
    }

    async fn send_once(
        &self,
        model: &str,
        method: Method,
        url: Url,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<reqwest::Response, Box<Failure>> {
        let stack = self.stack.get_or_init(|| http::build(&self.config, &self.endpoint));
        let stack = stack.as_ref().map_err(|error| self.setup(&error.to_string()))?;
        let host = host_and_port(&url);
        let place = Place { host: &host, variable: self.base_variable(model) };
        let sending = stack.http.request(method, url).headers(headers).body(body).send();
        let mut response = match timeout(self.config.timeouts.first_byte, sending).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => {
                let failure = http::transport_failure(&error, &place, &stack.skipped_ca);
                return Err(Box::new(self.scrubbed(failure)));
            }
            Err(_) => {
                let waited = self.config.timeouts.first_byte;
                let message = format!("{host} did not begin to answer within {waited:?}");
                return Err(Box::new(Failure::new(FailureKind::NoAnswer, message)));
            }
        };
        if response.status().is_success() {
            return Ok(response);
        }
        let facts = http::facts(response.status().as_u16(), response.headers(), Timestamp::now());
        let body = read_some(&mut response).await;
        Err(Box::new(self.scrubbed(Failure::http(facts, &body, &place))))
    }

    /// Who is asked for this model, for messages.
    pub(crate) fn host_of(&self, model: &str) -> String {
        host_and_port(&self.url(Operation::Stream, model))
    }

    /// The variable with which the user chooses that address.
    fn base_variable(&self, model: &str) -> &'static str {
        self.serving(model).map_or("ANTHROPIC_BASE_URL", Endpoint::base_variable)
    }

    fn url(&self, operation: Operation, model: &str) -> Url {
        if let Some(cloud) = &self.config.cloud {
            return cloud.endpoint.url(operation, model);
        }
        let base = self.endpoint.path().trim_end_matches('/');
        let format = self.config.profile.format();
        let path = match operation {
            Operation::CountTokens => "v1/messages/count_tokens".to_owned(),
            Operation::Stream if format == Format::Messages => "v1/messages".to_owned(),
            // By custom the addresses of these APIs end in their version; a bare host gets it.
            Operation::Stream if base.is_empty() => format!("v1/{}", crate::openai::path(format)),
            Operation::Stream => crate::openai::path(format).to_owned(),
        };
        let mut url = self.endpoint.clone();
        url.set_path(&format!("{base}/{path}"));
        url
    }

    /// What earlier requests have taught about this server.
    pub(crate) fn refused(&self) -> Vec<Reduction> {
        self.refused.lock().map(|known| known.clone()).unwrap_or_default()
    }

    pub(crate) fn note_refused(&self, reduction: Reduction) {
        if let Ok(mut known) = self.refused.lock() {
            known.push(reduction);
        }
    }

    /// Tools that this endpoint takes only under another name.
    pub(crate) fn changed_names(&self, request: &Request) -> Vec<(String, String)> {
        let is_messages = self.config.cloud.is_some() || self.config.profile.format() == Format::Messages;
        if is_messages { Vec::new() } else { crate::openai::changed_names(request) }
    }

    /// The body that asking sends, for those who record it; `None` where there is none to send.
    pub fn body_text(&self, request: &Request) -> Option<String> {
        let body = self.body(Operation::Stream, request).ok()?;
        String::from_utf8(body.into()).ok()
    }

    pub(crate) fn body(&self, operation: Operation, request: &Request) -> Result<Bytes, Box<Failure>> {
        let body = match (&self.config.cloud, operation) {
            (Some(cloud), _) => cloud.endpoint.body(operation, request),
            (None, Operation::Stream) => self.profiled_body(request),
            (None, Operation::CountTokens) => request.count_body(),
        };
        body.map(Bytes::from).map_err(|error| Box::new(self.setup(&error.to_string())))
    }

    /// The body that this endpoint's profile asks for.
    fn profiled_body(&self, request: &Request) -> Result<Vec<u8>, serde_json::Error> {
        let profile = &self.config.profile;
        if profile.format() != Format::Messages {
            return serde_json::to_vec(&crate::openai::body(request, profile));
        }
        if profile.is_plain() {
            return request.body();
        }
        let mut request = request.clone();
        if !profile.has(Feature::CacheControl) {
            request.cache = crate::CachePolicy::Off;
        }
        let mut body = request.body_value()?;
        profile::shape(&mut body, profile);
        serde_json::to_vec(&body)
    }

    pub(crate) fn stream_format(&self, model: &str) -> StreamFormat {
        self.serving(model).map_or(StreamFormat::ServerSentEvents, |endpoint| endpoint.stream)
    }

    /// The cloud's endpoint for this model.
    fn serving(&self, model: &str) -> Option<&Endpoint> {
        self.config.cloud.as_ref().map(|cloud| cloud.endpoint.serving(model))
    }

    pub(crate) fn headers(&self, request: &Request) -> Result<HeaderMap, Box<Failure>> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let format = self.config.profile.format();
        if format == Format::Messages {
            headers.insert("anthropic-version", HeaderValue::from_static(API_VERSION));
        }
        headers.insert(USER_AGENT, self.value(&self.config.user_agent, "the user agent")?);
        let what = "the credential";
        if let Some(endpoint) = self.serving(request.model_id()) {
            for (name, value) in &endpoint.headers {
                headers.insert(*name, self.value(value, name)?);
            }
            self.add_fixed(endpoint, &mut headers)?;
        }
        match &self.config.auth {
            // OpenAI's APIs know one place for a key.
            Auth::ApiKey(key) | Auth::Both(key) if format != Format::Messages => {
                headers.insert(AUTHORIZATION, self.sensitive(&format!("Bearer {}", key.expose()), what)?);
            }
            Auth::ApiKey(key) => drop(headers.insert("x-api-key", self.sensitive(key.expose(), what)?)),
            Auth::Bearer(token) | Auth::OAuth(token) => {
                headers.insert(AUTHORIZATION, self.sensitive(&format!("Bearer {}", token.expose()), what)?);
            }
            Auth::Both(secret) => {
                headers.insert("x-api-key", self.sensitive(secret.expose(), what)?);
                headers.insert(AUTHORIZATION, self.sensitive(&format!("Bearer {}", secret.expose()), what)?);
            }
            // One place for a key: the token was meant for this endpoint first.
            Auth::TokenAndKey { token, key } => {
                headers.insert(AUTHORIZATION, self.sensitive(&format!("Bearer {}", token.expose()), what)?);
                if format == Format::Messages {
                    headers.insert("x-api-key", self.sensitive(key.expose(), what)?);
                }
            }
            Auth::None => {}
        }
        for name in self.custom.keys() {
            headers.remove(name);
            headers.extend(self.custom.get_all(name).iter().map(|value| (name.clone(), value.clone())));
        }
        // A cloud is told nothing of the user's traces.
        if let Some(parent) = request.traceparent.as_ref().filter(|_| self.config.cloud.is_none()) {
            headers.insert("traceparent", self.value(parent, "the trace")?);
        }
        if let Some(betas) = self.betas(request) {
            headers.insert(BETA_HEADER, self.value(&betas, "a beta's name")?);
        }
        Ok(headers)
    }

    /// The headers of a credential that is no chain's.
    pub(crate) fn add_fixed(&self, endpoint: &Endpoint, headers: &mut HeaderMap) -> Result<(), Box<Failure>> {
        if let AuthPlan::Headers(fixed) = &endpoint.auth {
            for (name, value) in fixed {
                headers.insert(*name, self.sensitive(value.expose(), "the credential")?);
            }
        }
        Ok(())
    }

    /// All betas of the request, the credential and the custom headers, each once.
    fn betas(&self, request: &Request) -> Option<String> {
        let oauth = matches!(self.config.auth, Auth::OAuth(_)).then_some(OAUTH_BETA);
        let custom = self.custom.get_all(BETA_HEADER).iter().filter_map(|value| value.to_str().ok());
        let mut betas: Vec<&str> = Vec::new();
        let sends = self.config.profile.has(Feature::Betas);
        let endpoint = self.serving(request.model_id());
        let takes =
            |beta: &&str| sends && endpoint.map_or(*beta != WEB_SEARCH_BETA, |endpoint| endpoint.takes_in_header(beta));
        for beta in request.all_betas().filter(takes).chain(oauth).chain(custom.flat_map(|value| value.split(','))) {
            let beta = beta.trim();
            if !beta.is_empty() && !betas.contains(&beta) {
                betas.push(beta);
            }
        }
        (!betas.is_empty()).then(|| betas.join(","))
    }

    pub(crate) fn value(&self, text: &str, what: &str) -> Result<HeaderValue, Box<Failure>> {
        let message = format!("{what} holds characters that HTTP does not allow, such as a line break");
        HeaderValue::try_from(text.trim()).map_err(|_| Box::new(self.setup(&message)))
    }

    fn sensitive(&self, text: &str, what: &str) -> Result<HeaderValue, Box<Failure>> {
        let mut value = self.value(text, what)?;
        value.set_sensitive(true);
        Ok(value)
    }

    pub(crate) fn setup(&self, message: &str) -> Failure {
        self.scrubbed(Failure::new(FailureKind::Setup, message))
    }

    /// A server may echo what it was sent, and a proxy's error may show its address.
    pub(crate) fn scrubbed(&self, mut failure: Failure) -> Failure {
        let custom = self.custom.iter().filter(|(name, _)| *name != BETA_HEADER);
        let custom = custom.filter_map(|(_, value)| value.to_str().ok());
        let passwords = self.endpoint.password();
        let found = self.config.cloud.as_ref().map(|cloud| cloud.credentials.secrets()).unwrap_or_default();
        let plans = self.config.cloud.iter().flat_map(|cloud| cloud.endpoint.auth_plans());
        let fixed = plans.flat_map(AuthPlan::fixed_secrets);
        let found = found.iter().map(String::as_str).chain(fixed);
        for secret in self.config.auth.secrets().map(Secret::expose).chain(custom).chain(passwords).chain(found) {
            let secret = secret.trim();
            if secret.len() >= SCRUB_MIN && failure.message.contains(secret) {
                failure.message = failure.message.replace(secret, "[secret]");
            }
        }
        failure
    }
}

fn host_and_port(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// The headers that a signature covers: what a proxy may change or add stays out.
fn signable_headers(headers: &HeaderMap) -> Vec<(&str, &str)> {
    let is_signed = |name: &str| name == "content-type" || name.starts_with("anthropic-");
    let texts = headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
    texts.filter(|(name, _)| is_signed(name)).collect()
}

/// The beginning of a body that is only looked at to say what went wrong.
async fn read_some(response: &mut reqwest::Response) -> Vec<u8> {
    read_up_to(response, ERROR_BODY_MAX).await
}

/// A body, or its beginning.
pub(crate) async fn read_up_to(response: &mut reqwest::Response, most: usize) -> Vec<u8> {
    let mut body = Vec::new();
    let read = async {
        while let Ok(Some(chunk)) = response.chunk().await {
            let room = most - body.len();
            body.extend_from_slice(&chunk[..chunk.len().min(room)]);
            if body.len() == most {
                break;
            }
        }
    };
    // What arrived in time is shown; a body that never ends is not waited for.
    let _ = timeout(ERROR_BODY_WAIT, read).await;
    body
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
