//! The pages that WebFetch has read: one client, made at the first need, and a small cache.

use crate::get::{GetError, Guard, client};
use futures_util::future::BoxFuture;
use reqwest::{Client, ClientBuilder};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;
use url::Url;

/// Characters of a page the small model is given.
pub const LONGEST_TEXT: usize = 100_000;

/// Pages kept; each has at most [`LONGEST_TEXT`] characters.
pub const MOST_CACHED: usize = 32;

/// Why the caller has no client or no answer of the small model, in words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WebError(pub String);

/// Asks the small model.
pub type AskSmall = Arc<dyn Fn(String) -> BoxFuture<'static, Result<String, WebError>> + Send + Sync>;

/// Brings the caller's certificates and proxies. Called once, at the first fetch: a client is not free.
pub type MakeClient = Arc<dyn Fn() -> Result<ClientBuilder, WebError> + Send + Sync>;

/// Cheap to clone; all clones share client and cache.
#[derive(Clone)]
pub struct Web(pub Arc<Shared>);

pub struct Shared {
    pub make_client: MakeClient,
    pub ask_small: AskSmall,
    guard: Guard,
    cache_for: Duration,
    client: Mutex<Option<Client>>,
    pub cache: Mutex<VecDeque<Cached>>,
}

#[derive(Clone)]
pub struct Cached {
    asked: Url,
    at: Instant,
    text: Arc<Readable>,
}

/// A page as the small model reads it.
pub struct Readable {
    pub url: Url,
    pub status: u16,
    pub reason: String,
    pub bytes: usize,
    pub text: String,
}

impl Web {
    pub const CACHE_FOR: Duration = Duration::from_mins(15);

    pub fn new(make_client: MakeClient, ask_small: AskSmall) -> Self {
        Self::with(make_client, ask_small, Self::CACHE_FOR, None, false)
    }

    /// `proxy_host` is the host of the proxy that `make_client` sets, if it does: it may be private.
    /// `allow_private` lets pages of this machine through, for tests.
    pub fn with(
        make_client: MakeClient,
        ask_small: AskSmall,
        cache_for: Duration,
        proxy_host: Option<String>,
        allow_private: bool,
    ) -> Self {
        Self(Arc::new(Shared {
            make_client,
            ask_small,
            guard: Guard { private_allowed: allow_private, proxy_host },
            cache_for,
            client: Mutex::default(),
            cache: Mutex::default(),
        }))
    }

    pub fn guard(&self) -> &Guard {
        &self.0.guard
    }

    pub fn ask(&self, question: String) -> BoxFuture<'static, Result<String, WebError>> {
        (self.0.ask_small)(question)
    }

    pub fn client(&self) -> Result<Client, GetError> {
        let mut kept = self.0.client.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = &*kept {
            return Ok(client.clone());
        }
        let builder = (self.0.make_client)().map_err(|WebError(why)| GetError::NoClient(why))?;
        let made = client(builder, self.0.guard.clone())?;
        *kept = Some(made.clone());
        Ok(made)
    }

    /// A client for one web socket, which exists in HTTP/1.1 only.
    pub fn socket_client(&self) -> Result<Client, GetError> {
        let builder = (self.0.make_client)().map_err(|WebError(why)| GetError::NoClient(why))?;
        client(builder.http1_only(), self.0.guard.clone())
    }

    pub fn cached(&self, asked: &Url) -> Option<Arc<Readable>> {
        let mut cache = self.0.cache.lock().unwrap_or_else(PoisonError::into_inner);
        cache.retain(|page| page.at.elapsed() < self.0.cache_for);
        cache.iter().find(|page| page.asked == *asked).map(|page| Arc::clone(&page.text))
    }

    pub fn remember(&self, asked: Url, text: &Arc<Readable>) {
        let mut cache = self.0.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if cache.len() >= MOST_CACHED {
            cache.pop_front();
        }
        cache.push_back(Cached { asked, at: Instant::now(), text: Arc::clone(text) });
    }
}
