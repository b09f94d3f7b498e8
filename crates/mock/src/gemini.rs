//! A turn in the format of Gemini's `generateContent`. Pure.

use crate::sse::AnswerIds;
use serde_json::{Value, json};

/// The pieces of a stream: each is an answer with some of its parts, the last has the reason and the usage.
pub(crate) fn pieces(answer: &AnswerIds) -> Vec<Value> {
    let whole = answer.whole();
    let mut out: Vec<Value> = parts(&whole).into_iter().map(|part| response(&whole, &[part], None)).collect();
    out.push(response(&whole, &[], Some(reason(&whole))));
    out
}

pub(crate) fn whole(answer: &AnswerIds) -> Value {
    let whole = answer.whole();
    response(&whole, &parts(&whole), Some(reason(&whole)))
}

/// The body of an HTTP error.
pub(crate) fn error(status: u16, message: &str) -> Value {
    let name = match status {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        503 | 529 => "UNAVAILABLE",
        _ => "INTERNAL",
    };
    json!({"error": {"code": status, "message": message, "status": name}})
}

fn parts(whole: &Value) -> Vec<Value> {
    let part = |block: &Value| match block["type"].as_str() {
        Some("thinking") => json!({"text": block["thinking"], "thought": true}),
        Some("tool_use") => {
            json!({"functionCall": {"id": block["id"], "name": block["name"], "args": block["input"]}})
        }
        _ => json!({"text": block["text"]}),
    };
    whole["content"].as_array().into_iter().flatten().map(part).collect()
}

fn reason(whole: &Value) -> &'static str {
    match whole["stop_reason"].as_str() {
        Some("max_tokens") => "MAX_TOKENS",
        Some("refusal") => "SAFETY",
        _ => "STOP",
    }
}

fn response(whole: &Value, parts: &[Value], reason: Option<&str>) -> Value {
    let mut candidate = json!({"content": {"role": "model", "parts": parts}, "index": 0});
    let mut response = json!({"modelVersion": whole["model"], "responseId": whole["id"]});
    if let Some(reason) = reason {
        let count = |name: &str| whole["usage"][name].as_u64().unwrap_or(0);
        let cached = count("cache_read_input_tokens");
        let (input, output) = (count("input_tokens") + cached, count("output_tokens"));
        candidate["finishReason"] = reason.into();
        response["usageMetadata"] = json!({"promptTokenCount": input, "candidatesTokenCount": output,
            "totalTokenCount": input + output, "cachedContentTokenCount": cached});
    }
    response["candidates"] = vec![candidate].into();
    response
}
