//! One profile of the AWS files: fixed keys, a role, a command, single sign-on, or a web identity.

use super::{AwsCredential, chain_wait, from_json, remote};
use crate::error::{CredentialError, useless};
use crate::profile_file::{ProfileFile, Section};
use crate::sigv4::Keys;
use crate::world::{CloudEnvironment, Command, REQUEST_WAIT};
use futures_util::future::BoxFuture;
use jiff::Timestamp;
use ring::digest;
use serde_json::Value;

/// Roles may be taken from other roles. A circle, or a longer chain, is a mistake.
const ROLES_MAX: usize = 5;

/// The region that the active profile names, for requests that name none.
pub fn active_region(world: &dyn CloudEnvironment) -> Option<String> {
    let files = super::read_files(world).ok()?;
    let name = world.set("AWS_PROFILE").unwrap_or_else(|| "default".to_owned());
    files.profiles.get(&name)?.get("region").cloned()
}

/// What the profile gives; `None` where it holds nothing to get credentials by, or does not exist as default.
pub(super) async fn credential(
    world: &dyn CloudEnvironment,
    files: &ProfileFile,
    name: &str,
    region: &str,
) -> Result<Option<AwsCredential>, CredentialError> {
    resolve(world, files, name, region, ROLES_MAX).await
}

fn resolve<'a>(
    world: &'a dyn CloudEnvironment,
    files: &'a ProfileFile,
    name: &'a str,
    region: &'a str,
    roles_left: usize,
) -> BoxFuture<'a, Result<Option<AwsCredential>, CredentialError>> {
    Box::pin(async move {
        let wrong = |why: String| CredentialError::Profile { profile: name.to_owned(), why };
        let Some(section) = files.profiles.get(name) else {
            let is_asked_for = world.set("AWS_PROFILE").is_some() || roles_left < ROLES_MAX;
            return if is_asked_for { Err(wrong("is in none of the AWS files".into())) } else { Ok(None) };
        };
        let region = section.get("region").map_or(region, String::as_str);
        if let Some(role) = section.get("role_arn") {
            if let Some(file) = section.get("web_identity_token_file") {
                let session = section.get("role_session_name").map(String::as_str);
                return remote::assume_with_web_identity(world, file, role, session, region).await.map(Some);
            }
            if roles_left == 0 {
                return Err(wrong("takes its role from too long a chain of profiles".into()));
            }
            let source = source(world, files, section, name, region, roles_left).await?;
            return remote::assume_role(world, &source.keys, section, role, region).await.map(Some);
        }
        if let Some(keys) = fixed_keys(section) {
            return Ok(Some(AwsCredential { keys, expires: None }));
        }
        if let Some(command) = section.get("credential_process") {
            return from_process(world, name, command).await.map(Some);
        }
        if section.contains_key("sso_session") || section.contains_key("sso_start_url") {
            return match single_sign_on(world, files, name, section).await {
                Err(error @ (CredentialError::File { .. } | CredentialError::Expired { .. })) => {
                    from_aws_cli(world, name).await.map(Some).ok_or(error)
                }
                found => found.map(Some),
            };
        }
        if section.contains_key("login_session") {
            let mend = "logs in by login_session, which the AWS CLI gave no credentials for; run `aws login` for it";
            return from_aws_cli(world, name).await.map(Some).ok_or_else(|| wrong(mend.into()));
        }
        Ok(None)
    })
}

/// The credential that takes a role: another profile's, or one of the machine's.
async fn source(
    world: &dyn CloudEnvironment,
    files: &ProfileFile,
    section: &Section,
    name: &str,
    region: &str,
    roles_left: usize,
) -> Result<AwsCredential, CredentialError> {
    let wrong = |why: String| CredentialError::Profile { profile: name.to_owned(), why };
    if let Some(source) = section.get("source_profile") {
        // A profile may name itself: then its own fixed keys take the role.
        if source == name {
            let keys =
                fixed_keys(section).ok_or_else(|| wrong("names itself as source_profile but has no keys".into()))?;
            return Ok(AwsCredential { keys, expires: None });
        }
        let found = resolve(world, files, source, region, roles_left - 1).await?;
        return found
            .ok_or_else(|| wrong(format!("takes its role from the profile {source:?}, which holds no credentials")));
    }
    let found = match section.get("credential_source").map(String::as_str) {
        Some("Environment") => super::from_variables(world)?.map(|keys| AwsCredential { keys, expires: None }),
        Some("EcsContainer") => remote::container(world).await?,
        Some("Ec2InstanceMetadata") => remote::instance(world).await?,
        _ => return Err(wrong("has role_arn, but neither source_profile nor credential_source".into())),
    };
    found.ok_or_else(|| wrong("has a credential_source that gives nothing here".into()))
}

fn fixed_keys(section: &Section) -> Option<Keys> {
    Some(Keys {
        access_key_id: section.get("aws_access_key_id")?.clone(),
        secret_access_key: section.get("aws_secret_access_key")?.clone(),
        session_token: section.get("aws_session_token").cloned(),
    })
}

async fn from_process(
    world: &dyn CloudEnvironment,
    profile: &str,
    command: &str,
) -> Result<AwsCredential, CredentialError> {
    let failed = |why: String| CredentialError::Command {
        command: format!("credential_process of the profile {profile:?}"),
        why,
    };
    let said = world.run(Command::Shell(command.to_owned()), chain_wait(world)).await;
    let found = from_json(&said.map_err(|trouble| failed(trouble.to_string()))?)
        .ok_or_else(|| failed("its output is no credential".into()))?;
    found.unless_expired(world, format!("credential_process of the profile {profile:?}"))
}

/// What the AWS CLI makes of a login that we cannot renew ourselves.
async fn from_aws_cli(world: &dyn CloudEnvironment, profile: &str) -> Option<AwsCredential> {
    let args = ["configure", "export-credentials", "--profile", profile, "--format", "process"];
    let command = Command::Program { name: "aws".into(), args: args.map(str::to_owned).to_vec(), env: Vec::new() };
    from_json(&world.run(command, chain_wait(world)).await.ok()?)
}

/// Keys for the token of a login that the AWS CLI keeps. Renewing the login is the CLI's work.
async fn single_sign_on(
    world: &dyn CloudEnvironment,
    files: &ProfileFile,
    profile: &str,
    section: &Section,
) -> Result<AwsCredential, CredentialError> {
    let wrong = |why: &str| CredentialError::Profile { profile: profile.to_owned(), why: why.to_owned() };
    let session = section.get("sso_session");
    let shared = session.and_then(|name| files.sso_sessions.get(name));
    let of = |key: &str| section.get(key).or_else(|| shared.and_then(|shared| shared.get(key)));
    let start = of("sso_start_url").ok_or_else(|| wrong("has no sso_start_url"))?;
    let region = of("sso_region").ok_or_else(|| wrong("has no sso_region"))?;
    let account = of("sso_account_id").ok_or_else(|| wrong("has no sso_account_id"))?;
    let role = of("sso_role_name").ok_or_else(|| wrong("has no sso_role_name"))?;
    let token = login_token(world, session.unwrap_or(start), profile)?;
    let portal = || format!("https://portal.sso.{region}.amazonaws.com");
    let base = remote::service_url(world, "AWS_ENDPOINT_URL_SSO", portal)?;
    let base = base.trim_end_matches('/');
    let escaped = crate::sigv4::escaped;
    let url = format!("{base}/federation/credentials?account_id={}&role_name={}", escaped(account), escaped(role));
    let headers = vec![("x-amz-sso_bearer_token".to_owned(), token)];
    let answer = remote::get(world, &url, headers, REQUEST_WAIT, false).await?;
    let value: Value = serde_json::from_str(&answer).unwrap_or_default();
    let keys = &value["roleCredentials"];
    let text = |name: &str| keys[name].as_str().map(str::to_owned);
    let found = || {
        Some(AwsCredential {
            keys: Keys {
                access_key_id: text("accessKeyId")?,
                secret_access_key: text("secretAccessKey")?,
                session_token: text("sessionToken"),
            },
            expires: keys["expiration"].as_i64().and_then(|ms| Timestamp::from_millisecond(ms).ok()),
        })
    };
    found().ok_or_else(|| useless(&url, "the answer holds no role credentials"))
}

/// The cached login: a file named after the hash of the session's name, or of the start address.
fn login_token(world: &dyn CloudEnvironment, name: &str, profile: &str) -> Result<String, CredentialError> {
    let hash = digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, name.as_bytes());
    let hash: String = hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    let path = world.home().join(".aws/sso/cache").join(format!("{hash}.json"));
    let file = path.display().to_string();
    let mend = format!("run `aws sso login --profile {profile}`");
    let text =
        world.read(&path).map_err(|trouble| CredentialError::File { file: file.clone(), why: trouble.to_string() })?;
    let value: Value = text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    let Some(token) = value["accessToken"].as_str() else {
        return Err(CredentialError::File { file, why: format!("it holds no login; {mend}") });
    };
    let expires: Option<Timestamp> = value["expiresAt"].as_str().and_then(|time| time.parse().ok());
    match expires.filter(|expires| *expires <= world.now()) {
        Some(at) => Err(CredentialError::Expired { source_name: file, at: at.to_string(), mend }),
        None => Ok(token.to_owned()),
    }
}
