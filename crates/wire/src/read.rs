//! Lines of an agent's stdout, for the program that started the agent.

use crate::message::{Field as _, FromMap as _};
use crate::{Event, Extra, PartialLine};
use serde_json::Value;

/// One line: the event, and the ids that [`crate::encode`] gave it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Line {
    pub event: Event,
    pub session_id: Option<String>,
    pub uuid: Option<String>,
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LineError {
    #[error("a line of the agent is not JSON: {0}")]
    NotJson(String),
    /// JSON of another form: a plain answer, or a list of events.
    #[error("a line of the agent is JSON but not an object with a \"type\"")]
    NoType(Value),
}

impl Line {
    /// Reads one line. Blank lines (also a lone CR or a byte-order mark) are `None`.
    pub fn parse(line: &str) -> Result<Option<Self>, LineError> {
        let line = line.trim().trim_start_matches('\u{feff}').trim_start();
        if line.is_empty() {
            return Ok(None);
        }
        if let Some(partial) = PartialLine::parse(line) {
            return Ok(Some(partial.into()));
        }
        let value = serde_json::from_str(line).map_err(|error| LineError::NotJson(error.to_string()))?;
        Self::from_value(value).map(Some).map_err(LineError::NoType)
    }

    /// Gives the value back where it is no event.
    pub fn from_value(value: Value) -> Result<Self, Value> {
        match value {
            Value::Object(map) if map.get("type").is_some_and(Value::is_string) => Ok(Self::from_map(map)),
            other => Err(other),
        }
    }

    fn from_map(mut map: Extra) -> Self {
        let (session_id, uuid) = (take_text(&mut map, "session_id"), take_text(&mut map, "uuid"));
        Self { event: Event::from_map(map), session_id, uuid }
    }

    /// The line as an agent writes it, newline included.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(&self.event).unwrap_or_else(|_| b"{}".to_vec());
        for (key, text) in [("session_id", &self.session_id), ("uuid", &self.uuid)] {
            if let Some(text) = text {
                line.pop();
                line.extend_from_slice(format!(",\"{key}\":{}}}", Value::from(text.as_str())).as_bytes());
            }
        }
        line.push(b'\n');
        line
    }
}

/// A value of another type stays where it is.
fn take_text(map: &mut Extra, key: &str) -> Option<String> {
    map.get(key)?.as_str()?;
    String::read(map.shift_remove(key)?).ok()
}
