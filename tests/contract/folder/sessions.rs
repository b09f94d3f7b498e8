//! A conversation that is shown as it is written, and one that is cut only where the client expects it.

use crate::common::{call, claude, finish, say, world};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use testkit::{Outcome, World};

fn stream(world: &World) -> testkit::Run {
    claude(world).args(["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"])
}

fn transcript(world: &World, outcome: &Outcome) -> PathBuf {
    let id = outcome.session_id().expect("a session id");
    let slug: String =
        world.wd().to_string_lossy().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    world.home().join(".claude/projects").join(slug).join(format!("{id}.jsonl"))
}

fn entries(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).expect("a transcript");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Entries shown for one file, in order.
fn mirrored(outcome: &Outcome, path: &Path) -> Vec<Value> {
    let frames = outcome.events().into_iter().filter(|event| event["type"] == "transcript_mirror");
    let frames = frames.filter(|frame| frame["filePath"] == json!(path));
    frames.flat_map(|frame| frame["entries"].as_array().cloned().expect("entries")).collect()
}

#[test]
fn every_transcript_entry_is_shown_before_the_result() {
    let world = world(json!([say("one"), say("two")]));
    let run = stream(&world).args(["--session-mirror"]).prompt("first").wait(json!({"type": "result"}));
    let outcome = finish(run.prompt("second").wait(json!({"type": "result"})).close());
    let path = transcript(&world, &outcome);
    assert_eq!(mirrored(&outcome, &path), entries(&path));
    let events = outcome.events();
    assert_eq!(events.last().unwrap()["type"], "result", "nothing is shown after the last result");
    for frame in events.iter().filter(|event| event["type"] == "transcript_mirror") {
        let keys: Vec<&String> = frame.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["type", "filePath", "entries"]);
    }
    let without = finish(stream(&world).prompt("third").close());
    assert!(without.events().iter().all(|event| event["type"] != "transcript_mirror"));
}

#[test]
fn a_sub_agents_entries_come_with_what_is_known_of_it() {
    let task = json!({"description": "look", "prompt": "look around", "subagent_type": "Explore"});
    let world = world(json!([call("Agent", &task), say("seen"), say("done")]));
    let outcome = finish(stream(&world).args(["--session-mirror"]).prompt("go").close());
    let folder = transcript(&world, &outcome).with_extension("").join("subagents");
    let file = folder.read_dir().unwrap().flatten().map(|entry| entry.path());
    let file = file.into_iter().find(|path| path.extension().is_some_and(|end| end == "jsonl")).expect("its file");
    let shown = mirrored(&outcome, &file);
    assert_eq!((&shown[0]["type"], &shown[0]["agentType"]), (&json!("agent_metadata"), &json!("Explore")));
    assert_eq!(shown[1..], entries(&file));
}

#[test]
fn a_fork_is_shown_whole() {
    let world = world(json!([say("one"), say("two")]));
    let first = finish(stream(&world).prompt("first").close());
    let id = first.session_id().unwrap();
    let fork =
        finish(stream(&world).args(["--session-mirror", "--fork-session", "--resume", &id]).prompt("go on").close());
    let path = transcript(&world, &fork);
    assert_ne!(path, transcript(&world, &first));
    assert_eq!(mirrored(&fork, &path), entries(&path));
}

/// Two turns; the uuids of their prompts, and of the first answer.
fn two_turns(world: &World) -> (String, [String; 2], String, PathBuf) {
    let run = stream(world).prompt("first").wait(json!({"type": "result"}));
    let outcome = finish(run.prompt("second").wait(json!({"type": "result"})).close());
    let path = transcript(world, &outcome);
    let all = entries(&path);
    let uuid = |entry: &Value| entry["uuid"].as_str().unwrap().to_owned();
    let prompts: Vec<String> = all.iter().filter(|entry| entry["type"] == "user").map(uuid).collect();
    let answer = all.iter().find(|entry| entry["type"] == "assistant").map(uuid).unwrap();
    (outcome.session_id().unwrap(), [prompts[0].clone(), prompts[1].clone()], answer, path)
}

#[test]
fn a_resume_that_drops_the_named_turn_alone_goes_on() {
    let world = world(json!([say("one"), say("two"), say("three")]));
    let (id, [_, second], answer, _) = two_turns(&world);
    let arguments = ["--resume", &id, "--resume-session-at", &answer, "--resume-drops-turn", &second];
    let outcome = finish(stream(&world).args(arguments).prompt("again").close());
    assert_eq!((outcome.code, outcome.result().unwrap()["result"].clone()), (Some(0), json!("three")));
}

#[test]
fn a_resume_that_would_drop_another_turn_is_rejected_and_writes_nothing() {
    let world = world(json!([say("one"), say("two")]));
    let (id, [first, second], answer, path) = two_turns(&world);
    let before = std::fs::read(&path).unwrap();
    for (until, turn) in [(&answer, first.as_str()), (&first, second.as_str()), (&answer, "")] {
        let turn = format!("--resume-drops-turn={turn}");
        let arguments = ["--resume", &id, "--resume-session-at", until, &turn, "--fork-session"];
        let outcome = finish(stream(&world).args(arguments).prompt("again").close());
        let result = outcome.result().expect("a result");
        let words = result["errors"][0].as_str().unwrap();
        assert!(words.starts_with("Resume rejected by --resume-drops-turn:"), "{words}");
        assert_eq!((outcome.code, &result["is_error"], &result["num_turns"]), (Some(1), &json!(true), &json!(0)));
    }
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert_eq!(path.parent().unwrap().read_dir().unwrap().count(), 1, "no fork was written");
}
