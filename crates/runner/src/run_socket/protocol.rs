//! The words on a run's socket: one JSON object a line. docs/run-socket.md describes them for other programs.

use super::{NumberedEvent, Status};
use cycle::{EventKind, LoopEvent, Verbatim};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

pub const PROTOCOL: u32 = 1;

/// Longer than anybody types.
pub(super) const TEXT_MAX: usize = 64 * 1024;
/// A text with escapes, and the rest of its request.
pub(super) const REQUEST_MAX: usize = 128 * 1024;
/// Lines of a run: an agent's line word for word, as long as recordings have them.
pub(super) const LINE_MAX: usize = 16 * 1024 * 1024;

/// The first line of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    pub protocol: u32,
    pub run: String,
    pub pid: u32,
}

/// What a client wants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Request {
    Status,
    Events {
        /// The number of a line, from 1.
        #[serde(default = "one")]
        from: u64,
        #[serde(default)]
        index: u32,
        /// Without agents' own lines: what is in them comes in derived events, too.
        #[serde(default = "yes")]
        lines: bool,
    },
    Answer {
        text: String,
    },
    Steer {
        text: String,
    },
    Pause,
    Resume,
    /// After this iteration.
    Stop,
    StopNow,
}

fn one() -> u64 {
    1
}

fn yes() -> bool {
    true
}

/// Why a request was not done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub kind: FailureKind,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    Invalid,
    TooLong,
    NotAsking,
    NotTaken,
    Over,
    Refused,
    Busy,
    #[serde(other)]
    Unknown,
}

impl Failure {
    pub(super) fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}

/// A request with its `id`. Whatever cannot be read has an `id` as far as that can be.
pub(super) fn parse_request(line: &[u8]) -> (Value, Result<Request, Failure>) {
    let invalid = |what: String| Failure::new(FailureKind::Invalid, what);
    let value: Value = match serde_json::from_slice(line) {
        Ok(value @ Value::Object(_)) => value,
        Ok(_) => return (Value::Null, Err(invalid("a request is a JSON object".into()))),
        Err(error) => return (Value::Null, Err(invalid(format!("a request is a JSON object: {error}")))),
    };
    let id = value["id"].clone();
    let request = serde_json::from_value::<Request>(value).map_err(|error| invalid(error.to_string()));
    (id, request.and_then(checked))
}

fn checked(request: Request) -> Result<Request, Failure> {
    match &request {
        Request::Answer { text } | Request::Steer { text } if text.trim().is_empty() => {
            Err(Failure::new(FailureKind::Invalid, "`text` is empty"))
        }
        Request::Answer { text } | Request::Steer { text } if text.len() > TEXT_MAX => {
            Err(Failure::new(FailureKind::TooLong, format!("`text` is longer than {} KiB", TEXT_MAX / 1024)))
        }
        _ => Ok(request),
    }
}

pub(super) fn hello_line(hello: &Hello) -> String {
    line(&json!({ "hello": hello }))
}

pub(super) fn failure_line(id: Option<&Value>, failure: &Failure) -> String {
    match id {
        Some(id) => line(&json!({"id": id, "error": failure})),
        None => line(&json!({ "error": failure })),
    }
}

pub(super) fn done_line(id: &Value, status: Option<&Status>) -> String {
    match status {
        Some(status) => line(&json!({"id": id, "ok": true, "status": status})),
        None => line(&json!({"id": id, "ok": true})),
    }
}

pub(super) fn end_line(seq: u64) -> String {
    line(&json!({"end": {"seq": seq, "reason": "over"}}))
}

/// Without `lines`, an agent's own line only says that it is alive.
pub(super) fn event_line(numbered: &NumberedEvent, lines: bool) -> String {
    let event = match &numbered.event.kind {
        EventKind::Agent { iteration, .. } if !lines => {
            EventKind::Agent { iteration: *iteration, line: Verbatim::new("null") }.at(numbered.event.at).to_line()
        }
        _ => numbered.event.to_line(),
    };
    format!("{{\"seq\":{},\"index\":{},\"event\":{event}}}\n", numbered.seq, numbered.index)
}

fn line(value: &Value) -> String {
    format!("{value}\n")
}

/// Any line of a run, as a client reads it.
#[derive(Debug)]
pub(super) enum Received {
    Hello(Hello),
    Event(NumberedEvent),
    End,
    Done {
        id: Value,
        status: Option<Box<Status>>,
    },
    Failed {
        failure: Failure,
    },
    /// Something newer than this client.
    Unknown,
}

pub(super) fn parse_received(text: &str) -> Result<Received, serde_json::Error> {
    #[derive(Deserialize)]
    struct Frame<'a> {
        seq: Option<u64>,
        index: Option<u32>,
        #[serde(borrow)]
        event: Option<&'a RawValue>,
        hello: Option<Hello>,
        #[serde(borrow)]
        end: Option<&'a RawValue>,
        #[serde(default)]
        id: Value,
        ok: Option<bool>,
        status: Option<Box<Status>>,
        error: Option<Failure>,
    }
    let frame: Frame<'_> = serde_json::from_str(text)?;
    if let (Some(seq), Some(event)) = (frame.seq, frame.event) {
        // A kind of event that is newer than this client.
        let Ok(event) = LoopEvent::parse(event.get()) else { return Ok(Received::Unknown) };
        return Ok(Received::Event(NumberedEvent { seq, index: frame.index.unwrap_or(0), event }));
    }
    Ok(match frame {
        Frame { hello: Some(hello), .. } => Received::Hello(hello),
        Frame { error: Some(failure), .. } => Received::Failed { failure },
        Frame { ok: Some(true), id, status, .. } => Received::Done { id, status },
        Frame { end: Some(_), .. } => Received::End,
        _ => Received::Unknown,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_strictly() {
        let read = |text: &str| parse_request(text.as_bytes());
        let events = Request::Events { from: 1, index: 0, lines: true };
        assert_eq!(read(r#"{"id":1,"do":"status"}"#), (json!(1), Ok(Request::Status)));
        assert_eq!(read(r#"{"do":"events"}"#), (Value::Null, Ok(events)));
        assert_eq!(read(r#"{"id":"a","do":"stop_now","new":1}"#), (json!("a"), Ok(Request::StopNow)));
        for (text, kind) in [
            ("", FailureKind::Invalid),
            ("[]", FailureKind::Invalid),
            ("{}", FailureKind::Invalid),
            (r#"{"do":"dance"}"#, FailureKind::Invalid),
            (r#"{"do":"steer"}"#, FailureKind::Invalid),
            (r#"{"do":"steer","text":" "}"#, FailureKind::Invalid),
            (r#"{"do":"events","from":-1}"#, FailureKind::Invalid),
        ] {
            assert_eq!(read(text).1.unwrap_err().kind, kind, "{text}");
        }
        let long = json!({"do": "answer", "text": "x".repeat(TEXT_MAX + 1)}).to_string();
        assert_eq!(read(&long).1.unwrap_err().kind, FailureKind::TooLong);
    }

    #[test]
    fn events_come_back_as_they_were_sent() {
        let said = r#"{"type":"assistant","x": 1.50}"#;
        let event = EventKind::Agent { iteration: 2, line: Verbatim::new(said) }.at(7);
        let numbered = NumberedEvent { seq: 17, index: 3, event };
        let line = event_line(&numbered, true);
        let Ok(Received::Event(back)) = parse_received(&line) else { panic!("{line}") };
        assert_eq!(back, numbered);
        let short = event_line(&numbered, false);
        assert_eq!(
            short,
            "{\"seq\":17,\"index\":3,\"event\":{\"at\":7,\"type\":\"agent\",\"iteration\":2,\"line\":null}}\n"
        );
        let newer = r#"{"seq":1,"index":0,"event":{"at":1,"type":"newer_than_us"}}"#;
        assert!(matches!(parse_received(newer), Ok(Received::Unknown)));
        assert!(matches!(parse_received(&end_line(3)), Ok(Received::End)));
    }
}
