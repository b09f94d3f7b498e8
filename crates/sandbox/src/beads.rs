//! Requests to the daemon of the beads issue tracker, judged: a line of JSON in, a line of JSON out.
//!
//! The daemon runs outside of the box with all powers of its user. Some of its operations write files wherever the
//! caller says (`export`), read them (`import`), spend money (`compact`) or end the daemon, so only operations on
//! issues pass. What passes is written anew from what was judged: the daemon's parser takes keys in any case, and the
//! last of several. Deliberately absent: what an issue may say. An agent can write the tracker's files anyway.

use serde_json::{Map, Value, json};

/// Operations that read or change issues and do nothing else.
const OPERATIONS: [&str; 23] = [
    "ping",
    "status",
    "health",
    "create",
    "update",
    "close",
    "list",
    "count",
    "show",
    "ready",
    "blocked",
    "stale",
    "stats",
    "dep_add",
    "dep_remove",
    "dep_tree",
    "label_add",
    "label_remove",
    "comment_list",
    "comment_add",
    "resolve_id",
    "epic_status",
    "get_mutations",
];

/// Fields of a request. Others do not pass.
const FIELDS: [&str; 7] = ["operation", "args", "actor", "request_id", "cwd", "client_version", "expected_db"];

/// The request as it may be sent, with its line end; else the answer to its sender.
pub(crate) fn judge(line: &[u8]) -> Result<Vec<u8>, Vec<u8>> {
    let Ok(Value::Object(asked)) = serde_json::from_slice(line) else {
        return Err(refusal("the request is no JSON object"));
    };
    let Some(operation) = asked.get("operation").and_then(Value::as_str).filter(|name| OPERATIONS.contains(name))
    else {
        let name = asked.get("operation").map_or_else(|| "none".to_owned(), Value::to_string);
        return Err(refusal(&format!("the operation {name} does not pass")));
    };
    let mut passed = Map::new();
    passed.insert("operation".into(), operation.into());
    for name in &FIELDS[1..] {
        if let Some(value) = asked.get(*name) {
            passed.insert((*name).into(), value.clone());
        }
    }
    Ok(text(&Value::Object(passed)))
}

/// What a client of the daemon reads as a failure.
pub(crate) fn refusal(why: &str) -> Vec<u8> {
    text(&json!({"success": false, "error": format!("sandbox: {why}")}))
}

fn text(value: &Value) -> Vec<u8> {
    let mut bytes = value.to_string().into_bytes();
    bytes.push(b'\n');
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(line: &str) -> Option<Value> {
        let passed = judge(line.as_bytes()).ok()?;
        assert_eq!(passed.iter().position(|byte| *byte == b'\n'), Some(passed.len() - 1), "one line");
        Some(serde_json::from_slice(&passed).unwrap())
    }

    #[test]
    fn operations_on_issues_pass_and_no_others() {
        for name in ["close", "show", "create", "ready"] {
            let asked = json!({"operation": name, "args": {"id": "bd-1"}, "actor": "me"});
            assert_eq!(passes(&asked.to_string()), Some(asked));
        }
        for name in ["export", "import", "shutdown", "compact", "batch", "delete", "metrics", "Close", "", "new"] {
            let asked = json!({"operation": name, "args": {"jsonl_path": "/etc/x"}}).to_string();
            assert_eq!(passes(&asked), None, "{name}");
        }
        for odd in
            ["", "close", "[]", "{}", r#"{"operation":["close"]}"#, r#"{"operation":null}"#, "{\"operation\":\"close\""]
        {
            assert_eq!(passes(odd), None, "{odd}");
        }
    }

    #[test]
    fn a_second_operation_in_the_same_request_does_not_pass() {
        for (line, expected) in [
            (r#"{"operation":"close","Operation":"export","OPERATION":"shutdown"}"#, Some("close")),
            (r#"{"operation":"export","operation":"close"}"#, Some("close")),
            (r#"{"operation":"close","operation":"export"}"#, None),
            (r#"{"Operation":"close"}"#, None),
            ("{\"operation\":\"close\",\"args\":{\"reason\":\"a\\n{}\"}}", Some("close")),
        ] {
            let passed = passes(line);
            assert_eq!(passed.as_ref().and_then(|value| value["operation"].as_str()), expected, "{line}");
            let keys = passed.iter().flat_map(|value| value.as_object().unwrap().keys());
            assert!(keys.into_iter().all(|key| FIELDS.contains(&key.as_str())), "{line}");
        }
        let two = judge(b"{\"operation\":\"close\"}{\"operation\":\"export\"}");
        assert!(two.is_err(), "one request a line");
    }

    #[test]
    fn a_refusal_is_an_answer() {
        let said: Value = serde_json::from_slice(&judge(br#"{"operation":"export"}"#).unwrap_err()).unwrap();
        assert_eq!(said["success"], false);
        assert!(said["error"].as_str().unwrap().contains("export"), "{said}");
    }
}
