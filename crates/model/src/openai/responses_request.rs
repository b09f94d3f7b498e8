//! A request of `POST /v1/responses`. Nothing is kept on the server: the whole conversation travels each time.

use super::convert::{REASONING_MARK, effort, image_url, result_images, result_text, tool_choice, tool_schema};
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
    let system = joined_text(&Value::Array(request.system.clone()));
    put("instructions", (!system.is_empty()).then(|| json!(system)));
    put("input", Some(Value::Array(input(request, profile))));
    put("max_output_tokens", Some(json!(profile.capped(request.max_tokens))));
    put("stream", Some(json!(true)));
    put("store", Some(json!(false)));
    put("include", profile.has(Feature::ReplayThinking).then(|| json!(["reasoning.encrypted_content"])));
    let tools: Vec<Value> = request.tools.iter().filter_map(|one| tool(one.value(), profile)).collect();
    put("tool_choice", (!tools.is_empty()).then(|| tool_choice(request.tool_choice.as_ref(), named_tool)).flatten());
    let alone = request.tool_choice.as_ref().is_some_and(|choice| choice["disable_parallel_tool_use"] == true);
    put("parallel_tool_calls", (alone && !tools.is_empty()).then(|| json!(false)));
    put("tools", (!tools.is_empty()).then_some(Value::Array(tools)));
    put("reasoning", effort(request, profile).map(|effort| json!({"effort": effort, "summary": "auto"})));
    body
}

/// Some servers hold tools to strict schemas unless they are told not to.
fn tool(tool: &Value, profile: &Profile) -> Option<Value> {
    let parameters = tool_schema(tool, profile)?;
    Some(json!({
        "type": "function", "name": names::sent(tool["name"].as_str()?), "description": tool["description"],
        "parameters": parameters, "strict": false,
    }))
}

fn named_tool(name: &Value) -> Value {
    json!({"type": "function", "name": names::sent(name.as_str().unwrap_or_default())})
}

fn input(request: &Request, profile: &Profile) -> Vec<Value> {
    let mut items = Vec::new();
    for message in request.messages.iter() {
        let is_assistant = message["role"] == "assistant";
        match &message["content"] {
            Value::String(text) => items.push(spoken(is_assistant, &[text_part(is_assistant, text)])),
            Value::Array(blocks) if is_assistant => assistant(blocks, profile, &mut items),
            Value::Array(blocks) => user(blocks, profile, &mut items),
            _ => {}
        }
    }
    items
}

fn assistant(blocks: &[Value], profile: &Profile, items: &mut Vec<Value>) {
    for block in blocks {
        match block["type"].as_str() {
            Some("text") => {
                let text = block["text"].as_str().unwrap_or_default();
                items.push(spoken(true, &[text_part(true, text)]));
            }
            Some("tool_use") => items.push(json!({
                "type": "function_call", "call_id": block["id"],
                "name": names::sent(block["name"].as_str().unwrap_or_default()),
                "arguments": block["input"].to_string(),
            })),
            Some("thinking") if profile.has(Feature::ReplayThinking) => items.extend(reasoning(block)),
            _ => {}
        }
    }
}

/// The reasoning item that came with this thinking. Thinking of another provider has none and stays out.
fn reasoning(block: &Value) -> Option<Value> {
    let item = block["signature"].as_str()?.strip_prefix(REASONING_MARK)?;
    serde_json::from_str(item).ok()
}

fn user(blocks: &[Value], profile: &Profile, items: &mut Vec<Value>) {
    let mut parts = Vec::new();
    for block in blocks {
        if block["type"] == "tool_result" {
            let output =
                if profile.has(Feature::ResultImages) { rich_output(block) } else { json!(result_text(block)) };
            items.push(json!({"type": "function_call_output", "call_id": block["tool_use_id"], "output": output}));
            if !profile.has(Feature::ResultImages) {
                parts.extend(result_images(block).filter_map(|image| part(image, profile)));
            }
        } else {
            parts.extend(part(block, profile));
        }
    }
    if !parts.is_empty() {
        items.push(spoken(false, &parts));
    }
}

/// A result with images among its parts; without any it is a text.
fn rich_output(block: &Value) -> Value {
    let images: Vec<Value> = result_images(block)
        .filter_map(image_url)
        .map(|url| json!({"type": "input_image", "image_url": url}))
        .collect();
    if images.is_empty() {
        return json!(result_text(block));
    }
    let mut parts = vec![json!({"type": "input_text", "text": result_text(block)})];
    parts.extend(images);
    Value::Array(parts)
}

fn part(block: &Value, profile: &Profile) -> Option<Value> {
    match block["type"].as_str()? {
        "text" => Some(text_part(false, block["text"].as_str()?)),
        "image" if block["source"]["type"] == "url" && !profile.has(Feature::ImageLinks) => {
            Some(text_part(false, "[An image stood here. This endpoint takes no images by address.]"))
        }
        "image" => Some(json!({"type": "input_image", "image_url": image_url(block)?})),
        "document" => {
            let plain = block["source"]["data"].as_str().filter(|_| block["source"]["type"] == "text");
            Some(text_part(false, plain.unwrap_or("[A document stood here. This endpoint takes no documents.]")))
        }
        _ => None,
    }
}

fn text_part(is_assistant: bool, text: &str) -> Value {
    json!({"type": if is_assistant { "output_text" } else { "input_text" }, "text": text})
}

fn spoken(is_assistant: bool, content: &[Value]) -> Value {
    json!({"type": "message", "role": if is_assistant { "assistant" } else { "user" }, "content": content})
}
