//! Parts of messages between the Messages API and OpenAI's two formats: results, images, schemas, effort, usage, errors.

use crate::profile::{EffortRule, Feature, Profile, simplify_schema};
use crate::request::Request;
use serde_json::{Value, json};

/// Before a reasoning item that is kept in a thinking block's `signature`, so that it can be sent back as it came.
pub(super) const REASONING_MARK: &str = "openai-reasoning:";
const ERROR_PREFIX: &str = "Error: ";

/// The text of a tool's result; a failed one says so in words, because the formats have no field for it.
pub(super) fn result_text(block: &Value) -> String {
    let text = match &block["content"] {
        Value::Array(inner) => {
            let texts: Vec<&str> = inner.iter().filter_map(|one| one["text"].as_str()).collect();
            texts.join("\n")
        }
        Value::String(text) => text.clone(),
        _ => String::new(),
    };
    if block["is_error"] == true && !text.starts_with(ERROR_PREFIX) { format!("{ERROR_PREFIX}{text}") } else { text }
}

/// The images inside a tool's result.
pub(super) fn result_images(block: &Value) -> impl Iterator<Item = &Value> {
    block["content"].as_array().into_iter().flatten().filter(|one| one["type"] == "image")
}

/// An image's address: a link, or its bytes in one.
pub(super) fn image_url(block: &Value) -> Option<String> {
    let source = &block["source"];
    match source["type"].as_str()? {
        "url" => source["url"].as_str().map(str::to_owned),
        "base64" => Some(format!("data:{};base64,{}", source["media_type"].as_str()?, source["data"].as_str()?)),
        _ => None,
    }
}

/// The schema of a tool with an input of its own. A tool that the API runs itself has none and is left out.
pub(super) fn tool_schema(tool: &Value, profile: &Profile) -> Option<Value> {
    let mut schema = tool.get("input_schema")?.clone();
    if !profile.has(Feature::FullSchemas) {
        simplify_schema(&mut schema);
    }
    Some(schema)
}

/// The choice of a tool; `named` writes the choice of one tool by its name.
pub(super) fn tool_choice(choice: Option<&Value>, named: impl Fn(&Value) -> Value) -> Option<Value> {
    let choice = choice?;
    match choice["type"].as_str()? {
        "auto" => Some(json!("auto")),
        "any" => Some(json!("required")),
        "none" => Some(json!("none")),
        "tool" => Some(named(&choice["name"])),
        _ => None,
    }
}

/// Their words for effort.
pub(super) fn effort(request: &Request, profile: &Profile) -> Option<&'static str> {
    let asked = request.effort.as_deref()?;
    match (profile.effort, asked) {
        (EffortRule::Off, _) => None,
        (_, "minimal") => Some("minimal"),
        (_, "low") => Some("low"),
        (_, "medium") => Some("medium"),
        (EffortRule::ByModel, "xhigh" | "max") => Some("xhigh"),
        _ => Some("high"),
    }
}

/// Token counts in our words. Tokens read from a cache are part of theirs and apart in ours.
pub(super) fn usage(theirs: &Value) -> Value {
    let count = |names: [&str; 2]| names.iter().find_map(|name| theirs[*name].as_u64()).unwrap_or(0);
    let details = ["prompt_tokens_details", "input_tokens_details"];
    let cached = details.iter().find_map(|name| theirs[*name]["cached_tokens"].as_u64()).unwrap_or(0);
    let input = count(["prompt_tokens", "input_tokens"]);
    json!({
        "input_tokens": input.saturating_sub(cached),
        "cache_read_input_tokens": cached.min(input),
        "cache_creation_input_tokens": 0,
        "output_tokens": count(["completion_tokens", "output_tokens"]),
    })
}

/// An error of theirs as an error event of ours.
pub(super) fn error_event(error: &Value) -> Value {
    let text = |key: &str| error[key].as_str().unwrap_or_default();
    let kind = match (text("code"), text("type")) {
        ("insufficient_quota", _) | (_, "insufficient_quota") => "billing_error",
        ("rate_limit_exceeded", _) | (_, "rate_limit_error") => "rate_limit_error",
        ("context_length_exceeded", _) | (_, "invalid_request_error") => "invalid_request_error",
        _ => "api_error",
    };
    let message = error.as_str().unwrap_or_else(|| text("message"));
    json!({"type": "error", "error": {"type": kind, "message": message}})
}
