//! Stream events in, a message out. Pure.
//!
//! Blocks are finished one by one, because each leaves for the client the moment it is whole. Blocks and
//! deltas of kinds we do not know are kept as they came or passed over, never an error. Deliberately
//! absent: time, the network, and what to do with a message that was cut.

use crate::ask::Reply;
use crate::frame::{Delta, Frame, PlainPiece};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// Far above any model's longest answer; a server that streams forever must not fill the memory.
const MESSAGE_MAX: usize = 64 * 1024 * 1024;
/// An excerpt of unreadable tool input is enough to see what went wrong.
const BAD_INPUT_EXCERPT: usize = 200;
/// The key under which unreadable tool input goes back to the model; clients of the reference know it.
const UNPARSED: &str = "__unparsedToolInput";
/// As much of it as the model needs to see its mistake. More would be paid for again with every later request.
const UNPARSED_MAX: usize = 4_000;

/// A block that will not change any more.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Finished {
    pub(crate) index: usize,
    pub(crate) block: Value,
    /// Why the tool input could not be read; `input` then holds its text.
    pub(crate) bad_input: Option<String>,
}

/// What an event did.
#[derive(Debug, PartialEq)]
pub(crate) enum FrameOutcome {
    Nothing,
    Started(Value),
    Content,
    Block(Finished),
    Stopped,
    Error { kind: String, message: String },
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Damage {
    #[error("the stream holds an event that cannot be read ({0})")]
    Unreadable(String),
    #[error("the stream holds content before its message_start")]
    NoStart,
    #[error("the message is longer than {MESSAGE_MAX} bytes")]
    TooLong,
}

impl From<serde_json::Error> for Damage {
    fn from(error: serde_json::Error) -> Self {
        Self::Unreadable(error.to_string())
    }
}

/// How far the message came when its stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamProgress {
    /// Nothing worth keeping.
    Nothing,
    /// At least one whole block.
    Blocks,
    /// The stop reason: all that follows is ceremony.
    End,
}

#[derive(Debug, Default)]
pub(crate) struct Assembler {
    started: bool,
    ended: bool,
    open: Vec<Open>,
    usage: Map<String, Value>,
    reply: Reply,
    size: usize,
}

#[derive(Debug)]
struct Open {
    index: usize,
    block: Map<String, Value>,
    text: String,
    thinking: String,
    signature: String,
    input: String,
    citations: Vec<Value>,
}

impl Assembler {
    pub(crate) fn take(&mut self, frame: &Frame) -> Result<FrameOutcome, Damage> {
        match &*frame.kind.0 {
            "message_start" if !self.started => self.start(frame.message),
            "content_block_start" | "content_block_delta" | "content_block_stop" | "message_delta" | "message_stop"
                if !self.started =>
            {
                Err(Damage::NoStart)
            }
            "content_block_start" => self.open(frame),
            "content_block_delta" => self.grow(frame),
            "content_block_stop" => Ok(self.close(frame.index)),
            "message_delta" => self.end(frame),
            "message_stop" => {
                self.ended = true;
                Ok(FrameOutcome::Stopped)
            }
            "error" => Ok(api_error(frame.error)),
            _ => Ok(FrameOutcome::Nothing),
        }
    }

    /// A piece of text, as [`Self::take`] would take its frame.
    pub(crate) fn take_text(&mut self, piece: &PlainPiece<'_>) -> Result<FrameOutcome, Damage> {
        if !self.started {
            return Err(Damage::NoStart);
        }
        self.count(piece.text.len())?;
        let Some(open) = self.opened(piece.index) else { return Ok(FrameOutcome::Nothing) };
        open.text.push_str(piece.text);
        Ok(FrameOutcome::Content)
    }

    pub(crate) fn progress(&self) -> StreamProgress {
        match (self.ended, self.reply.blocks.is_empty()) {
            (true, _) => StreamProgress::End,
            (false, false) => StreamProgress::Blocks,
            (false, true) => StreamProgress::Nothing,
        }
    }

    /// Blocks that nobody closed although the message ended well. A cut message's open block is dropped.
    pub(crate) fn close_open(&mut self) -> Option<Finished> {
        let index = self.open.first()?.index;
        match self.close(index) {
            FrameOutcome::Block(finished) => Some(finished),
            _ => None,
        }
    }

    pub(crate) fn into_reply(self) -> Reply {
        let usage = usage(self.usage);
        Reply { usage, ..self.reply }
    }

    fn start(&mut self, message: Option<&RawValue>) -> Result<FrameOutcome, Damage> {
        let message: Value = serde_json::from_str(message.map_or("{}", RawValue::get))?;
        let text = |key: &str| message[key].as_str().unwrap_or_default().to_owned();
        self.started = true;
        self.reply.id = text("id");
        self.reply.model = text("model");
        self.reply.start_usage = message.get("usage").cloned().unwrap_or_else(|| json!({}));
        if let Value::Object(usage) = &self.reply.start_usage {
            self.usage.clone_from(usage);
        }
        Ok(FrameOutcome::Started(message))
    }

    fn open(&mut self, frame: &Frame) -> Result<FrameOutcome, Damage> {
        let Some(raw) = frame.content_block else { return Ok(FrameOutcome::Nothing) };
        self.count(raw.get().len())?;
        let Value::Object(block) = serde_json::from_str(raw.get())? else { return Ok(FrameOutcome::Nothing) };
        let string = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let open = Open {
            index: frame.index,
            text: string("text"),
            thinking: string("thinking"),
            signature: string("signature"),
            input: String::new(),
            citations: Vec::new(),
            block,
        };
        self.open.retain(|other| other.index != frame.index);
        self.open.push(open);
        Ok(FrameOutcome::Content)
    }

    fn grow(&mut self, frame: &Frame) -> Result<FrameOutcome, Damage> {
        let Some(delta) = &frame.delta else { return Ok(FrameOutcome::Nothing) };
        self.count(delta.text.0.len() + delta.partial_json.0.len() + delta.thinking.0.len())?;
        let Some(open) = self.opened(frame.index) else { return Ok(FrameOutcome::Nothing) };
        open.grow(delta)?;
        Ok(FrameOutcome::Content)
    }

    /// The block that grows is almost always the newest.
    fn opened(&mut self, index: usize) -> Option<&mut Open> {
        self.open.iter_mut().rev().find(|open| open.index == index)
    }

    fn close(&mut self, index: usize) -> FrameOutcome {
        let Some(at) = self.open.iter().position(|open| open.index == index) else { return FrameOutcome::Nothing };
        let mut finished = self.open.remove(at).finish();
        self.name_call(&mut finished);
        self.reply.blocks.push(finished.block.clone());
        FrameOutcome::Block(finished)
    }

    /// Every call of a message is answered by its id. Some gateways leave ids out or repeat them, and a
    /// conversation with two calls of one id is refused for ever after.
    fn name_call(&self, finished: &mut Finished) {
        if finished.block.get("type").and_then(Value::as_str) != Some("tool_use") {
            return;
        }
        let ids: Vec<&str> = self.reply.blocks.iter().filter_map(|block| block.get("id")?.as_str()).collect();
        let given = finished.block.get("id").and_then(Value::as_str).unwrap_or_default();
        if !given.is_empty() && !ids.contains(&given) {
            return;
        }
        let stem = if given.is_empty() { "toolu" } else { given };
        let mut names = (finished.index..).map(|number| format!("{stem}_{number}"));
        if let Some(free) = names.find(|name| !ids.contains(&name.as_str())) {
            finished.block["id"] = Value::String(free);
        }
    }

    fn end(&mut self, frame: &Frame) -> Result<FrameOutcome, Damage> {
        if let Some(delta) = frame.delta.as_ref().filter(|delta| delta.stop_reason.is_some()) {
            self.ended = true;
            self.reply.stop_reason.clone_from(&delta.stop_reason);
            self.reply.stop_sequence.clone_from(&delta.stop_sequence);
            self.reply.stop_details.clone_from(&delta.stop_details);
        }
        if let Some(Value::Object(usage)) = frame.usage.map(|raw| serde_json::from_str(raw.get())).transpose()? {
            // Counts are cumulative, but some gateways repeat the input counts as zero here.
            let telling = usage.into_iter().filter(|(_, value)| !value.is_null() && *value != 0);
            self.usage.extend(telling);
        }
        Ok(FrameOutcome::Nothing)
    }

    fn count(&mut self, bytes: usize) -> Result<(), Damage> {
        self.size += bytes;
        if self.size > MESSAGE_MAX { Err(Damage::TooLong) } else { Ok(()) }
    }
}

impl Open {
    fn grow(&mut self, delta: &Delta) -> Result<(), Damage> {
        self.text.push_str(&delta.text.0);
        self.input.push_str(&delta.partial_json.0);
        self.thinking.push_str(&delta.thinking.0);
        self.signature.push_str(&delta.signature.0);
        if let Some(citation) = delta.citation {
            self.citations.push(serde_json::from_str(citation.get())?);
        }
        Ok(())
    }

    fn finish(mut self) -> Finished {
        let mut bad_input = None;
        let kind = self.block.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        match kind.as_str() {
            "text" => self.put("text", |open| std::mem::take(&mut open.text)),
            "thinking" => {
                self.put("thinking", |open| std::mem::take(&mut open.thinking));
                // Clients insist on the field even where the model did not sign.
                self.put("signature", |open| std::mem::take(&mut open.signature));
            }
            _ if kind.ends_with("tool_use") || !self.input.is_empty() => bad_input = self.put_input(),
            _ => {}
        }
        if !self.citations.is_empty() {
            match self.block.get_mut("citations") {
                Some(Value::Array(known)) => known.append(&mut self.citations),
                _ => drop(self.block.insert("citations".into(), Value::Array(self.citations))),
            }
        }
        Finished { index: self.index, block: Value::Object(self.block), bad_input }
    }

    fn put(&mut self, key: &str, text: fn(&mut Self) -> String) {
        let text = text(self);
        self.block.insert(key.to_owned(), Value::String(text));
    }

    /// Puts the tool's input in place. The API takes nothing but an object back, so what cannot be read
    /// as one stands inside of one, and the reason is told.
    fn put_input(&mut self) -> Option<String> {
        let (input, bad) = if self.input.trim().is_empty() {
            (self.block.get_mut("input").map(Value::take).filter(Value::is_object), None)
        } else {
            match serde_json::from_str::<Value>(&self.input) {
                Ok(value @ Value::Object(_)) => (Some(value), None),
                Ok(_) => (None, Some(bad_input("not an object", &self.input))),
                Err(error) => (None, Some(bad_input(&error.to_string(), &self.input))),
            }
        };
        let stand_in = || if bad.is_some() { unparsed(&self.input) } else { json!({}) };
        let input = input.unwrap_or_else(stand_in);
        self.block.insert("input".into(), input);
        bad
    }
}

fn unparsed(input: &str) -> Value {
    json!({UNPARSED: {"raw": &input[..input.floor_char_boundary(UNPARSED_MAX)], "len": input.len()}})
}

fn bad_input(why: &str, input: &str) -> String {
    let shown = &input[..input.floor_char_boundary(BAD_INPUT_EXCERPT)];
    let more = if shown.len() < input.len() { "…" } else { "" };
    format!("{why}; it began: {shown}{more}")
}

fn api_error(error: Option<&RawValue>) -> FrameOutcome {
    let error: Value = error.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
    let text = |key: &str| error[key].as_str().unwrap_or_default().to_owned();
    FrameOutcome::Error { kind: text("type"), message: text("message") }
}

/// Counts that are no counts (negative, fractional, text) are left out rather than losing the others.
fn usage(mut counts: Map<String, Value>) -> wire::Usage {
    counts.retain(|key, value| match (key.as_str(), value) {
        ("service_tier", value) => value.is_string(),
        ("server_tool_use" | "cache_creation", Value::Object(inner)) => {
            inner.retain(|_, count| count.is_u64());
            true
        }
        (_, value) => value.is_u64(),
    });
    serde_json::from_value(Value::Object(counts)).unwrap_or_default()
}

#[cfg(test)]
#[path = "assemble_tests.rs"]
mod tests;
