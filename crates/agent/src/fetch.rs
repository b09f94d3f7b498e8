//! A file from the web that a session needs before it starts: a plugin that was named by its address.

use model::ClientConfig;
use reqwest::Url;
use reqwest::redirect::Policy;
use std::time::Duration;

/// For all of it; whoever starts a session waits.
const PATIENCE: Duration = Duration::from_mins(1);
const REDIRECTS: usize = 5;

/// What is at an address. Only what nobody on the way can change is taken: https, or this machine.
pub async fn fetch(address: &str, config: &ClientConfig, most: u64) -> Result<Vec<u8>, String> {
    let url = Url::parse(address).map_err(|error| format!("{address} is not an address: {error}"))?;
    let is_here = matches!(url.host_str(), Some("127.0.0.1" | "localhost" | "[::1]"));
    let is_safe = url.scheme() == "https" || (url.scheme() == "http" && is_here);
    if !is_safe {
        return Err(format!("{address} is not an https address"));
    }
    let got = tokio::time::timeout(PATIENCE, get(url, is_here, config, most)).await;
    got.unwrap_or_else(|_| Err(format!("nothing whole came within {} s", PATIENCE.as_secs())))
        .map_err(|why| format!("{address} cannot be fetched: {why}"))
}

async fn get(url: Url, is_here: bool, config: &ClientConfig, most: u64) -> Result<Vec<u8>, String> {
    let policy = if is_here { Policy::none() } else { Policy::limited(REDIRECTS) };
    let client = model::plain_client(config).map_err(|error| error.to_string())?;
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
