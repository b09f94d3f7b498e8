//! `OTEL_LOG_RAW_API_BODIES`: what was sent and what came back, in the records or as files.

use super::{PRINT, attribute, collector, events, exporting};
use crate::common::{bash, call, finish, say, world};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use testkit::{Collector, Outcome, World};

const KEY: &str = "sk-ant-test-0000000000000000";
/// More than any body here has.
const WHOLE: &str = "10000000";

/// A thought, a command that shows the key, an answer.
fn turns() -> Value {
    let thought = json!({"type": "thinking", "thinking": "thought-word", "signature": "signed-word"});
    let mut first = bash(&format!("echo command-word {KEY} > /dev/null"));
    first["content"].as_array_mut().unwrap().insert(0, thought);
    json!([first, say("answer-word")])
}

fn exported(world: &World, env: &[(&str, &str)]) -> (Collector, Outcome) {
    let collector = collector();
    let run = env.iter().fold(exporting(world, &collector.url()), |run, (name, value)| run.env(name, value));
    let outcome = finish(run.args(PRINT).args(["--dangerously-skip-permissions"]));
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{:?}", outcome.lines);
    (collector, outcome)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn parsed(body: &Value) -> Value {
    serde_json::from_str(text(body)).unwrap()
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn assert_no_secret(text: &str) {
    for secret in [KEY, "x-api-key", "authorization", "anthropic-version", "thought-word", "signed-word"] {
        assert!(!text.contains(secret), "{secret} was recorded");
    }
}

#[test]
fn a_body_is_recorded_as_it_was_sent_and_as_it_came() {
    let world = world(turns());
    let env = [("OTEL_LOG_RAW_API_BODIES", "1"), ("CLAUDE_CODE_OTEL_CONTENT_MAX_LENGTH", WHOLE)];
    let (collector, _) = exported(&world, &env);
    let sent = events(&collector, "api_request_body");
    let requests: Vec<_> = world.mock().requests().into_iter().filter(mock::Recorded::has_tools).collect();
    assert_eq!((sent.len(), requests.len()), (2, 2));
    let body = parsed(&attribute(&sent[0], "body"));
    assert_eq!(body, requests[0].body);
    let whole = attribute(&sent[0], "body");
    assert_eq!(attribute(&sent[0], "body_length"), text(&whole).encode_utf16().count());
    assert_eq!(attribute(&sent[0], "model"), body["model"]);
    assert_eq!(attribute(&sent[0], "query_source"), "sdk");
    assert!(attribute(&sent[0], "body_truncated").is_null() && attribute(&sent[0], "body_ref").is_null());

    let received = events(&collector, "api_response_body");
    assert_eq!(received.len(), 2);
    for (request, response) in sent.iter().zip(&received) {
        assert_eq!(attribute(request, "request_body_id"), attribute(response, "request_body_id"));
        assert!(text(&attribute(response, "request_id")).starts_with("req_"));
        assert!(text(&attribute(response, "message.uuid")).len() == 36);
    }
    let body = parsed(&attribute(&received[1], "body"));
    assert_eq!((&body["content"][0]["text"], &body["stop_reason"]), (&json!("answer-word"), &json!("end_turn")));
    assert_eq!(attribute(&received[1], "message.id"), body["id"]);
    assert!(body["usage"]["output_tokens"].is_u64());
    let answer = &events(&collector, "assistant_response")[0];
    assert_eq!(attribute(answer, "message.uuid"), attribute(&received[1], "message.uuid"));

    let all: String =
        collector.batches().iter().map(|batch| String::from_utf8_lossy(&batch.bytes).into_owned()).collect();
    assert!(all.contains("command-word"));
    assert_no_secret(&all);
}

#[test]
fn a_long_body_is_cut_at_the_limit_of_content() {
    let env = [("OTEL_LOG_RAW_API_BODIES", "true"), ("CLAUDE_CODE_OTEL_CONTENT_MAX_LENGTH", "500")];
    let (collector, _) = exported(&world(turns()), &env);
    let sent = &events(&collector, "api_request_body")[0];
    let body = attribute(sent, "body");
    assert_eq!((text(&body).encode_utf16().count(), attribute(sent, "body_truncated")), (500, json!("true")));
    assert!(attribute(sent, "body_length").as_u64() > Some(1000));
}

#[test]
fn whole_bodies_are_files_that_only_the_user_reads() {
    let world = world(turns());
    let folder = world.home().join("raw/bodies");
    let (collector, outcome) = exported(&world, &[("OTEL_LOG_RAW_API_BODIES", &format!("file:{}", folder.display()))]);
    assert_eq!((mode(&folder), mode(&world.home().join("raw"))), (0o700, 0o700));
    let index = std::fs::read_to_string(folder.join("index.jsonl")).unwrap();
    let lines: Vec<Value> = index.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    let requests: Vec<_> = world.mock().requests().into_iter().filter(mock::Recorded::has_tools).collect();
    let (sent, received) = (events(&collector, "api_request_body"), events(&collector, "api_response_body"));
    for (at, line) in lines.iter().enumerate() {
        assert_eq!(line["session_id"], outcome.session_id().unwrap());
        assert_eq!((&line["query_source"], &line["model"]), (&json!("sdk"), &attribute(&sent[at], "model")));
        assert_eq!(line["request_file"], attribute(&sent[at], "body_ref"));
        assert_eq!(line["response_file"], attribute(&received[at], "body_ref"));
        assert_eq!(line["message_id"], attribute(&received[at], "message.id"));
        assert_eq!(line["message_uuid"], attribute(&received[at], "message.uuid"));
        assert_eq!(line["request_id"], attribute(&received[at], "request_id"));
        let name = format!("{}.response.json", text(&line["request_id"]));
        assert_eq!(Path::new(text(&line["response_file"])), folder.join(name));
        let request = std::fs::read_to_string(text(&line["request_file"])).unwrap();
        assert_eq!(attribute(&sent[at], "body_length"), request.len());
        let request: Value = serde_json::from_str(&request).unwrap();
        assert_eq!(
            request["messages"].as_array().map(Vec::len),
            requests[at].body["messages"].as_array().map(Vec::len)
        );
    }
    for entry in folder.read_dir().unwrap().flatten() {
        assert_eq!(mode(&entry.path()), 0o600, "{entry:?}");
        assert_no_secret(&std::fs::read_to_string(entry.path()).unwrap());
    }
    assert_eq!(folder.read_dir().unwrap().count(), 5);
    for record in sent.iter().chain(&received) {
        assert!(attribute(record, "body").is_null() && attribute(record, "body_truncated").is_null());
    }
}

#[test]
fn a_folder_that_cannot_be_written_breaks_nothing() {
    let world = world(json!([say("one"), say("two"), say("three")]));
    std::fs::write(world.home().join("taken"), "").unwrap();
    let inside = format!("file:{}", world.home().join("taken/inside").display());
    let (collector, _) = exported(&world, &[("OTEL_LOG_RAW_API_BODIES", &inside)]);
    let sent = &events(&collector, "api_request_body")[0];
    assert!(attribute(sent, "body_ref").is_null() && attribute(sent, "body").is_null());
    assert!(attribute(sent, "body_length").is_u64());
    // A link in place of the index is not followed.
    let folder = world.home().join("linked");
    std::fs::create_dir(&folder).unwrap();
    std::os::unix::fs::symlink(world.home().join("elsewhere"), folder.join("index.jsonl")).unwrap();
    exported(&world, &[("OTEL_LOG_RAW_API_BODIES", &format!("file:{}", folder.display()))]);
    assert!(!world.home().join("elsewhere").exists());
    assert_eq!(folder.read_dir().unwrap().count(), 3);
}

#[test]
fn a_server_does_not_choose_where_files_are_written() {
    let mut first = say("one");
    first["headers"] = json!({"request-id": "../../escaped"});
    let (world, name) = (world(json!([first])), "bodies");
    // The folder may be named from where the session works.
    exported(&world, &[("OTEL_LOG_RAW_API_BODIES", &format!("file:{name}"))]);
    let folder = world.wd().join(name);
    let line = std::fs::read_to_string(folder.join("index.jsonl")).unwrap();
    let line: Value = serde_json::from_str(&line).unwrap();
    let file = Path::new(text(&line["response_file"])).to_owned();
    assert!(file.is_file() && file.parent() == Some(&folder), "{line}");
    assert_eq!(folder.read_dir().unwrap().count(), 3);
}

fn sources(collector: &Collector, name: &str) -> Vec<Value> {
    events(collector, name).iter().map(|event| attribute(event, "query_source")).collect()
}

#[test]
fn what_agents_and_compactions_send_is_recorded_as_theirs() {
    let task = json!({"description": "look", "prompt": "look around", "subagent_type": "Explore"});
    let agents = world(json!([call("Agent", &task), say("seen"), say("ok")]));
    let (with_agent, _) = exported(&agents, &[("OTEL_LOG_RAW_API_BODIES", "1")]);
    let (compacted, world) = (collector(), world(json!([say("a long answer"), say("the summary")])));
    let run = exporting(&world, &compacted.url()).env("OTEL_LOG_RAW_API_BODIES", "1");
    let run = run.args(["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]);
    let result = json!({"type": "result"});
    finish(run.prompt("go").wait(result.clone()).prompt("/compact").wait(result).close());
    for name in ["api_request_body", "api_response_body"] {
        assert_eq!(sources(&with_agent, name), ["sdk", "agent:builtin:Explore", "sdk"], "{name}");
        assert_eq!(sources(&compacted, name), ["sdk", "compact"], "{name}");
    }
}

#[test]
fn without_a_word_that_is_understood_nothing_is_recorded() {
    for value in ["0", "perhaps", "file:"] {
        let (collector, _) = exported(&world(turns()), &[("OTEL_LOG_RAW_API_BODIES", value)]);
        assert!(events(&collector, "api_request_body").is_empty(), "{value}");
        assert!(events(&collector, "api_response_body").is_empty(), "{value}");
    }
}
