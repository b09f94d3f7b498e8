//! Logging in and out of a server of the session.

use crate::config::{Inherits, Transport};
use crate::error::ServerError;
use crate::oauth::{LoginError, PendingLogin, ServerLogin, login_key};
use crate::servers::Servers;
use serde_json::Value;
use std::sync::Arc;

impl Servers {
    /// Makes ready for a login. `Err(Login(NotWanted))` where the server wants none.
    pub(crate) async fn begin_login(&self, name: &str) -> Result<PendingLogin, ServerError> {
        let (config, deps) = self.config_and_deps(name)?;
        let refused = |reason| ServerError::Login { server: name.to_owned(), reason };
        if config.inherits == Inherits::Basics {
            return Err(ServerError::failed(name, "the folder that configures it is not trusted ('ralph trust')"));
        }
        PendingLogin::begin(&config, &*deps.http, &deps.login).await.map_err(refused)
    }

    /// Keeps a login, or forgets it.
    pub(crate) async fn keep_login(&self, name: &str, login: Option<&ServerLogin>) -> Result<(), ServerError> {
        let (config, deps) = self.config_and_deps(name)?;
        let refused = |reason| ServerError::Login { server: name.to_owned(), reason };
        let (Transport::Http { url, .. } | Transport::Sse { url, .. }) = &config.transport else {
            return Err(refused(LoginError::NotRemote));
        };
        let Some(store) = &deps.logins else {
            return Err(refused(LoginError::Store("there is no place for them".into())));
        };
        let (store, key, value) = (Arc::clone(store), login_key(name, url), login.map(Value::from));
        let kept = tokio::task::spawn_blocking(move || store.lock()?.set(&key, value)).await;
        kept.unwrap_or_else(|error| Err(LoginError::Store(error.to_string()))).map_err(refused)
    }
}
