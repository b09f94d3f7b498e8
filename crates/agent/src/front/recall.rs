//! Prompts that wait for their turn: what a client is told about them, and taking them back.
//!
//! Only prompts that the client gave a uuid can be named, so only they are listed and taken back.

use super::desk::Work;
use serde_json::{Value, json};
use std::collections::VecDeque;

/// The queue's part in the answer to a request; null where a request is no concern of the queue.
pub fn answer(queue: &mut VecDeque<Work>, request: &Value) -> Value {
    match request["subtype"].as_str() {
        Some("interrupt") if request["cancel_queued"] == true => {
            let cancelled = names(queue);
            queue.retain(|work| name(work).is_none());
            json!({"still_queued": [], "cancelled": cancelled})
        }
        Some("interrupt") => json!({"still_queued": names(queue)}),
        Some("cancel_async_message") => {
            let before = queue.len();
            queue.retain(|work| !name(work).is_some_and(|uuid| request["message_uuid"] == uuid));
            json!({"cancelled": queue.len() < before})
        }
        _ => Value::Null,
    }
}

fn names(queue: &VecDeque<Work>) -> Vec<String> {
    queue.iter().filter_map(name).map(str::to_owned).collect()
}

fn name(work: &Work) -> Option<&str> {
    match work {
        Work::Prompt(prompt) => prompt.uuid.as_deref(),
        Work::Notice { .. } | Work::Deferred => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::Input;

    fn queue(uuids: &[Option<&str>]) -> VecDeque<Work> {
        let prompt = |uuid: Option<&str>| {
            let line = json!({"type": "user", "uuid": uuid, "message": {"role": "user", "content": "hi"}});
            match Input::parse(line.to_string().as_bytes()) {
                Ok(Some(Input::User(prompt))) => Work::Prompt(prompt),
                other => panic!("no prompt: {other:?}"),
            }
        };
        uuids.iter().copied().map(prompt).chain([Work::Notice { words: "done".into() }]).collect()
    }

    #[test]
    fn what_waits_is_listed_and_taken_back() {
        for (request, expected, left) in [
            (json!({"subtype": "interrupt"}), json!({"still_queued": ["a", "b"]}), 4),
            (
                json!({"subtype": "interrupt", "cancel_queued": true}),
                json!({"still_queued": [], "cancelled": ["a", "b"]}),
                2,
            ),
            (json!({"subtype": "cancel_async_message", "message_uuid": "b"}), json!({"cancelled": true}), 3),
            (json!({"subtype": "cancel_async_message", "message_uuid": "c"}), json!({"cancelled": false}), 4),
            (json!({"subtype": "cancel_async_message"}), json!({"cancelled": false}), 4),
            (json!({"subtype": "set_model"}), Value::Null, 4),
        ] {
            let mut queue = queue(&[Some("a"), None, Some("b")]);
            assert_eq!((answer(&mut queue, &request), queue.len()), (expected, left), "{request}");
        }
    }
}
