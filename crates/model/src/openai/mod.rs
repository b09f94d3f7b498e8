//! Endpoints in OpenAI's two shapes: a Messages request becomes theirs, and their stream becomes Messages events.
//!
//! All of it is pure. The rest of the crate sees a Messages stream and does not know which endpoint made it.
//! Deliberately absent: state on the server (`previous_response_id`), sending, and errors with an HTTP status, which
//! `failure` reads in either shape.

mod chat_request;
mod chat_stream;
mod convert;
mod names;
mod responses_request;
mod responses_stream;
mod writer;

pub(crate) use names::changed as changed_names;

use crate::profile::{Format, Profile};
use crate::request::Request;
use bytes::Bytes;
use serde_json::{Map, Value};
use std::collections::VecDeque;

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
    /// `names`: tools that were sent under another name, that one first.
    pub(crate) fn new(format: Format, names: &[(String, String)]) -> Option<Self> {
        let names = names.to_vec();
        match format {
            Format::Messages => None,
            Format::ChatCompletions => Some(Self::Chat(chat_stream::ChatStream::new(names))),
            Format::Responses => Some(Self::Responses(responses_stream::ResponsesStream::new(names))),
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

#[cfg(test)]
#[path = "request_tests.rs"]
mod request_tests;
#[cfg(test)]
#[path = "stream_tests.rs"]
mod stream_tests;
