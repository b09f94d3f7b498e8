//! The choice of the answer to a request. Pure: requests in, replies out, no socket and no clock.

use crate::recording::Exchange;
use crate::reply::{End, Framing, Reply};
use crate::request_key::RequestKey;
use crate::routes::{Format, Route, route};
use crate::sse::{AnswerIds, Number};
use crate::{Recorded, Script, ScriptedAnswer, expect, formats, gemini};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::time::Duration;

/// What the model says once the script has ended.
const EXHAUSTED: &str = "script exhausted";

/// What a request without tools gets unless the script lists answers for those.
const UNTOOLED: &str = "ok";

/// A token is roughly this many bytes of JSON; nobody should rely on more.
const BYTES_PER_TOKEN: usize = 4;

/// A script and how far it has been played.
#[derive(Debug)]
pub(crate) struct ScriptPlayer {
    script: Script,
    tooled: usize,
    untooled: usize,
    /// Turns of the script; what was said in between is none of them.
    played: usize,
    /// Said before the script goes on.
    first: VecDeque<ScriptedAnswer>,
}

impl ScriptPlayer {
    pub(crate) fn new(script: Script) -> Self {
        Self { script, tooled: 0, untooled: 0, played: 0, first: VecDeque::new() }
    }

    /// How many turns of the script were played: to requests with tools, and to others.
    pub(crate) fn position(&self) -> (usize, usize) {
        (self.played, self.untooled)
    }

    /// Goes on from there.
    pub(crate) fn seek(&mut self, position: (usize, usize)) {
        (self.played, self.untooled) = position;
    }

    /// The next request that offers tools gets this; the script goes on after it.
    pub(crate) fn interpose(&mut self, turn: ScriptedAnswer) {
        self.first.push_back(turn);
    }

    pub(crate) fn reply(&mut self, request: &Recorded) -> Reply {
        let form = request.body.as_str().unwrap_or_default();
        match route(&request.method, request.route(), form) {
            Route::Ask { format, streams, model } if request.body.is_object() => {
                self.message(request, format, streams, model.as_deref())
            }
            Route::Ask { .. } => refused("invalid_request_error", "the body is not a JSON object", "000000"),
            Route::Count(key) => json_reply(200, &json!({key: request.body.to_string().len() / BYTES_PER_TOKEN})),
            Route::Models => json_reply(200, &self.models()),
            Route::Profiles => {
                let listed = |(id, _)| json!({"inferenceProfileId": id, "status": "ACTIVE", "type": "SYSTEM_DEFINED"});
                let listed: Vec<Value> = self.profiles().map(listed).collect();
                json_reply(200, &json!({"inferenceProfileSummaries": listed}))
            }
            Route::Profile(asked) => match self.profiles().find(|(id, _)| *id == asked) {
                Some((id, model)) => {
                    let arn = format!("arn:aws:bedrock:us-east-1::foundation-model/{}", model.unwrap_or(id));
                    json_reply(200, &json!({"inferenceProfileArn": id, "models": [{"modelArn": arn}]}))
                }
                None => json_reply(404, &json!({"message": "there is no such inference profile"})),
            },
            Route::Json(value) => {
                let mut reply = json_reply(200, &value);
                // Google's clients look for it.
                reply.headers.push(("metadata-flavor".into(), "Google".into()));
                reply
            }
            Route::Text(kind, text) => whole(200, kind, text.as_bytes().to_vec()),
            Route::Unknown => {
                let place = format!("the mock API does not know {} {}", request.method, request.route());
                json_reply(404, &error(404, &place, "000000"))
            }
        }
    }

    /// Each profile of the script, with the model behind it where the script says it.
    fn profiles(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.script.profiles.iter().map(|entry| match entry.split_once('=') {
            Some((id, model)) => (id, Some(model)),
            None => (entry.as_str(), None),
        })
    }

    fn message(&mut self, request: &Recorded, format: Format, streams: Option<bool>, model: Option<&str>) -> Reply {
        let (turn, number) = self.next(request);
        let tag = number.tag();
        if let Some(difference) = turn.expect.as_ref().and_then(|wanted| expect::difference(wanted, &request.body)) {
            let place = format!("the script expected something else of request {tag}: {difference}");
            return refused("invalid_request_error", &place, &tag);
        }
        let asked = request.body.get("model").and_then(Value::as_str);
        let model = model.or(asked).unwrap_or("mock-model");
        let streams = streams.unwrap_or_else(|| request.body.get("stream").and_then(Value::as_bool).unwrap_or(false));
        perform(&AnswerIds { turn: &turn, number, model }, streams, format)
    }

    fn next(&mut self, request: &Recorded) -> (ScriptedAnswer, Number) {
        if !request.has_tools() {
            self.untooled += 1;
            let scripted = self.script.untooled.get(self.untooled - 1).cloned().or_else(|| self.recorded(request));
            return (scripted.unwrap_or_else(|| ScriptedAnswer::text(UNTOOLED)), Number::Untooled(self.untooled));
        }
        self.tooled += 1;
        let number = Number::Tooled(self.tooled);
        if let Some(turn) = self.first.pop_front().or_else(|| self.recorded(request)) {
            return (turn, number);
        }
        self.played += 1;
        let turn = match (self.script.turns.get(self.played - 1), self.script.turns.last()) {
            (Some(turn), _) => turn.clone(),
            (None, Some(last)) if last.calls_a_tool() => last.clone(),
            _ => ScriptedAnswer::text(EXHAUSTED),
        };
        (turn, number)
    }

    /// Of the answers that are left, the first of those that fit best.
    fn recorded(&mut self, request: &Recorded) -> Option<ScriptedAnswer> {
        let asked = RequestKey::of(&request.body);
        let fit = |(at, exchange): (usize, &Exchange)| Some((asked.fit(&exchange.asked)?, std::cmp::Reverse(at)));
        let (_, std::cmp::Reverse(best)) = self.script.recorded.iter().enumerate().filter_map(fit).max()?;
        Some(self.script.recorded.remove(best).turn)
    }

    fn models(&self) -> Value {
        let mut ids: Vec<&str> = self.script.turns.iter().filter_map(|turn| turn.model.as_deref()).collect();
        ids.push("mock-model");
        ids.dedup();
        let models: Vec<Value> = ids
            .iter()
            .map(|id| json!({"type": "model", "id": id, "display_name": id, "created_at": "2026-01-01T00:00:00Z"}))
            .collect();
        json!({"data": models, "has_more": false, "first_id": ids.first(), "last_id": ids.last()})
    }
}

fn perform(answer: &AnswerIds, streams: bool, format: Format) -> Reply {
    let turn = answer.turn;
    let tag = answer.number.tag();
    let status = turn.status.unwrap_or(200);
    let mut reply = if let Some(body) = &turn.body {
        let kind = turn.content_type.as_deref().unwrap_or("text/html; charset=utf-8");
        whole(status, kind, body.clone().into_bytes())
    } else if status >= 400 {
        let scripted = "scripted error";
        let usual = || match format {
            Format::Gemini => gemini::error(status, scripted),
            _ => error(status, scripted, &tag),
        };
        json_reply(status, &turn.error.clone().unwrap_or_else(usual))
    } else if let Some(raw) = &turn.raw_sse {
        stream(turn, &split_events(raw), format)
    } else if streams {
        stream(turn, &formats::pieces(answer, format), format)
    } else {
        json_reply(status, &formats::whole(answer, format))
    };
    if let Some(bytes) = turn.cut_after_bytes.filter(|bytes| *bytes < reply.bytes.len()) {
        reply.bytes.truncate(bytes);
        reply.end = End::Cut;
    }
    if turn.reset {
        reply.end = End::Reset;
    }
    if !turn.headers.keys().any(|name| name.eq_ignore_ascii_case("request-id")) {
        reply.headers.push(("request-id".into(), format!("req_{tag}")));
    }
    reply.headers.extend(turn.headers.iter().map(|(name, value)| (name.clone(), value.clone())));
    reply.delay = Duration::from_millis(turn.delay_ms);
    reply.chunks = turn.chunk_bytes.map(|size| (size, Duration::from_millis(turn.chunk_delay_ms)));
    reply
}

fn stream(turn: &ScriptedAnswer, events: &[Vec<u8>], format: Format) -> Reply {
    let (kept, end) = match (turn.cut_after_events, turn.stall_after_events) {
        (Some(cut), _) => (cut, End::Cut),
        (None, Some(stall)) => (stall, End::Stall),
        (None, None) => (events.len(), End::Finish),
    };
    let mut bytes: Vec<u8> = events.iter().take(kept).flatten().copied().collect();
    let end = match &turn.error {
        Some(error) => {
            bytes.extend(formats::error_piece(error, format));
            End::Finish
        }
        None => end,
    };
    let mut reply = whole(200, turn.content_type.as_deref().unwrap_or(formats::content_type(format)), bytes);
    reply.framing = Framing::Chunked;
    reply.end = end;
    reply
}

/// Raw bytes are cut between events too, wherever a blank line ends one.
fn split_events(raw: &str) -> Vec<Vec<u8>> {
    raw.split_inclusive("\n\n").map(|event| event.as_bytes().to_vec()).collect()
}

fn whole(status: u16, content_type: &str, bytes: Vec<u8>) -> Reply {
    Reply {
        status,
        headers: vec![("content-type".into(), content_type.into())],
        framing: Framing::Length(bytes.len()),
        bytes,
        end: End::Finish,
        delay: Duration::ZERO,
        chunks: None,
    }
}

fn json_reply(status: u16, body: &Value) -> Reply {
    whole(status, "application/json", body.to_string().into_bytes())
}

fn refused(kind: &str, message: &str, tag: &str) -> Reply {
    let body =
        json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": format!("req_{tag}")});
    let mut reply = json_reply(400, &body);
    reply.headers.push(("request-id".into(), format!("req_{tag}")));
    reply
}

fn error(status: u16, message: &str, tag: &str) -> Value {
    let kind = match status {
        400 => "invalid_request_error",
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        409 => "conflict_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        504 => "timeout_error",
        529 => "overloaded_error",
        _ => "api_error",
    };
    json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": format!("req_{tag}")})
}

#[cfg(test)]
#[path = "script_player_tests.rs"]
mod tests;
