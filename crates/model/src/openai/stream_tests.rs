use super::Translator;
use crate::assemble::{Assembler, FrameOutcome};
use crate::frame;
use crate::profile::Format;
use bytes::Bytes;
use serde_json::{Value, json};
use std::collections::VecDeque;

/// The whole message that a stream of theirs becomes, put together by the crate's own assembler.
struct Message {
    blocks: Vec<Value>,
    stop: Option<String>,
    usage: wire::Usage,
    id: String,
    errors: Vec<(String, String)>,
    stopped: bool,
}

fn message(format: Format, data: &[Value]) -> Message {
    let mut translator = Translator::new(format, &[("mcp__short".into(), "mcp__the.long.name".into())]).unwrap();
    let mut queue: VecDeque<Bytes> = VecDeque::new();
    for one in data {
        let text = one.as_str().map_or_else(|| one.to_string(), str::to_owned);
        translator.take(text.as_bytes(), &mut queue).unwrap();
    }
    translator.close(&mut queue).unwrap();
    let mut assembler = Assembler::default();
    let (mut errors, mut stopped) = (Vec::new(), false);
    for event in queue {
        let text = String::from_utf8(event.to_vec()).unwrap();
        match assembler.take(&frame::parse(&text).unwrap()).unwrap() {
            FrameOutcome::Error { kind, message } => errors.push((kind, message)),
            FrameOutcome::Stopped => stopped = true,
            _ => {}
        }
    }
    let reply = assembler.into_reply();
    Message { blocks: reply.blocks, stop: reply.stop_reason, usage: reply.usage, id: reply.id, errors, stopped }
}

fn chunk(delta: &Value) -> Value {
    json!({"id": "chatcmpl-1", "model": "gpt", "choices": [{"index": 0, "delta": delta}]})
}

fn finish(reason: &str) -> Value {
    json!({"id": "chatcmpl-1", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

fn call(piece: &Value) -> Value {
    chunk(&json!({"tool_calls": [piece]}))
}

const USAGE: &str = r#"{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":40}}}"#;

#[test]
fn chat_text_reasoning_and_usage_become_a_message() {
    let got = message(
        Format::ChatCompletions,
        &[
            chunk(&json!({"role": "assistant", "content": ""})),
            chunk(&json!({"reasoning_content": "hm"})),
            chunk(&json!({"reasoning": " so"})),
            chunk(&json!({"content": "Hel"})),
            chunk(&json!({"content": "lo"})),
            finish("stop"),
            Value::String(USAGE.into()),
            json!("[DONE]"),
        ],
    );
    let thinking = json!({"type": "thinking", "thinking": "hm so", "signature": ""});
    assert_eq!(got.blocks, [thinking, json!({"type": "text", "text": "Hello"})]);
    assert_eq!((got.stop.as_deref(), got.id.as_str(), got.stopped), (Some("end_turn"), "chatcmpl-1", true));
    let usage = &got.usage;
    assert_eq!((usage.input_tokens, usage.cache_read_input_tokens, usage.output_tokens), (60, 40, 7));
}

#[test]
fn chat_calls_come_in_every_servers_way() {
    let whole = |id: &str, path: &str| {
        let function = json!({"name": "Read", "arguments": format!("{{\"path\":\"{path}\"}}")});
        json!({"id": id, "function": function})
    };
    let numbered = |index: u64, id: &str, path: &str| {
        let mut piece = whole(id, path);
        piece["index"] = json!(index);
        piece
    };
    let rows: Vec<(&str, Vec<Value>)> = vec![
        (
            "numbered pieces",
            vec![
                call(&json!({"index": 0, "id": "a", "function": {"name": "Read", "arguments": ""}})),
                call(&json!({"index": 0, "function": {"arguments": "{\"path\":"}})),
                call(&json!({"index": 1, "id": "b", "function": {"name": "Read", "arguments": "{\"path\""}})),
                call(&json!({"index": 0, "function": {"arguments": "\"x\"}"}})),
                call(&json!({"index": 1, "function": {"arguments": ":\"y\"}"}})),
            ],
        ),
        ("no numbers, whole arguments", vec![call(&whole("a", "x")), call(&whole("b", "y"))]),
        ("all numbered zero", vec![call(&numbered(0, "a", "x")), call(&numbered(0, "b", "y"))]),
        (
            "arguments as an object",
            vec![
                call(&json!({"index": 0, "id": "a", "function": {"name": "Read", "arguments": {"path": "x"}}})),
                call(&json!({"index": 1, "id": "b", "function": {"name": "Read", "arguments": {"path": "y"}}})),
            ],
        ),
        (
            "pieces without number and id",
            vec![
                call(&json!({"id": "a", "function": {"name": "Read", "arguments": "{\"path\":"}})),
                call(&json!({"function": {"arguments": "\"x\"}"}})),
                call(&whole("b", "y")),
            ],
        ),
    ];
    for (name, mut data) in rows {
        // A common mistake of servers: the reason is `stop` although there are calls.
        data.push(finish("stop"));
        let got = message(Format::ChatCompletions, &data);
        let block =
            |id: &str, path: &str| json!({"type": "tool_use", "id": id, "name": "Read", "input": {"path": path}});
        assert_eq!(got.blocks, [block("a", "x"), block("b", "y")], "{name}");
        assert_eq!((got.stop.as_deref(), got.stopped), (Some("tool_use"), true), "{name}");
    }
}

#[test]
fn chat_streams_end_for_their_reasons() {
    for (reason, expected) in [
        ("stop", "end_turn"),
        ("length", "max_tokens"),
        ("content_filter", "refusal"),
        ("tool_calls", "tool_use"),
        ("something new", "end_turn"),
    ] {
        let got = message(Format::ChatCompletions, &[chunk(&json!({"content": "x"})), finish(reason)]);
        assert_eq!(got.stop.as_deref(), Some(expected), "{reason}");
    }
    let refused = message(Format::ChatCompletions, &[chunk(&json!({"refusal": "I will not."})), finish("stop")]);
    assert_eq!((refused.stop.as_deref(), &refused.blocks[0]["text"]), (Some("refusal"), &json!("I will not.")));
    let cut = message(Format::ChatCompletions, &[chunk(&json!({"content": "x"}))]);
    assert_eq!((cut.stop, cut.stopped), (None, false), "a stream without an end stays cut");
    let failed =
        message(Format::ChatCompletions, &[json!({"error": {"message": "slow down", "code": "rate_limit_exceeded"}})]);
    assert_eq!(failed.errors, [("rate_limit_error".to_owned(), "slow down".to_owned())]);
}

fn created() -> Value {
    json!({"type": "response.created", "response": {"id": "resp_1", "model": "gpt"}})
}

fn completed(rest: &Value) -> Value {
    let mut response =
        json!({"usage": {"input_tokens": 50, "output_tokens": 9, "input_tokens_details": {"cached_tokens": 20}}});
    for (key, value) in rest.as_object().unwrap() {
        response[key] = value.clone();
    }
    json!({"type": "response.completed", "response": response})
}

#[test]
fn a_response_with_reasoning_text_and_calls_becomes_a_message() {
    let item = json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "zzz", "summary": [{"type": "summary_text", "text": "hm"}]});
    let got = message(
        Format::Responses,
        &[
            created(),
            json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "reasoning", "id": "rs_1"}}),
            json!({"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "hm"}),
            json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
            json!({"type": "response.output_item.added", "output_index": 1, "item": {"type": "message"}}),
            json!({"type": "response.output_text.delta", "output_index": 1, "delta": "Hel"}),
            json!({"type": "response.output_text.delta", "output_index": 1, "delta": "lo"}),
            json!({"type": "response.output_item.done", "output_index": 1, "item": {"type": "message", "content": [{"type": "output_text", "text": "Hello"}]}}),
            json!({"type": "response.output_item.added", "output_index": 2, "item": {"type": "function_call", "call_id": "call_1", "name": "Read"}}),
            json!({"type": "response.function_call_arguments.delta", "output_index": 2, "delta": "{\"path\":"}),
            json!({"type": "response.function_call_arguments.delta", "output_index": 2, "delta": "\"x\"}"}),
            json!({"type": "response.output_item.done", "output_index": 2, "item": {"type": "function_call", "call_id": "call_1", "name": "Read", "arguments": "{\"path\":\"x\"}"}}),
            json!({"type": "response.output_item.done", "output_index": 3, "item": {"type": "function_call", "call_id": "call_2", "name": "Bash", "arguments": "{}"}}),
            completed(&json!({})),
        ],
    );
    let signature = got.blocks[0]["signature"].as_str().unwrap();
    let kept: Value = serde_json::from_str(signature.strip_prefix("openai-reasoning:").unwrap()).unwrap();
    assert_eq!((kept, &got.blocks[0]["thinking"]), (item, &json!("hm")));
    assert_eq!(got.blocks[1], json!({"type": "text", "text": "Hello"}));
    assert_eq!(got.blocks[2], json!({"type": "tool_use", "id": "call_1", "name": "Read", "input": {"path": "x"}}));
    assert_eq!(got.blocks[3], json!({"type": "tool_use", "id": "call_2", "name": "Bash", "input": {}}));
    assert_eq!((got.stop.as_deref(), got.stopped, got.id.as_str()), (Some("tool_use"), true, "resp_1"));
    assert_eq!((got.usage.input_tokens, got.usage.cache_read_input_tokens, got.usage.output_tokens), (30, 20, 9));
}

#[test]
fn a_response_ends_for_its_reasons() {
    let said = json!({"type": "response.output_text.delta", "output_index": 0, "delta": "x"});
    for (rest, expected) in [
        (json!({}), "end_turn"),
        (json!({"incomplete_details": {"reason": "max_output_tokens"}}), "max_tokens"),
        (json!({"incomplete_details": {"reason": "content_filter"}}), "refusal"),
    ] {
        let got = message(Format::Responses, &[created(), said.clone(), completed(&rest)]);
        assert_eq!(got.stop.as_deref(), Some(expected), "{rest}");
    }
    let failed = message(
        Format::Responses,
        &[
            created(),
            json!({"type": "response.failed", "response": {"error": {"code": "server_error", "message": "oops"}}}),
        ],
    );
    assert_eq!(failed.errors, [("api_error".to_owned(), "oops".to_owned())]);
    let whole = json!({"type": "response.output_item.done", "output_index": 0, "item": {"type": "message", "content": [{"type": "output_text", "text": "all at once"}]}});
    let got = message(Format::Responses, &[created(), whole, completed(&json!({}))]);
    assert_eq!(got.blocks, [json!({"type": "text", "text": "all at once"})]);
    let cut = message(Format::Responses, &[created(), said]);
    assert_eq!((cut.stop, cut.stopped), (None, false));
}

#[test]
fn calls_come_back_under_their_own_names_and_never_without_an_id() {
    let chat = message(
        Format::ChatCompletions,
        &[
            call(&json!({"function": {"name": "mcp__short", "arguments": "{}"}})),
            call(&json!({"function": {"name": "Read", "arguments": "{}"}})),
            finish("stop"),
            json!("[DONE]"),
        ],
    );
    let item = json!({"type": "function_call", "call_id": "c1", "name": "mcp__short", "arguments": "{}"});
    let responses = message(
        Format::Responses,
        &[
            json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
            json!({"type": "response.completed", "response": {}}),
        ],
    );
    let names = |of: &Message| of.blocks.iter().map(|block| block["name"].clone()).collect::<Vec<_>>();
    assert_eq!(names(&chat), ["mcp__the.long.name", "Read"]);
    assert_eq!((names(&responses), &responses.blocks[0]["id"]), (vec![json!("mcp__the.long.name")], &json!("c1")));
    let ids: Vec<&str> = chat.blocks.iter().filter_map(|block| block["id"].as_str()).collect();
    assert!(ids.iter().all(|id| id.starts_with("call_")) && ids[0] != ids[1], "{ids:?}");
}
