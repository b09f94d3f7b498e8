//! What a login leaves behind, and who keeps it.

use super::error::LoginError;
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt::{self, Write as _};

/// A token this close to its end may die on the way to the server.
const MARGIN_MS: i64 = 60 * 1000;

/// Characters of the address's hash in a key: enough to tell two addresses of one name apart.
const KEY_HASH: usize = 16;

/// The tokens of one server, and what is needed to renew them.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerLogin {
    pub server_name: String,
    /// The tokens are sent there and nowhere else.
    pub server_url: String,
    pub access_token: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh_token: Option<String>,
    /// Milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    pub client_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<String>,
    /// The secret goes into a header instead of the form.
    #[serde(default)]
    pub basic_auth: bool,
    pub token_endpoint: String,
    /// Where tokens are taken back, if the authorization server says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revocation_endpoint: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
}

impl ServerLogin {
    pub fn read(value: &Value) -> Option<Self> {
        Self::deserialize(value).ok().filter(|login| !login.access_token.is_empty())
    }

    /// Over, or so soon that it may be over when the server reads it.
    pub(crate) fn is_over(&self, now_ms: i64) -> bool {
        self.expires_at.is_some_and(|end| end - MARGIN_MS <= now_ms)
    }
}

/// Tokens show up in no log and no panic.
impl fmt::Debug for ServerLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServerLogin({} at {})", self.server_name, self.server_url)
    }
}

/// A login belongs to a name and an address: an entry that leads elsewhere finds none.
pub fn login_key(name: &str, url: &str) -> String {
    let mut hash = String::new();
    for byte in digest(&SHA256, url.as_bytes()).as_ref() {
        // Writing to a text cannot fail.
        let _ = write!(hash, "{byte:02x}");
    }
    hash.truncate(KEY_HASH);
    format!("{name}|{hash}")
}

/// Keeps logins by their key, for every process of this user.
pub trait LoginStore: Send + Sync {
    fn get(&self, key: &str) -> Option<Value>;
    /// The right to change logins. Waits, bounded, while another process has it; blocks the thread.
    fn lock(&self) -> Result<Box<dyn LoginLock>, LoginError>;
}

/// Held while a login is changed: a refresh token works only once.
pub trait LoginLock: Send {
    fn get(&self, key: &str) -> Option<Value>;
    /// `None` removes the login.
    fn set(&self, key: &str, login: Option<Value>) -> Result<(), LoginError>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_login_is_found_by_name_and_address() {
        let key = login_key("s", "https://a.test/mcp");
        assert_eq!(key, login_key("s", "https://a.test/mcp"));
        assert!(key.starts_with("s|") && key.len() == 2 + KEY_HASH);
        for (name, url) in [("t", "https://a.test/mcp"), ("s", "https://b.test/mcp"), ("s", "https://a.test/mcp/")] {
            assert_ne!(login_key(name, url), key);
        }
    }

    #[test]
    fn tokens_are_shown_nowhere_and_read_back() {
        let stored = json!({"serverName": "s", "serverUrl": "https://a.test", "accessToken": "secret-a",
            "refreshToken": "secret-r", "expiresAt": 100_000, "clientId": "c", "tokenEndpoint": "https://a.test/token"});
        let login = ServerLogin::read(&stored).unwrap();
        assert!(!format!("{login:?}").contains("secret"));
        assert!(login.is_over(100_000) && login.is_over(50_000) && !login.is_over(30_000));
        assert_eq!(ServerLogin::read(&serde_json::to_value(&login).unwrap()), Some(login));
        for broken in [json!({}), json!(null), json!({"accessToken": ""}), json!("x")] {
            assert_eq!(ServerLogin::read(&broken), None);
        }
    }
}
