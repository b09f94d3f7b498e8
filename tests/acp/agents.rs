//! ACP agents in the loop: a fake one, as a shell script that speaks the protocol.

use crate::client::{running, wait_for_processes};
use serde_json::Value;
use std::path::{Path, PathBuf};
use testkit::looping::{PROMISE, folder, of, outcomes, told, verdict};
use testkit::{Run, World};

/// How every fake agent begins. `$turn` is what it does for a prompt; `ask` asks for a permission and keeps the answer.
const PREAMBLE: &str = r#"#!/bin/sh
out() { printf '%s\n' "$1"; }
update() { out "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"s1\",\"update\":$1}}"; }
say() { update "{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"$1\"}}"; }
answer() { out "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":$1}"; }
error() { out "{\"jsonrpc\":\"2.0\",\"id\":$id,\"error\":{\"code\":$1,\"message\":\"$2\"}}"; }
end() { answer "{\"stopReason\":\"end_turn\",\"usage\":{\"totalTokens\":15,\"inputTokens\":10,\"outputTokens\":5}}"; }
ask() {
  out "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"session/request_permission\",\"params\":{\"sessionId\":\"s1\",\"toolCall\":{\"toolCallId\":\"t1\",\"kind\":\"edit\",\"title\":\"Write made.txt\",\"rawInput\":{\"file_path\":\"made.txt\"}},\"options\":[{\"optionId\":\"always\",\"name\":\"Always\",\"kind\":\"allow_always\"},{\"optionId\":\"once\",\"name\":\"Once\",\"kind\":\"allow_once\"},{\"optionId\":\"no\",\"name\":\"No\",\"kind\":\"reject_once\"}]}}"
  read -r permission
}
out 'a line for people'
while read -r line; do
  id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
  case "$line" in
    *'"method":"initialize"'*) answer '{"protocolVersion":1,"agentCapabilities":{"loadSession":false}}' ;;
    *'"method":"session/new"'*) update '{"sessionUpdate":"early"}'; answer '{"sessionId":"s1"}' ;;
    *'"method":"session/prompt"'*) turn ;;
  esac
done
sleep 16180339
"#;

fn fake(world: &World, turn: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let path = world.home().join("fake-acp");
    let script = PREAMBLE.replacen("out 'a line", &format!("turn() {{\n{turn}\n}}\nout 'a line"), 1);
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn looped(world: &World, turn: &str, words: &[&str]) -> Run {
    let backend = format!("--backend=acp:'{}' --acp", fake(world, turn).display());
    testkit::looping::ralph(
        Path::new(env!("CARGO_BIN_EXE_ralph")),
        world,
        &["--json", &backend, "--failure-pause", "0"],
    )
    .args(words.iter().copied())
}

const WRITES: &str = r#"update '{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"}}'
say 'I write.'
ask
case "$permission" in *'"once"'*) echo right > made.txt; status=completed ;; *) status=failed ;; esac
update "{\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"t1\",\"status\":\"$status\"}"
update '{"sessionUpdate":"plan","entries":[{"content":"write","priority":"high","status":"completed"}]}'
update '{"sessionUpdate":"usage_update","used":10,"size":1000,"cost":{"amount":0.25,"currency":"USD"}}'
"#;

#[test]
fn an_acp_agent_works_to_a_checked_end() {
    let world = folder();
    let run = looped(&world, &format!("{WRITES}\nsay '{PROMISE}'\nend"), &["--check", "grep right made.txt"]);
    let (outcome, events) = told(run);
    assert_eq!((outcome.code, outcomes(&events)), (Some(0), vec!["done".to_owned()]), "{:#?}", outcome.lines);
    assert_eq!(world.read("made.txt").as_deref(), Some("right\n"));
    let call = of(&events, "tool_call");
    assert!(call.iter().any(|event| event["name"] == "Edit"), "{call:?}");
    let usage = of(&events, "usage").last().map(|event| (**event).clone()).unwrap_or_default();
    assert_eq!(usage["cost_usd"], 0.25, "{usage}");
    wait_for_processes(&world.home().to_string_lossy(), false);
}

#[test]
fn what_no_mode_allows_is_denied_and_told() {
    let world = folder();
    let run = looped(
        &world,
        &format!("{WRITES}\nsay '{PROMISE}'\nend"),
        &["1", "--permissions", "default", "--check", "test -e made.txt"],
    );
    let (_, events) = told(run);
    assert!(world.read("made.txt").is_none());
    assert!(!of(&events, "permission_denied").is_empty());
    assert_ne!(verdict(&events).0, "done");
}

#[test]
fn failures_never_end_as_done() {
    for turn in [
        "say 'exceeded retry limit, last status: 429 Too Many Requests'; answer '{\"stopReason\":\"end_turn\",\"usage\":null}'".to_owned(),
        "say 'unexpected status 401 Unauthorized'; answer '{\"stopReason\":\"end_turn\"}'".to_owned(),
        format!("say '{PROMISE}'; answer '{{\"stopReason\":\"refusal\"}}'"),
        format!("say '{PROMISE}'; answer '{{\"stopReason\":\"cancelled\"}}'"),
        format!("say '{PROMISE}'; error -32603 'Internal error'"),
        "error -32000 'Authentication required'".to_owned(),
        format!("say '{PROMISE}'; exit 3"),
    ] {
        let world = folder();
        let (outcome, events) = told(looped(&world, &turn, &["1", "--max-failures", "1", "--duration", "5s"]));
        assert_ne!(outcome.code, Some(0), "{turn}: {:#?}", outcome.lines);
        assert!(!outcomes(&events).contains(&"done".to_owned()), "{turn}");
    }
}

#[test]
fn a_promise_before_the_last_message_is_none() {
    let world = folder();
    let turn = format!(
        "say '{PROMISE}'; update '{{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"t\",\"title\":\"ls\",\"kind\":\"execute\",\"status\":\"completed\"}}'; say 'not yet'; end"
    );
    let (_, events) = told(looped(&world, &turn, &["1"]));
    assert!(!outcomes(&events).contains(&"done".to_owned()), "{events:#?}");
}

#[test]
fn a_stopped_loop_leaves_nothing_of_the_agent_alive() {
    let world = folder();
    let turn = "setsid sleep 14142135 &\nupdate '{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"t\",\"title\":\"sleep\",\"kind\":\"execute\",\"status\":\"in_progress\"}'\nsleep 14142135";
    let run = looped(&world, turn, &[])
        .wait(serde_json::json!({"type": "tool_call"}))
        .signal(2)
        .step(testkit::Step::Sleep(std::time::Duration::from_millis(200)))
        .signal(2);
    let outcome = run.hold().finish().unwrap();
    assert!(!outcome.timed_out, "{:#?}", outcome.lines);
    assert_eq!(outcome.unmet, Vec::<Value>::new(), "{:#?}", outcome.lines);
    assert!(running("sleep 14142135").is_empty() && running(&world.home().to_string_lossy()).is_empty());
}

#[test]
fn an_agent_that_is_not_there_is_named() {
    let world = folder();
    for (backend, named) in [("goose", "goose"), ("acp:no-such-agent --acp", "no-such-agent"), ("acp:", "empty")] {
        let run =
            testkit::looping::ralph(Path::new(env!("CARGO_BIN_EXE_ralph")), &world, &["--json", "--backend", backend]);
        let outcome = run.env("PATH", "/usr/bin:/bin").close().finish().unwrap();
        assert_eq!(outcome.code, Some(1));
        assert!(outcome.stderr.contains(named), "{backend}: {}", outcome.stderr);
    }
}
