//! Streamable HTTP: rmcp keeps the session, here its requests are made.
//!
//! Our own backend instead of rmcp's, for the bounds: how long until an answer begins, how long it may
//! be, and where a redirect may lead.

use crate::events::Decoder;
use crate::message::{self, MESSAGE_MAX};
use crate::notes::Notes;
use crate::oauth::Auth;
use crate::web::{self, WebError};
use futures_util::stream::{self, BoxStream, StreamExt as _};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, WWW_AUTHENTICATE};
use reqwest::{RequestBuilder, Response, StatusCode};
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, SseError, StreamableHttpClient, StreamableHttpClientTransport,
    StreamableHttpClientTransportConfig, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::Sse;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";
const SESSION: &str = "mcp-session-id";
const LAST_EVENT: &str = "last-event-id";

/// Goodbye to a server is said while we leave: it must not hold us.
const GOODBYE: Duration = Duration::from_millis(150);

/// For the stream on which a server speaks unasked; calls open their own.
const STREAM_TRIES: usize = 5;

type Refused = StreamableHttpError<WebError>;

#[derive(Clone)]
pub(crate) struct Backend {
    client: reqwest::Client,
    /// Of the configuration.
    headers: HeaderMap,
    auth: Auth,
    patience: Duration,
    notes: Notes,
}

pub(crate) fn transport(
    client: reqwest::Client,
    url: &str,
    (headers, auth): (HeaderMap, Auth),
    patience: Duration,
    notes: Notes,
) -> StreamableHttpClientTransport<Backend> {
    let backend = Backend { client, headers, auth, patience, notes };
    let mut config = StreamableHttpClientTransportConfig::with_uri(url);
    let mut tries = ExponentialBackoff::default();
    tries.max_times = Some(STREAM_TRIES);
    config.retry_config = Arc::new(tries);
    StreamableHttpClientTransport::with_client(backend, config)
}

impl Backend {
    /// The protocol's own headers go last: a configuration cannot override them.
    fn dressed(
        &self,
        request: RequestBuilder,
        session: Option<&str>,
        protocol: HashMap<HeaderName, HeaderValue>,
    ) -> RequestBuilder {
        let mut headers = self.headers.clone();
        headers.extend(protocol.into_iter().map(|(name, value)| (Some(name), value)));
        headers.remove(SESSION);
        let request = request.headers(headers);
        match session {
            Some(session) => request.header(SESSION, session),
            None => request,
        }
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response, Refused> {
        self.auth.send(request, self.patience).await.map_err(failed)
    }

    fn events(&self, response: Response) -> BoxStream<'static, Result<Sse, SseError>> {
        let state = Some((response, Decoder::new(MESSAGE_MAX), self.notes.clone()));
        stream::unfold(state, |state| async move {
            let (mut response, mut decoder, notes) = state?;
            loop {
                let failed = match decoder.next() {
                    Ok(Some(event)) => {
                        let sse = Sse { event: event.name, data: event.data, id: event.id, retry: event.retry };
                        return Some((Ok(sse), Some((response, decoder, notes))));
                    }
                    Ok(None) => match response.chunk().await {
                        Ok(Some(chunk)) => {
                            decoder.feed(&chunk);
                            continue;
                        }
                        Ok(None) => return None,
                        Err(error) => web::root(&error),
                    },
                    Err(too_long) => too_long.to_string(),
                };
                notes.trouble(failed.clone());
                return Some((Err(SseError::Body(failed.into())), None));
            }
        })
        .boxed()
    }

    async fn answer(
        &self,
        response: Response,
        asked: bool,
        session: bool,
    ) -> Result<StreamableHttpPostResponse, Refused> {
        let status = response.status();
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && session {
            return Err(StreamableHttpError::SessionExpired);
        }
        let new_session = text(response.headers(), SESSION);
        let kind = text(response.headers(), CONTENT_TYPE.as_str()).unwrap_or_default();
        if !status.is_success() {
            return self.refused(response, new_session).await;
        }
        if kind.starts_with(EVENTS) {
            return Ok(StreamableHttpPostResponse::Sse(self.events(response), new_session));
        }
        let body = web::body(response, MESSAGE_MAX).await.map_err(failed)?;
        match message::read(&body) {
            Some(message) => Ok(StreamableHttpPostResponse::Json(message, new_session)),
            None if !asked => Ok(StreamableHttpPostResponse::Accepted),
            None => {
                self.notes.noise(&body);
                let kind = if kind.is_empty() { "something without a type" } else { &kind };
                Err(failed(WebError::Unclear(format!("it is {kind} instead of {JSON}"))))
            }
        }
    }

    /// A refusal may hold a proper JSON-RPC error, which then says more.
    async fn refused(
        &self,
        response: Response,
        session: Option<String>,
    ) -> Result<StreamableHttpPostResponse, Refused> {
        let challenge = text(response.headers(), WWW_AUTHENTICATE.as_str());
        let (error, body) = web::refusal(response).await;
        match (error, message::read(&body)) {
            (WebError::Unauthorized, _) => {
                let challenge = challenge.unwrap_or_else(|| "no challenge given".into());
                Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(challenge)))
            }
            (_, Some(message @ ServerJsonRpcMessage::Error(_))) => {
                Ok(StreamableHttpPostResponse::Json(message, session))
            }
            (error, _) => Err(failed(error)),
        }
    }
}

fn failed(error: WebError) -> Refused {
    match error {
        WebError::Unauthorized => {
            StreamableHttpError::AuthRequired(AuthRequiredError::new("no challenge given".into()))
        }
        error => StreamableHttpError::Client(error),
    }
}

fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

impl StreamableHttpClient for Backend {
    type Error = WebError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _auth: Option<String>,
        protocol: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Refused> {
        let asked = matches!(message, ClientJsonRpcMessage::Request(_));
        let body = serde_json::to_vec(&message)?;
        let request = self.dressed(self.client.post(&*uri), session.as_deref(), protocol);
        let request = request.header(ACCEPT, format!("{JSON}, {EVENTS}")).header(CONTENT_TYPE, JSON).body(body);
        self.answer(self.send(request).await?, asked, session.is_some()).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        _auth: Option<String>,
        protocol: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Refused> {
        let request = self.dressed(self.client.delete(&*uri), Some(&session), protocol);
        self.auth.send(request, GOODBYE).await.map(drop).map_err(failed)
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        _auth: Option<String>,
        protocol: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Refused> {
        let mut request = self.dressed(self.client.get(&*uri), session.as_deref(), protocol).header(ACCEPT, EVENTS);
        if let Some(last_event) = last_event {
            request = request.header(LAST_EVENT, last_event);
        }
        let response = self.send(request).await?;
        let kind = text(response.headers(), CONTENT_TYPE.as_str()).unwrap_or_default();
        match response.status() {
            status if status.is_success() && kind.starts_with(EVENTS) => Ok(self.events(response)),
            // It has nothing to say unasked; asking again changes nothing.
            status if status.is_success() || status.is_client_error() => {
                Err(StreamableHttpError::ServerDoesNotSupportSse)
            }
            _ => Err(failed(web::refusal(response).await.0)),
        }
    }
}
