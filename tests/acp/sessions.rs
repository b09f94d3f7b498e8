//! The handshake, sessions on disk, and input that is wrong.

use crate::client::{Client, call, say, world};
use serde_json::{Value, json};

/// What the protocol's registry asks of every agent: one line, the answer to `initialize`, with a way to log in.
#[test]
fn the_registrys_check_passes() {
    let world = world(json!([]));
    let mut client = Client::start(&world);
    let capabilities = json!({
        "fs": {"readTextFile": true, "writeTextFile": true}, "terminal": true,
        "_meta": {"terminal_output": true, "terminal-auth": true},
    });
    let answer = client.initialize(capabilities);
    assert_eq!(client.heard.len(), 1, "nothing comes before the answer");
    assert_eq!(answer["result"]["protocolVersion"], 1);
    let methods = answer["result"]["authMethods"].as_array().unwrap();
    assert!(methods.iter().any(|method| method["type"] == "terminal" && method["args"] == json!(["login"])));
    assert!(methods.iter().any(|method| method.get("type").is_none() && method["id"].is_string()));
    assert_eq!(client.ask("authenticate", json!({"methodId": "environment"}))["result"], json!({}));
    assert_eq!(client.ask("authenticate", json!({"methodId": "nope"}))["error"]["code"], -32602);
}

#[test]
fn without_a_credential_authenticate_says_what_to_do() {
    let world = world(json!([]));
    let mut client = Client::start_with(&world, &[("ANTHROPIC_API_KEY", "")]);
    client.initialize(json!({}));
    let error = client.ask("authenticate", json!({"methodId": "environment"}))["error"].clone();
    assert_eq!(error["code"], -32000);
    assert!(error["message"].as_str().unwrap().contains("ralph acp login"));
    let session = client.new_session(&world);
    assert_eq!(client.turn(&session, "hello")["error"]["code"], -32000);
}

#[test]
fn garbage_is_answered_and_the_connection_goes_on() {
    let world = world(json!([say("Still here.")]));
    let mut client = Client::start(&world);
    client.write("this is no JSON");
    assert_eq!(client.until(|message| message["error"]["code"] == -32700)["id"], Value::Null);
    client.write("[]");
    client.until(|message| message["error"]["code"] == -32600);
    client.write("");
    assert_eq!(
        client.ask("session/new", json!({"cwd": "/", "mcpServers": []}))["error"]["code"],
        -32600,
        "initialize comes first"
    );
    client.initialize(json!({}));
    for (params, code) in [
        (json!({"cwd": "relative", "mcpServers": []}), -32602),
        (json!({"cwd": "/does/not/exist", "mcpServers": []}), -32602),
        (json!({"mcpServers": []}), -32602),
    ] {
        assert_eq!(client.ask("session/new", params.clone())["error"]["code"], code, "{params}");
    }
    let none = json!({"sessionId": "none", "prompt": [{"type": "text", "text": "x"}]});
    assert_eq!(client.ask("session/prompt", none)["error"]["code"], -32002);
    assert_eq!(client.ask("no/such/method", json!({}))["error"]["code"], -32601);
    client.notify("no/such/notification", json!({}));
    client.write(&json!({"jsonrpc": "2.0", "id": 999, "result": {}}).to_string());
    let session = client.new_session(&world);
    assert_eq!(client.turn(&session, "hello")["result"]["stopReason"], "end_turn");
    assert_eq!(client.close(), Some(0));
}

#[test]
fn a_session_is_listed_loaded_resumed_copied_and_deleted() {
    let turns = json!([
        call("Bash", json!({"command": "echo plum"})),
        say("The word is plum."),
        say("Still plum."),
        say("And again.")
    ]);
    let world = world(turns);
    let (mut client, session) = Client::open(&world);
    client.turn(&session, "remember plum");
    assert_eq!(client.ask("session/close", json!({"sessionId": session}))["result"], json!({}));
    let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": "x"}]});
    assert_eq!(client.ask("session/prompt", prompt)["error"]["code"], -32002, "it is closed");
    client.close();

    let mut client = Client::start(&world);
    client.initialize(json!({}));
    let listed = client.ask("session/list", json!({"cwd": world.wd()}))["result"]["sessions"].clone();
    assert_eq!(
        (&listed[0]["sessionId"], &listed[0]["title"], &listed[0]["cwd"]),
        (&json!(session), &json!("remember plum"), &json!(world.wd()))
    );
    assert!(listed[0]["updatedAt"].as_str().unwrap().ends_with('Z'));
    let open = json!({"sessionId": session, "cwd": world.wd(), "mcpServers": []});
    let before = client.heard.len();
    client.ask("session/load", open.clone());
    let replayed = &client.heard[before..client.heard.len() - 1];
    let kinds: Vec<&str> =
        replayed.iter().filter_map(|one| one["params"]["update"]["sessionUpdate"].as_str()).collect();
    assert_eq!(kinds, ["user_message_chunk", "tool_call", "tool_call_update", "agent_message_chunk"], "{replayed:#?}");
    assert_eq!(client.turn(&session, "what word?")["result"]["stopReason"], "end_turn");
    let last = world.mock().requests().last().unwrap().body["messages"].to_string();
    assert!(last.contains("remember plum"), "{last}");

    let before = client.heard.len();
    assert!(client.ask("session/resume", open.clone())["result"].is_object());
    assert_eq!(client.heard.len(), before + 1, "nothing is replayed");
    let copy = client.ask("session/fork", open.clone())["result"]["sessionId"].as_str().unwrap().to_owned();
    assert_ne!(copy, session);
    assert_eq!(client.turn(&copy, "and now?")["result"]["stopReason"], "end_turn");

    assert_eq!(client.ask("session/delete", json!({"sessionId": session}))["result"], json!({}));
    assert_eq!(client.ask("session/delete", json!({"sessionId": session}))["result"], json!({}), "it is gone already");
    assert_eq!(client.ask("session/load", open)["error"]["code"], -32002);
}

#[test]
fn login_in_no_terminal_says_what_to_do() {
    let world = world(json!([]));
    let run = world.run(std::path::Path::new(env!("CARGO_BIN_EXE_ralph"))).named("ralph").args(["acp", "login"]);
    let outcome = run.clone().close().finish().unwrap();
    assert_eq!((outcome.code, outcome.lines.len()), (Some(0), 1), "{}", outcome.stderr);
    let outcome = run.without_env("ANTHROPIC_API_KEY").close().finish().unwrap();
    assert_eq!(outcome.code, Some(1));
    assert!(outcome.stderr.contains("set ANTHROPIC_API_KEY"), "{}", outcome.stderr);
}
