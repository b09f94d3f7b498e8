//! The credential of one cloud endpoint: found by its chain, kept until shortly before it ends, asked anew after a
//! refusal.
//!
//! Requests that wait at the same time share one search: the lock is held while the chain is asked. Deliberately
//! absent: the credentials of the first-party API, which belong to the conversation's configuration.

use crate::failure::Failure;
use crate::provider::AuthPlan;
use crate::secret::Secret;
use cloud::aws::{self, AwsSettings};
use cloud::sigv4::{self, Keys, Scope, Unsigned};
use cloud::world::CloudEnvironment;
use cloud::{CredentialError, azure, google};
use jiff::{SignedDuration, Timestamp};
use std::sync::Arc;
use tokio::sync::Mutex;
use url::Url;

/// A credential is renewed this long before its end, so that no request is refused for its age.
const RENEW_BEFORE: SignedDuration = SignedDuration::from_mins(5);
/// A credential that names no end is looked up again after this time: its file may have changed.
const ENDLESS: SignedDuration = SignedDuration::from_hours(1);

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
}

struct Kept {
    credential: Credential,
    renew_at: Timestamp,
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
        Self { world, settings, kept: Arc::default() }
    }

    /// The headers that authorise a request. `renew`: the credential that is kept was refused.
    pub(crate) async fn headers(
        &self,
        plan: &AuthPlan,
        request: &Signable<'_>,
        renew: bool,
    ) -> Result<Vec<(&'static str, Secret)>, Box<Failure>> {
        let credential = self
            .credential(plan, renew)
            .await
            .map_err(|error| Box::new(Failure::local(error.to_string(), "cloud_credential_error")))?;
        Ok(match (credential, plan) {
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
        })
    }

    async fn credential(&self, plan: &AuthPlan, renew: bool) -> Result<Credential, CredentialError> {
        let mut kept = self.kept.lock().await;
        if let Some(found) = kept.as_ref().filter(|found| !renew && self.world.now() < found.renew_at) {
            return Ok(found.credential.clone());
        }
        *kept = None;
        let (credential, expires) = self.find(plan).await?;
        let now = self.world.now();
        let end = expires.map(|end| end.saturating_sub(RENEW_BEFORE).unwrap_or(end));
        let renew_at = end.or_else(|| now.checked_add(ENDLESS).ok()).unwrap_or(now);
        *kept = Some(Kept { credential: credential.clone(), renew_at });
        Ok(credential)
    }

    async fn find(&self, plan: &AuthPlan) -> Result<(Credential, Option<Timestamp>), CredentialError> {
        let world = &*self.world;
        match plan {
            AuthPlan::SigV4 { region, .. } => {
                let found = aws::find(world, &self.settings.aws, region).await?;
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
