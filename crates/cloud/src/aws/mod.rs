//! AWS keys: which source is asked, in the order of the contract, and for how long they are good.

mod profile;
mod remote;

pub(crate) use remote::form_body;

use crate::error::CredentialError;
use crate::profile_file::{FileKind, ProfileFile, parse};
use crate::sigv4::Keys;
use crate::world::{COMMAND_WAIT, CloudEnvironment, Command};
use futures_util::future::{Either, select};
use jiff::Timestamp;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use profile::active_region;

/// Keys with the time at which they stop being good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AwsCredential {
    pub keys: Keys,
    pub expires: Option<Timestamp>,
}

/// What the settings say about AWS. The caller passes them on only from settings that may run commands.
#[derive(Debug, Clone, Default)]
pub struct AwsSettings {
    /// `awsCredentialExport`: prints credentials as JSON.
    pub export: Option<String>,
    /// `awsAuthRefresh`: makes the chain work again, for example by a login.
    pub refresh: Option<String>,
}

/// The time that one look through the chain may take, `CLAUDE_CODE_AWS_CHAIN_RESOLVE_TIMEOUT_MS` aside.
const CHAIN_WAIT: Duration = Duration::from_mins(1);

impl AwsCredential {
    /// A command that prints what is over already is told from one that works.
    fn unless_expired(self, world: &dyn CloudEnvironment, source_name: String) -> Result<Self, CredentialError> {
        match self.expires.filter(|end| *end <= world.now()) {
            None => Ok(self),
            Some(at) => {
                let mend = "renew it, and check this machine's clock".to_owned();
                Err(CredentialError::Expired { source_name, at: at.to_string(), mend })
            }
        }
    }
}

/// The first credential of the chain. `region` is for the token service. `refused` are keys that the service does not
/// take any more: where the chain has nothing else, `awsAuthRefresh` runs.
pub async fn find(
    world: &dyn CloudEnvironment,
    settings: &AwsSettings,
    region: &str,
    refused: Option<&Keys>,
) -> Result<AwsCredential, CredentialError> {
    let first = exported_or_chain(world, settings, region).await;
    let is_new = first.as_ref().is_ok_and(|found| Some(&found.keys) != refused);
    let Some(refresh) = settings.refresh.as_ref().filter(|_| !is_new) else { return first };
    let reason = match &first {
        Ok(_) => "the credentials were refused".to_owned(),
        Err(error) => error.to_string(),
    };
    let setting = "awsAuthRefresh";
    world.run(Command::Shell(refresh.clone()), COMMAND_WAIT).await.map_err(|trouble| CredentialError::Refresh {
        setting,
        why: format!("{trouble}; it was run because {reason}"),
    })?;
    exported_or_chain(world, settings, region)
        .await
        .map_err(|error| CredentialError::Refresh { setting, why: format!("it ended well, but {error}") })
}

/// A failed export is told: another account's credentials may follow.
async fn exported_or_chain(
    world: &dyn CloudEnvironment,
    settings: &AwsSettings,
    region: &str,
) -> Result<AwsCredential, CredentialError> {
    if let Some(command) = &settings.export {
        match exported(world, command).await {
            Ok(credential) => return Ok(credential),
            Err(error) => world.warn(&format!("warning: {error}; the other sources of AWS credentials are asked")),
        }
    }
    let wait = chain_wait(world);
    match select(Box::pin(chain(world, region)), world.sleep(wait)).await {
        Either::Left((found, _)) => found,
        Either::Right(_) => Err(CredentialError::Slow { seconds: wait.as_secs() }),
    }
}

pub(super) fn chain_wait(world: &dyn CloudEnvironment) -> Duration {
    let millis = world.set("CLAUDE_CODE_AWS_CHAIN_RESOLVE_TIMEOUT_MS").and_then(|text| text.parse().ok());
    millis.filter(|millis| *millis > 0).map_or(CHAIN_WAIT, Duration::from_millis)
}

/// Whether found keys are kept for later requests.
pub fn keeps_keys(world: &dyn CloudEnvironment) -> bool {
    !world.is_on("CLAUDE_CODE_SKIP_AWS_CRED_CACHE")
}

async fn chain(world: &dyn CloudEnvironment, region: &str) -> Result<AwsCredential, CredentialError> {
    let named = world.set("AWS_PROFILE");
    let variables = from_variables(world);
    match (&named, variables) {
        (None, Ok(Some(keys))) => return Ok(AwsCredential { keys, expires: None }),
        (None, Err(error)) => return Err(error),
        (Some(profile), Ok(Some(_))) => world.warn(&format!(
            "warning: AWS_PROFILE and AWS_ACCESS_KEY_ID are both set; the profile {profile:?} is used, not the key"
        )),
        (_, _) => {}
    }
    let files = read_files(world)?;
    let name = named.as_deref().unwrap_or("default");
    match profile::credential(world, &files, name, region).await? {
        Some(credential) => return Ok(credential),
        None if named.is_some() => {
            return Err(CredentialError::Profile { profile: name.into(), why: "holds no credentials".into() });
        }
        None => {}
    }
    if let Some(credential) = remote::web_identity_of_variables(world, region).await? {
        return Ok(credential);
    }
    if let Some(credential) = remote::container(world).await? {
        return Ok(credential);
    }
    if let Some(credential) = remote::instance(world).await? {
        return Ok(credential);
    }
    let looked = "the variables, the profile \"default\", web identity, the container and the instance";
    Err(CredentialError::NoAws(looked.into()))
}

fn from_variables(world: &dyn CloudEnvironment) -> Result<Option<Keys>, CredentialError> {
    match (world.set("AWS_ACCESS_KEY_ID"), world.set("AWS_SECRET_ACCESS_KEY")) {
        (Some(access_key_id), Some(secret_access_key)) => {
            Ok(Some(Keys { access_key_id, secret_access_key, session_token: world.set("AWS_SESSION_TOKEN") }))
        }
        (None, None) => Ok(None),
        (Some(_), None) => Err(unset("AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID")),
        (None, Some(_)) => Err(unset("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")),
    }
}

fn unset(variable: &'static str, other: &str) -> CredentialError {
    CredentialError::Variable { variable, why: format!("is not set, although {other} is") }
}

/// Both files, with the credentials file's values over those of the config file.
pub(crate) fn read_files(world: &dyn CloudEnvironment) -> Result<ProfileFile, CredentialError> {
    let folder = world.home().join(".aws");
    let place = |variable: &str, name: &str| world.set(variable).map_or_else(|| folder.join(name), PathBuf::from);
    let mut all = read_file(world, &place("AWS_CONFIG_FILE", "config"), FileKind::Config)?;
    let keys = read_file(world, &place("AWS_SHARED_CREDENTIALS_FILE", "credentials"), FileKind::Credentials)?;
    for (name, section) in keys.profiles {
        all.profiles.entry(name).or_default().extend(section);
    }
    Ok(all)
}

fn read_file(world: &dyn CloudEnvironment, path: &Path, kind: FileKind) -> Result<ProfileFile, CredentialError> {
    let broken = |why: String| CredentialError::File { file: path.display().to_string(), why };
    match world.read(path).map_err(|trouble| broken(trouble.to_string()))? {
        Some(text) => parse(&text, kind).map_err(|error| broken(error.to_string())),
        None => Ok(ProfileFile::default()),
    }
}

async fn exported(world: &dyn CloudEnvironment, command: &str) -> Result<AwsCredential, CredentialError> {
    let said = world.run(Command::Shell(command.to_owned()), COMMAND_WAIT).await;
    let failed = |why: String| CredentialError::Command { command: "awsCredentialExport".into(), why };
    let found = from_json(&said.map_err(|trouble| failed(trouble.to_string()))?)
        .ok_or_else(|| failed("its output is no credential".into()))?;
    found.unless_expired(world, "awsCredentialExport".to_owned())
}

/// Credentials as commands, containers and instances print them: flat, or below `Credentials`.
pub(crate) fn from_json(text: &str) -> Option<AwsCredential> {
    let value: Value = serde_json::from_str(text).ok()?;
    let value = if value["Credentials"].is_object() { &value["Credentials"] } else { &value };
    let of = |name: &str| value[name].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    Some(AwsCredential {
        keys: Keys {
            access_key_id: of("AccessKeyId")?,
            secret_access_key: of("SecretAccessKey")?,
            session_token: of("SessionToken").or_else(|| of("Token")),
        },
        expires: of("Expiration").and_then(|time| time.parse().ok()),
    })
}

#[cfg(test)]
#[path = "../aws_tests.rs"]
mod tests;
