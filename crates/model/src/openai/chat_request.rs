//! A request of `POST /v1/chat/completions`.

use super::convert::{effort, image_url, result_images, result_text, tool_choice, tool_schema};
use super::names;
use crate::profile::{Feature, Profile, joined_text};
use crate::request::Request;
use serde_json::{Map, Value, json};

pub(super) fn body(request: &Request, profile: &Profile) -> Map<String, Value> {
    let mut body = Map::new();
    let mut put = |key: &str, value: Option<Value>| {
        body.extend(value.map(|value| (key.to_owned(), value)));
    };
    put("model", Some(json!(request.model_id())));
    put("messages", Some(Value::Array(messages(request, profile))));
    put(profile.max_tokens_field, Some(json!(profile.capped(request.max_tokens))));
    put("stream", Some(json!(true)));
    put("stream_options", Some(json!({"include_usage": true})));
    let tools: Vec<Value> = request.tools.iter().filter_map(|one| tool(one.value(), profile)).collect();
    put("tool_choice", (!tools.is_empty()).then(|| tool_choice(request.tool_choice.as_ref(), named_tool)).flatten());
    let alone = request.tool_choice.as_ref().is_some_and(|choice| choice["disable_parallel_tool_use"] == true);
    put("parallel_tool_calls", (alone && !tools.is_empty()).then(|| json!(false)));
    put("tools", (!tools.is_empty()).then_some(Value::Array(tools)));
    put("reasoning_effort", effort(request, profile).map(Value::from));
    body
}

fn tool(tool: &Value, profile: &Profile) -> Option<Value> {
    let parameters = tool_schema(tool, profile)?;
    let name = names::sent(tool["name"].as_str()?);
    let function = json!({"name": name, "description": tool["description"], "parameters": parameters});
    Some(json!({"type": "function", "function": function}))
}

fn named_tool(name: &Value) -> Value {
    json!({"type": "function", "function": {"name": names::sent(name.as_str().unwrap_or_default())}})
}

fn messages(request: &Request, profile: &Profile) -> Vec<Value> {
    let mut all = Vec::new();
    let system = joined_text(&Value::Array(request.system.clone()));
    if !system.is_empty() {
        all.push(json!({"role": profile.system_role, "content": system}));
    }
    for message in request.messages.iter() {
        match (message["role"].as_str(), &message["content"]) {
            (Some("assistant"), content) => all.extend(assistant(content)),
            (_, Value::Array(blocks)) => user(blocks, profile, &mut all),
            (_, content) => all.push(json!({"role": "user", "content": content})),
        }
    }
    all
}

/// Thinking is left out: the format has no place to send it back to.
fn assistant(content: &Value) -> Option<Value> {
    let text = joined_text(content);
    let blocks = content.as_array().map(Vec::as_slice).unwrap_or_default();
    let call = |block: &Value| {
        let name = names::sent(block["name"].as_str().unwrap_or_default());
        let function = json!({"name": name, "arguments": block["input"].to_string()});
        json!({"id": block["id"], "type": "function", "function": function})
    };
    let calls: Vec<Value> = blocks.iter().filter(|block| block["type"] == "tool_use").map(call).collect();
    match (text.is_empty(), calls.is_empty()) {
        (true, true) => None,
        (false, true) => Some(json!({"role": "assistant", "content": text})),
        (true, false) => Some(json!({"role": "assistant", "content": null, "tool_calls": calls})),
        (false, false) => Some(json!({"role": "assistant", "content": text, "tool_calls": calls})),
    }
}

/// Results of tools come first: they must stand right behind the calls. Their images follow in a user message.
fn user(blocks: &[Value], profile: &Profile, all: &mut Vec<Value>) {
    let mut parts = Vec::new();
    let mut moved = Vec::new();
    for block in blocks {
        match block["type"].as_str() {
            Some("tool_result") => {
                all.push(json!({"role": "tool", "tool_call_id": block["tool_use_id"], "content": result_text(block)}));
                moved.extend(result_images(block).filter_map(|image| part(image, profile)));
            }
            _ => parts.extend(part(block, profile)),
        }
    }
    parts.extend(moved);
    if parts.is_empty() {
        return;
    }
    let is_text = parts.iter().all(|part| part["type"] == "text");
    let content = if is_text { json!(joined_text(&Value::Array(parts))) } else { Value::Array(parts) };
    all.push(json!({"role": "user", "content": content}));
}

fn part(block: &Value, profile: &Profile) -> Option<Value> {
    match block["type"].as_str()? {
        "text" => Some(json!({"type": "text", "text": block["text"]})),
        "image" if block["source"]["type"] == "url" && !profile.has(Feature::ImageLinks) => {
            Some(json!({"type": "text", "text": "[An image stood here. This endpoint takes no images by address.]"}))
        }
        "image" => Some(json!({"type": "image_url", "image_url": {"url": image_url(block)?}})),
        "document" => {
            let plain = block["source"]["data"].as_str().filter(|_| block["source"]["type"] == "text");
            let text = plain.unwrap_or("[A document stood here. This endpoint takes no documents.]");
            Some(json!({"type": "text", "text": text}))
        }
        _ => None,
    }
}
