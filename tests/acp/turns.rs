//! Prompts: text, tools, diffs, cancelling, failures.

use crate::client::{Client, call, running, say, wait_for_processes, world};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

#[test]
fn a_prompt_is_answered_in_pieces_and_ends_its_turn() {
    let world = world(json!([say("Hello from the model.")]));
    let (mut client, session) = Client::open(&world);
    let answer = client.turn(&session, "hello\nmore");
    assert_eq!(answer["result"]["stopReason"], "end_turn");
    assert_eq!(client.text(), "Hello from the model.");
    assert!(client.updates("agent_message_chunk").iter().all(|update| update["messageId"].is_string()));
    let usage = client.updates("usage_update");
    assert!(usage.last().unwrap()["cost"]["amount"].is_number() && usage[0]["used"].as_u64().unwrap() > 0);
    assert_eq!(client.updates("session_info_update")[0]["title"], "hello");
    assert_eq!(client.updates("available_commands_update").len(), 1);
    assert_eq!(client.close(), Some(0));
}

#[test]
fn a_file_is_written_after_a_permission_and_shown_as_a_diff() {
    let world =
        world(json!([call("Write", json!({"file_path": "$WD/made.txt", "content": "one\n"})), say("Written.")]));
    let (mut client, session) = Client::open(&world);
    assert_eq!(client.turn(&session, "write it")["result"]["stopReason"], "end_turn");
    assert_eq!(world.read("made.txt").as_deref(), Some("one\n"));
    let question = client.heard.iter().position(|message| message["method"] == "session/request_permission").unwrap();
    let announced = client.heard.iter().position(|message| message["params"]["update"]["sessionUpdate"] == "tool_call");
    assert!(announced.unwrap() < question, "the call is known before it is asked about");
    let asked = &client.heard[question]["params"];
    assert_eq!((&asked["toolCall"]["kind"], &asked["toolCall"]["title"]), (&json!("edit"), &json!("Write made.txt")));
    let kinds: Vec<&Value> = asked["options"].as_array().unwrap().iter().map(|option| &option["kind"]).collect();
    assert_eq!(kinds, ["allow_once", "allow_always", "reject_once"]);
    let last = client.updates("tool_call_update").last().copied().cloned().unwrap();
    let path = world.wd().join("made.txt");
    assert_eq!((&last["status"], &last["content"][0]["type"]), (&json!("completed"), &json!("diff")));
    assert_eq!((&last["content"][0]["path"], &last["content"][0]["newText"]), (&json!(path), &json!("one\n")));
    assert_eq!(client.updates("tool_call_update")[0]["rawInput"]["content"], "one\n");
}

#[test]
fn a_refused_call_fails_and_the_turn_goes_on() {
    let world = world(json!([call("Bash", json!({"command": "touch made.txt"})), say("As you wish.")]));
    let (mut client, session) = Client::open(&world);
    client.choice = Some("reject_once");
    assert_eq!(client.turn(&session, "touch")["result"]["stopReason"], "end_turn");
    assert_eq!(client.updates("tool_call_update").last().unwrap()["status"], "failed");
    assert!(world.read("made.txt").is_none() && client.text().contains("As you wish."));
}

#[test]
fn a_cancel_ends_the_turn_at_once_and_leaves_nothing_alive() {
    let world = world(json!([call("Bash", json!({"command": "sleep 31415926"})), say("Back again.")]));
    let (mut client, session) = Client::open(&world);
    let turn = client.prompt(&session, "wait");
    client.until(|message| message["params"]["update"]["sessionUpdate"] == "tool_call");
    wait_for_processes("sleep 31415926", true);
    let begun = Instant::now();
    client.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(client.answer(turn)["result"]["stopReason"], "cancelled");
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    wait_for_processes("sleep 31415926", false);
    assert_eq!(client.turn(&session, "there?")["result"]["stopReason"], "end_turn");
    assert!(client.text().contains("Back again."));
}

#[test]
fn a_cancel_while_a_question_is_open_withdraws_it() {
    let world = world(json!([call("Bash", json!({"command": "touch made.txt"})), say("Never asked.")]));
    let (mut client, session) = Client::open(&world);
    client.choice = None;
    let turn = client.prompt(&session, "touch");
    let question = client.until(|message| message["method"] == "session/request_permission");
    client.notify("session/cancel", json!({"sessionId": session}));
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"outcome": {"outcome": "cancelled"}}});
    client.write(&answer.to_string());
    assert_eq!(client.answer(turn)["result"]["stopReason"], "cancelled");
    assert!(world.read("made.txt").is_none());
    assert_eq!(world.mock().requests().len(), 1, "the model is not asked once more for nothing");
}

#[test]
fn the_end_of_the_input_ends_everything() {
    let world = world(json!([call("Bash", json!({"command": "sleep 27182818"}))]));
    let (mut client, session) = Client::open(&world);
    client.prompt(&session, "wait");
    wait_for_processes("sleep 27182818", true);
    assert_eq!(client.close(), Some(0));
    assert!(running("sleep 27182818").is_empty() && running(&session).is_empty());
}

#[test]
fn failures_of_the_api_are_errors_with_their_kind() {
    for (status, code, kind) in
        [(401, -32000, "authentication_required"), (400, -32603, "invalid_request"), (429, -32603, "rate_limit")]
    {
        let world = world(json!([{"status": status}, say("Better now.")]));
        let (mut client, session) = Client::open(&world);
        let error = client.turn(&session, "hello")["error"].clone();
        assert_eq!(
            (error["code"].as_i64(), &error["data"]["errorKind"]),
            (Some(code), &json!(kind)),
            "{status}: {error}"
        );
        assert_eq!(client.turn(&session, "again")["result"]["stopReason"], "end_turn", "{status}");
    }
}

#[test]
fn a_dead_agent_process_costs_one_session() {
    let world = world(json!([{"content": [], "delay_ms": 60_000}, say("I live.")]));
    let (mut client, session) = Client::open(&world);
    let other = client.new_session(&world);
    let turn = client.prompt(&session, "hello");
    assert!(world.mock().wait_for_requests(1, Duration::from_secs(30)));
    for pid in running(&format!("--session-id {session}")) {
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }
    let error = client.answer(turn)["error"].clone();
    assert!(error["message"].as_str().unwrap().contains("the agent process of this session ended"), "{error}");
    assert_eq!(client.turn(&session, "still?")["error"]["code"], -32603);
    assert_eq!(client.turn(&other, "hello")["result"]["stopReason"], "end_turn");
}

#[test]
fn images_and_resources_reach_the_model() {
    let pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let world = world(json!([say("Seen.")]));
    let (mut client, session) = Client::open(&world);
    let prompt = json!([
        {"type": "text", "text": "look"},
        {"type": "image", "data": pixel, "mimeType": "image/png"},
        {"type": "resource", "resource": {"uri": "file:///w/a.rs", "text": "fn embedded() {}"}},
    ]);
    let id = client.send("session/prompt", json!({"sessionId": session, "prompt": prompt}));
    assert_eq!(client.answer(id)["result"]["stopReason"], "end_turn");
    let request = world.mock().requests()[0].body.to_string();
    assert!(request.contains("fn embedded()") && request.contains("image/png"), "{request}");
}

#[test]
fn with_a_sandbox_commands_write_in_the_folder_of_the_session_only() {
    let turns =
        json!([call("Bash", json!({"command": "echo x > inside.txt; echo x > $HOME/outside.txt"})), say("Tried.")]);
    for (words, wrote_inside, wrote_outside) in [
        (&["--sandbox"][..], true, false),
        (&["--sandbox=read-only"], false, false),
        (&["--sandbox", "off"], true, true),
    ] {
        let world = world(turns.clone());
        let mut client = Client::start_words(&world, words, &[]);
        client.initialize(json!({}));
        let session = client.new_session(&world);
        assert_eq!(client.turn(&session, "try it")["result"]["stopReason"], "end_turn");
        let outside = world.home().join("outside.txt").exists();
        assert_eq!((world.read("inside.txt").is_some(), outside), (wrote_inside, wrote_outside), "{words:?}");
        assert_eq!(client.close(), Some(0));
    }
}
