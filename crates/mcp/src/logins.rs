//! Logging in and out of a server of the session.

use crate::config::{Inherits, Transport};
use crate::error::ServerError;
use crate::oauth::{LoginError, LoginLock, PendingLogin, Revocation, ServerLogin, login_key, revoke};
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

    /// Keeps a login.
    pub(crate) async fn keep_login(&self, name: &str, login: &ServerLogin) -> Result<(), ServerError> {
        let value = Value::from(login);
        self.change_login(name, move |lock, key| lock.set(key, Some(value))).await
    }

    /// Removes the login of a server from this machine; what was there.
    pub(crate) async fn remove_login(&self, name: &str) -> Result<Option<ServerLogin>, ServerError> {
        let stored = self.change_login(name, |lock, key| {
            let stored = lock.get(key);
            lock.set(key, None).map(|()| stored)
        });
        Ok(stored.await?.as_ref().and_then(ServerLogin::read))
    }

    /// Takes the tokens of a removed login back at the server.
    pub(crate) async fn revoke_login(&self, name: &str, login: &ServerLogin) -> Result<Revocation, ServerError> {
        let (_, deps) = self.config_and_deps(name)?;
        let refused = |reason| ServerError::Login { server: name.to_owned(), reason };
        revoke(login, &*deps.http).await.map_err(refused)
    }

    /// Runs a change of the stored logins under their lock, beside the session: another process may hold the lock.
    async fn change_login<T: Send + 'static>(
        &self,
        name: &str,
        change: impl FnOnce(&dyn LoginLock, &str) -> Result<T, LoginError> + Send + 'static,
    ) -> Result<T, ServerError> {
        let (config, deps) = self.config_and_deps(name)?;
        let refused = |reason| ServerError::Login { server: name.to_owned(), reason };
        let (Transport::Http { url, .. } | Transport::Sse { url, .. }) = &config.transport else {
            return Err(refused(LoginError::NotRemote));
        };
        let Some(store) = &deps.logins else {
            return Err(refused(LoginError::Store("there is no place for them".into())));
        };
        let (store, key) = (Arc::clone(store), login_key(name, url));
        let changed = tokio::task::spawn_blocking(move || change(&*store.lock()?, &key)).await;
        changed.unwrap_or_else(|error| Err(LoginError::Store(error.to_string()))).map_err(refused)
    }
}
