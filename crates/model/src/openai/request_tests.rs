use super::body;
use crate::profile::parse_profile;
use crate::request::Request;
use crate::tool_definition::ToolDefinition;
use serde_json::{Value, json};
use std::sync::Arc;

fn request() -> Request {
    Request {
        model: "m".into(),
        max_tokens: 1000,
        system: vec![json!({"type": "text", "text": "One."}), json!({"type": "text", "text": "Two."})],
        messages: Arc::new(vec![
            json!({"role": "user", "content": "hello"}),
            json!({"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "signature": "openai-reasoning:{\"type\":\"reasoning\",\"id\":\"rs_1\"}"},
                {"type": "thinking", "thinking": "of another provider", "signature": "abc"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "call_1", "name": "Read", "input": {"path": "a"}},
                {"type": "tool_use", "id": "call_2", "name": "Bash", "input": {}},
            ]}),
            json!({"role": "user", "content": [
                {"type": "text", "text": "and this"},
                {"type": "tool_result", "tool_use_id": "call_1", "content": [
                    {"type": "text", "text": "seen"},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}}]},
                {"type": "tool_result", "tool_use_id": "call_2", "is_error": true, "content": "no such command"},
                {"type": "image", "source": {"type": "url", "url": "https://x.test/b.png"}},
            ]}),
        ]),
        tools: [
            json!({"name": "Read", "description": "reads", "input_schema": {"type": "object", "properties": {"path": {"type": "string", "pattern": "x"}}}}),
            json!({"type": "web_search_20250305", "name": "web_search"}),
        ]
        .map(ToolDefinition::from)
        .into(),
        tool_choice: Some(json!({"type": "any", "disable_parallel_tool_use": true})),
        effort: Some("max".into()),
        metadata: Some(json!({"user_id": "session_1"})),
        ..Request::default()
    }
}

fn translated(profile: &str, request: &Request) -> Value {
    Value::Object(body(request, &parse_profile(profile).unwrap()))
}

#[test]
fn a_conversation_becomes_chat_messages() {
    let expected = json!({
        "model": "m",
        "messages": [
            {"role": "system", "content": "One.\n\nTwo."},
            {"role": "user", "content": "hello"},
            {"role": "assistant", "content": "I look.", "tool_calls": [
                {"id": "call_1", "type": "function", "function": {"name": "Read", "arguments": "{\"path\":\"a\"}"}},
                {"id": "call_2", "type": "function", "function": {"name": "Bash", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "call_1", "content": "seen"},
            {"role": "tool", "tool_call_id": "call_2", "content": "Error: no such command"},
            {"role": "user", "content": [
                {"type": "text", "text": "and this"},
                {"type": "image_url", "image_url": {"url": "https://x.test/b.png"}},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}]},
        ],
        "max_completion_tokens": 1000,
        "stream": true,
        "stream_options": {"include_usage": true},
        "tool_choice": "required",
        "parallel_tool_calls": false,
        "tools": [{"type": "function", "function": {"name": "Read", "description": "reads",
            "parameters": {"type": "object", "properties": {"path": {"type": "string", "pattern": "x"}}}}}],
        "reasoning_effort": "xhigh",
    });
    assert_eq!(translated("openai-chat", &request()), expected);
}

#[test]
fn a_conversation_becomes_items_of_a_response() {
    let got = translated("openai-responses", &request());
    let expected = json!({
        "model": "m",
        "instructions": "One.\n\nTwo.",
        "input": [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]},
            {"type": "reasoning", "id": "rs_1"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
            {"type": "function_call", "call_id": "call_1", "name": "Read", "arguments": "{\"path\":\"a\"}"},
            {"type": "function_call", "call_id": "call_2", "name": "Bash", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "call_1", "output": "seen"},
            {"type": "function_call_output", "call_id": "call_2", "output": "Error: no such command"},
            {"type": "message", "role": "user", "content": [
                {"type": "input_text", "text": "and this"},
                {"type": "input_image", "image_url": "data:image/png;base64,AA"},
                {"type": "input_image", "image_url": "https://x.test/b.png"}]},
        ],
        "max_output_tokens": 1000,
        "stream": true,
        "store": false,
        "include": ["reasoning.encrypted_content"],
        "tool_choice": "required",
        "parallel_tool_calls": false,
        "tools": [{"type": "function", "name": "Read", "description": "reads", "strict": false,
            "parameters": {"type": "object", "properties": {"path": {"type": "string", "pattern": "x"}}}}],
        "reasoning": {"effort": "xhigh", "summary": "auto"},
    });
    assert_eq!(got, expected);
    let rich = translated("openai-responses,resultImages=on", &request());
    assert_eq!(
        rich["input"][5]["output"],
        json!([{"type": "input_text", "text": "seen"}, {"type": "input_image", "image_url": "data:image/png;base64,AA"}])
    );
}

#[test]
fn switches_and_extra_fields_change_the_body() {
    let mut request = request();
    request.extra_body = Some(json!({"temperature": 0.5, "stream_options": null}));
    let text = "openai-chat,maxTokensField=max_tokens,maxTokens=200,systemRole=developer,effort=off,fullSchemas=off,imageLinks=off";
    let got = translated(text, &request);
    assert_eq!((&got["max_tokens"], &got["max_completion_tokens"]), (&json!(200), &Value::Null));
    assert_eq!(got["messages"][0]["role"], "developer");
    assert_eq!((&got["temperature"], got.get("stream_options")), (&json!(0.5), None));
    assert_eq!(got.get("reasoning_effort"), None);
    assert_eq!(got["tools"][0]["function"]["parameters"]["properties"]["path"], json!({"type": "string"}));
    assert!(got["messages"][5]["content"][1]["text"].as_str().unwrap().contains("no images by address"), "{got}");
    for (choice, chat, responses) in [
        (json!({"type": "auto"}), json!("auto"), json!("auto")),
        (json!({"type": "none"}), json!("none"), json!("none")),
        (
            json!({"type": "tool", "name": "Read"}),
            json!({"type": "function", "function": {"name": "Read"}}),
            json!({"type": "function", "name": "Read"}),
        ),
    ] {
        request.tool_choice = Some(choice);
        assert_eq!(translated("openai-chat", &request)["tool_choice"], chat);
        assert_eq!(translated("openai-responses", &request)["tool_choice"], responses);
    }
    request.tools = Arc::from(vec![]);
    let bare = translated("openai-chat", &request);
    assert_eq!((bare.get("tools"), bare.get("tool_choice"), bare.get("parallel_tool_calls")), (None, None, None));
}
