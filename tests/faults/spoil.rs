//! Everything that can be wrong with an answer of the model. Each takes a good turn and spoils it.

use crate::dice::Dice;
use crate::model::{Counts, events, sse};
use mock::ScriptedAnswer;
use serde_json::{Value, json};

pub type Fault = (&'static str, Counts, fn(&mut Dice, &mut ScriptedAnswer));

/// Longer than the deadlines that `drive` sets.
const TOO_LATE_MS: u64 = 3_000;

use Counts::{AtMostOnce, Once};

pub const FAULTS: [Fault; 36] = [
    ("cut at a byte", AtMostOnce, |dice, turn| turn.cut_after_bytes = Some(dice.below(1500))),
    ("cut after an event", AtMostOnce, |dice, turn| turn.cut_after_events = Some(dice.below(9))),
    ("reset at a byte", AtMostOnce, |dice, turn| {
        turn.cut_after_bytes = Some(dice.below(1500));
        turn.reset = true;
    }),
    ("silence", AtMostOnce, |dice, turn| turn.stall_after_events = Some(dice.below(7))),
    ("late", AtMostOnce, |_, turn| turn.delay_ms = TOO_LATE_MS),
    ("in drops", Once, |dice, turn| {
        turn.chunk_bytes = Some(1 + dice.below(40));
        turn.chunk_delay_ms = dice.below(2) as u64;
    }),
    ("pinging", Once, |_, turn| turn.ping = true),
    ("429", AtMostOnce, |_, turn| turn.status = Some(429)),
    ("429 with no wait", AtMostOnce, |_, turn| failed(turn, 429, "retry-after", "0")),
    ("429 for hours", AtMostOnce, |_, turn| failed(turn, 429, "retry-after", "9999")),
    ("429 with nonsense", AtMostOnce, |_, turn| failed(turn, 429, "retry-after", "soon")),
    ("529", AtMostOnce, |_, turn| turn.status = Some(529)),
    ("500", AtMostOnce, |_, turn| turn.status = Some(500)),
    ("503 as a page", AtMostOnce, |_, turn| {
        turn.status = Some(503);
        turn.body = Some("<html>busy</html>".into());
    }),
    ("400, 401, 403, 404 or 413", AtMostOnce, |dice, turn| turn.status = Some(*dice.pick(&[400, 401, 403, 404, 413]))),
    ("a redirect", AtMostOnce, |_, turn| {
        failed(turn, 302, "location", "http://127.0.0.1:9/");
        turn.body = Some(String::new());
    }),
    ("a page with status 200", AtMostOnce, |_, turn| turn.body = Some("<html>log in</html>".into())),
    ("no stream", AtMostOnce, |_, turn| {
        turn.body = Some(json!({"type": "message", "content": []}).to_string());
        turn.content_type = Some("application/json".into());
    }),
    ("nothing at all", AtMostOnce, |_, turn| turn.raw_sse = Some(String::new())),
    ("an error in the stream", AtMostOnce, |dice, turn| {
        let kind = dice.pick(&["overloaded_error", "api_error", "invalid_request_error", "rate_limit_error"]);
        turn.error = Some(json!({"type": "error", "error": {"type": kind, "message": "scripted"}}));
        turn.cut_after_events = Some(dice.below(9));
    }),
    ("an event twice", AtMostOnce, |dice, turn| {
        respell(dice, turn, |dice, events| {
            let at = dice.below(events.len());
            events.insert(at, events[at].clone());
        });
    }),
    ("an event missing", AtMostOnce, |dice, turn| {
        respell(dice, turn, |dice, events| drop(events.remove(dice.below(events.len()))));
    }),
    ("events out of order", AtMostOnce, |dice, turn| {
        respell(dice, turn, |dice, events| {
            let (one, other) = (dice.below(events.len()), dice.below(events.len()));
            events.swap(one, other);
        });
    }),
    ("unknown events", Once, |dice, turn| {
        respell(dice, turn, |dice, events| {
            for _ in 0..3 {
                let unknown = json!({"type": "novelty", "index": dice.below(3), "delta": {"type": "novel", "x": [1]}});
                events.insert(dice.below(events.len() + 1), unknown);
            }
        });
    }),
    ("malformed events", AtMostOnce, |dice, turn| {
        let text = sse(&events(turn, &fresh(dice)));
        let at = text.floor_char_boundary(dice.below(text.len()));
        let junk = *dice.pick(&["}", "\ndata: {\n\n", "\u{0}", "data", "\n\n", "\"", "event: x\n", ": note\n"]);
        turn.raw_sse = Some(format!("{}{junk}{}", &text[..at], &text[at..]));
    }),
    ("other line ends", Once, |dice, turn| {
        let end = *dice.pick(&["\r\n", "\r"]);
        turn.raw_sse = Some(sse(&events(turn, &fresh(dice))).replace('\n', end));
    }),
    ("an id seen before", AtMostOnce, |_, turn| turn.raw_sse = Some(sse(&events(turn, "msg_again")))),
    ("two calls with one id", Once, |_, turn| {
        let call = json!({"type": "tool_use", "id": "toolu_same", "name": "Bash", "input": {"command": "echo same"}});
        turn.content = vec![call.clone(), call];
    }),
    ("half a tool input", Once, |dice, turn| {
        let input = r#"{"command": "echo ho", "description": "says ho"}"#;
        let part = &input[..dice.below(input.len())];
        turn.content = vec![json!({"type": "tool_use", "name": "Bash", "input_json": part})];
        turn.stop_reason = Some((*dice.pick(&["max_tokens", "tool_use", "end_turn"])).into());
    }),
    ("a tool that is not there", Once, |_, turn| {
        turn.content = vec![json!({"type": "tool_use", "name": "Nope", "input": {"a": [1, {}]}})];
    }),
    ("an unknown block", Once, |_, turn| turn.content.insert(0, json!({"type": "novel_block", "data": {"x": 1}}))),
    ("nothing said", Once, |_, turn| turn.content.clear()),
    ("blanks said", Once, |_, turn| turn.content = vec![json!({"type": "text", "text": " \n"})]),
    ("only thoughts", Once, |_, turn| turn.content = vec![json!({"type": "thinking", "thinking": "hm"})]),
    ("thoughts, then cut", AtMostOnce, |_, turn| {
        turn.content.insert(0, json!({"type": "thinking", "thinking": "hm"}));
        turn.cut_after_events = Some(6);
    }),
    ("an odd stop", Once, |dice, turn| {
        let reasons =
            ["max_tokens", "refusal", "pause_turn", "novel", "model_context_window_exceeded", "stop_sequence"];
        turn.stop_reason = Some((*dice.pick(&reasons)).into());
    }),
];

fn failed(turn: &mut ScriptedAnswer, status: u16, header: &str, value: &str) {
    turn.status = Some(status);
    turn.headers.insert(header.into(), value.into());
}

fn respell(dice: &mut Dice, turn: &mut ScriptedAnswer, change: impl Fn(&mut Dice, &mut Vec<Value>)) {
    let mut list = events(turn, &fresh(dice));
    change(dice, &mut list);
    turn.raw_sse = Some(sse(&list));
}

/// An id that no other message has.
fn fresh(dice: &mut Dice) -> String {
    format!("msg_{:016x}", dice.next())
}
