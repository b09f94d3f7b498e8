//! The bytes of an answer as events of the Messages API, whichever of the two formats carries them.

use crate::provider::StreamFormat;
use crate::sse;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use cloud::event_stream::{self, Frame, FrameError};
use serde::Deserialize;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum StreamError {
    #[error("{0}")]
    TooLong(#[from] sse::TooLong),
    #[error("{0}")]
    Frame(#[from] FrameError),
    #[error("a frame holds no event")]
    NoEvent,
    /// The service ended the stream itself, with the API's name for the kind of error.
    #[error("{kind}: {message}")]
    Exception { kind: &'static str, message: String },
}

pub(crate) enum Decoder {
    ServerSentEvents(sse::Decoder),
    Frames(event_stream::Decoder),
}

/// What a frame of Bedrock's stream holds. Padding beside it is passed over.
#[derive(Deserialize)]
struct Chunk<'a> {
    bytes: &'a str,
}

impl Decoder {
    pub(crate) fn new(format: StreamFormat) -> Self {
        match format {
            StreamFormat::ServerSentEvents => Self::ServerSentEvents(sse::Decoder::new(sse::EVENT_MAX)),
            StreamFormat::EventStream => Self::Frames(event_stream::Decoder::default()),
        }
    }

    pub(crate) fn feed(&mut self, chunk: Bytes) {
        match self {
            Self::ServerSentEvents(decoder) => decoder.feed(chunk),
            Self::Frames(decoder) => decoder.push(&chunk),
        }
    }

    /// The JSON of the next event, or `None` until more bytes are fed.
    pub(crate) fn next(&mut self) -> Result<Option<Bytes>, StreamError> {
        match self {
            Self::ServerSentEvents(decoder) => Ok(decoder.next()?),
            Self::Frames(decoder) => decoder.next_frame()?.map(|frame| event(&frame)).transpose(),
        }
    }
}

fn event(frame: &Frame) -> Result<Bytes, StreamError> {
    match frame.text(":message-type") {
        Some("exception") => {
            let value: serde_json::Value = serde_json::from_slice(&frame.payload).unwrap_or_default();
            let name = frame.text(":exception-type").unwrap_or_default();
            let message = value["message"].as_str().unwrap_or(name).to_owned();
            Err(StreamError::Exception { kind: kind(name), message })
        }
        Some("error") => {
            let code = frame.text(":error-code").unwrap_or_default();
            let message = frame.text(":error-message").unwrap_or(code).to_owned();
            Err(StreamError::Exception { kind: kind(code), message })
        }
        _ => {
            let chunk: Chunk = serde_json::from_slice(&frame.payload).map_err(|_| StreamError::NoEvent)?;
            let event = STANDARD.decode(chunk.bytes).map_err(|_| StreamError::NoEvent)?;
            Ok(event.into())
        }
    }
}

/// The API's own name for an exception, which decides whether asking again can help.
fn kind(exception: &str) -> &'static str {
    let name = exception.to_ascii_lowercase();
    if name.contains("throttling") || name.contains("toomanyrequests") {
        "rate_limit_error"
    } else if name.contains("validation") {
        "invalid_request_error"
    } else if name.contains("timeout") {
        "timeout_error"
    } else if name.contains("accessdenied") {
        "permission_error"
    } else {
        "api_error"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cloud::event_stream::HeaderValue;

    fn frame(headers: &[(&str, &str)], payload: &str) -> Bytes {
        let headers =
            headers.iter().map(|(name, value)| ((*name).into(), HeaderValue::Text((*value).into()))).collect();
        Frame { headers, payload: payload.as_bytes().to_vec() }.encode().into()
    }

    #[test]
    fn frames_carry_events_and_exceptions() {
        let mut decoder = Decoder::new(StreamFormat::EventStream);
        let payload = format!(r#"{{"bytes":"{}","p":"abc"}}"#, STANDARD.encode(r#"{"type":"ping"}"#));
        decoder.feed(frame(&[(":message-type", "event"), (":event-type", "chunk")], &payload));
        assert_eq!(decoder.next().unwrap().unwrap(), r#"{"type":"ping"}"#);
        assert_eq!(decoder.next(), Ok(None));
        for (name, kind) in [
            ("throttlingException", "rate_limit_error"),
            ("validationException", "invalid_request_error"),
            ("modelTimeoutException", "timeout_error"),
            ("internalServerException", "api_error"),
            ("serviceUnavailableException", "api_error"),
            ("modelStreamErrorException", "api_error"),
        ] {
            decoder.feed(frame(
                &[(":message-type", "exception"), (":exception-type", name)],
                r#"{"message":"slow down"}"#,
            ));
            assert_eq!(decoder.next(), Err(StreamError::Exception { kind, message: "slow down".into() }), "{name}");
        }
        decoder.feed(frame(&[(":message-type", "error"), (":error-code", "x"), (":error-message", "y")], ""));
        assert_eq!(decoder.next(), Err(StreamError::Exception { kind: "api_error", message: "y".into() }));
        decoder.feed(frame(&[(":message-type", "event")], "{}"));
        assert_eq!(decoder.next(), Err(StreamError::NoEvent));
    }
}
