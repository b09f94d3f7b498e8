//! Logins that a client begins for its user.
//!
//! The client gets the page to show. The browser's answer comes to this machine, or the client brings it; then the server is
//! connected anew.

use super::SessionServers;
use crate::error::ServerError;
use crate::oauth::{LoginError, ServerLogin, callback_fits};
use serde_json::{Value, json};
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::mpsc::{Sender, channel};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Addresses that a client brings; one is enough.
const PASTED_MAX: usize = 4;

/// The client waits for the answer, and both tokens are asked about. The tokens are gone from this machine in any case.
const REVOCATION_PATIENCE: Duration = Duration::from_secs(10);

/// A login that waits for its user. Dropping it ends it.
pub(super) struct Waiting {
    state: String,
    brought: Sender<String>,
    done: Option<oneshot::Receiver<Result<(), ServerError>>>,
    task: JoinHandle<()>,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl SessionServers {
    /// The page where the user decides, or that none is needed.
    pub async fn authenticate(self: &Rc<Self>, name: &str) -> Result<Value, ServerError> {
        let servers = self.started().ok_or_else(|| ServerError::NoServer(name.to_owned()))?;
        // An earlier login of the same server is given up: it may have the port.
        self.logins.borrow_mut().remove(name);
        let login = match servers.begin_login(name).await {
            Ok(login) => login,
            Err(ServerError::Login { reason: LoginError::NotWanted, .. }) => {
                return Ok(json!({"requiresUserAction": false}));
            }
            Err(error) => return Err(error),
        };
        let answer = json!({
            "authUrl": login.url,
            "requiresUserAction": true,
            "callbackExpected": true,
            "callbackPort": login.port,
            "state": login.state(),
        });
        let (brought, pasted) = channel(PASTED_MAX);
        let (tell, done) = oneshot::channel();
        let state = login.state().to_owned();
        let (session, server) = (Rc::downgrade(self), name.to_owned());
        let task = tokio::task::spawn_local(async move {
            let name = server;
            let refused = |reason| ServerError::Login { server: name.clone(), reason };
            let outcome = match login.wait(pasted).await {
                Ok(login) => match session.upgrade() {
                    Some(session) => session.take_login(&name, &login).await,
                    None => Ok(()),
                },
                Err(reason) => Err(refused(reason)),
            };
            let _ = tell.send(outcome);
        });
        self.logins.borrow_mut().insert(name.to_owned(), Waiting { state, brought, done: Some(done), task });
        Ok(answer)
    }

    async fn take_login(&self, name: &str, login: &ServerLogin) -> Result<(), ServerError> {
        let servers = self.started().ok_or_else(|| ServerError::NoServer(name.to_owned()))?;
        servers.keep_login(name, login).await?;
        let connected = servers.reconnect(name).await;
        self.note_change();
        connected
    }

    /// The address that the browser was sent to, from a client whose user sits at another machine.
    pub async fn take_callback(&self, name: &str, address: &str) -> Result<(), ServerError> {
        let not_begun = || ServerError::Login { server: name.to_owned(), reason: LoginError::NotBegun };
        let (brought, done) = {
            let mut logins = self.logins.borrow_mut();
            let waiting = logins.get_mut(name).ok_or_else(not_begun)?;
            if !callback_fits(address, &waiting.state) {
                return Err(ServerError::Login { server: name.to_owned(), reason: LoginError::WrongState });
            }
            (waiting.brought.clone(), waiting.done.take())
        };
        let done = done.ok_or_else(not_begun)?;
        brought.try_send(address.to_owned()).map_err(|_| not_begun())?;
        done.await.unwrap_or_else(|_| Err(not_begun()))
    }

    /// Forgets the login of a server, which then wants another one. The login is removed from this machine first; then its
    /// tokens are revoked at the server, while the server is connected anew without them.
    pub async fn clear_login(&self, name: &str) -> Result<(), ServerError> {
        let servers = self.started().ok_or_else(|| ServerError::NoServer(name.to_owned()))?;
        self.logins.borrow_mut().remove(name);
        let login = servers.remove_login(name).await?;
        let revoked = async {
            let Some(login) = &login else { return Ok(()) };
            let revoked = tokio::time::timeout(REVOCATION_PATIENCE, servers.revoke_login(name, login)).await;
            match revoked {
                Ok(Ok(_)) => Ok(()),
                Ok(Err(error)) => Err(error.to_string()),
                Err(_) => Err(format!("no answer within {} s", REVOCATION_PATIENCE.as_secs())),
            }
        };
        // The server may well fail to connect now, which its status tells.
        let (revoked, _) = tokio::join!(revoked, servers.reconnect(name));
        if let Err(why) = revoked {
            let why = why.lines().next().unwrap_or_default();
            (self.handles.warn)(&format!(
                "warning: the tokens of {name} may still work, because the server did not revoke them: {why}"
            ));
        }
        Ok(())
    }
}
