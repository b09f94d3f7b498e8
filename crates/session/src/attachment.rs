//! What the model saw of an attachment that another program wrote. Ours carry the message itself. Pure.
//!
//! Deliberately absent: kinds that are for people or for bookkeeping (dates, permissions, hooks that only succeeded).

use serde_json::{Value, json};

pub(crate) fn message(attachment: &Value) -> Option<Value> {
    let text = match attachment["type"].as_str()? {
        "hook_additional_context" => reminder(&texts(&attachment["content"])?),
        "file" => {
            let name = attachment["filename"].as_str().or_else(|| attachment["displayPath"].as_str())?;
            let content = attachment["content"]["file"]["content"].as_str()?;
            format!("Contents of @{name}:\n{content}")
        }
        _ => return None,
    };
    Some(json!({"role": "user", "content": [{"type": "text", "text": text}]}))
}

fn reminder(text: &str) -> String {
    format!("<system-reminder>\n{text}\n</system-reminder>")
}

fn texts(content: &Value) -> Option<String> {
    let joined = match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n"),
        _ => return None,
    };
    (!joined.trim().is_empty()).then_some(joined)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_and_files_are_told_and_the_rest_is_not() {
        let context = json!({"type": "hook_additional_context", "content": ["a", "b"], "hookEvent": "SessionStart"});
        let file =
            json!({"type": "file", "filename": "/w/a.txt", "content": {"type": "text", "file": {"content": "hi"}}});
        for (attachment, expected) in [
            (context, Some("<system-reminder>\na\nb\n</system-reminder>")),
            (file, Some("Contents of @/w/a.txt:\nhi")),
            (json!({"type": "hook_additional_context", "content": [" "]}), None),
            (json!({"type": "hook_success", "content": "fine"}), None),
            (json!({"type": "date"}), None),
            (json!(null), None),
        ] {
            let told = message(&attachment).map(|message| message["content"][0]["text"].as_str().unwrap().to_owned());
            assert_eq!(told.as_deref(), expected, "{attachment}");
        }
    }
}
