//! The JSON Schema of version 1 of the protocol.

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

static SCHEMA: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("data/acp-v1.schema.json")).expect("the schema"));

type Validator = (Schemas, SchemaIndex);
static VALIDATORS: LazyLock<Mutex<HashMap<String, Arc<Validator>>>> = LazyLock::new(Mutex::default);

fn validator(definition: &str) -> Arc<Validator> {
    let mut validators = VALIDATORS.lock().unwrap();
    let make = || {
        assert!(SCHEMA["$defs"][definition].is_object(), "the schema has no {definition}");
        let schema = json!({"$ref": format!("#/$defs/{definition}"), "$defs": SCHEMA["$defs"]});
        let (mut compiler, mut compiled) = (Compiler::new(), Schemas::new());
        compiler.add_resource("schema:acp", schema).expect("a name for the schema");
        let root = compiler.compile("schema:acp", &mut compiled).expect("a validator");
        Arc::new((compiled, root))
    };
    validators.entry(definition.to_owned()).or_insert_with(make).clone()
}

/// What the schema calls the result of a method.
fn result_of(method: &str) -> &'static str {
    match method {
        "initialize" => "InitializeResponse",
        "authenticate" => "AuthenticateResponse",
        // A fork is not in version 1 yet; it answers as a new session does.
        "session/new" | "session/fork" => "NewSessionResponse",
        "session/load" => "LoadSessionResponse",
        "session/resume" => "ResumeSessionResponse",
        "session/list" => "ListSessionsResponse",
        "session/delete" => "DeleteSessionResponse",
        "session/close" => "CloseSessionResponse",
        "session/prompt" => "PromptResponse",
        "session/set_mode" => "SetSessionModeResponse",
        "session/set_config_option" => "SetSessionConfigOptionResponse",
        other => panic!("no schema is known for the result of {other}"),
    }
}

/// What is wrong with a message of ours. `asked` is the method that a response is for.
pub fn problem(message: &Value, asked: Option<&str>) -> Option<String> {
    let (definition, part) = match message["method"].as_str() {
        Some("session/update") => ("SessionNotification", &message["params"]),
        Some("$/cancel_request") => ("CancelRequestNotification", &message["params"]),
        Some("session/request_permission") => ("RequestPermissionRequest", &message["params"]),
        Some("elicitation/create") => ("CreateElicitationRequest", &message["params"]),
        Some(other) => return Some(format!("{other} is no method that we should use")),
        None if message.get("error").is_some() => ("Error", &message["error"]),
        None => (result_of(asked.unwrap_or("a request that nobody sent")), &message["result"]),
    };
    if message["jsonrpc"] != "2.0" {
        return Some(format!("not JSON-RPC 2.0: {message}"));
    }
    let validator = validator(definition);
    let error = validator.0.validate(part, validator.1).err()?;
    Some(format!("{definition}: {error} in {part}"))
}

#[test]
fn the_schema_refuses_what_is_wrong() {
    let update = |update: Value| json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": update}});
    let plan = |status: &str| json!({"sessionUpdate": "plan", "entries": [{"content": "a", "priority": "medium", "status": status}]});
    assert_eq!(problem(&update(plan("pending")), None), None);
    assert!(problem(&update(json!({"sessionUpdate": "plan"})), None).is_some());
    assert!(problem(&json!({"jsonrpc": "2.0", "id": 1, "result": {}}), Some("session/prompt")).is_some());
    assert!(problem(&json!({"id": 1, "result": {"stopReason": "end_turn"}}), Some("session/prompt")).is_some());
}
