//! The configuration of a [`crate::Client`]. The values come from the caller: nothing here reads the environment.

use crate::capabilities::Capabilities;
use crate::catalog::{ModelInfo, Price, info};
use crate::credential::CloudCredentials;
use crate::models_behind::ModelsBehind;
use crate::profile::{Profile, ProfileName};
use crate::provider::Endpoint;
use crate::secret::Secret;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;
use url::Url;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Auth {
    ApiKey(Secret),
    Bearer(Secret),
    /// A credential helper's output: nobody knows which of the two it is.
    Both(Secret),
    /// A bearer token that needs its capability named.
    OAuth(Secret),
    /// A token and a key that were both set: gateways want the one, what is behind them the other.
    TokenAndKey {
        token: Secret,
        key: Secret,
    },
    None,
}

impl Auth {
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &Secret> {
        let found = match self {
            Self::ApiKey(secret) | Self::Bearer(secret) | Self::Both(secret) | Self::OAuth(secret) => {
                [Some(secret), None]
            }
            Self::TokenAndKey { token, key } => [Some(token), Some(key)],
            Self::None => [None, None],
        };
        found.into_iter().flatten()
    }
}

/// The values of `https_proxy`, `http_proxy` and `no_proxy`, whichever case was set.
#[derive(Clone, Default)]
pub struct ProxyEnv {
    pub https: Option<String>,
    pub http: Option<String>,
    pub no_proxy: Option<String>,
}

impl fmt::Debug for ProxyEnv {
    /// Proxy addresses may hold passwords.
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        let set = |value: &Option<String>| if value.is_some() { "set" } else { "unset" };
        write!(to, "ProxyEnv {{ https: {}, http: {} }}", set(&self.https), set(&self.http))
    }
}

/// What the user says about TLS. How it is used: `tls`.
#[derive(Debug, Clone, Default)]
pub struct TlsOptions {
    /// PEM: our certificate, then those that lead to its root.
    pub client_cert: Option<PathBuf>,
    /// PEM. May be in the same file as the certificate.
    pub client_key: Option<PathBuf>,
    pub key_passphrase: Option<Secret>,
    /// The server's certificate is not looked at.
    pub accept_any: bool,
}

/// How long to wait for what.
#[derive(Debug, Clone, Copy)]
pub struct Timeouts {
    pub connect: Duration,
    /// From sending the request to the response's headers.
    pub first_byte: Duration,
    /// Between two bytes of the stream. Pings count as bytes.
    pub idle: Duration,
    /// Between two events that are more than pings.
    pub event: Duration,
    /// For one whole attempt.
    pub total: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            // A host that has not answered by then is down or filtered.
            connect: Duration::from_secs(30),
            // The reference's API_TIMEOUT_MS.
            first_byte: Duration::from_mins(10),
            // The API pings far more often; half-dead connections are the usual cause of silence.
            idle: Duration::from_mins(3),
            // The reference's limit for a stream that lives but says nothing.
            event: Duration::from_mins(5),
            // The longest answer of the slowest model takes less.
            total: Duration::from_hours(2),
        }
    }
}

/// How long to wait between attempts.
#[derive(Debug, Clone, Copy)]
pub struct Backoff {
    pub first: Duration,
    pub longest: Duration,
    /// A server that asks for a longer wait than this is not worth waiting for: the run fails and says
    /// when the limit resets.
    pub longest_asked: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            first: Duration::from_millis(500),
            longest: Duration::from_secs(32),
            // Covers the API's per-minute limits several times over, and no subscription window.
            longest_asked: Duration::from_mins(5),
        }
    }
}

/// One cloud's endpoint with whatever finds its credential.
#[derive(Clone)]
pub struct CloudEndpoint {
    pub endpoint: Endpoint,
    pub credentials: CloudCredentials,
    /// Which models stand behind ids that do not say it.
    pub behind: ModelsBehind,
}

#[derive(Clone)]
pub struct ClientConfig {
    /// `/v1/messages` is added. May end in a slash and may have a path.
    pub base_url: String,
    pub auth: Auth,
    /// A cloud's endpoint instead of [`Self::base_url`] and [`Self::auth`].
    pub cloud: Option<CloudEndpoint>,
    /// What the endpoint behind [`Self::base_url`] understands.
    pub profile: Profile,
    /// Win over our own headers; `anthropic-beta` is joined with ours.
    pub custom_headers: Vec<(String, String)>,
    pub proxy: ProxyEnv,
    /// PEM files trusted beside the system's. One that cannot be read is skipped, and a failed TLS
    /// handshake then names it.
    pub extra_ca_files: Vec<PathBuf>,
    pub user_agent: String,
    pub max_retries: u32,
    /// Rate limits and overloads are waited out, however long they last.
    pub retry_watchdog: bool,
    /// What the user says that models can do, by id.
    pub capabilities: Capabilities,
    pub tls: TlsOptions,
    pub timeouts: Timeouts,
    pub backoff: Backoff,
}

impl ClientConfig {
    pub const DEFAULT_BASE_URL: &str = crate::provider::DEFAULT_BASE_URL;
    pub const DEFAULT_MAX_RETRIES: u32 = 10;

    pub fn new(base_url: impl Into<String>, auth: Auth) -> Self {
        Self {
            base_url: base_url.into(),
            auth,
            cloud: None,
            profile: Profile::default(),
            custom_headers: Vec::new(),
            proxy: ProxyEnv::default(),
            extra_ca_files: Vec::new(),
            user_agent: concat!("ralph/", env!("CARGO_PKG_VERSION")).to_owned(),
            max_retries: Self::DEFAULT_MAX_RETRIES,
            retry_watchdog: false,
            capabilities: Capabilities::default(),
            tls: TlsOptions::default(),
            timeouts: Timeouts::default(),
            backoff: Backoff::default(),
        }
    }
}

impl ClientConfig {
    /// The variable of an address that is neither encrypted nor on this machine.
    pub fn unprotected_address(&self) -> Option<&'static str> {
        let is_plain = |url: &Url| url.scheme() == "http" && !is_loopback(url);
        match &self.cloud {
            Some(cloud) => cloud.endpoint.bases().find(|(url, _)| is_plain(url)).map(|(_, name)| name),
            None => Url::parse(self.base_url.trim()).is_ok_and(|url| is_plain(&url)).then_some("ANTHROPIC_BASE_URL"),
        }
    }
}

/// Whether an address is this very machine's.
pub(crate) fn is_loopback(address: &Url) -> bool {
    match address.host() {
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

impl fmt::Debug for ClientConfig {
    /// Custom headers and the address may hold credentials.
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        let names: Vec<&str> = self.custom_headers.iter().map(|(name, _)| name.as_str()).collect();
        to.debug_struct("ClientConfig")
            .field("auth", &self.auth)
            .field("custom_headers", &names)
            .field("proxy", &self.proxy)
            .field("extra_ca_files", &self.extra_ca_files)
            .field("max_retries", &self.max_retries)
            .field("timeouts", &self.timeouts)
            .finish_non_exhaustive()
    }
}

/// A configuration that no request can be sent with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    #[error("the API address is not an http or https URL ({0}): check ANTHROPIC_BASE_URL")]
    BaseUrl(String),
    #[error("the custom header {0:?} has a name or value that HTTP does not allow: check ANTHROPIC_CUSTOM_HEADERS")]
    CustomHeader(String),
    #[error("the proxy address is not a URL: check HTTPS_PROXY and HTTP_PROXY")]
    Proxy,
}

/// Everything known about a model behind this client's endpoint, with the provider and the price there.
pub fn info_for(id: &str, client: &ClientConfig) -> ModelInfo {
    let endpoint = client.cloud.as_ref().map(|cloud| &cloud.endpoint);
    let behind = client.capabilities.model_behind(id);
    let behind = behind.or_else(|| client.cloud.as_ref().and_then(|cloud| cloud.behind.get(id)));
    let mut found = info_at(id, endpoint, client.profile.name, behind.as_deref());
    found.take(&client.capabilities);
    found
}

fn info_at(id: &str, cloud: Option<&Endpoint>, profile: ProfileName, behind: Option<&str>) -> ModelInfo {
    let mut found = info(id);
    if let Some(known) = behind.map(info).filter(|known| known.cost_basis.is_none()) {
        found = ModelInfo { id: found.id, stands_for: Some(known.id.clone()), ..known };
    }
    found.provider = cloud.map_or("firstParty", |endpoint| endpoint.provider_of(id));
    found.narrow_to_provider();
    if profile == ProfileName::Local {
        found.price = Price::default();
        found.cost_basis = Some("a model on the user's own machine has no price".to_owned());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_secret_is_shown() {
        let mut config = ClientConfig::new("http://user:hunter2@host", Auth::Both(Secret::new("hunter2")));
        config.custom_headers.push(("authorization".into(), "hunter2".into()));
        config.proxy.https = Some("http://me:hunter2@proxy".into());
        let shown = format!("{config:?} {} {:?}", Secret::new("hunter2"), config.auth);
        assert!(!shown.contains("hunter2") && shown.contains("[secret]"), "{shown}");
    }

    #[test]
    fn usage_is_booked_by_provider_and_canonical_model() {
        let booked = |id: &str, switch: Option<&str>| {
            let lookup = |name: &str| (Some(name) == switch).then(|| "1".to_owned());
            let variables = crate::Variables::new(&lookup);
            let endpoint = crate::Choice::from_switches(&variables).endpoint(&variables).unwrap();
            let info = info_at(id, Some(&endpoint), ProfileName::Gateway, None);
            (info.provider, info.canonical_model(), info.basis_name())
        };
        let bedrock = Some("CLAUDE_CODE_USE_BEDROCK");
        assert_eq!(booked("claude-sonnet-4-5-20250929", None), ("firstParty", "claude-sonnet-4-5".into(), "list"));
        assert_eq!(
            booked("us.anthropic.claude-sonnet-4-5-20250929-v1:0", bedrock),
            ("bedrock", "claude-sonnet-4-5".into(), "list")
        );
        let arn = "arn:aws:bedrock:us-east-2:1:application-inference-profile/x";
        assert_eq!(booked(arn, bedrock), ("bedrock", arn.into(), "unknown"));
        let info = info_at("qwen", None, ProfileName::Local, None);
        let usage = wire::Usage { input_tokens: 1_000_000, ..wire::Usage::default() };
        assert!(crate::cost_usd(&usage, &info).abs() < 1e-9 && info.basis_name() == "unknown");
    }

    #[test]
    fn clouds_are_asked_only_for_what_they_know() {
        let at = |id: &str, switch: &str| {
            let lookup = |name: &str| match name {
                "ANTHROPIC_VERTEX_PROJECT_ID" => Some("p".to_owned()),
                "ANTHROPIC_FOUNDRY_RESOURCE" => Some("ab".to_owned()),
                name => (name == switch).then(|| "1".to_owned()),
            };
            let variables = crate::Variables::new(&lookup);
            let endpoint = crate::Choice::from_switches(&variables).endpoint(&variables).unwrap();
            info_at(id, Some(&endpoint), ProfileName::Anthropic, None)
        };
        let (bedrock, foundry) = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_FOUNDRY");
        let arn = "arn:aws:bedrock:us-east-2:1:application-inference-profile/x";
        let ask = crate::ThinkingAsk::default();
        for (id, switch, thinking) in [
            ("us.anthropic.claude-opus-4-6-v1", bedrock, Some(serde_json::json!({"type": "adaptive"}))),
            (
                "us.anthropic.claude-opus-4-7",
                bedrock,
                Some(serde_json::json!({"type": "adaptive", "display": "omitted"})),
            ),
            ("claude-sonnet-4-6", "CLAUDE_CODE_USE_VERTEX", Some(serde_json::json!({"type": "adaptive"}))),
            ("claude-opus-4-6", foundry, Some(serde_json::json!({"type": "adaptive", "display": "omitted"}))),
            (arn, bedrock, None),
            ("my-deployment", foundry, Some(serde_json::json!({"type": "adaptive", "display": "omitted"}))),
        ] {
            assert_eq!(crate::thinking(&at(id, switch), &ask, 32_000), thinking, "{id} {switch}");
        }
        assert_eq!(at(arn, bedrock).default_effort, None);
        let budget = crate::ThinkingAsk { max_tokens_env: Some(2000), ..ask };
        let expected = serde_json::json!({"budget_tokens": 2000, "type": "enabled"});
        assert_eq!(crate::thinking(&at(arn, bedrock), &budget, 32_000), Some(expected));
    }

    #[test]
    fn an_id_that_says_nothing_is_known_by_the_model_behind_it() {
        let arn = "arn:aws:bedrock:us-east-2:1:application-inference-profile/x";
        let found = info_at(arn, None, ProfileName::Anthropic, Some("claude-sonnet-4-5-20250929"));
        let named = (found.id.as_str(), found.canonical_model(), found.basis_name());
        assert_eq!(named, (arn, "claude-sonnet-4-5".to_owned(), "list"));
        assert_eq!(found.price, info("claude-sonnet-4-5").price);
        assert_eq!(info_at(arn, None, ProfileName::Anthropic, Some("nonsense")).basis_name(), "unknown");
    }
}
