//! Write → parse → equal: arbitrary values of every type, every captured line, and the lines that SDK clients send.

use crate::arbitrary::{Arbitrary, Source};
use crate::{
    AgentRequest, Block, ClientRequest, ContextUsage, ControlResponse, ElicitationAnswer, Event, Extra, Field,
    FileContents, Initialized, Input, InterruptReceipt, Line, LineError, McpAnswer, McpServersSet, McpStatus,
    PartialLine, PermissionAnswer, Piece, Rewound, SessionCost, SettingsReport, System, TaskOutput, UserInput, encode,
};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::fmt::Debug;
use std::path::Path;

fn goes_both_ways<T: Arbitrary + Field + PartialEq + Debug>(source: &mut Source) {
    let value = T::arbitrary(source);
    let text = serde_json::to_string(&value).unwrap();
    let read = T::read(serde_json::from_str(&text).unwrap());
    assert_eq!(read.as_ref(), Ok(&value), "{text}");
}

fn input(source: &mut Source) -> Input {
    match source.below(6) {
        0 => {
            let content = match source.below(2) {
                0 => json!(source.text()),
                _ => json!([{"type": "text", "text": source.text()}, {}]),
            };
            let mut prompt = UserInput::arbitrary(source);
            prompt.message.content = content;
            Input::User(Box::new(prompt))
        }
        1 => Input::request(source.text(), &ClientRequest::arbitrary(source)),
        2 => Input::response(ControlResponse::arbitrary(source)),
        3 => Input::cancel(source.text()),
        4 => Input::KeepAlive,
        _ => Input::Unknown(crate::arbitrary::unknown("type", source)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn every_event_goes_both_ways(seed: u64) {
        let source = &mut Source(seed);
        let event = Event::arbitrary(source);
        let line = Line { event, session_id: Arbitrary::arbitrary(source), uuid: Arbitrary::arbitrary(source) };
        let bytes = line.to_bytes();
        let text = std::str::from_utf8(&bytes).unwrap();
        prop_assert_eq!(Line::parse(text), Ok(Some(line.clone())), "{}", text);
        // The agent's own writer puts ids on every line, and escapes what some readers cannot take.
        let written = encode(&line.event, "s", "u", seed.is_multiple_of(2));
        let read = Line::parse(std::str::from_utf8(&written).unwrap());
        let expected = Line { session_id: Some("s".into()), uuid: Some("u".into()), ..line };
        // Pieces are kept as text, and the text is another where characters are escaped.
        if matches!(&expected.event, Event::StreamEvent(_)) {
            prop_assert!(read.is_ok());
        } else {
            prop_assert_eq!(read, Ok(Some(expected)));
        }
    }

    #[test]
    fn every_input_goes_both_ways(seed: u64) {
        let input = input(&mut Source(seed));
        let line = input.to_line();
        prop_assert_eq!(Input::parse(&line), Ok(Some(input)), "{}", String::from_utf8_lossy(&line));
    }

    #[test]
    fn every_request_and_answer_goes_both_ways(seed: u64) {
        let source = &mut Source(seed);
        goes_both_ways::<ClientRequest>(source);
        goes_both_ways::<AgentRequest>(source);
        goes_both_ways::<PermissionAnswer>(source);
        goes_both_ways::<ElicitationAnswer>(source);
        goes_both_ways::<McpAnswer>(source);
        goes_both_ways::<Initialized>(source);
        goes_both_ways::<InterruptReceipt>(source);
        goes_both_ways::<SettingsReport>(source);
        goes_both_ways::<ContextUsage>(source);
        goes_both_ways::<SessionCost>(source);
        goes_both_ways::<McpStatus>(source);
        goes_both_ways::<McpServersSet>(source);
        goes_both_ways::<TaskOutput>(source);
        goes_both_ways::<Rewound>(source);
        goes_both_ways::<FileContents>(source);
    }

    /// Known names with fields of any type: nothing is lost, and nothing is unreadable.
    #[test]
    fn fields_of_another_type_are_kept(seed: u64, at in 0..Event::NAMES.len()) {
        let source = &mut Source(seed);
        let keys = ["message", "subtype", "usage", "is_error", "request", "response", "event", "session_id", "uuid",
            "modelUsage", "parent_tool_use_id", "errors", "api_error_status", "rate_limit_info"];
        let mut map = Extra::new();
        map.insert("type".into(), json!(Event::NAMES[at]));
        for key in keys {
            map.insert(key.into(), source.value(2));
        }
        let original = Value::Object(map);
        let line = Line::parse(&original.to_string()).unwrap().unwrap();
        let again: Value = serde_json::from_slice(&line.to_bytes()).unwrap();
        prop_assert_eq!(lost(&original, &again), Vec::<String>::new(), "{} became {}", original, again);
    }
}

/// What of `before` is not in `after`. Fields may come; `null` may go.
fn lost(before: &Value, after: &Value) -> Vec<String> {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => before
            .iter()
            .filter(|(key, value)| !value.is_null() || after.contains_key(*key))
            .flat_map(|(key, value)| {
                let found = after.get(key).map_or_else(|| vec!["gone".to_owned()], |after| lost(value, after));
                found.into_iter().map(|why| format!("{key}.{why}")).collect::<Vec<_>>()
            })
            .collect(),
        (Value::Array(before), Value::Array(after)) if before.len() == after.len() => {
            before.iter().zip(after).flat_map(|(before, after)| lost(before, after)).collect()
        }
        _ if before == after => Vec::new(),
        // A cost of 0 may be written as 0.0.
        (Value::Number(before), Value::Number(after)) if after.is_f64() && before.as_f64() == after.as_f64() => {
            Vec::new()
        }
        _ => vec![format!("{before} became {after}")],
    }
}

fn captures() -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/contract/captures");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let captures = files.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    captures
        .map(|path| {
            let capture = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
            (path.display().to_string(), capture)
        })
        .collect()
}

#[test]
fn captured_lines_of_the_agent_pass_through() {
    let mut seen = 0;
    for (name, capture) in captures() {
        for original in capture["stdout"].as_array().unwrap().iter().filter(|line| line["type"].is_string()) {
            let line = Line::parse(&original.to_string()).unwrap().unwrap();
            assert!(!matches!(line.event, Event::Unknown(_)), "{name}: {original}");
            assert!(!matches!(line.event, Event::System(System::Unknown(_))), "{name}: {original}");
            let bytes = line.to_bytes();
            let again: Value = serde_json::from_slice(&bytes).unwrap();
            assert_eq!(lost(original, &again), [] as [String; 0], "{name}: {original}");
            assert_eq!(Line::parse(std::str::from_utf8(&bytes).unwrap()), Ok(Some(line)), "{name}");
            seen += 1;
        }
    }
    assert!(seen > 100, "only {seen} lines were read");
}

fn passes_through(line: &str) -> Input {
    let input = Input::parse(line.as_bytes()).unwrap().unwrap();
    let original: Value = serde_json::from_str(line).unwrap();
    let again: Value = serde_json::from_slice(&input.to_line()).unwrap();
    assert_eq!(lost(&original, &again), [] as [String; 0], "{line}");
    input
}

#[test]
fn captured_lines_of_clients_pass_through() {
    let mut seen = 0;
    for (name, capture) in captures() {
        // The other steps are what the client waits for.
        for step in capture["stdin"].as_array().unwrap().iter().filter(|step| step[0] == "send") {
            let original = &step[1];
            assert!(!matches!(passes_through(&original.to_string()), Input::Unknown(_)), "{name}: {original}");
            seen += 1;
        }
    }
    assert!(seen > 5, "only {seen} lines were read");
}

/// What the SDKs for Python and TypeScript and other clients write.
const CLIENT_LINES: &str = include_str!("../tests/client_lines.jsonl");

#[test]
fn lines_of_sdk_clients_are_typed_and_pass_through() {
    for line in CLIENT_LINES.lines() {
        match passes_through(line) {
            Input::ControlRequest { request, .. } => {
                let typed = ClientRequest::from_value(request.clone());
                assert!(!matches!(typed, ClientRequest::Unknown(_)), "{line}");
                let again = serde_json::to_value(&typed).unwrap();
                assert_eq!(lost(&request, &again), [] as [String; 0], "{line}");
            }
            Input::ControlResponse(answer) => assert!(answer.response.request_id().is_some(), "{line}"),
            Input::Unknown(_) => panic!("{line}"),
            Input::User(_) | Input::ControlCancel(_) | Input::KeepAlive => {}
        }
    }
}

#[test]
fn lines_that_are_no_events_are_told_apart() {
    assert_eq!(Line::parse(" \u{feff} \r"), Ok(None));
    assert!(matches!(Line::parse("{\"type\":\"us"), Err(LineError::NotJson(_))));
    for (line, value) in [("7", json!(7)), ("[1]", json!([1])), ("{\"type\":7}", json!({"type": 7}))] {
        assert_eq!(Line::parse(line), Err(LineError::NoType(value)));
    }
}

#[test]
fn events_and_subtypes_of_the_future_are_kept() {
    for line in [
        r#"{"type":"hologram","depth":3}"#,
        r#"{"type":"system","subtype":"weather","sun":true}"#,
        r#"{"type":"control_request","request_id":"1","request":{"subtype":"sing","song":"x"}}"#,
        r#"{"type":"control_request","request_id":"1","request":7}"#,
    ] {
        let read = Line::parse(line).unwrap().unwrap();
        assert_eq!(String::from_utf8(read.to_bytes()).unwrap().trim_end(), line);
    }
}

#[test]
fn pieces_are_read_without_their_frame() {
    for (event, expected) in [
        (
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\n\"b\""}}"#,
            Piece::Text("a\n\"b\"".into()),
        ),
        (
            r#"{"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":"hm"}}"#,
            Piece::Thinking("hm".into()),
        ),
        (r#"{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"{"}}"#, Piece::Other),
        (
            r#"{"type":"message_start","message":{"id":"m","model":null,"content":[]}}"#,
            Piece::MessageStart { id: "m".into(), model: "".into() },
        ),
        (r#"{"type":"message_delta","usage":[1]}"#, Piece::MessageDelta { usage: None }),
        (r#"{"type":"content_block_delta","delta":7}"#, Piece::Other),
        ("[]", Piece::Other),
    ] {
        let line =
            format!(r#"{{"type":"stream_event","event":{event},"parent_tool_use_id":"t","session_id":"s","x":1}}"#);
        let borrowed = PartialLine::parse(&line).expect("a piece");
        assert_eq!((borrowed.piece(), borrowed.session_id.as_deref()), (expected.clone(), Some("s")), "{event}");
        let Ok(Some(Line { event: Event::StreamEvent(partial), .. })) = Line::parse(&line) else { panic!("{line}") };
        assert_eq!((partial.piece(), partial.event.get()), (expected, event), "the bytes stay");
        assert_eq!((partial.parent_tool_use_id.as_deref(), &partial.extra["x"]), (Some("t"), &json!(1)));
    }
}

#[test]
fn blocks_are_read_by_their_kind() {
    let message = json!({"id": "m", "content": [{"type": "text", "text": "a"}, {"type": "thinking"},
        {"type": "tool_use", "id": "t", "input": {"x": 1}}, {"type": "tool_result", "tool_use_id": "t",
        "content": [{"type": "text", "text": "b"}, {"type": "image"}]}, {"type": "image"}, 7]});
    let message = crate::Message::from(message);
    let kinds: Vec<String> = message
        .blocks()
        .map(|block| match block {
            Block::Text(text) => format!("text {text}"),
            Block::Thinking(text) => format!("thinking {text}"),
            Block::ToolUse(call) => format!("call {} {:?} {}", call.id, call.name, call.input),
            Block::ToolResult(result) => format!("result {} {} {}", result.tool_use_id, result.is_error, result.text()),
            Block::Other(other) => format!("other {other}"),
        })
        .collect();
    let expected = [
        "text a",
        "thinking ",
        "call t None {\"x\":1}",
        "result t false b\n[image]",
        "other {\"type\":\"image\"}",
        "other 7",
    ];
    assert_eq!(kinds, expected);
    assert_eq!(crate::Message::from(json!({"content": "plain"})).blocks().collect::<Vec<_>>(), [Block::Text("plain")]);
}

#[test]
fn an_agent_that_does_not_say_whether_it_failed_is_read_by_its_error() {
    for (line, is_error, text) in [
        (r#"{"type":"result","result":"ok"}"#, false, "ok"),
        (r#"{"type":"result","error":"no such model"}"#, true, "no such model"),
        (r#"{"type":"result","error":null}"#, false, ""),
        (r#"{"type":"result","is_error":false,"error":"x","errors":["a","b"]}"#, false, "a\nb"),
        (r#"{"type":"result","is_error":"yes","result":"x"}"#, false, "x"),
    ] {
        let Ok(Some(Line { event: Event::Result(outcome), .. })) = Line::parse(line) else { panic!("{line}") };
        assert_eq!((outcome.is_error(), outcome.text().as_str()), (is_error, text), "{line}");
    }
}
