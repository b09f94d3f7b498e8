//! Access tokens of Entra, in the order of the contract: a client's secret, a workload's or machine's identity, `az`.

use crate::error::{CredentialError, refused, unreached, useless};
use crate::google::{form_request, sent};
use crate::sigv4::escaped;
use crate::world::{
    CloudEnvironment, Command, HttpRequest, METADATA_WAIT, NOT_PRIVATE, PRINT_WAIT, REQUEST_WAIT, is_private,
};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use std::path::PathBuf;

const LOGIN_HOST: &str = "https://login.microsoftonline.com";
const METADATA_HOST: &str = "http://169.254.169.254";
const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

#[derive(Clone, PartialEq, Eq)]
pub struct EntraToken {
    pub token: String,
    pub expires: Option<Timestamp>,
}

impl std::fmt::Debug for EntraToken {
    fn fmt(&self, to: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(to, "EntraToken {{ expires: {:?}, .. }}", self.expires)
    }
}

/// A token for a resource, from the first source that there is. A source that is configured and fails is an error.
pub async fn find(world: &dyn CloudEnvironment, resource: &str) -> Result<EntraToken, CredentialError> {
    if let Some(token) = from_client(world, resource).await? {
        return Ok(token);
    }
    if let Some(token) = from_machine(world, resource).await? {
        return Ok(token);
    }
    let from_cli = from_cli(world, resource).await;
    from_cli.map_err(|error| {
        let steps = "AZURE_CLIENT_SECRET, AZURE_FEDERATED_TOKEN_FILE, the machine's identity";
        CredentialError::NoAzure(format!("{steps} and the Azure CLI ({error})"))
    })
}

/// A registered application, with a secret or with the token of a workload.
async fn from_client(world: &dyn CloudEnvironment, resource: &str) -> Result<Option<EntraToken>, CredentialError> {
    let (Some(tenant), Some(client)) = (world.set("AZURE_TENANT_ID"), world.set("AZURE_CLIENT_ID")) else {
        return Ok(None);
    };
    let scope = format!("{resource}/.default");
    let variable = "AZURE_AUTHORITY_HOST";
    let base = world.set(variable).unwrap_or_else(|| LOGIN_HOST.to_owned());
    // Some write the host alone.
    let base = if base.contains("://") { base } else { format!("https://{base}") };
    if !is_private(&base) {
        let why = NOT_PRIVATE.into();
        return Err(CredentialError::Variable { variable, why });
    }
    let url = format!("{}/{}/oauth2/v2.0/token", base.trim_end_matches('/'), escaped(&tenant));
    let mut form = vec![("client_id", client), ("scope", scope), ("grant_type", "client_credentials".to_owned())];
    if let Some(secret) = world.set("AZURE_CLIENT_SECRET") {
        form.push(("client_secret", secret));
    } else if let Some(file) = world.set("AZURE_FEDERATED_TOKEN_FILE") {
        let broken = |why: String| CredentialError::File { file: file.clone(), why };
        let text = world.read(&PathBuf::from(&file)).map_err(|trouble| broken(trouble.to_string()))?;
        let text = text.ok_or_else(|| broken("it does not exist (AZURE_FEDERATED_TOKEN_FILE names it)".into()))?;
        form.push(("client_assertion_type", ASSERTION_TYPE.to_owned()));
        form.push(("client_assertion", text.trim().to_owned()));
    } else {
        return Ok(None);
    }
    let pairs: Vec<(&str, &str)> = form.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let answer = sent(world, form_request(&url, &pairs)).await?;
    token_of(world, &url, &answer.body).map(Some)
}

/// The identity of an App Service, or of the virtual machine. No such service is no credential.
async fn from_machine(world: &dyn CloudEnvironment, resource: &str) -> Result<Option<EntraToken>, CredentialError> {
    let client = world.set("AZURE_CLIENT_ID").map(|id| format!("&client_id={}", escaped(&id))).unwrap_or_default();
    let service = world.set("IDENTITY_ENDPOINT").zip(world.set("IDENTITY_HEADER"));
    let is_configured = service.is_some();
    let (url, header) = if let Some((endpoint, secret)) = service {
        if !is_private(&endpoint) {
            let why = NOT_PRIVATE.into();
            return Err(CredentialError::Variable { variable: "IDENTITY_ENDPOINT", why });
        }
        let url = format!("{endpoint}?api-version=2019-08-01&resource={}{client}", escaped(resource));
        (url, ("x-identity-header".to_owned(), secret))
    } else {
        let host = world.set("AZURE_POD_IDENTITY_AUTHORITY_HOST").unwrap_or_else(|| METADATA_HOST.to_owned());
        let path = "metadata/identity/oauth2/token?api-version=2018-02-01";
        let url = format!("{}/{path}&resource={}{client}", host.trim_end_matches('/'), escaped(resource));
        (url, ("metadata".to_owned(), "true".to_owned()))
    };
    let request = HttpRequest {
        method: "GET",
        url: url.clone(),
        headers: vec![header],
        body: Vec::new(),
        // Where the machine names its service, it is there and worth waiting for.
        wait: if is_configured { REQUEST_WAIT } else { METADATA_WAIT },
        without_proxy: true,
    };
    match (world.send(request).await, is_configured) {
        (Ok(answer), _) if answer.is_success() => token_of(world, &url, &answer.body).map(Some),
        (Ok(answer), true) => Err(refused(&url, answer.status, &answer.text())),
        (Err(trouble), true) => Err(unreached(&url, &trouble)),
        (Ok(_) | Err(_), false) => Ok(None),
    }
}

async fn from_cli(world: &dyn CloudEnvironment, resource: &str) -> Result<EntraToken, CredentialError> {
    let args = ["account", "get-access-token", "--output", "json", "--resource", resource];
    let command = Command::Program { name: "az".into(), args: args.map(str::to_owned).to_vec(), env: Vec::new() };
    let failed = |why: String| CredentialError::Command { command: "`az account get-access-token`".into(), why };
    let said = world.run(command, PRINT_WAIT).await.map_err(|trouble| failed(trouble.to_string()))?;
    let value: Value = serde_json::from_str(&said).unwrap_or_default();
    let token = value["accessToken"].as_str().ok_or_else(|| failed("its output holds no accessToken".into()))?;
    let expires = value["expires_on"].as_i64().and_then(|second| Timestamp::from_second(second).ok());
    Ok(EntraToken { token: token.to_owned(), expires })
}

/// Some endpoints write numbers as text.
fn token_of(world: &dyn CloudEnvironment, url: &str, body: &[u8]) -> Result<EntraToken, CredentialError> {
    let value: Value = serde_json::from_slice(body).unwrap_or_default();
    let token = value["access_token"].as_str().ok_or_else(|| useless(url, "the answer holds no access_token"))?;
    let number = |name: &str| value[name].as_i64().or_else(|| value[name].as_str()?.parse().ok());
    let from_now = |seconds: i64| world.now().checked_add(SignedDuration::from_secs(seconds)).ok();
    let at = number("expires_on").and_then(|second| Timestamp::from_second(second).ok());
    Ok(EntraToken { token: token.to_owned(), expires: at.or_else(|| number("expires_in").and_then(from_now)) })
}

#[cfg(test)]
#[path = "azure_tests.rs"]
mod tests;
