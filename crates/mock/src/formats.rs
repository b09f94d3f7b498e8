//! A turn in the formats of the other providers: AWS's frames, OpenAI's two streams, Gemini's. Pure.

use crate::gemini;
use crate::routes::Format;
use crate::sse::{AnswerIds, event};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cloud::event_stream::{Frame, HeaderValue};
use serde_json::{Value, json};

/// The pieces of a stream, in order.
pub(crate) fn pieces(answer: &AnswerIds, format: Format) -> Vec<Vec<u8>> {
    match format {
        Format::Messages => answer.events().into_iter().map(String::into_bytes).collect(),
        Format::EventStream => answer.events().iter().filter_map(|event| frame(event)).collect(),
        Format::ChatCompletions => chat(answer),
        Format::Responses => responses(answer),
        Format::Gemini => gemini::pieces(answer).iter().map(data).collect(),
    }
}

/// An answer that does not stream.
pub(crate) fn whole(answer: &AnswerIds, format: Format) -> Value {
    match format {
        Format::Gemini => gemini::whole(answer),
        Format::ChatCompletions => chat_whole(&answer.whole()),
        Format::Responses => responses_whole(&answer.whole()),
        Format::Messages | Format::EventStream => answer.whole(),
    }
}

/// The texts, and the calls as this format has them.
fn chat_whole(message: &Value) -> Value {
    let blocks = message["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let texts: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
    let call = |block: &Value| {
        let function = json!({"name": block["name"], "arguments": block["input"].to_string()});
        json!({"id": block["id"], "type": "function", "function": function})
    };
    let calls: Vec<Value> = blocks.iter().filter(|block| block["type"] == "tool_use").map(call).collect();
    let mut said = json!({"role": "assistant", "content": texts.join("\n")});
    if !calls.is_empty() {
        said["tool_calls"] = Value::Array(calls);
    }
    let choice = json!({"index": 0, "message": said, "finish_reason": finish_reason(message)});
    let usage = usage(message, "prompt_tokens", "completion_tokens");
    json!({"id": message["id"], "object": "chat.completion", "model": message["model"], "choices": [choice], "usage": usage})
}

fn responses_whole(message: &Value) -> Value {
    let blocks = message["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let item = |(index, block): (usize, &Value)| match block["type"].as_str() {
        Some("tool_use") => json!({
            "type": "function_call", "call_id": block["id"], "name": block["name"], "arguments": block["input"].to_string(),
        }),
        Some("thinking") => {
            let summary = json!([{"type": "summary_text", "text": block["thinking"]}]);
            json!({"type": "reasoning", "id": format!("rs_{index}"), "summary": summary})
        }
        _ => {
            let content = json!([{"type": "output_text", "text": block["text"]}]);
            json!({"type": "message", "id": format!("msg_{index}"), "role": "assistant", "content": content})
        }
    };
    let output: Vec<Value> = blocks.iter().enumerate().map(item).collect();
    let details = incomplete_details(message);
    let status = if details.is_null() { "completed" } else { "incomplete" };
    json!({"id": message["id"], "object": "response", "model": message["model"], "status": status, "output": output,
        "incomplete_details": details, "usage": usage(message, "input_tokens", "output_tokens")})
}

fn finish_reason(message: &Value) -> &'static str {
    match message["stop_reason"].as_str() {
        Some("tool_use") => "tool_calls",
        Some("max_tokens") => "length",
        Some("refusal") => "content_filter",
        _ => "stop",
    }
}

fn incomplete_details(message: &Value) -> Value {
    match message["stop_reason"].as_str() {
        Some("max_tokens") => json!({"reason": "max_output_tokens"}),
        Some("refusal") => json!({"reason": "content_filter"}),
        _ => Value::Null,
    }
}

/// An error inside of a stream.
pub(crate) fn error_piece(error: &Value, format: Format) -> Vec<u8> {
    let message = error["error"]["message"].as_str().or(error["message"].as_str()).unwrap_or("scripted error");
    match format {
        Format::Messages => event(error).into_bytes(),
        Format::EventStream => {
            let kind = match error["error"]["type"].as_str() {
                Some("rate_limit_error") => "throttlingException",
                Some("invalid_request_error") => "validationException",
                _ => "internalServerException",
            };
            let headers = [(":message-type", "exception"), (":exception-type", kind)];
            encoded(&headers, &json!({"message": message}))
        }
        Format::ChatCompletions => data(&json!({"error": {"message": message, "type": error["error"]["type"]}})),
        Format::Responses => data(&json!({"type": "error", "code": "server_error", "message": message})),
        Format::Gemini => data(&gemini::error(500, message)),
    }
}

pub(crate) fn content_type(format: Format) -> &'static str {
    match format {
        Format::EventStream => "application/vnd.amazon.eventstream",
        _ => "text/event-stream; charset=utf-8",
    }
}

/// One event in a frame, as Bedrock carries it.
fn frame(event: &str) -> Option<Vec<u8>> {
    let data = event.lines().find_map(|line| line.strip_prefix("data: "))?;
    let headers = [(":message-type", "event"), (":event-type", "chunk"), (":content-type", "application/json")];
    Some(encoded(&headers, &json!({"bytes": STANDARD.encode(data), "p": "abcdef"})))
}

fn encoded(headers: &[(&str, &str)], payload: &Value) -> Vec<u8> {
    let headers = headers.iter().map(|(name, value)| ((*name).into(), HeaderValue::Text((*value).into()))).collect();
    Frame { headers, payload: payload.to_string().into_bytes() }.encode()
}

fn data(value: &Value) -> Vec<u8> {
    format!("data: {value}\n\n").into_bytes()
}

fn chat(answer: &AnswerIds) -> Vec<Vec<u8>> {
    let whole = answer.whole();
    let chunk = |delta: Value, finish: Option<&str>| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        data(
            &json!({"id": whole["id"], "object": "chat.completion.chunk", "model": whole["model"], "choices": [choice]}),
        )
    };
    let mut out = vec![chunk(json!({"role": "assistant", "content": ""}), None)];
    let mut calls = 0;
    for block in whole["content"].as_array().into_iter().flatten() {
        match block["type"].as_str() {
            Some("thinking") => out.push(chunk(json!({"reasoning_content": block["thinking"]}), None)),
            Some("tool_use") => {
                let arguments = block["input"].to_string();
                let (first, rest) = arguments.split_at(arguments.floor_char_boundary(arguments.len() / 2));
                let start = json!({"index": calls, "id": block["id"], "type": "function",
                    "function": {"name": block["name"], "arguments": first}});
                out.push(chunk(json!({"tool_calls": [start]}), None));
                let more = json!({"index": calls, "function": {"arguments": rest}});
                out.push(chunk(json!({"tool_calls": [more]}), None));
                calls += 1;
            }
            _ => {
                for piece in halves(block["text"].as_str().unwrap_or_default()) {
                    out.push(chunk(json!({"content": piece}), None));
                }
            }
        }
    }
    out.push(chunk(json!({}), Some(finish_reason(&whole))));
    out.push(data(
        &json!({"id": whole["id"], "choices": [], "usage": usage(&whole, "prompt_tokens", "completion_tokens")}),
    ));
    out.push(b"data: [DONE]\n\n".to_vec());
    out
}

fn responses(answer: &AnswerIds) -> Vec<Vec<u8>> {
    let whole = answer.whole();
    let mut out =
        vec![data(&json!({"type": "response.created", "response": {"id": whole["id"], "model": whole["model"]}}))];
    let blocks = whole["content"].as_array().cloned().unwrap_or_default();
    for (index, block) in blocks.iter().enumerate() {
        let mut put = |kind: &str, rest: Value| {
            let mut value = json!({"type": format!("response.{kind}"), "output_index": index});
            if let (Value::Object(into), Value::Object(rest)) = (&mut value, rest) {
                into.extend(rest);
            }
            out.push(data(&value));
        };
        match block["type"].as_str() {
            Some("thinking") => {
                let text = block["thinking"].as_str().unwrap_or_default();
                put("output_item.added", json!({"item": {"type": "reasoning", "id": format!("rs_{index}")}}));
                put("reasoning_summary_text.delta", json!({"delta": text}));
                let summary = json!([{"type": "summary_text", "text": text}]);
                put(
                    "output_item.done",
                    json!({"item": {"type": "reasoning", "id": format!("rs_{index}"), "summary": summary, "encrypted_content": "c2ln"}}),
                );
            }
            Some("tool_use") => {
                let arguments = block["input"].to_string();
                let item =
                    json!({"type": "function_call", "call_id": block["id"], "name": block["name"], "arguments": ""});
                put("output_item.added", json!({"item": item}));
                for piece in halves(&arguments) {
                    put("function_call_arguments.delta", json!({"delta": piece}));
                }
                let item = json!({"type": "function_call", "call_id": block["id"], "name": block["name"], "arguments": arguments});
                put("output_item.done", json!({"item": item}));
            }
            _ => {
                let text = block["text"].as_str().unwrap_or_default();
                // Some clients take no message without its role.
                let item = |content: Value| json!({"item": {"type": "message", "id": format!("msg_{index}"), "role": "assistant", "content": content}});
                put("output_item.added", item(json!([])));
                for piece in halves(text) {
                    put(
                        "output_text.delta",
                        json!({"item_id": format!("msg_{index}"), "content_index": 0, "delta": piece}),
                    );
                }
                let content = json!([{"type": "output_text", "text": text}]);
                put("output_item.done", item(content));
            }
        }
    }
    let details = incomplete_details(&whole);
    let kind = if details.is_null() { "response.completed" } else { "response.incomplete" };
    let response = json!({"id": whole["id"], "incomplete_details": details, "usage": usage(&whole, "input_tokens", "output_tokens")});
    out.push(data(&json!({"type": kind, "response": response})));
    out
}

fn usage(whole: &Value, input: &str, output: &str) -> Value {
    let count = |name: &str| whole["usage"][name].as_u64().unwrap_or(0);
    let cached = count("cache_read_input_tokens");
    let all = count("input_tokens") + count("cache_creation_input_tokens") + cached;
    let details = if input == "prompt_tokens" { "prompt_tokens_details" } else { "input_tokens_details" };
    let written = count("output_tokens");
    json!({input: all, output: written, "total_tokens": all + written, details: {"cached_tokens": cached}})
}

/// Two pieces, so that clients have to join them.
fn halves(text: &str) -> impl Iterator<Item = &str> {
    let (first, rest) = text.split_at(text.floor_char_boundary(text.len() / 2));
    [first, rest].into_iter().filter(|piece| !piece.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_answers_have_the_shape_of_their_api() {
        let message = json!({"id": "m", "model": "x", "stop_reason": "tool_use", "usage": {"input_tokens": 3, "output_tokens": 4},
            "content": [{"type": "text", "text": "hi"}, {"type": "tool_use", "id": "t", "name": "Read", "input": {"a": 1}}]});
        let chat = chat_whole(&message);
        assert_eq!(
            (&chat["choices"][0]["message"]["content"], &chat["choices"][0]["finish_reason"]),
            (&json!("hi"), &json!("tool_calls"))
        );
        assert_eq!(chat["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"], "{\"a\":1}");
        assert_eq!((&chat["usage"]["prompt_tokens"], &chat["usage"]["completion_tokens"]), (&json!(3), &json!(4)));
        let responses = responses_whole(&message);
        assert_eq!((&responses["status"], &responses["output"][1]["call_id"]), (&json!("completed"), &json!("t")));
        assert_eq!(responses["output"][0]["content"][0]["text"], "hi");
    }
}
