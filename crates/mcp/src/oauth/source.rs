//! Requests with the token of a stored login, which is renewed when it is over or refused.

use super::error::LoginError;
use super::login::{LoginLock, LoginStore, ServerLogin};
use super::tokens::{self, Grant, now_ms};
use crate::web::{self, WebError};
use reqwest::header::{AUTHORIZATION, HeaderValue};
use reqwest::{RequestBuilder, Response, StatusCode};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;

/// How requests to one server are authorised beside its configured headers: by a login, or not at all.
#[derive(Clone, Default)]
pub(crate) struct Auth(Option<Arc<Source>>);

struct Source {
    client: reqwest::Client,
    store: Arc<dyn LoginStore>,
    key: String,
    /// The login as it was last read or renewed.
    held: Mutex<ServerLogin>,
}

impl Auth {
    /// None where nobody is logged in.
    pub(crate) fn stored(store: &Arc<dyn LoginStore>, key: String, client: &reqwest::Client) -> Self {
        let login = store.get(&key).and_then(|stored| ServerLogin::read(&stored));
        let source = |login| Source { client: client.clone(), store: Arc::clone(store), key, held: Mutex::new(login) };
        Self(login.map(source).map(Arc::new))
    }

    /// Sends, and waits for the answer to begin. A refused token is renewed once.
    pub(crate) async fn send(&self, request: RequestBuilder, patience: Duration) -> Result<Response, WebError> {
        let Some(source) = &self.0 else { return web::send(request, patience).await };
        let again = request.try_clone();
        let token = source.token(None).await;
        let response = web::send(with_token(request, token.as_deref()), patience).await?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return Ok(response);
        }
        let (Some(again), Some(refused)) = (again, token) else { return Ok(response) };
        match source.token(Some(&refused)).await {
            Some(token) => web::send(with_token(again, Some(&token)), patience).await,
            None => Ok(response),
        }
    }
}

fn with_token(request: RequestBuilder, token: Option<&str>) -> RequestBuilder {
    let value = token.and_then(|token| HeaderValue::try_from(format!("Bearer {token}")).ok());
    match value {
        Some(mut value) => {
            value.set_sensitive(true);
            request.header(AUTHORIZATION, value)
        }
        None => request,
    }
}

impl Source {
    /// A token that may work: not over, and not the one that was refused. `None` where there is none.
    async fn token(&self, refused: Option<&str>) -> Option<String> {
        let mut held = self.held.lock().await;
        let usable = |login: &ServerLogin| !login.is_over(now_ms()) && refused != Some(login.access_token.as_str());
        if !usable(&held) {
            match self.renewed(&usable).await {
                Ok(login) => *held = login,
                Err(_) => return None,
            }
        }
        Some(held.access_token.clone())
    }

    /// Another process may have renewed it; else the authorization server is asked, and the answer kept.
    async fn renewed(&self, usable: &impl Fn(&ServerLogin) -> bool) -> Result<ServerLogin, LoginError> {
        let store = Arc::clone(&self.store);
        let locked = tokio::task::spawn_blocking(move || store.lock()).await;
        let lock: Box<dyn LoginLock> = locked.map_err(|error| LoginError::Store(error.to_string()))??;
        let now = lock.get(&self.key).and_then(|stored| ServerLogin::read(&stored)).ok_or(LoginError::Over)?;
        if usable(&now) {
            return Ok(now);
        }
        let refresh = now.refresh_token.as_deref().ok_or(LoginError::Over)?;
        let new = tokens::ask(&self.client, &now, &Grant::Refresh(refresh)).await?;
        // The tokens work whether or not they can be kept.
        let _ = lock.set(&self.key, Some(Value::from(&new)));
        Ok(new)
    }
}
