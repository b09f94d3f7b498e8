//! One page over HTTP: bounded in time, size and redirects, and never from a private address.

use crate::address::{AddressError, checked, is_public, same_site};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{ACCEPT, CONTENT_TYPE, LOCATION};
use reqwest::{Client, ClientBuilder, Response, redirect};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// More text than any model reads; what comes after is not read from the network either.
pub const LARGEST_BODY: usize = 10 * 1024 * 1024;

/// Hops within one site, as browsers allow about.
const MOST_REDIRECTS: usize = 10;

const CONNECT_WITHIN: Duration = Duration::from_secs(10);

/// For the whole page, all redirects included.
pub const FETCH_WITHIN: Duration = Duration::from_mins(1);

/// The name the reference fetches under, which sites have rules for.
const USER_AGENT: &str = "Claude-User (ralph)";

const WANTED: &str = "text/markdown, text/html;q=0.9, text/*;q=0.8, application/json;q=0.8, */*;q=0.1";

#[derive(Debug, thiserror::Error)]
pub enum GetError {
    #[error(transparent)]
    Address(#[from] AddressError),
    #[error("{url} redirected more than {MOST_REDIRECTS} times")]
    TooManyRedirects { url: Url },
    #[error("{url} redirects without saying where to")]
    NoLocation { url: Url },
    #[error("{url} could not be fetched: {why}")]
    Failed { url: Url, why: String },
    /// The words of the caller, which sets clients up.
    #[error("{0}")]
    NoClient(String),
    #[error("{url} did not answer within {} s", FETCH_WITHIN.as_secs())]
    TooSlow { url: Url },
}

#[derive(Debug, thiserror::Error)]
enum ResolveError {
    #[error(transparent)]
    Lookup(#[from] std::io::Error),
    #[error(transparent)]
    Address(#[from] AddressError),
}

#[derive(Debug)]
pub enum GetOutcome {
    Page(Page),
    /// To another site, which nobody has agreed to yet.
    Elsewhere {
        to: Url,
        status: u16,
        reason: String,
    },
}

#[derive(Debug)]
pub struct Page {
    pub url: Url,
    pub status: u16,
    pub reason: String,
    pub content_type: String,
    pub body: Vec<u8>,
}

/// A client for pages on top of the caller's, which brings certificates and proxies. Our own redirect
/// rules and name resolution replace whatever it had.
pub fn client(builder: ClientBuilder, guard: Guard) -> Result<Client, GetError> {
    builder
        .redirect(redirect::Policy::none())
        .dns_resolver(Arc::new(guard))
        .connect_timeout(CONNECT_WITHIN)
        .referer(false)
        .user_agent(USER_AGENT)
        .build()
        .map_err(|error| GetError::NoClient(spelled_out(&error)))
}

/// Resolves names and refuses those that lead to a private address. What it returns is what is
/// connected to, so a name cannot mean something else a moment later (DNS rebinding).
#[derive(Debug, Clone)]
pub struct Guard {
    pub private_allowed: bool,
    /// The caller's own proxy may be where it likes.
    pub proxy_host: Option<String>,
}

impl Guard {
    async fn addresses(self, name: &str) -> Result<Vec<SocketAddr>, ResolveError> {
        let found: Vec<SocketAddr> = tokio::net::lookup_host((name, 0)).await?.collect();
        let trusted = self.private_allowed || self.proxy_host.as_deref() == Some(name);
        // One bad address among good ones is an attack, not a mistake.
        if !trusted && !found.iter().all(|address| is_public(address.ip())) {
            return Err(AddressError::Private(name.to_owned()).into());
        }
        Ok(found)
    }

    /// Behind a proxy somebody else resolves the name; we can still refuse what we know to be private.
    pub async fn check_for_proxy(&self, url: &Url) -> Result<(), GetError> {
        let (Some(_), Some(name)) = (&self.proxy_host, url.domain()) else { return Ok(()) };
        let Ok(mut found) = tokio::net::lookup_host((name, 0)).await else { return Ok(()) };
        if self.private_allowed || found.all(|address| is_public(address.ip())) {
            return Ok(());
        }
        Err(AddressError::Private(name.to_owned()).into())
    }
}

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = self.clone();
        Box::pin(async move {
            let found = guard.addresses(name.as_str()).await?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

pub async fn get(client: &Client, guard: &Guard, url: Url) -> Result<GetOutcome, GetError> {
    let asked = url.clone();
    match tokio::time::timeout(FETCH_WITHIN, follow(client, guard, url)).await {
        Ok(got) => got,
        Err(_elapsed) => Err(GetError::TooSlow { url: asked }),
    }
}

async fn follow(client: &Client, guard: &Guard, mut url: Url) -> Result<GetOutcome, GetError> {
    let asked = url.clone();
    for _ in 0..=MOST_REDIRECTS {
        guard.check_for_proxy(&url).await?;
        let request = client.get(url.clone()).header(ACCEPT, WANTED);
        let response = request.send().await.map_err(|error| failed(&url, &error))?;
        if !response.status().is_redirection() || response.status().as_u16() == 304 {
            return page(url, response).await.map(GetOutcome::Page);
        }
        let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
        let to = location.and_then(|location| url.join(location).ok());
        let to = to.ok_or_else(|| GetError::NoLocation { url: url.clone() })?;
        // Judged like a URL that was typed: a redirect is a favourite way to a private address.
        let to = checked(to.as_str(), guard.private_allowed)?;
        if !same_site(&url, &to) {
            let status = response.status();
            let reason = status.canonical_reason().unwrap_or("Redirect").to_owned();
            return Ok(GetOutcome::Elsewhere { to, status: status.as_u16(), reason });
        }
        url = to;
    }
    Err(GetError::TooManyRedirects { url: asked })
}

async fn page(url: Url, mut response: Response) -> Result<Page, GetError> {
    let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let content_type = content_type.unwrap_or_default().to_ascii_lowercase();
    let status = response.status();
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| failed(&url, &error))? {
        body.extend_from_slice(&chunk[..chunk.len().min(LARGEST_BODY - body.len())]);
        if body.len() >= LARGEST_BODY {
            break;
        }
    }
    let reason = status.canonical_reason().unwrap_or_default().to_owned();
    Ok(Page { url, status: status.as_u16(), reason, content_type, body })
}

fn failed(url: &Url, error: &reqwest::Error) -> GetError {
    GetError::Failed { url: url.clone(), why: spelled_out(error) }
}

/// reqwest's own text stops at the surface; the reason is at the bottom.
pub fn spelled_out(error: &(dyn std::error::Error + 'static)) -> String {
    let mut deepest = error;
    while let Some(cause) = deepest.source() {
        deepest = cause;
    }
    deepest.to_string()
}
