//! What the drawn model says, and how it is known afterwards which answers were counted how often.

use mock::{Script, ScriptedAnswer};
use serde_json::{Map, Value, json};

/// How often an answer must appear in the books.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counts {
    Once,
    AtMostOnce,
}

/// One answer and what was done to it.
#[derive(Debug, Clone)]
pub struct Told {
    pub turn: ScriptedAnswer,
    pub fault: &'static str,
    pub counts: Counts,
}

/// Each answer has a digit of its own in one of these counts: base four, so that a second booking shows.
const FIELDS: [(&str, &str); 3] = [
    ("input_tokens", "inputTokens"),
    ("cache_read_input_tokens", "cacheReadInputTokens"),
    ("cache_creation_input_tokens", "cacheCreationInputTokens"),
];
const DIGITS: usize = 7;
pub const TOLD_MAX: usize = FIELDS.len() * DIGITS;

/// Plain answers behind the drawn ones, so that retries and nudges never run out of script.
const REST: usize = 60;

/// The counts that make the answer recognisable; all others are nothing.
pub fn marked(number: usize) -> Map<String, Value> {
    let mut usage = blank();
    if let Some((field, _)) = FIELDS.get(number / DIGITS) {
        usage.insert((*field).into(), json!(4u64.pow((number % DIGITS) as u32)));
    }
    usage
}

fn blank() -> Map<String, Value> {
    let mut usage: Map<String, Value> = FIELDS.iter().map(|(field, _)| ((*field).to_owned(), json!(0))).collect();
    usage.insert("output_tokens".into(), json!(1));
    usage
}

/// How often each of the first `asked` answers is in the books of a result.
pub fn booked(result: &Value, asked: usize) -> Vec<u64> {
    let models = result["modelUsage"].as_object().cloned().unwrap_or_default();
    let total = |name: &str| models.values().filter_map(|model| model[name].as_u64()).sum::<u64>();
    let digit = |number: usize| {
        let (_, name) = FIELDS[number / DIGITS];
        total(name) / 4u64.pow((number % DIGITS) as u32) % 4
    };
    (0..asked.min(TOLD_MAX)).map(digit).collect()
}

pub fn script(told: &[Told]) -> Script {
    let mut turns: Vec<ScriptedAnswer> = told.iter().map(|told| told.turn.clone()).collect();
    let plain = |text: &str| ScriptedAnswer { usage: Some(blank()), ..ScriptedAnswer::text(text) };
    turns.resize_with(told.len() + REST, || plain("That is all."));
    Script { turns, untooled: vec![plain("A summary."); REST], ..Script::default() }
}

/// The turn as an event stream, for those who want to spoil its bytes.
pub fn events(turn: &ScriptedAnswer, id: &str) -> Vec<Value> {
    let usage = turn.usage.clone().unwrap_or_default();
    let mut events = vec![json!({"type": "message_start", "message": {"id": id, "type": "message",
        "role": "assistant", "model": "m", "content": [], "stop_reason": null, "usage": usage}})];
    for (index, block) in turn.content.iter().enumerate() {
        let (start, delta) = match block["type"].as_str() {
            Some("tool_use") => (
                json!({"type": "tool_use", "id": format!("toolu_{id}_{index}"), "name": block["name"], "input": {}}),
                json!({"type": "input_json_delta", "partial_json": block["input"].to_string()}),
            ),
            _ => (json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": block["text"]})),
        };
        events.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    let calls = turn.content.iter().any(|block| block["type"] == "tool_use");
    let reason = if calls { "tool_use" } else { "end_turn" };
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 1}}));
    events.push(json!({"type": "message_stop"}));
    events
}

pub fn sse(events: &[Value]) -> String {
    events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or("x"))).collect()
}
