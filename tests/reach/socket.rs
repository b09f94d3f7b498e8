//! The protocol of docs/run-socket.md.

use crate::world::{Client, events_from, folder, looped, open_gate, recording, run_folder, verdict, wait_for_words};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;

const DONE: &str = "result '<promise>COMPLETE</promise>'";

fn numbers(events: &[Value]) -> Vec<(u64, u64)> {
    events.iter().map(|event| (event["seq"].as_u64().unwrap(), event["index"].as_u64().unwrap())).collect()
}

#[test]
fn several_clients_follow_one_run_by_the_numbers_of_its_lines() {
    let world = folder();
    let run = looped(&world, &format!("hear; say one; work; gate go; say two; {DONE}"), &[]);
    let (mut early, hello) = Client::connect(&world);
    assert_eq!(hello["hello"]["protocol"], 1);
    let folder = run_folder(world.wd()).unwrap();
    assert_eq!(hello["hello"]["run"].as_str(), folder.file_name().unwrap().to_str());
    assert_eq!(folder.join("socket").metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(early.ask(&events_from(1))["ok"], true);
    wait_for_words(&world, "\"one\"");
    let (mut late, _) = Client::connect(&world);
    let status = late.ask(&json!({"id": 7, "do": "status"}));
    assert_eq!((&status["id"], &status["status"]["state"]), (&json!(7), &json!("working")));
    assert_eq!(status["status"]["iteration"], 1);
    assert_eq!(late.ask(&events_from(3))["ok"], true);
    let (mut twice, _) = Client::connect(&world);
    assert_eq!(twice.ask(&events_from(u64::MAX))["ok"], true);
    assert_eq!(twice.ask(&events_from(1))["error"]["kind"], "invalid", "one stream a connection");
    open_gate(&world, "go");
    let (all, some) = (early.all_events(), late.all_events());
    let outcome = run.join().unwrap();
    assert_eq!((outcome.code, verdict(&outcome.events()).0), (Some(0), "done".into()), "{}", outcome.stderr);
    // Every line of the recording is there once, in its order, and derived events come with their line.
    let recorded: Vec<Value> = recording(world.wd()).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let numbered = numbers(&all);
    assert!(numbered.windows(2).all(|pair| pair[0] < pair[1]), "{numbered:?}");
    for (at, line) in recorded.iter().enumerate() {
        let of_line = all.iter().filter(|event| event["seq"] == at as u64 + 1);
        assert_eq!(of_line.filter(|event| event["event"] == *line).count(), 1, "line {}", at + 1);
    }
    assert!(all.iter().any(|event| event["event"]["type"] == "agent_text" && event["index"] != 0));
    let expected: Vec<Value> = all.iter().filter(|event| event["seq"].as_u64() >= Some(3)).cloned().collect();
    assert_eq!(some, expected);
    assert!(!folder.join("socket").exists(), "it is gone with the run");
}

#[test]
fn what_is_no_request_is_said_and_does_no_harm() {
    let world = folder();
    let run = looped(&world, &format!("hear; work; gate go; {DONE}"), &[]);
    let (mut client, _) = Client::connect(&world);
    client.send_raw("no json\n");
    assert_eq!(client.receive().unwrap()["error"]["kind"], "invalid");
    for (request, kind) in [
        (json!({"id": 1, "do": "dance"}), "invalid"),
        (json!({"id": 1, "do": "steer"}), "invalid"),
        (json!({"id": 1, "do": "steer", "text": " "}), "invalid"),
        (json!({"id": 1, "do": "steer", "text": "x".repeat(70_000)}), "too_long"),
        (json!({"id": 1, "do": "answer", "text": "yes"}), "not_asking"),
    ] {
        assert_eq!(client.ask(&request)["error"]["kind"], kind);
    }
    client.send_raw(&"x".repeat(200_000));
    assert_eq!(client.receive().unwrap()["error"]["kind"], "too_long");
    assert_eq!(client.receive(), None, "and that is the end of it");
    open_gate(&world, "go");
    let outcome = run.join().unwrap();
    assert_eq!(verdict(&outcome.events()).0, "done", "{}", outcome.stderr);
}

#[test]
fn there_is_room_for_some_clients_and_the_next_is_told() {
    let world = folder();
    let run = looped(&world, &format!("hear; work; gate go; {DONE}"), &[]);
    let mut clients: Vec<Client> = (0..32).map(|_| Client::connect(&world).0).collect();
    let (_, refusal) = Client::connect(&world);
    assert_eq!(refusal["error"]["kind"], "busy");
    drop(clients.pop());
    crate::world::soon("a place", || Client::connect(&world).1.get("hello").is_some().then_some(()));
    open_gate(&world, "go");
    assert_eq!(verdict(&run.join().unwrap().events()).0, "done");
}

#[test]
fn a_client_that_never_reads_does_not_slow_the_run() {
    let world = folder();
    let lines = "i=0; while [ $i -lt 3000 ]; do say \"$long$i\"; i=$((i + 1)); done";
    let script = format!("hear; work; long=$(printf '%01000d' 0); gate go; {lines}; {DONE}");
    let run = looped(&world, &script, &[]);
    let sleepers: Vec<UnixStream> = (0..4)
        .map(|_| {
            let (mut client, _) = Client::connect(&world);
            client.send(&events_from(1));
            client.into_stream()
        })
        .collect();
    open_gate(&world, "go");
    let outcome = run.join().unwrap();
    assert_eq!(verdict(&outcome.events()).0, "done", "{}", outcome.stderr);
    assert!(!outcome.timed_out);
    drop(sleepers);
}
