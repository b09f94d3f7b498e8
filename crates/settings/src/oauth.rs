//! The stored login: reading it, and replacing it under a lock, since a refresh token works only once and
//! several processes share the file.
//!
//! Absent: the refresh request itself. The caller makes it while holding [`OAuthLock`].

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::SettingsError;
use crate::credentials::Secret;
use crate::files::{self, FileLock};

/// Another process may hold the lock while its refresh request is on the way.
const LOCK_PATIENCE: Duration = Duration::from_secs(30);
/// A token this close to its end may die on the way to the server.
const REFRESH_MARGIN_MS: i64 = 5 * 60 * 1000;
const SECTION: &str = "claudeAiOauth";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OAuth {
    pub access: Secret,
    pub refresh: Option<Secret>,
    pub expires_at_ms: Option<i64>,
    /// What the account has subscribed to, where the login says so.
    pub plan: Option<String>,
    pub file: PathBuf,
}

impl OAuth {
    pub fn is_expired(&self, now_ms: i64) -> bool {
        self.expires_at_ms.is_some_and(|end| end <= now_ms)
    }

    /// Expired or about to, and there is something to refresh it with.
    pub fn should_refresh(&self, now_ms: i64) -> bool {
        self.refresh.is_some() && self.expires_at_ms.is_some_and(|end| end - REFRESH_MARGIN_MS <= now_ms)
    }
}

/// Why a login file gives nothing.
pub(crate) enum NoLogin {
    Missing,
    Because(String),
}

pub(crate) fn read(file: &Path) -> Result<OAuth, NoLogin> {
    let because = |reason: &str| NoLogin::Because(reason.to_owned());
    let text = match files::read_text(file, files::STATE_MAX) {
        Ok(Some(text)) => text,
        Ok(None) => return Err(NoLogin::Missing),
        Err(failure) => return Err(NoLogin::Because(failure.to_string())),
    };
    let state: Map<String, Value> = serde_json::from_str(&text).map_err(|_| because("it is not a JSON object"))?;
    let section = state.get(SECTION).ok_or_else(|| because("it holds no login"))?;
    let token = |key: &str| {
        let text = section.get(key)?.as_str()?.trim();
        (!text.is_empty()).then(|| Secret::new(text))
    };
    let access = token("accessToken").ok_or_else(|| because("its access token is empty"))?;
    let expires_at_ms = match section.get("expiresAt").filter(|value| !value.is_null()) {
        None => None,
        Some(value) => Some(instant_ms(value).ok_or_else(|| because("its expiresAt is not a time"))?),
    };
    let plan = section.get("subscriptionType").and_then(Value::as_str).filter(|plan| !plan.is_empty());
    let plan = plan.map(str::to_owned);
    Ok(OAuth { access, refresh: token("refreshToken"), expires_at_ms, plan, file: file.to_owned() })
}

/// Epoch milliseconds as number or text, or a date and time; without an offset it is UTC.
fn instant_ms(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64().or_else(|| number.as_f64().map(|float| float as i64)),
        Value::String(text) => {
            let text = text.trim();
            if let Ok(ms) = text.parse::<i64>() {
                return Some(ms);
            }
            let zoned = text.parse::<jiff::Timestamp>().ok();
            let plain = || text.parse::<jiff::civil::DateTime>().ok()?.to_zoned(jiff::tz::TimeZone::UTC).ok();
            zoned.or_else(|| plain().map(|zoned| zoned.timestamp())).map(jiff::Timestamp::as_millisecond)
        }
        _ => None,
    }
}

/// The right to refresh. While it is held: read again with [`OAuthLock::current`], since another process may have
/// refreshed meanwhile; else ask the server and [`OAuthLock::store`] the answer. Acquiring blocks the thread.
#[derive(Debug)]
pub struct OAuthLock {
    _lock: FileLock,
    file: PathBuf,
}

impl OAuthLock {
    pub fn acquire(file: &Path) -> Result<Self, SettingsError> {
        Ok(Self { _lock: FileLock::acquire(file, LOCK_PATIENCE)?, file: file.to_owned() })
    }

    /// What the file says now; `None` if it no longer holds a login.
    pub fn current(&self) -> Option<OAuth> {
        read(&self.file).ok()
    }

    /// Without a new refresh token the old one stays.
    pub fn store(&self, access: &str, refresh: Option<&str>, expires_at_ms: i64) -> Result<(), SettingsError> {
        let mut state = files::read_object(&self.file)?;
        let section = state.entry(SECTION).or_insert_with(|| json!({}));
        let section = section.as_object_mut().ok_or_else(|| SettingsError::Refused {
            file: self.file.clone(),
            reason: format!("`{SECTION}` in it is not an object"),
        })?;
        section.insert("accessToken".to_owned(), json!(access));
        if let Some(refresh) = refresh {
            section.insert("refreshToken".to_owned(), json!(refresh));
        }
        section.insert("expiresAt".to_owned(), json!(expires_at_ms));
        files::write_object(&self.file, &state)
    }
}

/// Lock, write, unlock: for a login that nobody else is refreshing.
pub fn store_oauth(file: &Path, access: &str, refresh: Option<&str>, expires_at_ms: i64) -> Result<(), SettingsError> {
    OAuthLock::acquire(file)?.store(access, refresh, expires_at_ms)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::testbed::Bed;

    #[test]
    fn times_in_all_their_spellings() {
        let rows = [
            (json!(1_704_067_200_000_i64), Some(1_704_067_200_000)),
            (json!(1_704_067_200_000.0), Some(1_704_067_200_000)),
            (json!("1704067200000"), Some(1_704_067_200_000)),
            (json!("2024-01-01T00:00:00Z"), Some(1_704_067_200_000)),
            (json!("2024-01-01T00:00:00.000Z"), Some(1_704_067_200_000)),
            (json!("2024-01-01T01:00:00+01:00"), Some(1_704_067_200_000)),
            (json!("2024-01-01T00:00:00"), Some(1_704_067_200_000)),
            (json!("soon"), None),
            (json!(true), None),
        ];
        for (value, expected) in rows {
            assert_eq!(instant_ms(&value), expected, "{value}");
        }
    }

    #[test]
    fn storing_keeps_the_rest_of_the_file() {
        let bed = Bed::new();
        let file = bed.file(
            "home/.claude/.credentials.json",
            r#"{"mcpOAuth":{"s":1},"claudeAiOauth":{"accessToken":"a","refreshToken":"r","expiresAt":1,"scopes":["x"]}}"#,
        );
        let lock = OAuthLock::acquire(&file).unwrap();
        assert!(lock.current().unwrap().should_refresh(0));
        lock.store("a2", None, 99).unwrap();
        let now = lock.current().unwrap();
        assert_eq!((now.access.expose(), now.refresh.as_ref().map(Secret::expose)), ("a2", Some("r")));
        let state: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        assert_eq!(state["mcpOAuth"]["s"], 1);
        assert_eq!(state["claudeAiOauth"]["scopes"], json!(["x"]));
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn two_refreshers_take_turns_and_the_second_sees_the_first() {
        let bed = Bed::new();
        let file = bed.file("c.json", r#"{"claudeAiOauth":{"accessToken":"old","refreshToken":"r","expiresAt":1}}"#);
        let refreshed = std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let lock = OAuthLock::acquire(&file).unwrap();
                    if lock.current().unwrap().should_refresh(1_000) {
                        refreshed.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                        lock.store("new", Some("r2"), i64::MAX).unwrap();
                    }
                });
            }
        });
        assert_eq!(refreshed.into_inner(), 1);
    }

    #[test]
    fn a_broken_login_file_is_never_overwritten() {
        let bed = Bed::new();
        let file = bed.file("c.json", "{broken");
        assert!(matches!(store_oauth(&file, "a", None, 1), Err(SettingsError::Refused { .. })));
        assert_eq!(std::fs::read_to_string(file).unwrap(), "{broken");
    }
}
