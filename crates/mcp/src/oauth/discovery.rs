//! Who grants access to a server: its challenge, its metadata (RFC 9728) and those of its authorization server (RFC 8414).

use super::error::LoginError;
use crate::web::{self, WebError};
use reqwest::StatusCode;
use reqwest::header::{ACCEPT, CONTENT_TYPE, WWW_AUTHENTICATE};
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;
use url::{Host, Url};

/// For one request of a login; a person waits for it.
pub(super) const PATIENCE: Duration = Duration::from_secs(15);

/// Of an answer of an authorization server.
pub(super) const BODY_MAX: usize = 256 * 1024;

const RESOURCE: &str = "oauth-protected-resource";
const SERVER: &str = "oauth-authorization-server";
const OPENID: &str = "openid-configuration";

/// Where and for what a client may ask for access.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Authority {
    pub(super) server: AuthServer,
    /// What the tokens are for (RFC 8707).
    pub(super) resource: String,
    pub(super) scopes: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub(super) struct AuthServer {
    #[serde(default)]
    pub(super) issuer: String,
    pub(super) authorization_endpoint: String,
    pub(super) token_endpoint: String,
    pub(super) registration_endpoint: Option<String>,
    pub(super) revocation_endpoint: Option<String>,
    #[serde(default)]
    pub(super) code_challenge_methods_supported: Vec<String>,
    pub(super) token_endpoint_auth_methods_supported: Option<Vec<String>>,
}

#[derive(Debug, Default, Deserialize)]
struct Protected {
    #[serde(default)]
    resource: String,
    #[serde(default)]
    authorization_servers: Vec<String>,
    #[serde(default)]
    scopes_supported: Vec<String>,
}

/// What a server says when it wants a login.
#[derive(Debug, Default, PartialEq, Eq)]
struct Challenge {
    metadata: Option<String>,
    scope: Option<String>,
}

/// Asks the server, then who grants access to it.
pub(super) async fn discover(client: &reqwest::Client, server: &Url) -> Result<Authority, LoginError> {
    safe(server)?;
    let challenge = challenge(client, server).await?;
    let told = challenge.metadata.as_deref().map(|told| server.join(told)).transpose();
    let told = told.map_err(|error| LoginError::unclear("the address of the server's metadata", error.to_string()))?;
    let mut resource = Protected::default();
    for address in told.into_iter().chain(well_known(server, RESOURCE)) {
        if let Some(found) = read::<Protected>(client, &address, "the server's metadata").await? {
            belongs(&found.resource, server)?;
            resource = found;
            break;
        }
    }
    let issuer = match resource.authorization_servers.first() {
        Some(issuer) => Url::parse(issuer)
            .map_err(|error| LoginError::unclear("the address of the authorization server", error.to_string()))?,
        // Servers of before 2025 grant access themselves.
        None => origin(server),
    };
    let found = auth_server(client, &issuer, resource.authorization_servers.is_empty()).await?;
    let scopes = match &challenge.scope {
        Some(scope) => scope.split_whitespace().map(str::to_owned).collect(),
        None => resource.scopes_supported,
    };
    let resource = if resource.resource.is_empty() { plain(server) } else { resource.resource };
    Ok(Authority { server: found, resource, scopes })
}

/// Begins as every connection does, without a token.
async fn challenge(client: &reqwest::Client, server: &Url) -> Result<Challenge, LoginError> {
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "ralph", "version": env!("CARGO_PKG_VERSION")}}});
    let request = client.post(server.clone()).header(ACCEPT, "application/json, text/event-stream");
    let request = request.header(CONTENT_TYPE, "application/json").body(hello.to_string());
    let response = web::send(request, PATIENCE).await.map_err(LoginError::web("the server"))?;
    let header = response.headers().get(WWW_AUTHENTICATE).and_then(|value| value.to_str().ok());
    match (response.status(), header) {
        (StatusCode::UNAUTHORIZED, header) => Ok(header.map(read_challenge).unwrap_or_default()),
        (StatusCode::FORBIDDEN, Some(header)) => Ok(read_challenge(header)),
        (status, _) if status.is_success() => Err(LoginError::NotWanted),
        // A server of the older transport takes no such message; its metadata tell.
        _ => Ok(Challenge::default()),
    }
}

fn read_challenge(header: &str) -> Challenge {
    let parameter = |wanted: &str| {
        let mut rest = header;
        while let Some((before, after)) = rest.split_once('=') {
            let name = before.rsplit([' ', ',', '\t']).next().unwrap_or_default();
            let (value, next) = match after.strip_prefix('"') {
                Some(quoted) => quoted.split_once('"')?,
                None => after.split_once(',').unwrap_or((after, "")),
            };
            if name.eq_ignore_ascii_case(wanted) {
                return Some(value.trim().to_owned()).filter(|value| !value.is_empty());
            }
            rest = next;
        }
        None
    };
    Challenge { metadata: parameter("resource_metadata"), scope: parameter("scope") }
}

async fn auth_server(client: &reqwest::Client, issuer: &Url, may_guess: bool) -> Result<AuthServer, LoginError> {
    safe(issuer)?;
    for address in issuer_addresses(issuer) {
        let Some(found) = read::<AuthServer>(client, &address, "the authorization server's metadata").await? else {
            continue;
        };
        return judged(found, issuer);
    }
    if !may_guess {
        let reason = format!("{issuer} has none");
        return Err(LoginError::unclear("the authorization server's metadata", reason));
    }
    // What the first version of the specification says of servers without metadata.
    let at = |path: &str| issuer.join(path).map(String::from).unwrap_or_default();
    Ok(AuthServer {
        authorization_endpoint: at("/authorize"),
        token_endpoint: at("/token"),
        registration_endpoint: Some(at("/register")),
        ..AuthServer::default()
    })
}

/// Metadata that another server wrote, or that lead to unsafe addresses, are not used.
fn judged(found: AuthServer, issuer: &Url) -> Result<AuthServer, LoginError> {
    let says = found.issuer.trim_end_matches('/');
    if says != issuer.as_str().trim_end_matches('/') {
        let reason = format!("they are of {says:?}, and {issuer} was asked");
        return Err(LoginError::unclear("the authorization server's metadata", reason));
    }
    let endpoints = [
        Some(&found.authorization_endpoint),
        Some(&found.token_endpoint),
        found.registration_endpoint.as_ref(),
        found.revocation_endpoint.as_ref(),
    ];
    for endpoint in endpoints.into_iter().flatten() {
        let address = Url::parse(endpoint)
            .map_err(|error| LoginError::unclear("an address of the authorization server", error.to_string()))?;
        safe(&address)?;
    }
    if !found.code_challenge_methods_supported.iter().any(|method| method == "S256") {
        return Err(LoginError::NoPkce);
    }
    Ok(found)
}

/// Tokens for a resource elsewhere would be of no use here, or of too much.
fn belongs(resource: &str, server: &Url) -> Result<(), LoginError> {
    let fits = Url::parse(resource).is_ok_and(|resource| {
        let path = resource.path().trim_end_matches('/');
        let rest = server.path().strip_prefix(path);
        resource.origin() == server.origin() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    });
    if fits {
        return Ok(());
    }
    Err(LoginError::unclear("the server's metadata", format!("they are for {resource:?}, and {server} was asked")))
}

/// `None` where there is no such document.
async fn read<T: for<'a> Deserialize<'a>>(
    client: &reqwest::Client,
    address: &Url,
    what: &'static str,
) -> Result<Option<T>, LoginError> {
    safe(address)?;
    let request = client.get(address.clone()).header(ACCEPT, "application/json");
    let response = match web::send(request, PATIENCE).await {
        Ok(response) if response.status().is_success() => response,
        Ok(response) if response.status().is_server_error() => {
            return Err(LoginError::web(what)(web::refusal(response).await.0));
        }
        Err(error @ (WebError::Unreachable(_) | WebError::Slow(_))) => return Err(LoginError::web(what)(error)),
        Ok(_) | Err(_) => return Ok(None),
    };
    let body = web::body(response, BODY_MAX).await.map_err(LoginError::web(what))?;
    // Some servers answer every address with a page.
    let Ok(value) = serde_json::from_slice::<Value>(&body) else { return Ok(None) };
    T::deserialize(&value).map(Some).map_err(|error| LoginError::unclear(what, error.to_string()))
}

/// https, or http that does not leave this machine.
pub(super) fn safe(address: &Url) -> Result<(), LoginError> {
    let is_local = match address.host() {
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    };
    match address.scheme() {
        "https" if address.has_host() => Ok(()),
        "http" if is_local => Ok(()),
        _ => Err(LoginError::Insecure(plain(address))),
    }
}

/// Where a document may be, the more exact address first.
fn well_known(of: &Url, name: &str) -> Vec<Url> {
    let path = of.path().trim_end_matches('/');
    let exact = format!("/.well-known/{name}{path}");
    let mut addresses = vec![exact];
    if !path.is_empty() {
        addresses.push(format!("/.well-known/{name}"));
    }
    addresses.iter().filter_map(|address| origin(of).join(address).ok()).collect()
}

fn issuer_addresses(issuer: &Url) -> Vec<Url> {
    let path = issuer.path().trim_end_matches('/');
    let mut paths = vec![format!("/.well-known/{SERVER}{path}"), format!("/.well-known/{OPENID}{path}")];
    if !path.is_empty() {
        paths.push(format!("{path}/.well-known/{OPENID}"));
    }
    paths.iter().filter_map(|path| origin(issuer).join(path).ok()).collect()
}

fn origin(of: &Url) -> Url {
    let mut origin = of.clone();
    origin.set_path("/");
    origin.set_query(None);
    origin.set_fragment(None);
    origin
}

/// Without what may hold a secret.
fn plain(address: &Url) -> String {
    let mut plain = address.clone();
    let _ = plain.set_password(None);
    let _ = plain.set_username("");
    plain.set_query(None);
    plain.set_fragment(None);
    plain.into()
}

#[cfg(test)]
#[path = "discovery_tests.rs"]
mod tests;
