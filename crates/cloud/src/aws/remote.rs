//! AWS keys that another server gives out: the token service, a container's agent, the instance's metadata.

use super::{AwsCredential, from_json};
use crate::error::{CredentialError, refused, unreached, useless};
use crate::profile_file::Section;
use crate::sigv4::{self, Keys, Scope, Unsigned, escaped};
use crate::world::{CloudEnvironment, HttpRequest, METADATA_WAIT, NOT_PRIVATE, REQUEST_WAIT, is_private};
use std::path::PathBuf;
use std::time::Duration;

const STS_VERSION: &str = "2011-06-15";
const ROLE_SECONDS: &str = "3600";
const CONTAINER_HOST: &str = "http://169.254.170.2";
const INSTANCE_HOST: &str = "http://169.254.169.254";

pub(super) async fn get(
    world: &dyn CloudEnvironment,
    url: &str,
    headers: Vec<(String, String)>,
    wait: Duration,
    without_proxy: bool,
) -> Result<String, CredentialError> {
    ask(world, HttpRequest { method: "GET", url: url.to_owned(), headers, body: Vec::new(), wait, without_proxy }).await
}

async fn ask(world: &dyn CloudEnvironment, request: HttpRequest) -> Result<String, CredentialError> {
    let url = request.url.clone();
    let answer = world.send(request).await.map_err(|trouble| unreached(&url, &trouble))?;
    if answer.is_success() {
        return Ok(answer.text());
    }
    let said = between(&answer.text(), "Message").unwrap_or_default();
    Err(refused(&url, answer.status, &said))
}

/// A role, taken with other keys.
pub(super) async fn assume_role(
    world: &dyn CloudEnvironment,
    keys: &Keys,
    section: &Section,
    role: &str,
    region: &str,
) -> Result<AwsCredential, CredentialError> {
    let session = section.get("role_session_name").map_or("ralph", String::as_str);
    let mut form = vec![("Action", "AssumeRole"), ("Version", STS_VERSION), ("RoleArn", role)];
    form.extend([("RoleSessionName", session), ("DurationSeconds", ROLE_SECONDS)]);
    form.extend(section.get("external_id").map(|id| ("ExternalId", id.as_str())));
    let body = form_body(&form);
    let url = sts_url(world, region)?;
    let content_type = "application/x-www-form-urlencoded; charset=utf-8";
    let (host, path) = split_url(&url);
    let unsigned = Unsigned {
        method: "POST",
        host,
        path,
        query: "",
        headers: &[("content-type", content_type)],
        body: body.as_bytes(),
    };
    let signed = sigv4::sign(&unsigned, keys, Scope { region, service: "sts" }, world.now());
    let mut headers = vec![("content-type".to_owned(), content_type.to_owned())];
    headers.extend(signed.into_iter().map(|(name, value)| (name.to_owned(), value)));
    token_answer(world, &url, headers, body).await
}

/// A role, taken with a token that a file holds.
pub(super) async fn assume_with_web_identity(
    world: &dyn CloudEnvironment,
    token_file: &str,
    role: &str,
    session: Option<&str>,
    region: &str,
) -> Result<AwsCredential, CredentialError> {
    let broken = |why: String| CredentialError::File { file: token_file.to_owned(), why };
    let token = world.read(&PathBuf::from(token_file)).map_err(|trouble| broken(trouble.to_string()))?;
    let token = token.ok_or_else(|| broken("it does not exist".into()))?;
    let form = [
        ("Action", "AssumeRoleWithWebIdentity"),
        ("Version", STS_VERSION),
        ("RoleArn", role),
        ("RoleSessionName", session.unwrap_or("ralph")),
        ("WebIdentityToken", token.trim()),
    ];
    let headers = vec![("content-type".to_owned(), "application/x-www-form-urlencoded".to_owned())];
    token_answer(world, &sts_url(world, region)?, headers, form_body(&form)).await
}

pub(super) async fn web_identity_of_variables(
    world: &dyn CloudEnvironment,
    region: &str,
) -> Result<Option<AwsCredential>, CredentialError> {
    let (Some(file), Some(role)) = (world.set("AWS_WEB_IDENTITY_TOKEN_FILE"), world.set("AWS_ROLE_ARN")) else {
        return Ok(None);
    };
    let session = world.set("AWS_ROLE_SESSION_NAME");
    assume_with_web_identity(world, &file, &role, session.as_deref(), region).await.map(Some)
}

async fn token_answer(
    world: &dyn CloudEnvironment,
    url: &str,
    headers: Vec<(String, String)>,
    body: String,
) -> Result<AwsCredential, CredentialError> {
    let request = HttpRequest {
        method: "POST",
        url: url.to_owned(),
        headers,
        body: body.into_bytes(),
        wait: REQUEST_WAIT,
        without_proxy: false,
    };
    let answer = ask(world, request).await?;
    let found = || {
        Some(AwsCredential {
            keys: Keys {
                access_key_id: between(&answer, "AccessKeyId")?,
                secret_access_key: between(&answer, "SecretAccessKey")?,
                session_token: between(&answer, "SessionToken"),
            },
            expires: between(&answer, "Expiration").and_then(|time| time.parse().ok()),
        })
    };
    found().ok_or_else(|| useless(url, "the answer holds no credentials"))
}

/// The credentials that a container's agent gives out.
pub(super) async fn container(world: &dyn CloudEnvironment) -> Result<Option<AwsCredential>, CredentialError> {
    let url =
        match (world.set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"), world.set("AWS_CONTAINER_CREDENTIALS_FULL_URI")) {
            (Some(path), _) => format!("{CONTAINER_HOST}{path}"),
            (None, Some(url)) if is_private(&url) => url,
            (None, Some(_)) => {
                let variable = "AWS_CONTAINER_CREDENTIALS_FULL_URI";
                return Err(CredentialError::Variable { variable, why: NOT_PRIVATE.into() });
            }
            (None, None) => return Ok(None),
        };
    let from_file = match world.set("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE") {
        Some(file) => world.read(&PathBuf::from(file)).ok().flatten(),
        None => None,
    };
    let token = from_file.or_else(|| world.set("AWS_CONTAINER_AUTHORIZATION_TOKEN"));
    let headers = token.map(|token| ("authorization".to_owned(), token.trim().to_owned())).into_iter().collect();
    let answer = get(world, &url, headers, METADATA_WAIT, true).await?;
    from_json(&answer).map(Some).ok_or_else(|| useless(&url, "the answer holds no credentials"))
}

/// The instance's role, through version 2 of its metadata service. No service is no credential, not an error.
pub(super) async fn instance(world: &dyn CloudEnvironment) -> Result<Option<AwsCredential>, CredentialError> {
    if world.is_on("AWS_EC2_METADATA_DISABLED") {
        return Ok(None);
    }
    let host = world.set("AWS_EC2_METADATA_SERVICE_ENDPOINT").unwrap_or_else(|| INSTANCE_HOST.to_owned());
    let host = host.trim_end_matches('/');
    let put = HttpRequest {
        method: "PUT",
        url: format!("{host}/latest/api/token"),
        headers: vec![("x-aws-ec2-metadata-token-ttl-seconds".to_owned(), "21600".to_owned())],
        body: Vec::new(),
        wait: METADATA_WAIT,
        without_proxy: true,
    };
    let Ok(token) = ask(world, put).await else { return Ok(None) };
    let headers = || vec![("x-aws-ec2-metadata-token".to_owned(), token.trim().to_owned())];
    let list = format!("{host}/latest/meta-data/iam/security-credentials/");
    let Ok(role) = get(world, &list, headers(), METADATA_WAIT, true).await else { return Ok(None) };
    let role = role.lines().next().unwrap_or_default().trim().to_owned();
    let url = format!("{list}{role}");
    let answer = get(world, &url, headers(), METADATA_WAIT, true).await?;
    from_json(&answer).map(Some).ok_or_else(|| useless(&url, "the answer holds no credentials"))
}

fn sts_url(world: &dyn CloudEnvironment, region: &str) -> Result<String, CredentialError> {
    let base = service_url(world, "AWS_ENDPOINT_URL_STS", || {
        // China is a partition of its own, with names of its own.
        let china = if region.starts_with("cn-") { ".cn" } else { "" };
        format!("https://sts.{region}.amazonaws.com{china}")
    })?;
    Ok(format!("{}/", base.trim_end_matches('/')))
}

/// The address of a service that is sent tokens: the user's own, else the cloud's.
pub(super) fn service_url(
    world: &dyn CloudEnvironment,
    variable: &'static str,
    default: impl FnOnce() -> String,
) -> Result<String, CredentialError> {
    match world.set(variable) {
        Some(url) if is_private(&url) => Ok(url),
        Some(_) => Err(CredentialError::Variable { variable, why: NOT_PRIVATE.into() }),
        None => Ok(default()),
    }
}

fn split_url(url: &str) -> (&str, &str) {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.find('/').map_or((rest, "/"), |at| rest.split_at(at))
}

pub(crate) fn form_body(pairs: &[(&str, &str)]) -> String {
    let pairs: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}={}", escaped(value))).collect();
    pairs.join("&")
}

/// The text of the first element of this name. The token service's answers are flat and hold no attributes.
fn between(xml: &str, element: &str) -> Option<String> {
    let (_, after) = xml.split_once(&format!("<{element}>"))?;
    let (text, _) = after.split_once(&format!("</{element}>"))?;
    let unescaped = text.trim().replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">");
    Some(unescaped.replace("&#x2F;", "/").replace("&amp;", "&"))
}
