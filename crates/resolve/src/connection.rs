//! What the environment says about connections: who we say we are, how long we wait, how TLS is done, and what the
//! user knows about the models at the other end.

use crate::environment::Environment;
use crate::refusal::Refusal;
use model::{Capabilities, CertStore, ClientConfig, Secret, TlsOptions};
use settings::{Found, Resolution};
use std::path::PathBuf;
use std::time::Duration;

/// The contract we speak: the version clients compare against.
pub const CONTRACT_VERSION: &str = "2.1.325";

/// Our own name. Gateways that let only `claude-cli` pass find that as well, with the version whose contract we speak;
/// Anthropic's own host is not told it.
pub fn user_agent(environment: &Environment) -> String {
    let mut agent = format!("ralph/{}", env!("CARGO_PKG_VERSION"));
    if environment.get("ANTHROPIC_BASE_URL").is_some_and(|url| !url.contains("//api.anthropic.com")) {
        agent.push_str(&format!(" (compatible; claude-cli/{CONTRACT_VERSION})"));
    }
    for name in ["CLAUDE_CODE_ENTRYPOINT", "CLAUDE_AGENT_SDK_CLIENT_APP"] {
        if let Some(label) = environment.get(name).filter(|label| label.chars().all(|c| c.is_ascii_graphic())) {
            agent.push_str(&format!(" ({label})"));
        }
    }
    agent
}

pub fn timeouts(client: &mut ClientConfig, environment: &Environment) {
    let millis = |name: &str| environment.number(name).filter(|ms| *ms > 0).map(Duration::from_millis);
    let limits = &mut client.timeouts;
    for (name, limit) in [
        ("CLAUDE_CODE_CONNECT_TIMEOUT_MS", &mut limits.connect),
        ("API_TIMEOUT_MS", &mut limits.first_byte),
        ("CLAUDE_BYTE_STREAM_IDLE_TIMEOUT_MS", &mut limits.idle),
        ("CLAUDE_STREAM_IDLE_TIMEOUT_MS", &mut limits.event),
    ] {
        if let Some(asked) = millis(name) {
            *limit = asked;
        }
    }
    // Both are always on here; who switches one off still has the limit for the whole answer.
    let is_off = |name: &str| environment.is_off(name);
    if is_off("CLAUDE_ENABLE_BYTE_WATCHDOG") || is_off("API_FORCE_IDLE_TIMEOUT") {
        limits.idle = limits.total;
    }
    if is_off("CLAUDE_ENABLE_STREAM_WATCHDOG") {
        limits.event = limits.total;
    }
}

/// Our certificate, and how the server's is judged.
pub fn tls(environment: &Environment) -> Result<TlsOptions, Refusal> {
    let file = |name: &str| environment.get(name).map(PathBuf::from);
    let tls = TlsOptions {
        client_cert: file("CLAUDE_CODE_CLIENT_CERT"),
        client_key: file("CLAUDE_CODE_CLIENT_KEY"),
        key_passphrase: environment.get("CLAUDE_CODE_CLIENT_KEY_PASSPHRASE").map(Secret::new),
        accept_any: accepts_any(environment),
    };
    tls.check().map_err(|error| Refusal::new(format!("Error: {error}.")))?;
    Ok(tls)
}

fn accepts_any(environment: &Environment) -> bool {
    environment.get("NODE_TLS_REJECT_UNAUTHORIZED") == Some("0")
}

/// What should be said before the run.
pub fn warnings(environment: &Environment) -> Result<Vec<String>, Refusal> {
    let mut warnings = Vec::new();
    if accepts_any(environment) {
        warnings.push(
            "warning: NODE_TLS_REJECT_UNAUTHORIZED=0: certificates of servers are not checked, so anybody on the way \
             can read and change what is sent. Unset it, and give the CA in NODE_EXTRA_CA_CERTS"
                .to_owned(),
        );
    }
    let name = "CLAUDE_CODE_CERT_STORE";
    let stores = CertStore::parse(environment.get(name).unwrap_or_default()).map_err(|word| {
        Refusal::new(format!("Error: {name} names '{word}', which is no store of certificates. Use system or bundled."))
    })?;
    if stores.contains(&CertStore::Bundled) && !stores.contains(&CertStore::System) {
        warnings.push(format!(
            "warning: {name} is bundled, but this program brings no certificates of its own; the system's are used"
        ));
    }
    Ok(warnings)
}

/// What is said where a credential can be read on the way.
pub fn unprotected(client: &ClientConfig) -> Option<String> {
    let name = client.unprotected_address()?;
    Some(format!(
        "warning: {name} is a plain http address of another machine: everybody on the way can read the credential and \
         the conversation. Use https"
    ))
}

/// Models that the user has named, and the variables that say what each can do.
const NAMED: [&str; 5] = [
    "ANTHROPIC_DEFAULT_OPUS_MODEL",
    "ANTHROPIC_DEFAULT_SONNET_MODEL",
    "ANTHROPIC_DEFAULT_HAIKU_MODEL",
    "ANTHROPIC_DEFAULT_FABLE_MODEL",
    "ANTHROPIC_CUSTOM_MODEL_OPTION",
];

pub fn capabilities(environment: &Environment) -> Result<Capabilities, Refusal> {
    let mut capabilities = Capabilities::default();
    capabilities.always_effort = environment.is_on("CLAUDE_CODE_ALWAYS_ENABLE_EFFORT");
    for name in NAMED {
        let Some(id) = environment.get(name) else { continue };
        let variable = format!("{name}_SUPPORTED_CAPABILITIES");
        if let Some(list) = environment.get(&variable) {
            let refused = |error| Refusal::new(format!("Error: {variable}: {error}."));
            capabilities.add(id, list).map_err(refused)?;
        }
    }
    Ok(capabilities)
}

/// Credentials that the contract knows and we do not use. In its order they stand behind variables and before files.
const UNUSED: [&str; 3] = ["ANTHROPIC_PROFILE", "ANTHROPIC_FEDERATION_RULE_ID", "CLAUDE_CODE_OAUTH_REFRESH_TOKEN"];

/// What is said where one of them would have been used: the requests are somebody else's than was meant.
pub fn passed_over(environment: &Environment, is_cloud: bool, credentials: &Resolution) -> Option<String> {
    let name = UNUSED.iter().find(|name| environment.get(name).is_some())?;
    let used = credentials.chosen.as_ref();
    let would_count = used.is_none_or(|used| matches!(used.found, Found::ApiKeyFile(_) | Found::OAuthFile(_)));
    let instead =
        used.map_or_else(|| "there is no other credential".to_owned(), |used| format!("{} is used", used.label));
    (would_count && !is_cloud).then(|| {
        format!(
            "warning: {name} is set, but profiles, federation and logins by refresh token are not supported; {instead}"
        )
    })
}
