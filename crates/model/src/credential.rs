//! The credential of one cloud endpoint: found by its chain, kept until shortly before it ends, asked anew after a
//! refusal.
//!
//! Requests that wait at the same time share one search: the lock is held while the chain is asked. Deliberately
//! absent: the credentials of the first-party API, which belong to the conversation's configuration.

use crate::failure::{Failure, FailureKind};
use crate::provider::AuthPlan;
use crate::secret::Secret;
use cloud::aws::{self, AwsSettings};
use cloud::sigv4::{self, Keys, Scope, Unsigned};
use cloud::world::CloudEnvironment;
use cloud::{CredentialError, azure, google};
use jiff::{SignedDuration, Timestamp};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::Mutex;
use url::Url;

/// A credential is renewed this long before its end, so that no request is refused for its age.
const RENEW_BEFORE: SignedDuration = SignedDuration::from_mins(5);
/// A credential that names no end is looked up again after this time: its file may have changed.
const ENDLESS: SignedDuration = SignedDuration::from_hours(1);
/// A renewal that failed while the credential is still good is tried again after this time.
const TRY_AGAIN: SignedDuration = SignedDuration::from_secs(30);

/// What the user's or an administrator's settings say about credentials. Never a folder's that is not trusted.
#[derive(Debug, Clone, Default)]
pub struct CredentialSettings {
    pub aws: AwsSettings,
    /// `gcpAuthRefresh`.
    pub gcp_refresh: Option<String>,
}

/// Finds and keeps credentials for the requests of one endpoint.
#[derive(Clone)]
pub struct CloudCredentials {
    world: Arc<dyn CloudEnvironment>,
    settings: CredentialSettings,
    kept: Arc<Mutex<Option<Kept>>>,
    found: Arc<AtomicU64>,
}

struct Kept {
    credential: Credential,
    /// Counts what was found, so that a refusal can say which one it was about.
    number: u64,
    renew_at: Timestamp,
    expires: Option<Timestamp>,
}

/// The service did not take a credential.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Refused {
    pub(crate) number: u64,
    /// It is not good any more, as opposed to not being allowed something.
    pub(crate) is_over: bool,
}

#[derive(Clone)]
enum Credential {
    Keys(Keys),
    Bearer { token: String, quota_project: Option<String> },
}

/// The parts of a request that a signature covers.
pub(crate) struct Signable<'a> {
    pub(crate) method: &'a str,
    pub(crate) url: &'a Url,
    pub(crate) headers: &'a [(&'a str, &'a str)],
    pub(crate) body: &'a [u8],
}

impl CloudCredentials {
    pub fn new(world: Arc<dyn CloudEnvironment>, settings: CredentialSettings) -> Self {
        Self { world, settings, kept: Arc::default(), found: Arc::default() }
    }

    /// The headers that authorise a request, and the number of the credential that they hold. `refused`: the service did
    /// not take the one of that number.
    pub(crate) async fn headers(
        &self,
        plan: &AuthPlan,
        request: &Signable<'_>,
        refused: Option<Refused>,
    ) -> Result<(Vec<(&'static str, Secret)>, u64), Box<Failure>> {
        let (credential, number) = self.credential(plan, refused).await.map_err(|error| {
            let failure = Failure::local(error.to_string(), "cloud_credential_error");
            Box::new(if error.may_pass() { Failure { kind: FailureKind::NoCredential, ..failure } } else { failure })
        })?;
        let headers = match (credential, plan) {
            (Credential::Keys(keys), AuthPlan::SigV4 { service, region }) => {
                let host = host_header(request.url);
                let unsigned = Unsigned {
                    method: request.method,
                    host: &host,
                    path: request.url.path(),
                    query: request.url.query().unwrap_or_default(),
                    headers: request.headers,
                    body: request.body,
                };
                let signed = sigv4::sign(&unsigned, &keys, Scope { region, service }, self.world.now());
                signed.into_iter().map(|(name, value)| (name, Secret::new(value))).collect()
            }
            (Credential::Bearer { token, quota_project }, _) => {
                let mut headers = vec![("authorization", Secret::new(format!("Bearer {token}")))];
                headers.extend(quota_project.map(|project| ("x-goog-user-project", Secret::new(project))));
                headers
            }
            (Credential::Keys(_), _) => Vec::new(),
        };
        Ok((headers, number))
    }

    async fn credential(
        &self,
        plan: &AuthPlan,
        refused: Option<Refused>,
    ) -> Result<(Credential, u64), CredentialError> {
        let mut kept = self.kept.lock().await;
        let now = self.world.now();
        // Another request may have been refused too, and have found another credential meanwhile.
        let is_refused = |found: &Kept| refused.is_some_and(|refused| refused.number == found.number);
        if let Some(found) = kept.as_ref().filter(|found| !is_refused(found) && now < found.renew_at) {
            return Ok((found.credential.clone(), found.number));
        }
        let before = kept.take();
        let expired = refused.filter(|refused| refused.is_over).and(before.as_ref()).map(|before| &before.credential);
        let (credential, expires) = match (self.find(plan, expired).await, before) {
            (Ok(found), _) => found,
            // Near its end but not over: better the old one than none.
            (Err(_), Some(old)) if !is_refused(&old) && old.expires.is_some_and(|end| now < end) => {
                let renew_at = now.checked_add(TRY_AGAIN).unwrap_or(now);
                let found = (old.credential.clone(), old.number);
                *kept = Some(Kept { renew_at, ..old });
                return Ok(found);
            }
            (Err(error), _) => return Err(error),
        };
        let now = self.world.now();
        let end = expires.map(|end| end.saturating_sub(RENEW_BEFORE).unwrap_or(end));
        let renew_at = end.or_else(|| now.checked_add(ENDLESS).ok()).unwrap_or(now);
        let keeps = !matches!(plan, AuthPlan::SigV4 { .. }) || aws::keeps_keys(&*self.world);
        let number = self.found.fetch_add(1, Ordering::Relaxed);
        let renew_at = if keeps { renew_at } else { now };
        *kept = Some(Kept { credential: credential.clone(), number, renew_at, expires });
        Ok((credential, number))
    }

    /// `expired`: what is known not to be good any more.
    async fn find(
        &self,
        plan: &AuthPlan,
        expired: Option<&Credential>,
    ) -> Result<(Credential, Option<Timestamp>), CredentialError> {
        let world = &*self.world;
        match plan {
            AuthPlan::SigV4 { region, .. } => {
                let expired = expired.and_then(|credential| match credential {
                    Credential::Keys(keys) => Some(keys),
                    Credential::Bearer { .. } => None,
                });
                let found = aws::find(world, &self.settings.aws, region, expired).await?;
                Ok((Credential::Keys(found.keys), found.expires))
            }
            AuthPlan::Google(_) => {
                let found = google::find(world, self.settings.gcp_refresh.as_deref()).await?;
                Ok((Credential::Bearer { token: found.token, quota_project: found.quota_project }, found.expires))
            }
            AuthPlan::Entra(plan) => {
                let found = azure::find(world, plan.resource).await?;
                Ok((Credential::Bearer { token: found.token, quota_project: None }, found.expires))
            }
            AuthPlan::FirstParty | AuthPlan::Headers(_) => {
                Ok((Credential::Bearer { token: String::new(), quota_project: None }, None))
            }
        }
    }

    /// What must not appear in a message.
    pub(crate) fn secrets(&self) -> Vec<String> {
        let Ok(kept) = self.kept.try_lock() else { return Vec::new() };
        match kept.as_ref().map(|kept| &kept.credential) {
            Some(Credential::Keys(keys)) => {
                let token = keys.session_token.clone();
                std::iter::once(keys.secret_access_key.clone()).chain(token).collect()
            }
            Some(Credential::Bearer { token, .. }) => vec![token.clone()],
            None => Vec::new(),
        }
    }
}

impl AuthPlan {
    pub(crate) fn fixed_secrets(&self) -> Vec<&str> {
        match self {
            Self::Headers(headers) => {
                headers.iter().map(|(_, value)| value.expose().trim_start_matches("Bearer ")).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Whether the credential comes from a source that can give another one.
    pub(crate) fn is_renewable(&self) -> bool {
        matches!(self, Self::SigV4 { .. } | Self::Google(_) | Self::Entra(_))
    }
}

/// As the HTTP client sends it: the port only where it is not the scheme's own.
fn host_header(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

#[cfg(test)]
#[path = "credential_tests.rs"]
mod tests;
