//! What a loop and its model say to each other, written down and played again.

use crate::common::{binary, say};
use crate::world::{PROMISE, folder, of, outcomes, ralph, told, verdict, with_model};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;
use testkit::{Service, World};

const TAPE: &str = "tape.ndjson";

/// `ralph mock --record` before the world's own model.
fn recorder(world: &World) -> Service {
    let url = world.mock().url();
    let home = world.home().display().to_string();
    let env = [("ANTHROPIC_BASE_URL", &*url), ("HOME", &home), ("OTHER_SERVICE_TOKEN", "swordfish-swordfish")];
    Service::start(&binary(), world.wd(), &["mock", "--record", &tape(world)], &env).unwrap()
}

fn tape(world: &World) -> String {
    world.home().join(TAPE).display().to_string()
}

fn write(name: &str, text: &str) -> Value {
    let input = json!({"file_path": format!("$WD/{name}"), "content": text});
    json!({"content": [{"type": "text", "text": "I write it."}, {"type": "tool_use", "name": "Write", "input": input}]})
}

/// Records a loop of two iterations, the first of which is wrong.
fn recorded() -> World {
    let world =
        with_model(json!([write("out.txt", "wrong\n"), say(PROMISE), write("more.txt", "right\n"), say(PROMISE)]));
    let service = recorder(&world);
    let words = ["5", "--json", "--backend", "builtin", "--check", "grep right more.txt"];
    let run = ralph(&world, &words).env("ANTHROPIC_BASE_URL", &service.greeting).env("ANTHROPIC_API_KEY", &key());
    let (outcome, events) = told(run);
    assert_eq!((outcome.code, outcomes(&events)), (Some(0), vec!["not_done".to_owned(), "done".into()]));
    let (status, said) = service.end(Signal::INT).unwrap();
    assert_eq!(status.code(), Some(0));
    assert!(said.contains("4 answers recorded in "), "{said}");
    world
}

/// Looks like a key, and is found nowhere in these files.
fn key() -> String {
    format!("sk-ant-{}", "api03x".repeat(6))
}

fn rehearse<'a>(tape: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["5", "--json", "--rehearse", tape, "--check", "grep right more.txt", "--failure-pause", "0"], more].concat()
}

#[test]
fn a_recorded_loop_is_rehearsed_without_a_token_and_in_another_folder() {
    let world = recorded();
    let asked = world.mock().requests().len();
    let elsewhere = folder();
    let run = ralph(&elsewhere, &rehearse(&tape(&world), &[])).without_env("ANTHROPIC_API_KEY");
    let (outcome, events) = told(run);
    assert_eq!(outcome.code, Some(0), "{} {:?}", outcome.stderr, outcome.lines.last());
    assert_eq!(outcomes(&events), ["not_done", "done"]);
    assert_eq!(elsewhere.read("more.txt").as_deref(), Some("right\n"), "tools work in the folder of the rehearsal");
    assert_eq!((world.mock().requests().len(), elsewhere.mock().requests().len()), (asked, 0), "nobody was asked");
}

#[test]
fn adversary_36_a_recording_is_private_and_holds_no_secret() {
    use std::os::unix::fs::PermissionsExt as _;
    let told_key = format!("The key is {} and the other swordfish-swordfish.", key());
    let world = with_model(json!([{"content": [{"type": "text", "text": told_key}]}]));
    let service = recorder(&world);
    std::fs::write(world.wd().join(".ralph/prompt.md"), format!("Use {} and swordfish-swordfish", key())).unwrap();
    let words = ["1", "--json", "--backend", "builtin"];
    let run = ralph(&world, &words).env("ANTHROPIC_BASE_URL", &service.greeting);
    told(run.env("ANTHROPIC_API_KEY", &key()));
    let text = std::fs::read_to_string(tape(&world)).unwrap();
    assert!(text.lines().count() >= 2 && text.contains("The key is [redacted] and the other [redacted]."), "{text}");
    for secret in [&key()[12..], "swordfish"] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    assert_eq!(std::fs::metadata(tape(&world)).unwrap().permissions().mode() & 0o777, 0o600);
    let (again, _) = told(ralph(&world, &["mock", "--record", &tape(&world)]));
    assert_eq!(again.code, Some(1));
    assert!(again.stderr.contains("cannot be written") && again.stderr.contains("exists"), "{}", again.stderr);
}

#[test]
fn a_stream_goes_through_as_it_comes() {
    let world = with_model(json!([{"content": [{"type": "text", "text": "x"}], "stall_after_events": 1}]));
    let service = recorder(&world);
    let mut stream = TcpStream::connect(service.greeting.strip_prefix("http://").unwrap()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let body = json!({"model": "m", "stream": true, "tools": [{"name": "Bash"}], "messages": []}).to_string();
    let head = format!("POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n", body.len());
    stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
    let mut heard = String::new();
    let mut buffer = [0; 4096];
    // The API says one event and then nothing: a relay that collected would never pass it on.
    while !heard.contains("message_start") {
        let count = stream.read(&mut buffer).unwrap();
        assert!(count > 0, "closed: {heard}");
        heard.push_str(&String::from_utf8_lossy(&buffer[..count]));
    }
    assert!(heard.starts_with("HTTP/1.1 200 "), "{heard}");
}

#[test]
fn an_api_that_cannot_be_reached_is_an_error_that_agents_understand() {
    let world = folder();
    let nowhere = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let tape = tape(&world);
    let words = ["mock", "--record", &tape, "--upstream", &format!("http://{nowhere}")];
    let home = world.home().display().to_string();
    let service = Service::start(&binary(), world.wd(), &words, &[("HOME", &home)]).unwrap();
    let run = ralph(&world, &["1", "--json", "--backend", "builtin", "--max-outage", "0"])
        .env("ANTHROPIC_BASE_URL", &service.greeting)
        .env("CLAUDE_CODE_MAX_RETRIES", "0");
    let (outcome, events) = told(run);
    assert_eq!((outcome.code, outcomes(&events)), (Some(1), vec!["deferred".to_owned()]), "{}", outcome.stderr);
    assert!(outcome.lines.concat().contains("the relay cannot reach the API"), "{:?}", outcome.lines.last());
    let text = std::fs::read_to_string(&tape).unwrap();
    assert!(text.contains("\"status\":502"), "{text}");
}

#[test]
fn a_rehearsal_does_not_become_a_run_that_costs_something() {
    let world = with_model(json!([]));
    std::fs::write(world.wd().join("script.json"), json!([say("one step"), say(PROMISE), say(PROMISE)]).to_string())
        .unwrap();
    let (first, _) = told(ralph(&world, &["1", "--json", "--rehearse", "script.json"]));
    assert_eq!(first.code, Some(2), "{}", first.stderr);
    let (refused, _) = told(ralph(&world, &["resume", "--json"]));
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.ends_with("was a rehearsal; go on with --rehearse script.json"), "{}", refused.stderr);
    let (second, events) = told(ralph(&world, &["resume", "--json", "--rehearse", "script.json"]));
    // It goes on in its script: the first turn is not played again.
    assert_eq!(
        (second.code, outcomes(&events)),
        (Some(0), vec!["not_done".to_owned(), "done".into()]),
        "{}",
        second.stderr
    );
    assert!(!second.lines.concat().contains("one step"), "{:?}", second.lines);
    assert_eq!(world.mock().requests().len(), 0);
}

#[test]
fn faults_can_be_rehearsed_each_in_its_iteration() {
    let world = recorded();
    let tape = tape(&world);
    for (fault, expected) in [
        ("limit@1", &["deferred", "not_done", "done"][..]),
        ("limit@2", &["not_done", "deferred", "done"]),
        ("crash@1", &["signal", "not_done", "done"]),
        ("malformed@2", &["not_done", "done"]),
        ("slow@1=1s", &["not_done", "done"]),
    ] {
        let elsewhere = folder();
        let (outcome, events) = told(ralph(&elsewhere, &rehearse(&tape, &["--fault", fault])));
        assert_eq!(outcomes(&events), expected, "{fault}: {} {:#?}", outcome.stderr, outcome.lines);
        assert_eq!(outcome.code, Some(0), "{fault}");
        let broken: Vec<&Value> = of(&events, "warning");
        assert_eq!(broken.len(), usize::from(fault.starts_with("malformed")), "{fault}: {broken:?}");
        let slow = outcome.lines.concat().contains("sleep 1");
        assert_eq!(slow, fault.starts_with("slow"), "{fault}");
        let waits = of(&events, "waiting").len();
        assert_eq!(waits, usize::from(fault.starts_with("limit")), "{fault}");
    }
}

#[test]
fn a_tool_that_is_slower_than_the_idle_deadline_is_no_silence() {
    let world = recorded();
    let elsewhere = folder();
    let words = ["--fault", "slow@1=4s", "--idle", "2s", "--max-failures", "1"];
    let (outcome, events) = told(ralph(&elsewhere, &rehearse(&tape(&world), &words)));
    let expected = vec!["not_done".to_owned(), "done".into()];
    assert_eq!((outcome.code, outcomes(&events)), (Some(0), expected), "{}", outcome.stderr);
    assert!(outcome.elapsed > Duration::from_secs(4), "the tool was slow: {:?}", outcome.elapsed);
}

#[test]
fn a_script_is_rehearsed_too_and_mistakes_are_named() {
    let world = folder();
    let turns = json!([{"status": 429, "headers": {"retry-after": "0"}}, say("a step"), say(PROMISE), say(PROMISE)]);
    let script = world.home().join("script.json");
    std::fs::write(&script, turns.to_string()).unwrap();
    let script = script.display().to_string();
    let (outcome, events) = told(ralph(&world, &["--json", "--rehearse", &script]));
    assert_eq!((outcome.code, verdict(&events).0), (Some(0), "done".into()), "{}", outcome.stderr);
    assert!(world.mock().requests().is_empty(), "the person's own endpoint is not asked");
    std::fs::write(&script, "{\"recording\":1}\n").unwrap();
    for (words, why) in [
        (&["--rehearse", &script][..], "the recording holds no answers"),
        (&["--rehearse", "nothing"], "cannot be read"),
        (&["--rehearse", &script, "--fault", "quake"], "needs limit, crash, malformed or slow"),
    ] {
        let (refused, _) = told(ralph(&world, words));
        assert_eq!(refused.code, Some(1), "{words:?}");
        assert!(refused.stderr.contains(why), "{words:?}: {}", refused.stderr);
    }
}
