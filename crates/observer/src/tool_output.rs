//! What a call brought, as the span of the call tells it where the user released it. Pure.
//!
//! Only a call that succeeded, and only of tools whose output is a text: a command, a file, an edit, a page, a server's tool.

use crate::state::Call;
use serde_json::Value;
use turn::{CallContent, CallResult};

/// Names and texts, to be cut and cleaned by the caller. `None` where there is nothing to tell. What the call was asked to do,
/// and with it every edit, needs details to be released.
pub(crate) fn output(call: &Call, result: &CallResult, shows_details: bool) -> Option<Vec<(&'static str, String)>> {
    if result.is_error() {
        return None;
    }
    let asked = |key: &str| call.input[key].as_str().filter(|_| shows_details).map(str::to_owned);
    let mut told = match call.name.as_str() {
        "Bash" => vec![("output", result.words())],
        "Read" if result.structured["type"] == "text" => {
            vec![("content", result.structured["file"]["content"].as_str()?.to_owned())]
        }
        "Write" => vec![("content", asked("content")?)],
        "Edit" if shows_details => vec![("diff", result.structured.get("structuredPatch")?.to_string())],
        "WebFetch" | "WebSearch" => vec![("output", returned(result))],
        name if name.starts_with("mcp__") => vec![("output", returned(result))],
        _ => return None,
    };
    match call.name.as_str() {
        "Bash" => told.extend(asked("command").map(|command| ("bash_command", command))),
        "Read" | "Write" | "Edit" => told.extend(asked("file_path").map(|path| ("file_path", path))),
        _ => {}
    }
    Some(told)
}

/// The texts; other content by its kind.
fn returned(result: &CallResult) -> String {
    let block = |block: &Value| match block["text"].as_str() {
        Some(text) => text.to_owned(),
        None => format!("[{}]", block["type"].as_str().unwrap_or("content")),
    };
    match &result.content {
        CallContent::Text(text) => text.clone(),
        CallContent::Blocks(blocks) => blocks.iter().map(block).collect::<Vec<String>>().join("\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn call(name: &str, input: Value) -> Call {
        Call { name: name.to_owned(), input, ..Call::default() }
    }

    #[test]
    fn each_tool_tells_its_own() {
        let file = json!({"type": "text", "file": {"content": "plain"}});
        let patch = json!({"structuredPatch": [{"lines": ["+a"]}]});
        let path = json!({"file_path": "/a", "content": "new"});
        let blocks = CallContent::Blocks(vec![json!({"type": "text", "text": "a"}), json!({"type": "image"})]);
        let mcp = CallResult { content: blocks, ..CallResult::text("", Value::Null) };
        for (name, input, result, hidden, shown) in [
            (
                "Bash",
                json!({"command": "ls"}),
                CallResult::text("out", Value::Null),
                Some(vec![("output", "out")]),
                Some(vec![("output", "out"), ("bash_command", "ls")]),
            ),
            (
                "Read",
                path.clone(),
                CallResult::text("1\tplain", file),
                Some(vec![("content", "plain")]),
                Some(vec![("content", "plain"), ("file_path", "/a")]),
            ),
            ("Read", path.clone(), CallResult::text("", json!({"type": "image"})), None, None),
            (
                "Write",
                path.clone(),
                CallResult::text("ok", patch.clone()),
                None,
                Some(vec![("content", "new"), ("file_path", "/a")]),
            ),
            (
                "Edit",
                path.clone(),
                CallResult::text("ok", patch),
                None,
                Some(vec![("diff", r#"[{"lines":["+a"]}]"#), ("file_path", "/a")]),
            ),
            (
                "mcp__a__b",
                path.clone(),
                mcp,
                Some(vec![("output", "a\n[image]")]),
                Some(vec![("output", "a\n[image]")]),
            ),
            ("Agent", json!({}), CallResult::text("ok", Value::Null), None, None),
            ("Bash", json!({"command": "ls"}), CallResult::error("no"), None, None),
        ] {
            let told = |shows| {
                let told = output(&call(name, input.clone()), &result, shows);
                told.map(|all| all.into_iter().map(|(name, text)| format!("{name}={text}")).collect::<Vec<_>>())
            };
            let expected = |all: Option<Vec<(&str, &str)>>| {
                all.map(|all| all.into_iter().map(|(name, text)| format!("{name}={text}")).collect::<Vec<_>>())
            };
            assert_eq!((told(false), told(true)), (expected(hidden), expected(shown)), "{name}");
        }
    }
}
