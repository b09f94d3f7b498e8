//! Endpoints in OpenAI's two shapes: a Messages request becomes theirs, and their stream becomes Messages events.
//!
//! All of it is pure. The rest of the crate sees a Messages stream and does not know which endpoint made it.
//! Deliberately absent: state on the server (`previous_response_id`), sending, and errors with an HTTP status, which
//! `failure` reads in either shape.

mod chat_request;
mod chat_stream;
mod responses_request;
mod responses_stream;
mod writer;

use crate::profile::{Feature, Format, Profile};
use crate::request::Request;
use bytes::Bytes;
use serde_json::{Map, Value};
use std::collections::VecDeque;

/// Before a reasoning item that is kept in a thinking block's `signature`, so that it can be sent back as it came.
const REASONING_MARK: &str = "openai-reasoning:";
const ERROR_PREFIX: &str = "Error: ";

/// The path behind the base address.
pub(crate) fn path(format: Format) -> &'static str {
    match format {
        Format::ChatCompletions => "chat/completions",
        Format::Responses => "responses",
        Format::Messages => "messages",
    }
}

/// The body in the endpoint's shape. The user's extra fields are merged over ours; a null takes a field away.
pub(crate) fn body(request: &Request, profile: &Profile) -> Map<String, Value> {
    let body = match profile.format() {
        Format::Responses => responses_request::body(request, profile),
        Format::ChatCompletions | Format::Messages => chat_request::body(request, profile),
    };
    request.merged(body)
}

/// Their stream to Messages events.
pub(crate) enum Translator {
    Chat(chat_stream::ChatStream),
    Responses(responses_stream::ResponsesStream),
}

impl Translator {
    pub(crate) fn new(format: Format) -> Option<Self> {
        match format {
            Format::Messages => None,
            Format::ChatCompletions => Some(Self::Chat(chat_stream::ChatStream::default())),
            Format::Responses => Some(Self::Responses(responses_stream::ResponsesStream::default())),
        }
    }

    /// Takes the data of one event of theirs; what it means is put at the end of the queue.
    pub(crate) fn take(&mut self, data: &[u8], queue: &mut VecDeque<Bytes>) -> Result<(), serde_json::Error> {
        let events = match self {
            Self::Chat(stream) => stream.take(data)?,
            Self::Responses(stream) => stream.take(data)?,
        };
        put(events, queue)
    }

    /// Their stream has ended. A message whose end was announced is closed; any other stays cut.
    pub(crate) fn close(&mut self, queue: &mut VecDeque<Bytes>) -> Result<(), serde_json::Error> {
        match self {
            Self::Chat(stream) => put(stream.close(), queue),
            Self::Responses(_) => Ok(()),
        }
    }
}

fn put(events: Vec<Value>, queue: &mut VecDeque<Bytes>) -> Result<(), serde_json::Error> {
    for event in events {
        queue.push_back(Bytes::from(serde_json::to_vec(&event)?));
    }
    Ok(())
}

/// The text of a tool's result; a failed one says so in words, because the formats have no field for it.
fn result_text(block: &Value) -> String {
    let text = match &block["content"] {
        Value::Array(inner) => {
            let texts: Vec<&str> = inner.iter().filter_map(|one| one["text"].as_str()).collect();
            texts.join("\n")
        }
        Value::String(text) => text.clone(),
        _ => String::new(),
    };
    if block["is_error"] == true && !text.starts_with(ERROR_PREFIX) { format!("{ERROR_PREFIX}{text}") } else { text }
}

/// The images inside a tool's result.
fn result_images(block: &Value) -> impl Iterator<Item = &Value> {
    block["content"].as_array().into_iter().flatten().filter(|one| one["type"] == "image")
}

/// An image's address: a link, or its bytes in one.
fn image_url(block: &Value) -> Option<String> {
    let source = &block["source"];
    match source["type"].as_str()? {
        "url" => source["url"].as_str().map(str::to_owned),
        "base64" => Some(format!("data:{};base64,{}", source["media_type"].as_str()?, source["data"].as_str()?)),
        _ => None,
    }
}

/// The schema of a tool with an input of its own. A tool that the API runs itself has none and is left out.
fn tool_schema(tool: &Value, profile: &Profile) -> Option<Value> {
    let mut schema = tool.get("input_schema")?.clone();
    if !profile.has(Feature::FullSchemas) {
        crate::profile::simplify_schema(&mut schema);
    }
    Some(schema)
}

/// Their words for effort.
fn effort(request: &Request, profile: &Profile) -> Option<&'static str> {
    let asked = request.effort.as_deref()?;
    match (profile.effort, asked) {
        (crate::profile::EffortRule::Off, _) => None,
        (_, "minimal") => Some("minimal"),
        (_, "low") => Some("low"),
        (_, "medium") => Some("medium"),
        (crate::profile::EffortRule::ByModel, "xhigh" | "max") => Some("xhigh"),
        _ => Some("high"),
    }
}

/// Token counts in our words. Tokens read from a cache are part of theirs and apart in ours.
fn usage(theirs: &Value) -> Value {
    let count = |names: [&str; 2]| names.iter().find_map(|name| theirs[*name].as_u64()).unwrap_or(0);
    let details = ["prompt_tokens_details", "input_tokens_details"];
    let cached = details.iter().find_map(|name| theirs[*name]["cached_tokens"].as_u64()).unwrap_or(0);
    let input = count(["prompt_tokens", "input_tokens"]);
    serde_json::json!({
        "input_tokens": input.saturating_sub(cached),
        "cache_read_input_tokens": cached.min(input),
        "cache_creation_input_tokens": 0,
        "output_tokens": count(["completion_tokens", "output_tokens"]),
    })
}

/// An error of theirs as an error event of ours.
fn error_event(error: &Value) -> Value {
    let text = |key: &str| error[key].as_str().unwrap_or_default();
    let kind = match (text("code"), text("type")) {
        ("insufficient_quota", _) | (_, "insufficient_quota") => "billing_error",
        ("rate_limit_exceeded", _) | (_, "rate_limit_error") => "rate_limit_error",
        ("context_length_exceeded", _) | (_, "invalid_request_error") => "invalid_request_error",
        _ => "api_error",
    };
    let message = error.as_str().unwrap_or_else(|| text("message"));
    serde_json::json!({"type": "error", "error": {"type": kind, "message": message}})
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod request_tests;
#[cfg(test)]
#[path = "stream_tests.rs"]
mod stream_tests;
