//! The bytes of an answer as events of the Messages API, whichever format carries them and whichever API made them.

use crate::openai::Translator;
use crate::profile::Format;
use crate::provider::StreamFormat;
use crate::sse;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use cloud::event_stream::{self, Frame, FrameError};
use serde::Deserialize;
use std::collections::VecDeque;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum StreamError {
    #[error("{0}")]
    TooLong(#[from] sse::TooLong),
    #[error("{0}")]
    Frame(#[from] FrameError),
    #[error("a frame holds no event")]
    NoEvent,
    #[error("an event cannot be read ({0})")]
    Unreadable(String),
    /// The service ended the stream itself, with the API's name for the kind of error.
    #[error("{kind}: {message}")]
    Exception { kind: &'static str, message: String },
}

pub(crate) struct Decoder {
    carrier: Carrier,
    /// For an endpoint that speaks another API.
    translator: Option<Translator>,
    translated: VecDeque<Bytes>,
}

enum Carrier {
    ServerSentEvents(sse::Decoder),
    Frames(event_stream::Decoder),
}

/// What a frame of Bedrock's stream holds. Padding beside it is passed over.
#[derive(Deserialize)]
struct Chunk<'a> {
    bytes: &'a str,
}

impl Decoder {
    /// `names`: see [`Translator::new`].
    pub(crate) fn new(carrier: StreamFormat, format: Format, names: &[(String, String)]) -> Self {
        let carrier = match carrier {
            StreamFormat::ServerSentEvents => Carrier::ServerSentEvents(sse::Decoder::new(sse::EVENT_MAX)),
            StreamFormat::EventStream => Carrier::Frames(event_stream::Decoder::default()),
        };
        Self { carrier, translator: Translator::new(format, names), translated: VecDeque::new() }
    }

    pub(crate) fn feed(&mut self, chunk: Bytes) {
        match &mut self.carrier {
            Carrier::ServerSentEvents(decoder) => decoder.feed(chunk),
            Carrier::Frames(decoder) => decoder.push(&chunk),
        }
    }

    /// The JSON of the next event, or `None` until more bytes are fed.
    pub(crate) fn next(&mut self) -> Result<Option<Bytes>, StreamError> {
        loop {
            if let Some(event) = self.translated.pop_front() {
                return Ok(Some(event));
            }
            let carried = self.carrier.next()?;
            let (Some(translator), Some(data)) = (&mut self.translator, &carried) else { return Ok(carried) };
            translator.take(data, &mut self.translated).map_err(|error| unreadable(&error))?;
        }
    }

    /// The bytes have ended. Whether events are left that this end completed.
    pub(crate) fn close(&mut self) -> Result<bool, StreamError> {
        if let Some(translator) = &mut self.translator {
            translator.close(&mut self.translated).map_err(|error| unreadable(&error))?;
        }
        Ok(!self.translated.is_empty())
    }
}

impl Carrier {
    fn next(&mut self) -> Result<Option<Bytes>, StreamError> {
        match self {
            Self::ServerSentEvents(decoder) => Ok(decoder.next()?),
            Self::Frames(decoder) => decoder.next_frame()?.map(|frame| event(&frame)).transpose(),
        }
    }
}

fn unreadable(error: &serde_json::Error) -> StreamError {
    StreamError::Unreadable(error.to_string())
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
        let mut decoder = Decoder::new(StreamFormat::EventStream, Format::Messages, &[]);
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
