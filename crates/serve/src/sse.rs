//! Server-sent events with bounds: a place among the streams, a short queue, comments against silence, and an end when the
//! reader has left or the server ends.

use crate::app::closed;
use crate::problem::Problem;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use std::convert::Infallible;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};

/// Proxies and phones give up a connection that is silent for longer.
const COMMENT_EVERY: Duration = Duration::from_secs(15);
/// Events that wait for a slow reader. Producers wait behind them, so a stream never holds more.
const QUEUE: usize = 16;

/// Where a producer puts events.
#[derive(Debug, Clone)]
pub struct EventSender(mpsc::Sender<Event>);

/// The reader has left.
#[derive(Debug)]
pub struct ReaderLeft;

impl EventSender {
    pub async fn send(&self, event: Event) -> Result<(), ReaderLeft> {
        self.0.send(event).await.map_err(|_| ReaderLeft)
    }
}

/// A stream that `produce` fills. It is dropped when the reader leaves or the server ends.
pub fn stream<F>(
    place: OwnedSemaphorePermit,
    closing: watch::Receiver<bool>,
    produce: impl FnOnce(EventSender) -> F,
) -> Response
where
    F: Future<Output = Result<(), ReaderLeft>> + Send + 'static,
{
    let (sender, receiver) = mpsc::channel(QUEUE);
    let left = sender.clone();
    let producing = produce(EventSender(sender));
    tokio::spawn(async move {
        tokio::select! {
            _ = producing => {}
            () = left.closed() => {}
            () = closed(closing) => {}
        }
    });
    let events = futures_util::stream::unfold((receiver, place), |(mut receiver, place)| async move {
        let event = receiver.recv().await?;
        Some((Ok::<_, Infallible>(event), (receiver, place)))
    });
    let mut response = Sse::new(events).keep_alive(KeepAlive::new().interval(COMMENT_EVERY)).into_response();
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// The number that a reader has seen last.
pub fn last_event_id(headers: &HeaderMap) -> Option<u64> {
    headers.get("last-event-id")?.to_str().ok()?.trim().parse().ok()
}

/// Whether a client would take a stream: `Accept` names it, or everything.
pub fn is_accepted(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    accept.is_none_or(|accept| {
        accept
            .split(',')
            .any(|kind| matches!(kind.split(';').next().map(str::trim), Some("text/event-stream" | "*/*" | "text/*")))
    })
}

/// Whether a client asks for a stream and nothing else.
pub fn is_wanted(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    accept.is_some_and(|accept| accept.contains("text/event-stream"))
}

pub fn not_acceptable() -> Problem {
    let detail = "this is a stream: 'Accept' must allow text/event-stream";
    Problem::new(axum::http::StatusCode::NOT_ACCEPTABLE, "not_acceptable", detail)
}
