//! What the API accepts as messages. Strict, because a conversation that is refused once is refused for ever.

use serde_json::Value;
use std::collections::HashSet;

/// Why the API would refuse these messages.
pub fn problem(messages: &[Value], may_end_with_answer: bool) -> Option<String> {
    if messages.is_empty() {
        return Some("a request without messages".into());
    }
    let mut calls: HashSet<&str> = HashSet::new();
    let mut open: Vec<&str> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let expected = if at % 2 == 0 { "user" } else { "assistant" };
        if message["role"] != expected {
            return Some(format!("message {at} is from {} instead of {expected}", message["role"]));
        }
        let results = match results(&message["content"]) {
            Ok(results) => results,
            Err(problem) => return Some(format!("message {at}: {problem}")),
        };
        if results != open {
            return Some(format!("message {at} answers {results:?} where {open:?} were called"));
        }
        open = calls_of(&message["content"]);
        if let Some(twice) = open.iter().find(|id| !calls.insert(id)) {
            return Some(format!("message {at} calls {twice} again"));
        }
        if at % 2 == 0 && !open.is_empty() {
            return Some(format!("message {at} of the user calls tools"));
        }
    }
    if !open.is_empty() {
        return Some(format!("the calls {open:?} have no results"));
    }
    let is_answer = messages.len().is_multiple_of(2);
    (is_answer && !may_end_with_answer).then(|| "the last message is the model's own".into())
}

/// Ids of calls that the last message leaves unanswered.
pub fn unanswered(messages: &[Value]) -> Vec<String> {
    let last = messages.iter().rposition(|message| message["role"] == "assistant");
    let Some(last) = last else { return Vec::new() };
    let answered: Vec<&str> =
        messages.get(last + 1).and_then(|message| results(&message["content"]).ok()).unwrap_or_default();
    let calls = calls_of(&messages[last]["content"]);
    calls.into_iter().filter(|id| !answered.contains(id)).map(str::to_owned).collect()
}

/// The ids that a message answers. They come before everything else.
fn results(content: &Value) -> Result<Vec<&str>, String> {
    let blocks = match content {
        Value::String(text) if !text.trim().is_empty() => return Ok(Vec::new()),
        Value::Array(blocks) if !blocks.is_empty() => blocks,
        other => return Err(format!("empty content {other}")),
    };
    let mut ids = Vec::new();
    let mut is_past = false;
    for block in blocks {
        match block["type"].as_str() {
            Some("tool_result") if is_past => return Err("a result comes after other blocks".into()),
            Some("tool_result") => ids.push(block["tool_use_id"].as_str().ok_or("a result without an id")?),
            Some("text") if block["text"].as_str().is_none_or(|text| text.trim().is_empty()) => {
                return Err("an empty text".into());
            }
            Some(_) => is_past = true,
            None => return Err("a block without a type".into()),
        }
    }
    let mut seen = HashSet::new();
    match ids.iter().find(|id| !seen.insert(**id)) {
        Some(twice) => Err(format!("{twice} is answered twice")),
        None => Ok(ids),
    }
}

fn calls_of(content: &Value) -> Vec<&str> {
    let blocks = content.as_array().map(Vec::as_slice).unwrap_or_default();
    let calls = blocks.iter().filter(|block| block["type"] == "tool_use");
    calls.map(|block| block["id"].as_str().unwrap_or_default()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn refused_requests_are_told_from_good_ones() {
        let user = |content: Value| json!({"role": "user", "content": content});
        let calls =
            json!({"role": "assistant", "content": [{"type": "tool_use", "id": "a"}, {"type": "tool_use", "id": "b"}]});
        let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id});
        let text = json!({"type": "text", "text": "x"});
        let rows = [
            ("a prompt", vec![user(json!("hi"))], true),
            ("nothing", vec![], false),
            ("blank", vec![user(json!(" "))], false),
            ("empty text", vec![user(json!([{"type": "text", "text": ""}]))], false),
            ("answered", vec![user(json!("x")), calls.clone(), user(json!([result("a"), result("b"), text]))], true),
            ("out of order", vec![user(json!("x")), calls.clone(), user(json!([result("b"), result("a")]))], false),
            ("missing", vec![user(json!("x")), calls.clone(), user(json!([result("a")]))], false),
            ("twice", vec![user(json!("x")), calls.clone(), user(json!([result("a"), result("a")]))], false),
            ("late", vec![user(json!("x")), calls.clone(), user(json!([text, result("a"), result("b")]))], false),
            ("orphan", vec![user(json!([result("z")]))], false),
            ("two users", vec![user(json!("x")), user(json!("y"))], false),
            ("open calls", vec![user(json!("x")), calls], false),
        ];
        for (name, messages, is_good) in rows {
            assert_eq!(problem(&messages, false).is_none(), is_good, "{name}: {:?}", problem(&messages, false));
        }
    }
}
