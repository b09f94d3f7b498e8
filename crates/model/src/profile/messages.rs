//! A Messages request without what the profile's endpoint does not understand.
//!
//! Nothing disappears silently where the model would miss it: a document or an image that cannot be sent leaves a
//! sentence in its place.

use super::{EffortRule, Feature, Profile, ThinkingRule};
use serde_json::{Map, Value, json};

/// Words of JSON Schema that the grammar compilers of local servers refuse or misread.
const SCHEMA_WORDS_LEFT_OUT: [&str; 4] = ["pattern", "format", "$schema", "default"];
const IMAGE_LEFT_OUT: &str = "[An image stood here. This endpoint takes no images by address.]";
const DOCUMENT_LEFT_OUT: &str = "[A document stood here. This endpoint takes no documents.]";

/// Changes the body of a request.
pub(crate) fn shape(body: &mut Value, profile: &Profile) {
    let Value::Object(fields) = body else { return };
    shape_head(fields, profile);
    if let Some(Value::Array(tools)) = fields.get_mut("tools") {
        shape_tools(tools, profile);
    }
    if fields.get("tools").and_then(Value::as_array).is_some_and(Vec::is_empty) {
        fields.shift_remove("tools");
    }
    if let Some(Value::Array(messages)) = fields.get_mut("messages") {
        for message in messages.iter_mut() {
            shape_message(message, profile);
        }
        messages.retain(|message| message["content"].as_array().is_none_or(|blocks| !blocks.is_empty()));
    }
}

fn shape_head(fields: &mut Map<String, Value>, profile: &Profile) {
    if let Some(tokens) = fields.get("max_tokens").and_then(Value::as_u64) {
        fields.insert("max_tokens".into(), json!(profile.capped(tokens)));
    }
    let is_budget = fields.get("thinking").is_some_and(|thinking| thinking["type"] == "enabled");
    let keeps = match profile.thinking {
        ThinkingRule::ByModel => true,
        ThinkingRule::Budget => is_budget,
        ThinkingRule::Off => false,
    };
    if !keeps {
        fields.shift_remove("thinking");
    }
    if let (false, Some(Value::Object(thinking))) = (profile.has(Feature::ThinkingDisplay), fields.get_mut("thinking"))
    {
        thinking.shift_remove("display");
    }
    shape_effort(fields, profile.effort);
    if !profile.has(Feature::ToolChoice) && fields.get("tool_choice").is_some_and(|choice| choice["type"] != "auto") {
        fields.shift_remove("tool_choice");
    }
    if let (false, Some(system)) = (profile.has(Feature::SystemBlocks), fields.get("system")) {
        let text = joined_text(system);
        fields.insert("system".into(), json!(text));
    }
}

fn shape_effort(fields: &mut Map<String, Value>, rule: EffortRule) {
    if rule == EffortRule::ByModel {
        return;
    }
    let effort = fields.get("output_config").and_then(|config| config["effort"].as_str()).map(three_levels);
    match (rule, effort) {
        (EffortRule::ThreeLevels, Some(effort)) => {
            fields.insert("output_config".into(), json!({"effort": effort}));
        }
        _ => drop(fields.shift_remove("output_config")),
    }
}

fn three_levels(effort: &str) -> &'static str {
    match effort {
        "low" => "low",
        "medium" => "medium",
        _ => "high",
    }
}

fn shape_tools(tools: &mut Vec<Value>, profile: &Profile) {
    if !profile.has(Feature::ServerTools) {
        tools.retain(|tool| tool.get("input_schema").is_some());
    }
    if !profile.has(Feature::FullSchemas) {
        for tool in tools {
            if let Some(schema) = tool.get_mut("input_schema") {
                simplify_schema(schema);
            }
        }
    }
}

/// Leaves words out wherever a schema stands; names of properties are not words.
pub(crate) fn simplify_schema(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            for word in SCHEMA_WORDS_LEFT_OUT {
                fields.shift_remove(word);
            }
            for (word, value) in fields.iter_mut() {
                match (word.as_str(), value) {
                    ("properties" | "$defs" | "definitions", Value::Object(named)) => {
                        named.values_mut().for_each(simplify_schema);
                    }
                    ("enum" | "const" | "required" | "examples", _) => {}
                    (_, value) => simplify_schema(value),
                }
            }
        }
        Value::Array(schemas) => schemas.iter_mut().for_each(simplify_schema),
        _ => {}
    }
}

fn shape_message(message: &mut Value, profile: &Profile) {
    let Some(Value::Array(blocks)) = message.get_mut("content") else { return };
    let mut shaped = Vec::with_capacity(blocks.len());
    let mut moved = Vec::new();
    for mut block in blocks.drain(..) {
        if !profile.has(Feature::ReplayThinking)
            && matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking"))
        {
            continue;
        }
        if let (Some("tool_result"), Some(Value::Array(inner))) = (block["type"].as_str(), block.get("content")) {
            let inner = inner.iter().map(|one| shape_block(one.clone(), profile));
            let apart = |one: &Value| one["type"] != "image" || profile.has(Feature::ResultImages);
            let (stays, goes): (Vec<Value>, Vec<Value>) = inner.partition(apart);
            moved.extend(goes);
            block["content"] = Value::Array(stays);
        }
        shaped.push(shape_block(block, profile));
    }
    shaped.extend(moved);
    *blocks = shaped;
}

fn shape_block(block: Value, profile: &Profile) -> Value {
    match block["type"].as_str() {
        Some("image") if block["source"]["type"] == "url" && !profile.has(Feature::ImageLinks) => text(IMAGE_LEFT_OUT),
        Some("document") if !profile.has(Feature::Documents) => {
            let plain = block["source"]["data"].as_str().filter(|_| block["source"]["type"] == "text");
            text(plain.unwrap_or(DOCUMENT_LEFT_OUT))
        }
        _ => block,
    }
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// The text of a `system` or `content` field, whichever form it has.
pub(crate) fn joined_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
            texts.join("\n\n")
        }
        _ => String::new(),
    }
}
