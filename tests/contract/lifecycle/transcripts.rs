//! Conversations on disk, as the SDKs' readers take them apart: by bytes first, then by parents.

use crate::common::{bash, claude, finish, say, world};
use crate::{duplex, said_to_model, streaming, transcript, transcript_path};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use testkit::World;

/// A turn with a thought, two calls at once and an answer.
fn busy() -> Value {
    json!([{"content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "two at once"},
        {"type": "tool_use", "name": "Glob", "input": {"pattern": "*.nothing"}},
        {"type": "tool_use", "name": "Glob", "input": {"pattern": "*.nobody"}}]}, say("done"), say("more")])
}

fn raw(world: &World, id: &str) -> String {
    std::fs::read_to_string(transcript_path(world, id).unwrap()).unwrap()
}

fn append(world: &World, id: &str, line: &Value) {
    let mut file = std::fs::OpenOptions::new().append(true).open(transcript_path(world, id).unwrap()).unwrap();
    writeln!(file, "{line}").unwrap();
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Entries that are part of the conversation, by uuid.
fn chain(entries: &[Value]) -> BTreeMap<String, &Value> {
    entries.iter().filter(|entry| entry["uuid"].is_string()).map(|entry| (text(&entry["uuid"]), entry)).collect()
}

#[test]
fn the_file_is_where_readers_look_and_private() {
    let world = world(busy());
    let id = finish(streaming(&world, "go").close()).session_id().unwrap();
    let slug: String =
        world.wd().to_str().unwrap().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let path = world.home().join(".claude/projects").join(slug).join(format!("{id}.jsonl"));
    assert_eq!(transcript_path(&world, &id), Some(path.clone()));
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(path.parent().unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn lines_are_compact_and_begin_with_their_type_where_readers_scan_bytes() {
    let world = world(busy());
    let id = finish(streaming(&world, "find <me>").close()).session_id().unwrap();
    let raw = raw(&world, &id);
    assert!(raw.ends_with('\n') && !raw.contains("\": ") && !raw.contains("\", \""), "{raw}");
    for (bytes, who) in [
        (r#""role":"assistant""#, "stop hooks"),
        (r#""type":"user""#, "session lists"),
        (r#""lastPrompt":"find <me>""#, "session lists"),
        (&*format!(r#""cwd":"{}""#, world.wd().display()), "session lists"),
        (r#""gitBranch":"main""#, "session lists"),
        (r#""timestamp":"2"#, "session lists"),
    ] {
        assert!(raw.contains(bytes), "{who} look for {bytes} in {raw}");
    }
    for line in raw.lines().filter(|line| !line.contains(r#""parentUuid""#)) {
        assert!(line.starts_with(r#"{"type":""#), "{line}");
    }
    assert!(!raw.lines().next().unwrap().contains(r#""isSidechain":true"#));
    let first = raw.lines().find(|line| line.contains(r#""type":"user""#)).unwrap();
    assert!(first.contains("find <me>") && !first.contains("isMeta"), "the first prompt titles the session: {first}");
}

#[test]
fn entries_say_where_they_belong() {
    let world = world(busy());
    let id = finish(streaming(&world, "go").env("CLAUDE_CODE_ENTRYPOINT", "sdk-py").close()).session_id().unwrap();
    for entry in transcript(&world, &id).iter().filter(|entry| entry["uuid"].is_string()) {
        assert_eq!((&entry["sessionId"], &entry["isSidechain"]), (&json!(id), &json!(false)), "{entry}");
        assert_eq!((&entry["userType"], &entry["entrypoint"]), (&json!("external"), &json!("sdk-py")), "{entry}");
        assert_eq!(entry["cwd"], world.wd().to_str().unwrap());
        assert!(entry["version"].is_string() && entry.get("parentUuid").is_some(), "{entry}");
        let at = entry["timestamp"].as_str().unwrap();
        assert!(at.len() == 24 && at.ends_with('Z') && at.as_bytes()[10] == b'T', "{at}");
    }
}

#[test]
fn the_wire_and_the_file_use_the_same_uuids() {
    let world = world(busy());
    let outcome = finish(duplex(&world).args(["--replay-user-messages"]).prompt("go").close());
    let entries = transcript(&world, &outcome.session_id().unwrap());
    let chain = chain(&entries);
    let talk: Vec<Value> =
        outcome.events().into_iter().filter(|event| event["type"] == "assistant" || event["type"] == "user").collect();
    assert_eq!(talk.len(), 8, "{talk:?}");
    for event in talk {
        let entry = chain.get(&text(&event["uuid"])).unwrap_or_else(|| panic!("{event} is not in the file"));
        assert_eq!((&entry["type"], &entry["message"]["content"]), (&event["type"], &event["message"]["content"]));
    }
}

#[test]
fn parents_lead_from_every_entry_to_the_prompt() {
    let world = world(busy());
    let outcome = finish(duplex(&world).prompt("one").wait(json!({"type": "result"})).prompt("two").close());
    let entries = transcript(&world, &outcome.session_id().unwrap());
    let talk: Vec<&Value> = entries.iter().filter(|entry| entry["uuid"].is_string()).collect();
    assert_eq!(talk[0]["parentUuid"], Value::Null);
    let chain = chain(&entries);
    let kinds: Vec<String> = talk.iter().map(|entry| text(&entry["message"]["content"][0]["type"])).collect();
    assert_eq!(
        kinds,
        ["", "thinking", "text", "tool_use", "tool_use", "tool_result", "tool_result", "text", "", "text"]
    );
    // Blocks of one message follow each other; each result follows its own call.
    for at in [2, 3, 4] {
        assert_eq!(talk[at]["parentUuid"], talk[at - 1]["uuid"], "block {at}");
        assert_eq!(talk[at]["message"]["id"], talk[1]["message"]["id"]);
    }
    for result in [talk[5], talk[6]] {
        let call = chain[&text(&result["parentUuid"])];
        assert_eq!(call["message"]["content"][0]["id"], result["message"]["content"][0]["tool_use_id"]);
        assert_eq!(result["sourceToolAssistantUUID"], call["uuid"]);
        assert!(result["toolUseResult"].is_object(), "{result}");
    }
    assert_eq!(talk[7]["parentUuid"], talk[6]["uuid"], "the next answer follows the last result");
    assert_eq!(talk[8]["parentUuid"], talk[7]["uuid"], "the next prompt follows the last answer");
    assert_eq!(visible(&entries).len(), talk.len());
}

/// The conversation as the SDKs' readers find it: from the last entry nobody points to up to the root, with the
/// siblings of parallel calls put back.
fn visible(entries: &[Value]) -> BTreeSet<String> {
    let chain = chain(entries);
    let pointed: BTreeSet<String> = chain.values().map(|entry| text(&entry["parentUuid"])).collect();
    let leaf =
        entries.iter().rev().map(|entry| text(&entry["uuid"])).find(|uuid| !uuid.is_empty() && !pointed.contains(uuid));
    let mut found = BTreeSet::new();
    let mut next = leaf;
    while let Some(entry) = next.and_then(|uuid| chain.get(&uuid)) {
        found.insert(text(&entry["uuid"]));
        next = Some(text(&entry["parentUuid"]));
    }
    let messages: BTreeSet<String> =
        found.iter().map(|uuid| text(&chain[uuid]["message"]["id"])).filter(|id| !id.is_empty()).collect();
    let siblings = chain.values().filter(|entry| messages.contains(&text(&entry["message"]["id"])));
    found.extend(siblings.map(|entry| text(&entry["uuid"])).collect::<Vec<_>>());
    let results = chain.values().filter(|entry| found.contains(&text(&entry["sourceToolAssistantUUID"])));
    found.extend(results.map(|entry| text(&entry["uuid"])).collect::<Vec<_>>());
    found
}

#[test]
fn a_prompt_is_stored_as_it_was_given() {
    let world = world(json!([say("a"), say("b")]));
    let blocks = json!([{"type": "text", "text": "as blocks"}]);
    let run = duplex(&world).prompt("as text").wait(json!({"type": "result"}));
    let run = run.send(json!({"type": "user", "message": {"role": "user", "content": blocks}}));
    let outcome = finish(run.close());
    let entries = transcript(&world, &outcome.session_id().unwrap());
    let prompts: Vec<&Value> =
        entries.iter().filter(|entry| entry["type"] == "user").map(|entry| &entry["message"]["content"]).collect();
    assert_eq!(prompts, [&json!("as text"), &blocks]);
}

#[test]
fn parallel_calls_come_back_whole_on_resume() {
    let world = world(busy());
    let id = finish(streaming(&world, "go").close()).session_id().unwrap();
    let again = finish(claude(&world).args(["-p", "again", "--resume", &id]).close());
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    let requests = world.mock().requests();
    let roles = |request: usize| -> Vec<String> {
        requests[request].body["messages"].as_array().unwrap().iter().map(|message| text(&message["role"])).collect()
    };
    assert_eq!(roles(2), ["user", "assistant", "user", "assistant", "user"]);
    let history = &requests[2].body["messages"];
    assert_eq!(history[1]["content"].as_array().unwrap().len(), 4, "{history}");
    assert_eq!(history[2]["content"].as_array().unwrap().len(), 2, "{history}");
    assert_eq!(history[1]["content"][0]["signature"], requests[1].body["messages"][1]["content"][0]["signature"]);
}

#[test]
fn what_others_append_to_a_session_stays_and_does_no_harm() {
    let world = world(busy());
    let id = finish(streaming(&world, "go").close()).session_id().unwrap();
    let foreign = [
        json!({"type": "custom-title", "customTitle": "My run", "sessionId": id}),
        json!({"type": "tag", "tag": "kept", "sessionId": id}),
        json!({"type": "of_the_future", "uuid": 7, "x": null}),
        json!({"type": "summary", "summary": "short", "leafUuid": "nobody"}),
    ];
    for line in &foreign {
        append(&world, &id, line);
    }
    let before = raw(&world, &id);
    let again = finish(claude(&world).args(["-p", "again", "--resume", "My run", "--output-format", "json"]).close());
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert_eq!(again.result().unwrap()["session_id"], id, "a session can be named by its title");
    assert!(said_to_model(&world, 2).contains("two at once"));
    assert!(raw(&world, &id).starts_with(&before), "the file is only ever appended to");
}

#[test]
fn a_session_that_an_sdk_forked_can_be_resumed() {
    let world = world(busy());
    let id = finish(streaming(&world, "go").close()).session_id().unwrap();
    let fork = "2d9a3f6e-7c1b-4e55-9d1e-3f2a1b0c9d8e";
    // Fresh uuids, the old ones named, and a title line: what the SDKs' fork writes.
    let fresh: BTreeMap<String, String> = transcript(&world, &id)
        .iter()
        .filter(|e| e["uuid"].is_string())
        .map(|e| (text(&e["uuid"]), uuid::Uuid::new_v4().to_string()))
        .collect();
    let mut copy = String::new();
    for mut entry in transcript(&world, &id).into_iter().filter(|entry| entry["uuid"].is_string()) {
        entry["forkedFrom"] = json!({"sessionId": id, "messageUuid": entry["uuid"]});
        entry["logicalParentUuid"] = Value::Null;
        entry["sessionId"] = json!(fork);
        for key in ["uuid", "parentUuid", "sourceToolAssistantUUID"] {
            if let Some(new) = fresh.get(&text(&entry[key])) {
                entry[key] = json!(new);
            }
        }
        copy.push_str(&format!("{entry}\n"));
    }
    copy.push_str(&format!("{}\n", json!({"type": "custom-title", "customTitle": "go (fork)", "sessionId": fork})));
    std::fs::write(transcript_path(&world, &id).unwrap().with_file_name(format!("{fork}.jsonl")), copy).unwrap();
    let outcome = finish(claude(&world).args(["-p", "again", "--resume", fork, "--output-format", "json"]).close());
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(said_to_model(&world, 2).contains("two at once") && said_to_model(&world, 2).contains("tool_result"));
}

#[test]
fn an_interrupted_turn_is_resumed_with_valid_history() {
    let world = world(json!([bash("echo x > begun; sleep 300"), say("on we go")]));
    let script = "(while [ ! -s begun ]; do sleep 0.02; done; kill -INT $$) & \
                  exec claude -p go --verbose --output-format stream-json --dangerously-skip-permissions";
    let id = finish(crate::shell(&world, script).close()).session_id().unwrap();
    let outcome = finish(claude(&world).args(["-p", "go on", "--resume", &id]).close());
    assert_eq!((outcome.code, outcome.lines), (Some(0), vec!["on we go".to_owned()]), "{}", outcome.stderr);
    assert!(said_to_model(&world, 1).contains("[Request interrupted by user"));
}
