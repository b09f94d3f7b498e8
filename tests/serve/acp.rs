//! ACP over HTTP against a scripted agent. What our own agent says is held by the ACP suite; here it is how it travels.

use super::http::raw;
use super::world::{Server, search_path};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;

/// Answers every request with its method, and sends an update before it; ends when it is told to.
const AGENT: &str = r#"#!/bin/sh
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
    *leave*) exit 7 ;;
  esac
  [ -n "$id" ] || continue
  printf '{"jsonrpc":"2.0","method":"session/update","params":{"for":%s}}\n' "$id"
  printf '{"jsonrpc":"2.0","id":%s,"result":{"done":true}}\n' "$id"
done
"#;

/// A server whose PATH begins with an agent named `gemini`.
fn server() -> Server {
    let world = testkit::looping::folder();
    let bin = world.wd().join("bin");
    std::fs::create_dir_all(&bin).expect("a folder");
    let agent = bin.join("gemini");
    std::fs::write(&agent, AGENT).expect("an agent");
    std::fs::set_permissions(&agent, std::fs::Permissions::from_mode(0o755)).expect("a program");
    Server::in_world_with_path(world, &["--allow-exec"], &format!("{}:{}", bin.display(), search_path()))
}

fn request(id: u64, method: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {}})
}

#[test]
fn messages_go_in_by_post_and_come_out_on_both_ways() {
    let server = server();
    assert_eq!(server.post("/v1/acp/s1", &request(1, "initialize")).status, 400, "the first needs its agent");
    assert_eq!(server.post("/v1/acp/s1?agent=nobody", &request(1, "initialize")).status, 400);
    let answer = server.post("/v1/acp/s1?agent=gemini", &request(1, "initialize"));
    assert_eq!((answer.status, &answer.json()["result"]["done"]), (200, &json!(true)), "{}", answer.text());
    assert_eq!(server.post("/v1/acp/s1?agent=ralph", &request(2, "x")).status, 409);
    assert_eq!(server.post("/v1/acp/s1", &json!({"jsonrpc": "2.0", "method": "session/cancel"})).status, 202);
    assert_eq!(server.send("POST", "/v1/acp/s1", "text/plain", b"{}").status, 415);
    assert_eq!(server.post("/v1/acp/s1", &json!([])).status, 400);
    assert_eq!(server.get("/v1/acp").json()["servers"][0]["serverId"], "s1");
    let mut stream = server.events("/v1/acp/s1", &[]);
    let first: Vec<String> = (0..2).filter_map(|_| stream.next()).map(|sent| sent.id).collect();
    assert_eq!(first, ["1", "2"], "from the beginning");
    server.post("/v1/acp/s1", &request(3, "again"));
    let mut resumed = server.events("/v1/acp/s1", &[("Last-Event-ID", "2")]);
    let next = resumed.next().expect("an update");
    assert_eq!((next.id.as_str(), next.json()["params"]["for"].as_u64()), ("3", Some(3)));
    assert_eq!(server.get("/v1/acp/unknown").status, 404);
    let headers = [
        ("Host", server.host.as_str()),
        ("Authorization", &format!("Bearer {}", server.full)),
        ("Accept", "application/json"),
    ];
    assert_eq!(raw(&server.at, "GET", "/v1/acp/s1", &headers, b"").status, 406);
    assert_eq!(server.send("DELETE", "/v1/acp/s1", "", b"").status, 204);
    assert_eq!(server.send("DELETE", "/v1/acp/s1", "", b"").status, 204);
}

#[test]
fn an_agent_that_ends_is_said_and_a_folder_outside_is_refused() {
    let server = server();
    let outside =
        json!({"jsonrpc": "2.0", "id": 1, "method": "session/new", "params": {"cwd": "/etc", "mcpServers": []}});
    assert_eq!(server.post("/v1/acp/s2?agent=gemini", &outside).status, 403);
    let answer = server.post("/v1/acp/s2?agent=gemini", &request(9, "leave"));
    assert_eq!(
        (answer.status, answer.json()["type"].as_str()),
        (500, Some("urn:sandbox-agent:error:agent_process_exited"))
    );
    let mut stream = server.events("/v1/acp/s2", &[]);
    let said = stream.next().expect("a notice").json();
    assert_eq!(
        (said["method"].as_str(), said["params"]["success"].as_bool()),
        (Some("_adapter/agent_exited"), Some(false))
    );
    assert_eq!(stream.next(), None);
}

#[test]
fn agents_are_listed_and_none_is_installed() {
    let server = Server::start(&[]);
    let agents = server.get("/v1/agents").json();
    let ours = agents["agents"].as_array().expect("agents").iter().find(|agent| agent["id"] == "claude").expect("ours");
    assert_eq!((ours["installed"].as_bool(), ours["credentialsAvailable"].as_bool()), (Some(true), Some(true)));
    assert_eq!(server.get("/v1/agents/nobody").status, 400);
    assert_eq!(server.post("/v1/agents/claude/install", &json!({})).status, 501);
    assert_eq!(
        server.post("/v1/acp/s1?agent=gemini", &json!({"id": 1, "method": "x"})).status,
        403,
        "not without --allow-exec"
    );
}

#[test]
fn the_protocols_own_draft_has_a_stream_for_the_connection_and_for_each_session() {
    let server =
        Server::in_world(testkit::looping::with_model(json!([{"content": [{"type": "text", "text": "Hi."}]}])), &[]);
    let wd = server.world.wd().display().to_string();
    let bearer = format!("Bearer {}", server.full);
    let post = |headers: &[(&str, &str)], body: &Value| {
        let fixed = [("Host", server.host.as_str()), ("Authorization", &bearer), ("Content-Type", "application/json")];
        let all: Vec<(&str, &str)> = fixed.into_iter().chain(headers.iter().copied()).collect();
        raw(&server.at, "POST", "/acp", &all, body.to_string().as_bytes())
    };
    assert_eq!(post(&[], &json!([])).status, 501);
    assert_eq!(post(&[], &request(1, "session/new")).status, 400, "no connection is named");
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1, "clientCapabilities": {}}});
    let answer = post(&[], &hello);
    assert_eq!((answer.status, answer.json()["id"].as_u64()), (200, Some(0)), "{}", answer.text());
    let connection = answer.header("acp-connection-id").expect("a connection").to_owned();
    let on = ("Acp-Connection-Id", connection.as_str());
    let new = json!({"jsonrpc": "2.0", "id": 1, "method": "session/new", "params": {"cwd": wd, "mcpServers": []}});
    assert_eq!(post(&[on], &new).status, 202);
    let mut stream = server.events("/acp", &[on]);
    let mut messages = stream.until(|sent| sent.json()["id"] == 1);
    let made = messages.pop().expect("an answer").json();
    // The protocol's own client complains of an answer that it has had already.
    assert!(messages.iter().all(|sent| sent.json()["id"] != 0), "initialize was answered twice: {messages:#?}");
    let session = made["result"]["sessionId"].as_str().expect("a session").to_owned();
    let of = [on, ("Acp-Session-Id", session.as_str())];
    let prompt = json!({"jsonrpc": "2.0", "id": 2, "method": "session/prompt", "params": {"sessionId": session, "prompt": [{"type": "text", "text": "Hello"}]}});
    assert_eq!(post(&of, &prompt).status, 202);
    let said = server.events("/acp", &of).until(|sent| sent.json()["id"] == 2);
    assert_eq!(said[said.len() - 1].json()["result"]["stopReason"], "end_turn");
    assert!(
        said.iter().any(|sent| sent.json()["params"]["update"]["sessionUpdate"] == "agent_message_chunk"),
        "{said:#?}"
    );
    let headers = [("Host", server.host.as_str()), ("Authorization", &bearer), on];
    assert_eq!(raw(&server.at, "DELETE", "/acp", &headers, b"").status, 202);
    assert_eq!(raw(&server.at, "DELETE", "/acp", &headers, b"").status, 404);
}
