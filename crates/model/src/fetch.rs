//! A file from the web that a session needs before it starts: a plugin that was named by its address.

use crate::config::ClientConfig;
use crate::http::plain_client;
use reqwest::Url;
use reqwest::redirect::Policy;
use std::time::Duration;

/// For all of it; whoever starts a session waits.
const PATIENCE: Duration = Duration::from_mins(1);
const REDIRECTS: usize = 5;

/// Why a file could not be had.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error("{0} is not an address: {1}")]
    NoAddress(String, url::ParseError),
    #[error("{0} is not an https address")]
    NotHttps(String),
    #[error("{address} cannot be fetched: {why}")]
    Failed { address: String, why: String },
}

/// What is at an address. Only what nobody on the way can change is taken: https, or this machine.
pub async fn fetch(address: &str, config: &ClientConfig, most: u64) -> Result<Vec<u8>, FetchError> {
    let url = Url::parse(address).map_err(|error| FetchError::NoAddress(address.to_owned(), error))?;
    let is_here = matches!(url.host_str(), Some("127.0.0.1" | "localhost" | "[::1]"));
    let is_safe = url.scheme() == "https" || (url.scheme() == "http" && is_here);
    if !is_safe {
        return Err(FetchError::NotHttps(address.to_owned()));
    }
    let got = tokio::time::timeout(PATIENCE, get(url, is_here, config, most)).await;
    got.unwrap_or_else(|_| Err(format!("nothing whole came within {} s", PATIENCE.as_secs())))
        .map_err(|why| FetchError::Failed { address: address.to_owned(), why })
}

async fn get(url: Url, is_here: bool, config: &ClientConfig, most: u64) -> Result<Vec<u8>, String> {
    let policy = if is_here { Policy::none() } else { Policy::limited(REDIRECTS) };
    let client = plain_client(config).map_err(|error| error.to_string())?;
    let client = client.redirect(policy).https_only(!is_here).build().map_err(root)?;
    let mut response = client.get(url).send().await.map_err(root)?;
    if !response.status().is_success() {
        return Err(format!("the server answered {}", response.status()));
    }
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(root)? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() as u64 > most {
            return Err(format!("it is larger than {} MiB", most / 1024 / 1024));
        }
    }
    Ok(bytes)
}

/// The last cause says most.
#[expect(clippy::needless_pass_by_value, reason = "it stands where an error is mapped")]
fn root(error: reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = &error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
