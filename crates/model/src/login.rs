//! Renewing a stored login: one POST to the token endpoint.
//!
//! Deliberately absent: where logins are stored and who may refresh one at a time (`config`).

use crate::config::ClientConfig;
use crate::http;
use crate::secret::Secret;
use serde::Deserialize;
use serde_json::json;
use std::time::Duration;

/// A token endpoint answers at once or is down.
const DEADLINE: Duration = Duration::from_secs(30);

/// What a login lives for where the endpoint does not say.
const DEFAULT_LIFETIME_S: u64 = 3600;

/// Tokens are short; anything longer is an error page.
const BODY_MAX: usize = 64 * 1024;

pub struct Tokens {
    pub access: Secret,
    /// The next refresh token; the old one is spent.
    pub refresh: Option<Secret>,
    pub lifetime_ms: i64,
}

#[derive(Deserialize)]
struct Answer {
    access_token: String,
    refresh_token: Option<String>,
    expires_in: Option<u64>,
}

/// Why a login could not be renewed. Never holds a token.
#[derive(Debug, thiserror::Error)]
#[error("the login could not be renewed: {0}")]
pub struct LoginError(String);

/// Trades a refresh token for new tokens.
pub async fn refresh_login(config: &ClientConfig, url: &str, refresh_token: &str) -> Result<Tokens, LoginError> {
    let body = json!({"grant_type": "refresh_token", "refresh_token": refresh_token}).to_string();
    let exchange = http::post_plain(config, url, body, BODY_MAX);
    let answer = tokio::time::timeout(DEADLINE, exchange).await.map_err(|_| LoginError("no answer in time".into()))?;
    let bytes = answer.map_err(|error| LoginError(error.to_string()))?;
    let answer: Answer = serde_json::from_slice(&bytes).map_err(|_| LoginError("the answer holds no tokens".into()))?;
    let seconds = i64::try_from(answer.expires_in.unwrap_or(DEFAULT_LIFETIME_S)).unwrap_or(0);
    Ok(Tokens {
        access: Secret::new(answer.access_token),
        refresh: answer.refresh_token.map(Secret::new),
        lifetime_ms: seconds.saturating_mul(1000),
    })
}
