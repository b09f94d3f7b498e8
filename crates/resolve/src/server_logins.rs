//! Where the logins of MCP servers are kept: in the user's credentials file.

use mcp::{LoginError, LoginLock, LoginStore};
use serde_json::Value;
use settings::{Places, ServerLoginLock, server_login};
use std::path::PathBuf;
use std::sync::Arc;

/// The store of this user.
pub fn login_store(places: &Places) -> Arc<dyn LoginStore> {
    let [file, _] = places.login_files();
    Arc::new(LoginFile(file))
}

struct LoginFile(PathBuf);

impl LoginStore for LoginFile {
    fn get(&self, key: &str) -> Option<Value> {
        server_login(&self.0, key)
    }

    fn lock(&self) -> Result<Box<dyn LoginLock>, LoginError> {
        let lock = ServerLoginLock::acquire(&self.0).map_err(|error| LoginError::Store(error.to_string()))?;
        Ok(Box::new(Locked(lock)))
    }
}

struct Locked(ServerLoginLock);

impl LoginLock for Locked {
    fn get(&self, key: &str) -> Option<Value> {
        self.0.get(key)
    }

    fn set(&self, key: &str, login: Option<Value>) -> Result<(), LoginError> {
        self.0.set(key, login).map(drop).map_err(|error| LoginError::Store(error.to_string()))
    }
}
