//! The events of a recording as a client gets them: which ones, under which number, in which text.
//!
//! Without `derived`, every line is one event as it was recorded, and its number is that of the line. With it, agents' own lines are
//! replaced by what is derived from them, and the number is that of the line and a place among the events of that line.

use crate::sse;
use cycle::EventKind;
use runner::run_socket::NumberedEvent;
use serde_json::{Map, Value};

/// A line of the recording, and a place among the events of that line.
pub type Position = (u64, u32);

/// What a reader takes of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Selection {
    pub derived: bool,
    /// Pieces of texts are news at the end of a recording. Before it, the whole texts follow.
    pub is_live: bool,
}

impl Selection {
    pub fn wants(self, numbered: &NumberedEvent) -> bool {
        match &numbered.event.kind {
            EventKind::Agent { .. } => !self.derived,
            EventKind::AgentText(_) | EventKind::AgentThinking(_) => {
                self.derived && (self.is_live || !is_partial(numbered))
            }
            EventKind::ToolCall(_)
            | EventKind::ToolResult(_)
            | EventKind::PermissionDenied { .. }
            | EventKind::ApiRetry(_)
            | EventKind::Usage(_) => self.derived,
            _ => self.derived || numbered.index == 0 || matches!(numbered.event.kind, EventKind::IterationEnded { .. }),
        }
    }
}

/// A piece of a text that follows as a whole.
pub fn is_partial(numbered: &NumberedEvent) -> bool {
    match &numbered.event.kind {
        EventKind::AgentText(speech) | EventKind::AgentThinking(speech) => speech.partial,
        _ => false,
    }
}

/// Behind this event.
pub fn behind(numbered: &NumberedEvent) -> Position {
    (numbered.seq, numbered.index.saturating_add(1))
}

pub fn described(numbered: &NumberedEvent, derived: bool) -> String {
    let mut fields = Map::new();
    fields.insert("seq".into(), numbered.seq.into());
    if derived {
        fields.insert("index".into(), numbered.index.into());
    }
    // An event is an object; its fields come behind ours, word for word.
    let event = numbered.event.to_line();
    let ours = Value::Object(fields).to_string();
    format!("{},{}", ours.trim_end_matches('}'), event.trim_start_matches('{'))
}

/// The event on a stream.
pub fn streamed(numbered: &NumberedEvent, derived: bool) -> String {
    let id = if derived { format!("{}.{}", numbered.seq, numbered.index) } else { numbered.seq.to_string() };
    sse::event("", &id, &described(numbered, derived))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_event_gets_its_number_and_stays_as_it_is() {
        let numbered =
            NumberedEvent { seq: 7, index: 2, event: EventKind::Steered { iteration: 1, text: "}{".into() }.at(5) };
        let value: Value = serde_json::from_str(&described(&numbered, true)).unwrap();
        assert_eq!(value, json!({"seq": 7, "index": 2, "at": 5, "type": "steered", "iteration": 1, "text": "}{"}));
        let plain: Value = serde_json::from_str(&described(&numbered, false)).unwrap();
        assert_eq!((plain["seq"].as_u64(), plain.get("index")), (Some(7), None));
    }
}
