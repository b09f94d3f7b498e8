//! An old conversation as updates: what `session/load` replays.

use super::Capabilities;
use super::updates::Updates;
use serde_json::{Value, json};
use std::path::Path;
use wire::{Assistant, Block, Event, Message};

/// `messages` are those of the transcript, in order. Nothing in them is live: calls without a result have failed.
pub(crate) fn replay(messages: &[Value], cwd: &Path, client: &Capabilities) -> Vec<Value> {
    let mut state = Updates::new(cwd.to_owned(), client.clone());
    let mut updates = Vec::new();
    for message in messages {
        let message = Message(message.clone());
        if message.role() == Some("assistant") {
            let event = Assistant { message: without_usage(message), ..Assistant::default() };
            updates.extend(state.event(&Event::Assistant(Box::new(event))));
            continue;
        }
        for block in message.blocks() {
            match block {
                Block::Text(text) if is_of_the_user(text) => updates.push(json!({
                    "sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": text},
                })),
                Block::ToolResult(result) => updates.extend(state.finish_call(&result, &Value::Null)),
                _ => {}
            }
        }
    }
    updates.extend(state.close_calls());
    updates
}

/// What it cost then says nothing of the window now.
fn without_usage(mut message: Message) -> Message {
    if let Some(map) = message.0.as_object_mut() {
        map.shift_remove("usage");
    }
    message
}

/// Reminders and the like were put in by the agent.
fn is_of_the_user(text: &str) -> bool {
    !text.trim().is_empty() && !text.trim_start().starts_with("<system-reminder>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_is_replayed_whole() {
        let messages = [
            json!({"role": "user", "content": "make it"}),
            json!({"role": "user", "content": [{"type": "text", "text": "<system-reminder>x</system-reminder>"}]}),
            json!({"role": "assistant", "id": "m", "usage": {"input_tokens": 9}, "content": [
                {"type": "text", "text": "I do"},
                {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}},
                {"type": "tool_use", "id": "u", "name": "Bash", "input": {"command": "cut off"}}]}),
            json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "a"}]}),
            json!({"role": "assistant", "content": [{"type": "text", "text": "done"}]}),
        ];
        let told = replay(&messages, Path::new("/w"), &Capabilities::default());
        let short: Vec<(String, Value)> = told
            .iter()
            .map(|one| {
                let what = one.get("status").or(one.pointer("/content/text")).cloned().unwrap_or_default();
                (one["sessionUpdate"].as_str().unwrap().to_owned(), what)
            })
            .collect();
        let expected = [
            ("user_message_chunk", "make it"),
            ("agent_message_chunk", "I do"),
            ("tool_call", "pending"),
            ("tool_call", "pending"),
            ("tool_call_update", "completed"),
            ("agent_message_chunk", "done"),
            ("tool_call_update", "failed"),
        ];
        assert_eq!(short, expected.map(|(kind, what)| (kind.to_owned(), json!(what))));
    }
}
