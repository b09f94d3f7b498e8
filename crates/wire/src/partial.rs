//! Pieces of a streaming message. The API's event stays the bytes that came: an answer of 2 MB arrives in a hundred
//! thousand of these, so a reader looks into the few fields it needs and nothing is rebuilt.

use crate::message::{Field, message};
use crate::{Extra, Usage};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// JSON as it came, checked to be JSON.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub struct Raw(Box<RawValue>);

impl Raw {
    pub fn get(&self) -> &str {
        self.0.get()
    }

    /// `None` where the text is not JSON.
    pub fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok().map(Self)
    }
}

impl PartialEq for Raw {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Default for Raw {
    fn default() -> Self {
        Self(RawValue::NULL.to_owned())
    }
}

impl Field for Raw {
    fn read(value: Value) -> Result<Self, Value> {
        serde_json::value::to_raw_value(&value).map(Self).map_err(|_| value)
    }
}

message! {
    /// A `stream_event`.
    pub struct Partial {
        event: Raw = "event",
        parent_tool_use_id: Option<String> = "parent_tool_use_id",
        ttft_ms: Option<u64> = "ttft_ms" optional,
    }
}

impl Partial {
    pub fn piece(&self) -> Piece<'_> {
        Piece::of(self.event.get())
    }
}

/// A whole `stream_event` line, borrowed from it.
#[derive(Debug, Deserialize)]
pub struct PartialLine<'a> {
    #[serde(rename = "type")]
    _kind: IgnoredAny,
    #[serde(borrow)]
    event: &'a RawValue,
    #[serde(borrow, default)]
    pub parent_tool_use_id: Option<Cow<'a, str>>,
    #[serde(default)]
    ttft_ms: Option<u64>,
    #[serde(borrow, default)]
    pub session_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    uuid: Option<Cow<'a, str>>,
    #[serde(flatten)]
    extra: Extra,
}

/// How agents begin these lines: `type` comes first.
const PREFIX: &str = r#"{"type":"stream_event","#;

impl<'a> PartialLine<'a> {
    /// `None` where the line does not begin like one, or has a field of another type; [`crate::Line`] reads those.
    pub fn parse(line: &'a str) -> Option<Self> {
        if line.starts_with(PREFIX) { serde_json::from_str(line).ok() } else { None }
    }

    pub fn piece(&self) -> Piece<'a> {
        Piece::of(self.event.get())
    }
}

impl From<PartialLine<'_>> for crate::Line {
    fn from(line: PartialLine<'_>) -> Self {
        let partial = Partial {
            event: Raw(line.event.to_owned()),
            parent_tool_use_id: line.parent_tool_use_id.map(Cow::into_owned),
            ttft_ms: line.ttft_ms,
            extra: line.extra,
        };
        Self {
            event: crate::Event::StreamEvent(Box::new(partial)),
            session_id: line.session_id.map(Cow::into_owned),
            uuid: line.uuid.map(Cow::into_owned),
        }
    }
}

/// What a piece says, of all that is in it.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece<'a> {
    Text(Cow<'a, str>),
    Thinking(Cow<'a, str>),
    MessageStart {
        id: Cow<'a, str>,
        model: Cow<'a, str>,
    },
    /// The count of the whole message so far.
    MessageDelta {
        usage: Option<Usage>,
    },
    /// Block borders, input of calls, signatures, pings.
    Other,
}

#[derive(Deserialize)]
struct ApiEvent<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    delta: Option<&'a RawValue>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    thinking: Option<Cow<'a, str>>,
}

#[derive(Deserialize, Default)]
struct Start<'a> {
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    model: Option<Cow<'a, str>>,
}

impl<'a> Piece<'a> {
    fn of(event: &'a str) -> Self {
        let Ok(event) = serde_json::from_str::<ApiEvent<'a>>(event) else { return Self::Other };
        match &*event.kind {
            "message_start" => {
                let start = event.message.and_then(|message| serde_json::from_str::<Start<'a>>(message.get()).ok());
                let Start { id, model } = start.unwrap_or_default();
                Self::MessageStart { id: id.unwrap_or_default(), model: model.unwrap_or_default() }
            }
            "message_delta" => {
                let usage = event.usage.and_then(|usage| serde_json::from_str::<Value>(usage.get()).ok());
                Self::MessageDelta { usage: usage.as_ref().and_then(crate::content::usage) }
            }
            _ => event.delta.and_then(|delta| Self::of_delta(delta.get())).unwrap_or(Self::Other),
        }
    }

    fn of_delta(delta: &'a str) -> Option<Self> {
        let delta: Delta<'a> = serde_json::from_str(delta).ok()?;
        match &*delta.kind {
            "text_delta" => delta.text.map(Self::Text),
            "thinking_delta" => delta.thinking.map(Self::Thinking),
            _ => None,
        }
    }
}
