//! How the API is reached, and as whom.

use crate::cloud_world::Machine;
use crate::connection;
use crate::environment::Environment;
use crate::host_managed;
use crate::refusal::Refusal;
use model::{
    Auth, Choice, ClientConfig, CloudCredentials, CloudEndpoint, CredentialSettings, Profile, ProfileName, ProxyEnv,
    Variables,
};
use options::Access;
use settings::{CredentialInputs, Places, Settings};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A key from the helper is used this long, as the contract says.
const HELPER_TTL_MS: u64 = 300_000;

/// Retries a user may ask for.
const RETRIES_MAX: u64 = 15;

const OAUTH_REFRESH_URL: &str = "https://platform.claude.com/v1/oauth/token";

pub fn resolve(
    settings: &Settings,
    places: &Places,
    environment: &Environment,
    bare: bool,
    warnings: &mut Vec<String>,
) -> Result<Access, Refusal> {
    let mut client = client(environment)?;
    let named = settings.model_overrides.iter();
    client.capabilities.stand_for = named.map(|(model, id)| (id.clone(), model.clone())).collect();
    client.cloud = cloud(settings, environment, &client, warnings)?;
    client.profile = profile(settings, environment, client.cloud.is_some())?;
    wait_as_long(&mut client, environment);
    let credentials = credentials(settings, places, environment, bare);
    warnings.extend(connection::passed_over(environment, client.cloud.is_some(), &credentials));
    warnings.extend(connection::unprotected(&client));
    Ok(Access {
        client,
        credentials,
        helper_ttl: Duration::from_millis(
            environment.number("CLAUDE_CODE_API_KEY_HELPER_TTL_MS").unwrap_or(HELPER_TTL_MS),
        ),
        oauth_refresh_url: environment.get("RALPH_OAUTH_REFRESH_URL").unwrap_or(OAUTH_REFRESH_URL).to_owned(),
    })
}

/// How the API is reached, as far as the environment says; whose request it is comes later.
pub fn client(environment: &Environment) -> Result<ClientConfig, Refusal> {
    let base_url = environment.get("ANTHROPIC_BASE_URL").unwrap_or(ClientConfig::DEFAULT_BASE_URL);
    let mut client = ClientConfig::new(base_url, Auth::None);
    client.custom_headers = custom_headers(environment)?;
    client.proxy = proxies(environment)?;
    client.extra_ca_files = ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"]
        .iter()
        .filter_map(|name| environment.get(name))
        .map(PathBuf::from)
        .collect();
    client.user_agent = connection::user_agent(environment);
    if let Some(retries) = environment.number("CLAUDE_CODE_MAX_RETRIES") {
        client.max_retries = u32::try_from(retries.min(RETRIES_MAX)).unwrap_or(0);
    }
    if environment.is_on("CLAUDE_CODE_RETRY_WATCHDOG") {
        client.retry_watchdog = true;
        client.max_retries = model::retry::WATCHDOG_RETRIES;
    }
    client.capabilities = connection::capabilities(environment)?;
    client.tls = connection::tls(environment)?;
    connection::timeouts(&mut client, environment);
    // Built once now, so that a bad address or proxy is told before the run and not in its middle. Beside a switch the
    // address does not count.
    let mut tried = client.clone();
    let lookup = |name: &str| environment.get(name).map(str::to_owned);
    if !Choice::from_switches(&Variables::new(&lookup)).is_first_party() {
        ClientConfig::DEFAULT_BASE_URL.clone_into(&mut tried.base_url);
    }
    model::Client::new(tried).map_err(|error| Refusal::new(format!("Error: {error}")))?;
    Ok(client)
}

/// What the endpoint understands: as the user says, never as its address looks.
pub fn profile(settings: &Settings, environment: &Environment, is_cloud: bool) -> Result<Profile, Refusal> {
    let name = "RALPH_ENDPOINT_PROFILE";
    let of_settings = settings.text("endpointProfile").filter(|_| host_managed::takes_profile(environment));
    let (place, text) = match (environment.get(name), of_settings) {
        (Some(text), _) => (name, text),
        (None, Some(text)) => ("the setting endpointProfile", text),
        (None, None) if environment.get("ANTHROPIC_BASE_URL").is_some() => {
            return Ok(Profile::named(ProfileName::Gateway));
        }
        (None, None) => return Ok(Profile::default()),
    };
    let profile = model::parse_profile(text).map_err(|error| Refusal::new(format!("Error: {place}: {error}.")))?;
    let is_own = matches!(profile.name, ProfileName::Local | ProfileName::OpenAiChat | ProfileName::OpenAiResponses);
    let named = profile.name.as_str();
    if is_own && is_cloud {
        return Err(Refusal::new(format!(
            "Error: {place} is '{named}', but a CLAUDE_CODE_USE_… switch chooses a cloud. Unset one of them."
        )));
    }
    if is_own && environment.get("ANTHROPIC_BASE_URL").is_none() {
        return Err(Refusal::new(format!(
            "Error: {place} is '{named}', but ANTHROPIC_BASE_URL is not set; set it to the server's address."
        )));
    }
    Ok(profile)
}

/// A server that reads its prompt in silence is given the time, unless the user set a limit.
fn wait_as_long(client: &mut ClientConfig, environment: &Environment) {
    let Some(idle) = client.profile.idle_timeout else { return };
    let limits = &mut client.timeouts;
    for (name, limit) in [
        ("API_TIMEOUT_MS", &mut limits.first_byte),
        ("CLAUDE_BYTE_STREAM_IDLE_TIMEOUT_MS", &mut limits.idle),
        ("CLAUDE_STREAM_IDLE_TIMEOUT_MS", &mut limits.event),
    ] {
        if environment.number(name).is_none() {
            *limit = (*limit).max(idle);
        }
    }
}

/// Why a provider cannot be asked.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    #[error(transparent)]
    Profile(#[from] Refusal),
    #[error(transparent)]
    CredentialFile(#[from] ::cloud::CredentialError),
    #[error(transparent)]
    Setup(#[from] model::SetupError),
}

/// The cloud that a switch chooses; `None` for the first-party API and gateways in front of it.
fn cloud(
    settings: &Settings,
    environment: &Environment,
    client: &ClientConfig,
    warnings: &mut Vec<String>,
) -> Result<Option<CloudEndpoint>, Refusal> {
    let lookup = |name: &str| environment.get(name).map(str::to_owned);
    let variables = Variables::new(&lookup);
    let choice = Choice::from_switches(&variables);
    let Some(switch) = choice.switch() else { return Ok(None) };
    for ignored in choice.ignored_switches() {
        warnings.push(format!("warning: {ignored} is ignored, because {switch} is set as well; unset one of them"));
    }
    let refusal = |problem: EndpointError| Refusal::new(format!("Error: {switch} is set, but {problem}."));
    endpoint(choice, settings, environment, client).map(Some).map_err(refusal)
}

/// Another provider than the session's, for a fallback. What was meant for the first one alone is not sent there.
pub fn elsewhere(
    choice: Choice,
    settings: &Settings,
    environment: &Environment,
    client: &ClientConfig,
) -> Result<ClientConfig, EndpointError> {
    let mut other = ClientConfig { custom_headers: Vec::new(), cloud: None, ..client.clone() };
    if choice.is_first_party() {
        other.profile = profile(settings, environment, false)?;
    } else {
        other.cloud = Some(endpoint(choice, settings, environment, client)?);
        other.profile = Profile::default();
    }
    Ok(other)
}

/// A cloud's endpoint, with whatever finds its credential.
fn endpoint(
    choice: Choice,
    settings: &Settings,
    environment: &Environment,
    client: &ClientConfig,
) -> Result<CloudEndpoint, EndpointError> {
    let lookup = |name: &str| environment.get(name).map(str::to_owned);
    let mut variables = Variables::new(&lookup);
    let machine = Machine::new(environment, client);
    add_files(&mut variables, choice, &machine)?;
    let endpoint = choice.endpoint(&variables)?;
    let text = |key: &str| settings.text(key).map(str::to_owned);
    let commands = CredentialSettings {
        aws: ::cloud::aws::AwsSettings { export: text("awsCredentialExport"), refresh: text("awsAuthRefresh") },
        gcp_refresh: text("gcpAuthRefresh"),
    };
    let credentials = CloudCredentials::new(Arc::new(machine), commands);
    Ok(CloudEndpoint { endpoint, credentials, behind: model::ModelsBehind::default() })
}

/// What the files of a cloud say about its endpoint.
fn add_files(variables: &mut Variables, choice: Choice, machine: &Machine) -> Result<(), ::cloud::CredentialError> {
    match choice.name() {
        "bedrock" | "mantle" | "anthropicAws" => variables.profile_region = ::cloud::aws::active_region(machine),
        "vertex" if variables.get("ANTHROPIC_VERTEX_PROJECT_ID").is_none() => {
            variables.file_project = ::cloud::google::credential_file(machine)?.and_then(|file| file.project());
        }
        _ => {}
    }
    Ok(())
}

/// The provider that the switches choose and its endpoint, in words.
pub fn described(environment: &Environment) -> Vec<(&'static str, String)> {
    let lookup = |name: &str| environment.get(name).map(str::to_owned);
    let mut variables = Variables::new(&lookup);
    let choice = Choice::from_switches(&variables);
    let Ok(client) = client(environment) else { return Vec::new() };
    let problem = add_files(&mut variables, choice, &Machine::new(environment, &client)).err();
    let mut lines = choice.described(&variables);
    lines.extend(problem.map(|problem| ("Problem", problem.to_string())));
    let files = client.extra_ca_files.iter().map(|file| file.display().to_string());
    lines.extend(files.map(|file| ("Additional CA", file)));
    lines
}

pub fn credentials(
    settings: &Settings,
    places: &Places,
    environment: &Environment,
    bare: bool,
) -> settings::Resolution {
    let now_ms =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64);
    let of_settings = |name: &str| settings.env.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    settings::credentials(&CredentialInputs {
        env: &|name| of_settings(name).or_else(|| environment.raw(name).map(str::to_owned)),
        settings,
        places,
        now_ms,
        bare,
    })
}

/// `Name: Value` a line.
fn custom_headers(environment: &Environment) -> Result<Vec<(String, String)>, Refusal> {
    let lines = environment.get("ANTHROPIC_CUSTOM_HEADERS").unwrap_or_default().lines();
    lines
        .filter(|line| !line.trim().is_empty())
        .map(|line| {
            let (name, value) = line.split_once(':').ok_or_else(|| {
                Refusal::new("Error: ANTHROPIC_CUSTOM_HEADERS has a line without a colon; each line is 'Name: Value'.")
            })?;
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        })
        .collect()
}

/// For secure requests in this order; the others start with `http_proxy`.
const PROXIES: [&str; 6] = ["https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"];

fn proxies(environment: &Environment) -> Result<ProxyEnv, Refusal> {
    let unusable = |name: &&&str| environment.get(name).is_some_and(|value| !model::is_proxy_address(value));
    // Its value may hold a password, so only its name is told.
    if let Some(name) = PROXIES.iter().find(unusable) {
        return Err(Refusal::new(format!("Error: {name} is not the address of a proxy. Mend it or unset it.")));
    }
    let first = |names: &[&str]| names.iter().find_map(|name| environment.get(name)).map(str::to_owned);
    Ok(ProxyEnv { https: first(&PROXIES), http: first(&PROXIES[2..]), no_proxy: first(&["no_proxy", "NO_PROXY"]) })
}
