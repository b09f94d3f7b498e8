//! Logins of MCP servers, in the file that holds the user's own login: several processes share it, so it is changed under its
//! lock.
//!
//! Absent: what a login consists of (`mcp`), and every request that it needs.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::SettingsError;
use crate::files::{self, FileLock};

/// Another process may hold the lock while its request for new tokens is on the way.
const LOCK_PATIENCE: Duration = Duration::from_secs(30);
const SECTION: &str = "mcpOAuth";

/// The stored login of this key. A file that cannot be read holds none.
pub fn server_login(file: &Path, key: &str) -> Option<Value> {
    files::read_object(file).ok()?.get(SECTION)?.get(key).cloned()
}

/// The right to change logins. Acquiring blocks the thread.
#[derive(Debug)]
pub struct ServerLoginLock {
    _lock: FileLock,
    file: PathBuf,
}

impl ServerLoginLock {
    pub fn acquire(file: &Path) -> Result<Self, SettingsError> {
        Ok(Self { _lock: FileLock::acquire(file, LOCK_PATIENCE)?, file: file.to_owned() })
    }

    pub fn get(&self, key: &str) -> Option<Value> {
        server_login(&self.file, key)
    }

    /// `None` removes the login. False where there is none to remove.
    pub fn set(&self, key: &str, login: Option<Value>) -> Result<bool, SettingsError> {
        let mut state = files::read_object(&self.file)?;
        let refused = || SettingsError::Refused {
            file: self.file.clone(),
            reason: format!("`{SECTION}` in it is not an object"),
        };
        let section = state.entry(SECTION).or_insert_with(|| json!({})).as_object_mut().ok_or_else(refused)?;
        let is_changed = match login {
            Some(login) => {
                section.insert(key.to_owned(), login);
                true
            }
            None => section.shift_remove(key).is_some(),
        };
        if is_changed {
            files::write_object(&self.file, &state)?;
        }
        Ok(is_changed)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::testbed::Bed;

    #[test]
    fn logins_are_kept_beside_the_users_own_and_are_nobody_elses() {
        let bed = Bed::new();
        let file = bed.file("home/.claude/.credentials.json", r#"{"claudeAiOauth":{"accessToken":"a"},"x":1}"#);
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        let lock = ServerLoginLock::acquire(&file).unwrap();
        assert_eq!(lock.get("s|1"), None);
        assert!(lock.set("s|1", Some(json!({"accessToken": "t"}))).unwrap());
        assert_eq!(server_login(&file, "s|1"), Some(json!({"accessToken": "t"})));
        let state: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        assert_eq!((&state["claudeAiOauth"]["accessToken"], &state["x"]), (&json!("a"), &json!(1)));
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(lock.set("s|1", None).unwrap() && !lock.set("s|1", None).unwrap());
        assert_eq!(server_login(&file, "s|1"), None);
    }

    #[test]
    fn a_file_that_cannot_be_read_is_left_alone() {
        let bed = Bed::new();
        for text in ["{broken", r#"{"mcpOAuth":[]}"#] {
            let file = bed.file("c.json", text);
            let lock = ServerLoginLock::acquire(&file).unwrap();
            assert!(matches!(lock.set("k", Some(json!(1))), Err(SettingsError::Refused { .. })), "{text}");
            assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
        }
    }
}
