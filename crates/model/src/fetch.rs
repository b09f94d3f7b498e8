//! A file from the web that a session needs before it starts: a plugin that was named by its address.

use crate::config::ClientConfig;
use crate::http::{HttpError, plain_client, root};
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
    Failed { address: String, why: DownloadError },
}

/// Why an address gave no file.
#[derive(Debug, thiserror::Error)]
pub enum DownloadError {
    #[error("nothing whole came within {} s", PATIENCE.as_secs())]
    Slow,
    #[error(transparent)]
    Setup(#[from] HttpError),
    /// The last cause says most.
    #[error("{}", root(.0))]
    Web(#[from] reqwest::Error),
    #[error("the server answered {0}")]
    Status(reqwest::StatusCode),
    #[error("it is larger than {} MiB", .0 / 1024 / 1024)]
    TooLarge(u64),
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
    got.unwrap_or(Err(DownloadError::Slow)).map_err(|why| FetchError::Failed { address: address.to_owned(), why })
}

async fn get(url: Url, is_here: bool, config: &ClientConfig, most: u64) -> Result<Vec<u8>, DownloadError> {
    let policy = if is_here { Policy::none() } else { Policy::limited(REDIRECTS) };
    let client = plain_client(config)?;
    let client = client.redirect(policy).https_only(!is_here).build()?;
    let mut response = client.get(url).send().await?;
    if !response.status().is_success() {
        return Err(DownloadError::Status(response.status()));
    }
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() as u64 > most {
            return Err(DownloadError::TooLarge(most));
        }
    }
    Ok(bytes)
}
