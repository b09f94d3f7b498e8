//! Server-sent events with bounds: a place among the streams, a short queue, comments against silence, and an end when the
//! reader has left or the server ends.

use crate::problem::Problem;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use bytes::Bytes;
use std::convert::Infallible;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};

/// Proxies and phones give up a connection that is silent for longer.
const COMMENT_EVERY: Duration = Duration::from_secs(15);
const COMMENT: &[u8] = b":\n\n";
/// Pieces that wait for a slow reader. Producers wait behind them, so a stream never holds more.
const QUEUE: usize = 8;

/// Where a producer puts events.
#[derive(Debug, Clone)]
pub struct EventSender(mpsc::Sender<Bytes>);

/// The reader has left.
#[derive(Debug)]
pub struct ReaderLeft;

impl EventSender {
    #[cfg(test)]
    pub fn new(sender: mpsc::Sender<Bytes>) -> Self {
        Self(sender)
    }

    /// One event, or several behind one another.
    pub async fn send(&self, events: impl Into<Bytes>) -> Result<(), ReaderLeft> {
        self.0.send(events.into()).await.map_err(|_| ReaderLeft)
    }
}

/// An event as its text on the stream. A name or an id that is empty is left out.
pub fn event(name: &str, id: &str, data: &str) -> String {
    let mut text = String::with_capacity(name.len() + id.len() + data.len() + 24);
    for (field, value) in [("event: ", name), ("id: ", id)] {
        if !value.is_empty() {
            text.extend([field, value, "\n"]);
        }
    }
    for line in data.split(['\n', '\r']) {
        text.extend(["data: ", line, "\n"]);
    }
    text.push('\n');
    text
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
        let bytes = match tokio::time::timeout(COMMENT_EVERY, receiver.recv()).await {
            Ok(received) => received?,
            Err(_) => Bytes::from_static(COMMENT),
        };
        Some((Ok::<_, Infallible>(bytes), (receiver, place)))
    });
    let mut response = Response::new(Body::from_stream(events));
    for (name, value) in [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-cache"),
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Completes when the server ends.
pub async fn closed(mut closing: watch::Receiver<bool>) {
    // An error means that the sender is gone, which is the end, too.
    let _ = closing.wait_for(|closing| *closing).await;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_its_fields_and_an_empty_line() {
        for (name, id, data, expected) in [
            ("", "7", "{}", "id: 7\ndata: {}\n\n"),
            ("end", "", "{}", "event: end\ndata: {}\n\n"),
            ("log", "7.1", "a\nb", "event: log\nid: 7.1\ndata: a\ndata: b\n\n"),
            ("", "", "", "data: \n\n"),
        ] {
            assert_eq!(event(name, id, data), expected);
        }
    }
}
