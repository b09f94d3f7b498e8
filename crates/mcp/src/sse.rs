//! The HTTP transport of before March 2025: one long stream of events from the server, which first
//! tells where to post our messages.
//!
//! Only to the server's own origin: a writer of the stream must not be able to send our headers
//! elsewhere. Connecting again is the manager's.

use crate::error::ConnectError;
use crate::events::{Decoder, Event, TooLong};
use crate::message::{self, MESSAGE_MAX};
use crate::notes::Notes;
use crate::oauth::Auth;
use crate::web::{self, WebError};
use reqwest::Response;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use std::future::Future;
use std::time::Duration;
use url::Url;

pub(crate) struct EventStream {
    client: reqwest::Client,
    headers: HeaderMap,
    auth: Auth,
    patience: Duration,
    /// Where messages are posted.
    endpoint: Url,
    incoming: Incoming,
    notes: Notes,
}

struct Incoming {
    response: Response,
    decoder: Decoder,
}

#[derive(Debug, thiserror::Error)]
enum Broken {
    #[error(transparent)]
    TooLong(#[from] TooLong),
    #[error("its stream of events broke: {0}")]
    Stream(String),
    #[error("it ended its stream of events")]
    Ended,
}

impl Incoming {
    /// May be dropped at its await: everything read is kept here.
    async fn next(&mut self) -> Result<Event, Broken> {
        loop {
            if let Some(event) = self.decoder.next()? {
                return Ok(event);
            }
            match self.response.chunk().await {
                Ok(Some(chunk)) => self.decoder.feed(&chunk),
                Ok(None) => return Err(Broken::Ended),
                Err(error) => return Err(Broken::Stream(web::root(&error))),
            }
        }
    }
}

/// Opens the stream and waits for the address to post to.
pub(crate) async fn open(
    client: reqwest::Client,
    url: &Url,
    (headers, auth): (HeaderMap, Auth),
    patience: Duration,
    notes: Notes,
) -> Result<EventStream, ConnectError> {
    let request = client.get(url.clone()).headers(headers.clone()).header(ACCEPT, "text/event-stream");
    let response = auth.send(request, patience).await?;
    if !response.status().is_success() {
        return Err(web::refusal(response).await.0.into());
    }
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if !kind.starts_with("text/event-stream") {
        return Err(WebError::Unclear(format!("it is {kind:?} instead of a stream of events")).into());
    }
    let mut incoming = Incoming { response, decoder: Decoder::new(MESSAGE_MAX) };
    let endpoint = loop {
        let event = incoming.next().await.map_err(|broken| ConnectError::Closed(broken.to_string()))?;
        if event.name.as_deref() == Some("endpoint") {
            break endpoint(url, event.data.as_deref().unwrap_or_default())?;
        }
    };
    Ok(EventStream { client, headers, auth, patience, endpoint, incoming, notes })
}

fn endpoint(server: &Url, told: &str) -> Result<Url, ConnectError> {
    let endpoint = server
        .join(told.trim())
        .map_err(|error| ConnectError::Answered(format!("the address to post to, {told:?}, is not valid: {error}")))?;
    if endpoint.origin() != server.origin() {
        return Err(ConnectError::Answered(format!("it wants messages posted to another host, {told:?}: refused")));
    }
    Ok(endpoint)
}

impl Transport<RoleClient> for EventStream {
    type Error = WebError;

    fn send(&mut self, message: ClientJsonRpcMessage) -> impl Future<Output = Result<(), WebError>> + Send + 'static {
        let request = self.client.post(self.endpoint.clone()).headers(self.headers.clone());
        let (auth, patience) = (self.auth.clone(), self.patience);
        async move {
            let body = serde_json::to_vec(&message).map_err(|error| WebError::Unclear(error.to_string()))?;
            let request = request.header(CONTENT_TYPE, "application/json").body(body);
            let response = auth.send(request, patience).await?;
            if response.status().is_success() { Ok(()) } else { Err(web::refusal(response).await.0) }
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            match self.incoming.next().await {
                Ok(event) => {
                    let data = event.data.unwrap_or_default();
                    match message::read(data.as_bytes()) {
                        Some(message) => return Some(message),
                        None => self.notes.noise(data.as_bytes()),
                    }
                }
                Err(broken) => {
                    self.notes.trouble(broken.to_string());
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), WebError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_go_to_the_servers_own_origin() {
        let server = Url::parse("https://x.test:8443/a/sse").unwrap();
        for (told, expected) in [
            ("/messages?id=1", Some("https://x.test:8443/messages?id=1")),
            ("m", Some("https://x.test:8443/a/m")),
            ("https://x.test:8443/m", Some("https://x.test:8443/m")),
            ("https://evil.test/m", None),
            ("//evil.test/m", None),
            ("http://x.test:8443/m", None),
            ("https://[", None),
        ] {
            let endpoint = endpoint(&server, told).ok();
            assert_eq!(endpoint.as_ref().map(Url::as_str), expected, "{told}");
        }
    }
}
