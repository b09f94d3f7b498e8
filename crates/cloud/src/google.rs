//! Access tokens of Google: service accounts, logged-in users, federated identities, impersonation, metadata.

use crate::aws;
use crate::error::{CredentialError, refused, unreached, useless};
use crate::jwt::sign_rs256;
use crate::sigv4::{self, Scope, Unsigned, escaped};
use crate::world::{
    COMMAND_WAIT, CloudEnvironment, Command, HttpRequest, HttpResponse, METADATA_WAIT, NOT_PRIVATE, PRINT_WAIT,
    REQUEST_WAIT, is_private,
};
use futures_util::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use std::path::PathBuf;

const TOKEN_URL: &str = "https://oauth2.googleapis.com/token";
const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";
const TOKEN_SECONDS: i64 = 3600;
const METADATA_HOST: &str = "metadata.google.internal";
/// A credential may be made from another one. A longer chain is a mistake in the file.
const SOURCES_MAX: usize = 3;
/// A token of the command line is asked for again after this time and the time for renewal.
const GCLOUD_TOKEN: SignedDuration = SignedDuration::from_mins(15);
const IMPERSONATION: &str = "service_account_impersonation_url";

#[derive(Clone, PartialEq, Eq)]
pub struct GoogleToken {
    pub token: String,
    pub expires: Option<Timestamp>,
    /// Billed instead of the credential's own project; sent with every request.
    pub quota_project: Option<String>,
}

impl std::fmt::Debug for GoogleToken {
    fn fmt(&self, to: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(to, "GoogleToken {{ expires: {:?}, .. }}", self.expires)
    }
}

/// The credential file that counts here, with its place.
pub struct CredentialFile {
    pub path: PathBuf,
    pub value: Value,
}

impl CredentialFile {
    /// The project that requests are made in, where the file names one.
    pub fn project(&self) -> Option<String> {
        let of = |name: &str| self.value[name].as_str().map(str::to_owned);
        of("project_id").or_else(|| of("quota_project_id"))
    }
}

/// The file of `GOOGLE_APPLICATION_CREDENTIALS`, else the one that `gcloud` writes.
pub fn credential_file(world: &dyn CloudEnvironment) -> Result<Option<CredentialFile>, CredentialError> {
    let named = world.set("GOOGLE_APPLICATION_CREDENTIALS").map(PathBuf::from);
    let default = world.home().join(".config/gcloud/application_default_credentials.json");
    let is_named = named.is_some();
    let path = named.unwrap_or(default);
    let broken = |why: String| CredentialError::File { file: path.display().to_string(), why };
    match world.read(&path).map_err(|trouble| broken(trouble.to_string()))? {
        Some(text) => {
            let value = serde_json::from_str(&text).map_err(|error| broken(format!("it is not JSON ({error})")))?;
            Ok(Some(CredentialFile { path, value }))
        }
        None if is_named => Err(broken("it does not exist (GOOGLE_APPLICATION_CREDENTIALS names it)".into())),
        None => Ok(None),
    }
}

/// A token from the first source that there is. `refresh` is the setting `gcpAuthRefresh`.
pub async fn find(world: &dyn CloudEnvironment, refresh: Option<&str>) -> Result<GoogleToken, CredentialError> {
    let first = token(world).await;
    let (Err(error), Some(refresh)) = (&first, refresh) else { return first };
    let setting = "gcpAuthRefresh";
    world.run(Command::Shell(refresh.to_owned()), COMMAND_WAIT).await.map_err(|trouble| CredentialError::Refresh {
        setting,
        why: format!("{trouble}; it was run because {error}"),
    })?;
    let again = token(world).await;
    again.map_err(|error| CredentialError::Refresh { setting, why: format!("it ended well, but {error}") })
}

async fn token(world: &dyn CloudEnvironment) -> Result<GoogleToken, CredentialError> {
    if let Some(file) = credential_file(world)? {
        let mut token = from_value(world, &file, &file.value, SOURCES_MAX).await?;
        token.quota_project = file.value["quota_project_id"].as_str().map(str::to_owned);
        return Ok(token);
    }
    if let Some(token) = from_metadata(world).await? {
        return Ok(token);
    }
    Err(CredentialError::NoGoogle("GOOGLE_APPLICATION_CREDENTIALS, gcloud's file and the metadata server".into()))
}

fn from_value<'a>(
    world: &'a dyn CloudEnvironment,
    file: &'a CredentialFile,
    value: &'a Value,
    sources_left: usize,
) -> BoxFuture<'a, Result<GoogleToken, CredentialError>> {
    Box::pin(async move {
        let broken = |why: String| CredentialError::File { file: file.path.display().to_string(), why };
        if sources_left == 0 {
            return Err(broken("its credentials refer to each other too often".into()));
        }
        match value["type"].as_str() {
            Some("service_account") => service_account(world, file, value).await,
            Some("authorized_user") => {
                let text = |name: &str| text_of(file, value, name);
                let form = [
                    ("grant_type", "refresh_token".to_owned()),
                    ("refresh_token", text("refresh_token")?),
                    ("client_id", text("client_id")?),
                    ("client_secret", text("client_secret")?),
                ];
                post_form(world, &token_url(value), &form).await
            }
            Some("external_account") => external_account(world, file, value).await,
            Some("impersonated_service_account") => {
                let url = private_url(file, value, IMPERSONATION)?;
                let source = from_value(world, file, &value["source_credentials"], sources_left - 1).await?;
                let delegates = if value["delegates"].is_array() { value["delegates"].clone() } else { json!([]) };
                impersonate(world, &url, &source.token, json!({"delegates": delegates})).await
            }
            Some(other) => from_gcloud(world)
                .await
                .map_err(|error| broken(format!("credentials of the type {other:?} are not known here, and {error}"))),
            None => Err(broken("it names no type of credential".into())),
        }
    })
}

/// What the command line makes of a credential that we do not know.
async fn from_gcloud(world: &dyn CloudEnvironment) -> Result<GoogleToken, CredentialError> {
    let args = ["auth", "application-default", "print-access-token"].map(str::to_owned).to_vec();
    let command = Command::Program { name: "gcloud".into(), args, env: Vec::new() };
    let failed = |why: String| {
        let command = "`gcloud auth application-default print-access-token`".into();
        CredentialError::Command { command, why }
    };
    let said = world.run(command, PRINT_WAIT).await.map_err(|trouble| failed(trouble.to_string()))?;
    let token = said.trim().to_owned();
    if token.is_empty() || token.contains(char::is_whitespace) {
        return Err(failed("its output is no token".into()));
    }
    // It does not say how long the token is good, and may have had it for a while.
    let expires = world.now().checked_add(GCLOUD_TOKEN).ok();
    Ok(GoogleToken { token, expires, quota_project: None })
}

fn text_of(file: &CredentialFile, value: &Value, name: &str) -> Result<String, CredentialError> {
    let missing = || CredentialError::File { file: file.path.display().to_string(), why: format!("it has no {name}") };
    value[name].as_str().map(str::to_owned).ok_or_else(missing)
}

/// Google's own address, whatever the file says, unless the file points to this machine: a rehearsal.
fn token_url(value: &Value) -> String {
    let named = value["token_uri"].as_str().filter(|url| url.starts_with("http://") && is_private(url));
    named.unwrap_or(TOKEN_URL).to_owned()
}

/// An address of the file that tokens are sent to.
fn private_url(file: &CredentialFile, value: &Value, name: &str) -> Result<String, CredentialError> {
    let url = text_of(file, value, name)?;
    if is_private(&url) {
        return Ok(url);
    }
    let why = format!("its {name} {NOT_PRIVATE}, and gets tokens");
    Err(CredentialError::File { file: file.path.display().to_string(), why })
}

async fn service_account(
    world: &dyn CloudEnvironment,
    file: &CredentialFile,
    value: &Value,
) -> Result<GoogleToken, CredentialError> {
    let now = world.now().as_second();
    let url = token_url(value);
    let claims = json!({
        "iss": text_of(file, value, "client_email")?,
        "scope": SCOPE,
        "aud": url,
        "exp": now + TOKEN_SECONDS,
        "iat": now,
    });
    let key = text_of(file, value, "private_key")?;
    let broken = |why: String| CredentialError::File { file: file.path.display().to_string(), why };
    let assertion = sign_rs256(&claims, &key).map_err(|error| broken(error.to_string()))?;
    let form = [("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer".to_owned()), ("assertion", assertion)];
    post_form(world, &url, &form).await
}

/// A token of another identity provider, exchanged for one of Google.
async fn external_account(
    world: &dyn CloudEnvironment,
    file: &CredentialFile,
    value: &Value,
) -> Result<GoogleToken, CredentialError> {
    let url = private_url(file, value, "token_url")?;
    let acting = if value[IMPERSONATION].is_null() { None } else { Some(private_url(file, value, IMPERSONATION)?) };
    let subject = subject_token(world, file, value).await?;
    let form = [
        ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange".to_owned()),
        ("audience", text_of(file, value, "audience")?),
        ("scope", SCOPE.to_owned()),
        ("requested_token_type", "urn:ietf:params:oauth:token-type:access_token".to_owned()),
        ("subject_token", subject),
        ("subject_token_type", text_of(file, value, "subject_token_type")?),
    ];
    let token = post_form(world, &url, &form).await?;
    match acting {
        Some(url) => impersonate(world, &url, &token.token, json!({})).await,
        None => Ok(token),
    }
}

async fn subject_token(
    world: &dyn CloudEnvironment,
    file: &CredentialFile,
    value: &Value,
) -> Result<String, CredentialError> {
    let broken = |why: String| CredentialError::File { file: file.path.display().to_string(), why };
    let source = &value["credential_source"];
    let text = if let Some(path) = source["file"].as_str() {
        let text = world.read(&PathBuf::from(path)).map_err(|trouble| broken(format!("{path}: {trouble}")))?;
        text.ok_or_else(|| broken(format!("{path}, which it names, does not exist")))?
    } else if let Some(url) = source["url"].as_str() {
        let pairs = source["headers"].as_object().into_iter().flatten();
        let headers = pairs.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect();
        // A metadata server is asked directly, as everywhere.
        let without_proxy = url.starts_with("http://") && is_private(url);
        let url = url.to_owned();
        let request =
            HttpRequest { method: "GET", url, headers, wait: REQUEST_WAIT, without_proxy, ..HttpRequest::default() };
        sent(world, request).await?.text()
    } else if let Some(command) = source["executable"]["command"].as_str() {
        return executed(world, command, value).await;
    } else if source["environment_id"].as_str().is_some_and(|id| id.starts_with("aws")) {
        return signed_identity(world, file, value).await;
    } else {
        return Err(broken("its credential_source is of no known kind".into()));
    };
    let field = source["format"]["subject_token_field_name"].as_str();
    match (source["format"]["type"].as_str(), field) {
        (Some("json"), Some(field)) => {
            let value: Value = serde_json::from_str(&text).unwrap_or_default();
            value[field].as_str().map(str::to_owned).ok_or_else(|| broken(format!("its source has no {field}")))
        }
        _ => Ok(text.trim().to_owned()),
    }
}

async fn executed(world: &dyn CloudEnvironment, command: &str, value: &Value) -> Result<String, CredentialError> {
    const OPT_IN: &str = "GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES";
    if world.set(OPT_IN).as_deref() != Some("1") {
        let why = "is not 1, so the credential file's command is not run".into();
        return Err(CredentialError::Variable { variable: OPT_IN, why });
    }
    let failed = |why: String| CredentialError::Command { command: "the credential file's command".into(), why };
    // What such commands are told, by the names that they expect.
    let told = [("AUDIENCE", value["audience"].as_str()), ("TOKEN_TYPE", value["subject_token_type"].as_str())];
    let told = told.into_iter().chain([("INTERACTIVE", Some("0"))]);
    let env = told.filter_map(|(name, value)| Some((format!("GOOGLE_EXTERNAL_ACCOUNT_{name}"), value?.to_owned())));
    let command = Command::ShellWith { text: command.to_owned(), env: env.collect() };
    let said = world.run(command, COMMAND_WAIT).await;
    let said = said.map_err(|trouble| failed(trouble.to_string()))?;
    let value: Value = serde_json::from_str(&said).map_err(|_| failed("its output is not JSON".into()))?;
    let token = ["id_token", "saml_response"].iter().find_map(|name| value[*name].as_str());
    match token.filter(|_| value["success"] == true) {
        Some(token) => Ok(token.to_owned()),
        None => Err(failed(value["message"].as_str().unwrap_or("it reports no success").to_owned())),
    }
}

/// A signed question to AWS that Google asks in our place.
async fn signed_identity(
    world: &dyn CloudEnvironment,
    file: &CredentialFile,
    value: &Value,
) -> Result<String, CredentialError> {
    let region =
        world.set("AWS_REGION").or_else(|| world.set("AWS_DEFAULT_REGION")).unwrap_or_else(|| "us-east-1".into());
    let found = aws::find(world, &aws::AwsSettings::default(), &region, None).await?;
    let audience = text_of(file, value, "audience")?;
    let host = format!("sts.{region}.amazonaws.com");
    let query = "Action=GetCallerIdentity&Version=2011-06-15";
    let headers = [("x-goog-cloud-target-resource", audience.as_str())];
    let unsigned = Unsigned { method: "POST", host: &host, path: "/", query, headers: &headers, body: b"" };
    let signed = sigv4::sign(&unsigned, &found.keys, Scope { region: &region, service: "sts" }, world.now());
    let mut all = vec![json!({"key": "host", "value": host}), json!({"key": headers[0].0, "value": audience})];
    all.extend(signed.into_iter().map(|(name, value)| json!({"key": name, "value": value})));
    let token = json!({"url": format!("https://{host}?{query}"), "method": "POST", "headers": all});
    Ok(escaped(&token.to_string()))
}

async fn impersonate(
    world: &dyn CloudEnvironment,
    url: &str,
    token: &str,
    mut body: Value,
) -> Result<GoogleToken, CredentialError> {
    body["scope"] = json!([SCOPE]);
    body["lifetime"] = json!(format!("{TOKEN_SECONDS}s"));
    let headers = vec![
        ("authorization".to_owned(), format!("Bearer {token}")),
        ("content-type".to_owned(), "application/json".to_owned()),
    ];
    let request = HttpRequest {
        method: "POST",
        url: url.to_owned(),
        headers,
        body: body.to_string().into_bytes(),
        wait: REQUEST_WAIT,
        without_proxy: false,
    };
    let value: Value = serde_json::from_slice(&sent(world, request).await?.body).unwrap_or_default();
    let token = value["accessToken"].as_str().ok_or_else(|| useless(url, "the answer holds no accessToken"))?;
    let expires = value["expireTime"].as_str().and_then(|time| time.parse().ok());
    Ok(GoogleToken { token: token.to_owned(), expires, quota_project: None })
}

async fn from_metadata(world: &dyn CloudEnvironment) -> Result<Option<GoogleToken>, CredentialError> {
    if world.is_on("NO_GCE_CHECK") {
        return Ok(None);
    }
    let host = world.set("GCE_METADATA_HOST").unwrap_or_else(|| METADATA_HOST.to_owned());
    let url =
        format!("http://{host}/computeMetadata/v1/instance/service-accounts/default/token?scopes={}", escaped(SCOPE));
    let request = HttpRequest {
        method: "GET",
        url: url.clone(),
        headers: vec![("metadata-flavor".to_owned(), "Google".to_owned())],
        body: Vec::new(),
        wait: METADATA_WAIT,
        without_proxy: true,
    };
    let Ok(answer) = world.send(request).await else { return Ok(None) };
    let is_google =
        answer.headers.iter().any(|(name, value)| name.eq_ignore_ascii_case("metadata-flavor") && value == "Google");
    if !answer.is_success() || !is_google {
        return Ok(None);
    }
    oauth_token(world, &url, &answer).map(Some)
}

async fn post_form(
    world: &dyn CloudEnvironment,
    url: &str,
    form: &[(&str, String)],
) -> Result<GoogleToken, CredentialError> {
    let pairs: Vec<(&str, &str)> = form.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let request = form_request(url, &pairs);
    let answer = sent(world, request).await?;
    oauth_token(world, url, &answer)
}

pub(crate) fn form_request(url: &str, pairs: &[(&str, &str)]) -> HttpRequest {
    HttpRequest {
        method: "POST",
        url: url.to_owned(),
        headers: vec![("content-type".to_owned(), "application/x-www-form-urlencoded".to_owned())],
        body: aws::form_body(pairs).into_bytes(),
        wait: REQUEST_WAIT,
        without_proxy: false,
    }
}

/// Sends, and makes an answer that is no success an error with what the server said.
pub(crate) async fn sent(world: &dyn CloudEnvironment, request: HttpRequest) -> Result<HttpResponse, CredentialError> {
    let url = request.url.clone();
    let answer = world.send(request).await.map_err(|trouble| unreached(&url, &trouble))?;
    if answer.is_success() {
        return Ok(answer);
    }
    let value: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let said = value["error_description"].as_str().or(value["error"]["message"].as_str()).or(value["error"].as_str());
    Err(refused(&url, answer.status, said.unwrap_or_default()))
}

fn oauth_token(world: &dyn CloudEnvironment, url: &str, answer: &HttpResponse) -> Result<GoogleToken, CredentialError> {
    let value: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let token = value["access_token"].as_str().ok_or_else(|| useless(url, "the answer holds no access_token"))?;
    let seconds = value["expires_in"].as_i64();
    let expires = seconds.and_then(|seconds| world.now().checked_add(SignedDuration::from_secs(seconds)).ok());
    Ok(GoogleToken { token: token.to_owned(), expires, quota_project: None })
}

#[cfg(test)]
#[path = "google_tests.rs"]
mod tests;
