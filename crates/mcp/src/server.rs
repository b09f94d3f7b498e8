//! The other side of the protocol: our own tools for a client that started us (`mcp serve`). Pure.
//!
//! Deliberately absent: which tools there are, whether a call may run, and the pipes. The caller has them.

use serde_json::{Map, Value, json};

/// Versions of the protocol whose tools are the same; the newest first.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const NO_METHOD: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;

/// What a client's line asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum ServerInput {
    /// Answered at once with this message.
    Answer(Value),
    Call {
        id: Value,
        name: String,
        arguments: Value,
    },
    /// Nobody waits for the call with this id any more.
    Cancel(Value),
    /// A notice that needs nothing.
    Nothing,
}

/// What we say of ourselves.
pub struct ServerFace<'a> {
    pub name: &'a str,
    pub version: &'a str,
    /// As a model is told of them: `name`, `description`, `input_schema`.
    pub tools: &'a [Value],
}

impl ServerFace<'_> {
    /// What one line asks for. A line that cannot be understood is answered with an error.
    pub fn read(&self, line: &[u8]) -> ServerInput {
        let Ok(message) = serde_json::from_slice::<Value>(line) else {
            return ServerInput::Answer(error(&Value::Null, PARSE_ERROR, "this is not JSON"));
        };
        let method = message["method"].as_str();
        let id = message.get("id").filter(|id| id.is_string() || id.is_number());
        let params = &message["params"];
        match (method, id) {
            (Some("notifications/cancelled"), None) => ServerInput::Cancel(params["requestId"].clone()),
            // Answers to questions that we do not ask, and notices.
            (None, Some(_)) if message.get("result").is_some() || message.get("error").is_some() => {
                ServerInput::Nothing
            }
            (Some(_), None) => ServerInput::Nothing,
            (None, id) => {
                ServerInput::Answer(error(id.unwrap_or(&Value::Null), INVALID_REQUEST, "a message needs \"method\""))
            }
            (Some(method), Some(id)) => self.request(method, id, params),
        }
    }

    fn request(&self, method: &str, id: &Value, params: &Value) -> ServerInput {
        ServerInput::Answer(match method {
            "initialize" => result(id, &self.hello(params)),
            "ping" => result(id, &json!({})),
            "tools/list" => result(id, &json!({"tools": self.tools.iter().map(shown).collect::<Vec<_>>()})),
            "tools/call" => {
                let name = params["name"].as_str().unwrap_or_default();
                let arguments = params.get("arguments").cloned().unwrap_or_else(|| Value::Object(Map::new()));
                if !self.tools.iter().any(|tool| tool["name"] == name) {
                    return ServerInput::Answer(error(id, INVALID_PARAMS, &format!("there is no tool {name:?}")));
                }
                return ServerInput::Call { id: id.clone(), name: name.to_owned(), arguments };
            }
            other => error(id, NO_METHOD, &format!("there is no method {other:?}")),
        })
    }

    fn hello(&self, params: &Value) -> Value {
        let wanted = params["protocolVersion"].as_str().unwrap_or_default();
        let version = VERSIONS.iter().find(|version| **version == wanted).unwrap_or(&VERSIONS[0]);
        json!({
            "protocolVersion": version,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": self.name, "version": self.version},
        })
    }
}

fn shown(tool: &Value) -> Value {
    json!({"name": tool["name"], "description": tool["description"], "inputSchema": tool["input_schema"]})
}

fn result(id: &Value, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

fn error(id: &Value, code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

/// The answer to a call: a text, or blocks as a model gets them.
pub fn call_answer(id: &Value, content: &Value, is_error: bool) -> Value {
    let blocks = match content {
        Value::Array(blocks) => blocks.iter().map(block).collect(),
        Value::String(text) => vec![json!({"type": "text", "text": text})],
        other => vec![json!({"type": "text", "text": other.to_string()})],
    };
    result(id, &json!({"content": blocks, "isError": is_error}))
}

/// A block of the API as one of the protocol. What the protocol has no form for is told as JSON.
fn block(block: &Value) -> Value {
    match block["type"].as_str() {
        Some("text") => json!({"type": "text", "text": block["text"]}),
        Some("image") if block["source"]["type"] == "base64" => {
            json!({"type": "image", "data": block["source"]["data"], "mimeType": block["source"]["media_type"]})
        }
        _ => json!({"type": "text", "text": block.to_string()}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn face_reads(line: &str) -> ServerInput {
        let tools = [json!({"name": "Read", "description": "reads", "input_schema": {"type": "object"}})];
        ServerFace { name: "ralph", version: "1", tools: &tools }.read(line.as_bytes())
    }

    fn answer(line: &str) -> Value {
        match face_reads(line) {
            ServerInput::Answer(answer) => answer,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn a_client_is_told_who_we_are_and_what_we_can_do() {
        for (wanted, agreed) in [("2024-11-05", "2024-11-05"), ("1999-01-01", "2025-11-25"), ("", "2025-11-25")] {
            let hello =
                json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": wanted}});
            assert_eq!(answer(&hello.to_string())["result"]["protocolVersion"], agreed, "{wanted}");
        }
        let listed = answer(r#"{"jsonrpc":"2.0","id":"a","method":"tools/list"}"#);
        assert_eq!(
            (&listed["id"], &listed["result"]["tools"][0]["inputSchema"]["type"]),
            (&json!("a"), &json!("object"))
        );
        assert_eq!(answer(r#"{"id":2,"method":"ping"}"#)["result"], json!({}));
    }

    #[test]
    fn calls_and_cancellations_are_passed_on_and_the_rest_is_answered() {
        let call = |arguments: Value| ServerInput::Call { id: json!(3), name: "Read".into(), arguments };
        for (line, expected) in [
            (r#"{"id":3,"method":"tools/call","params":{"name":"Read","arguments":{"x":1}}}"#, call(json!({"x": 1}))),
            (r#"{"id":3,"method":"tools/call","params":{"name":"Read"}}"#, call(json!({}))),
            (r#"{"method":"notifications/cancelled","params":{"requestId":3}}"#, ServerInput::Cancel(json!(3))),
            (r#"{"method":"notifications/initialized"}"#, ServerInput::Nothing),
            (r#"{"id":9,"result":{}}"#, ServerInput::Nothing),
        ] {
            assert_eq!(face_reads(line), expected, "{line}");
        }
        for (line, code) in [
            ("{", -32700),
            ("[]", -32600),
            (r#"{"id":1}"#, -32600),
            (r#"{"id":1,"method":"resources/list"}"#, -32601),
            (r#"{"id":1,"method":"tools/call","params":{"name":"Bash"}}"#, -32602),
            (r#"{"id":1,"method":"tools/call"}"#, -32602),
        ] {
            assert_eq!(answer(line)["error"]["code"], code, "{line}");
        }
    }

    #[test]
    fn results_have_the_protocols_blocks() {
        let image = json!([{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}}]);
        for (content, expected) in [
            (json!("done"), json!([{"type": "text", "text": "done"}])),
            (json!([{"type": "text", "text": "a"}]), json!([{"type": "text", "text": "a"}])),
            (image, json!([{"type": "image", "data": "AA", "mimeType": "image/png"}])),
            (json!([{"type": "document"}]), json!([{"type": "text", "text": r#"{"type":"document"}"#}])),
        ] {
            let answer = call_answer(&json!(1), &content, true);
            assert_eq!((&answer["result"]["content"], &answer["result"]["isError"]), (&expected, &json!(true)));
        }
    }
}
