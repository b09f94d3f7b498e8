//! JSON-RPC messages as servers really send them. Pure.
//!
//! What cannot be read is skipped, but an answer that cannot be read still ends the call that waits for
//! it: nobody shall wait for hours because of a misplaced field.

use rmcp::model::{ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage};
use serde_json::{Map, Value};

/// Of one message. Bigger ones are no tool results but a server gone wild; it loses the connection.
pub(crate) const MESSAGE_MAX: usize = 16 * 1024 * 1024;

/// The message, if it is one that anybody here could do something with.
pub(crate) fn read(bytes: &[u8]) -> Option<ServerJsonRpcMessage> {
    serde_json::from_slice(bytes).ok().or_else(|| repaired(serde_json::from_slice(bytes).ok()?))
}

pub(crate) fn read_value(message: Value) -> Option<ServerJsonRpcMessage> {
    serde_json::from_value(message.clone()).ok().or_else(|| repaired(message))
}

/// The answer that a request gets when there is none.
pub(crate) fn failure(id: RequestId, message: String) -> ServerJsonRpcMessage {
    ServerJsonRpcMessage::error(ErrorData::new(ErrorCode::INTERNAL_ERROR, message, None), Some(id))
}

fn repaired(message: Value) -> Option<ServerJsonRpcMessage> {
    let Value::Object(mut fields) = message else { return None };
    fields.insert("jsonrpc".into(), "2.0".into());
    match serde_json::from_value(Value::Object(fields.clone())) {
        Ok(message) => Some(message),
        Err(_) if fields.contains_key("method") => None,
        Err(_) => {
            let id = serde_json::from_value(fields.get("id")?.clone()).ok()?;
            Some(failure(id, told(&fields)))
        }
    }
}

fn told(fields: &Map<String, Value>) -> String {
    let error = fields.get("error");
    let message = error.and_then(|error| error.get("message")).or(error).filter(|message| !message.is_null());
    match message {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => "the server's answer is no valid JSON-RPC".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_answer_that_cannot_be_read_still_ends_its_call() {
        for (message, expected) in [
            (json!({"jsonrpc": "2.0", "id": 3, "error": "boom"}), "boom"),
            (json!({"id": 3, "error": {"message": "no code"}}), "no code"),
            (json!({"jsonrpc": "2.0", "id": 3, "error": {"code": "x", "message": ["a"]}}), "[\"a\"]"),
            (json!({"jsonrpc": "2.0", "id": 3}), "the server's answer is no valid JSON-RPC"),
        ] {
            let read = read(message.to_string().as_bytes()).unwrap();
            let (error, id) = read.into_error().unwrap();
            assert_eq!((error.message.as_ref(), id), (expected, Some(RequestId::Number(3))), "{message}");
        }
    }

    #[test]
    fn messages_are_read_leniently() {
        for message in [
            json!({"jsonrpc": "2.0", "id": 1, "result": {"content": []}}),
            json!({"id": 1, "result": {}}),
            json!({"jsonrpc": "2.0", "id": "1", "result": null}),
            json!({"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "unheard of"}]}}),
            json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "without a schema"}]}}),
        ] {
            assert!(read(message.to_string().as_bytes()).unwrap().into_response().is_some(), "{message}");
            assert!(read_value(message).is_some());
        }
        assert!(read(br#"{"jsonrpc":"2.0","method":"notifications/odd","params":{"x":1}}"#).is_some());
        for noise in ["", "Starting server…", "5", "[]", "{}", "{\"id\":"] {
            assert!(read(noise.as_bytes()).is_none(), "{noise}");
        }
    }
}
