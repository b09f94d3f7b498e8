//! Commands and web sockets that are watched, and worktrees that the session moves into.

use crate::common::loopback::{Arrived, Loopback};
use crate::common::{self, call, claude, finish, results, say, tool_results};
use base64::Engine as _;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use serde_json::json;
use testkit::{Run, World};

fn streaming(world: &World, tools: &str) -> Run {
    claude(world).args(["-p", "go", "--output-format", "stream-json", "--verbose", "--tools", tools])
}

fn asked(world: &World) -> Vec<String> {
    world.mock().requests().iter().map(|request| request.body["messages"].to_string()).collect()
}

#[test]
fn every_line_of_a_monitor_begins_a_turn_and_so_does_its_end() {
    let watched = json!({"command": "echo first; sleep 1; echo second", "description": "a count"});
    let world =
        common::world(json!([call("Monitor", &watched), say("watching"), say("heard"), say("heard"), say("heard")]));
    let outcome = finish(streaming(&world, "Monitor").args(["--dangerously-skip-permissions"]).close());
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let events = outcome.events();
    let told = events.iter().find(|event| event["tool_use_result"]["taskId"].is_string()).expect("the result");
    assert_eq!(told["tool_use_result"]["timeoutMs"], json!(300_000));
    let started = events.iter().find(|event| event["subtype"] == "task_started").expect("a start");
    assert_eq!(started["task_id"], told["tool_use_result"]["taskId"]);
    let ended = events.iter().find(|event| event["subtype"] == "task_notification").expect("an end");
    assert_eq!(ended["status"], "completed");
    assert!(results(&outcome).len() >= 3, "{:?}", outcome.lines);
    let last = asked(&world).pop().unwrap_or_default();
    assert!(last.contains("<event>first</event>") && last.contains("<event>second</event>"), "{last}");
}

/// What is forbidden in one tool is not run by another, whatever the mode.
#[test]
fn rules_about_commands_count_for_monitors() {
    let watched = json!({"command": "touch made.txt", "description": "x"});
    let world = common::world(json!([call("Monitor", &watched), say("done")]));
    let run =
        streaming(&world, "Monitor").args(["--dangerously-skip-permissions", "--disallowedTools", "Bash(touch:*)"]);
    let outcome = finish(run.close());
    assert_eq!((world.read("made.txt"), tool_results(&outcome).len()), (None, 1), "{:?}", outcome.lines);
    let world = common::world(json!([call("Monitor", &watched), say("done")]));
    finish(streaming(&world, "Monitor").close());
    assert_eq!(world.read("made.txt"), None, "nobody is there to be asked");
}

/// The answer of a server that opens a web socket and says these frames; `salt` is what it appends to the key.
fn opened(request: &Arrived, salt: &str, frames: &[u8]) -> Vec<u8> {
    let key = request.header("sec-websocket-key").unwrap_or_default();
    let accept = digest(&SHA1_FOR_LEGACY_USE_ONLY, format!("{key}{salt}").as_bytes());
    let accept = base64::engine::general_purpose::STANDARD.encode(accept);
    let head = format!(
        "HTTP/1.1 101 X\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: {accept}\r\nsec-websocket-protocol: feed\r\n\r\n"
    );
    [head.as_bytes(), frames].concat()
}

const SALT: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// A text in two pieces with a ping between them, a text of two lines, three bytes, and a close with the code 1001.
const FRAMES: &[u8] = b"\x01\x04firs\x89\x01p\x80\x01t\x81\x03a\nb\x82\x03xyz\x88\x02\x03\xe9";

fn watch(url: &str) -> serde_json::Value {
    json!({"description": "a feed", "ws": {"url": url, "protocols": ["feed", "other"]}})
}

/// One event a message, whatever it holds; the end of the socket is the end of the watch.
#[test]
fn every_message_of_a_web_socket_begins_a_turn() {
    let server = Loopback::start(|request| opened(request, SALT, FRAMES));
    let url = format!("ws://{}/feed?from=1", server.address);
    let heard = std::iter::repeat_n(say("heard"), 5);
    let turns: Vec<_> = [call("Monitor", &watch(&url)), say("watching")].into_iter().chain(heard).collect();
    let world = common::world(json!(turns));
    let run = streaming(&world, "Monitor").args(["--allowedTools", "Monitor"]).env("RALPH_TEST_PRIVATE_WEB", "1");
    let outcome = finish(run.close());
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let last = asked(&world).pop().unwrap_or_default();
    for event in ["<event>first</event>", "<event>a\\nb</event>", "<event>[binary frame, 3 bytes]</event>"] {
        assert!(last.contains(event), "{event}: {last}");
    }
    let events = outcome.events();
    let ended = events.iter().find(|event| event["subtype"] == "task_notification").expect("an end");
    assert_eq!(ended["status"], "completed");
    assert!(ended["summary"].as_str().is_some_and(|summary| summary.contains("1001")), "{ended}");
    let asked = &server.arrived()[0];
    assert_eq!(asked.line, "GET /feed?from=1 HTTP/1.1");
    assert_eq!(asked.header("sec-websocket-protocol"), Some("feed, other"));
}

/// Nobody is there to be asked, a rule about pages forbids the host, the address is private, the server is none, or the
/// message is too large: nothing is watched, and the model is told why.
#[test]
fn adversary_a_web_socket_is_opened_only_where_it_may_be() {
    let server = Loopback::start(|request| opened(request, SALT, FRAMES));
    let url = format!("ws://{}/", server.address);
    let world = |input| common::world(json!([call("Monitor", &input), say("done"), say("done")]));
    let told = |world: &World, args: &[&str], private: bool| {
        let run = streaming(world, "Monitor").args(args.iter().copied());
        let outcome = finish(if private { run.env("RALPH_TEST_PRIVATE_WEB", "1") } else { run }.close());
        tool_results(&outcome).join("\n")
    };
    let allowed = ["--allowedTools", "Monitor"];
    let bypass = ["--dangerously-skip-permissions", "--disallowedTools", "WebFetch(domain:127.0.0.1)"];
    for (args, private, why) in [
        (&["--allowedTools", "Bash", "WebFetch"][..], true, "web socket is asked first"),
        (&bypass, true, "WebFetch(domain:127.0.0.1)"),
        (&allowed, false, "private network"),
    ] {
        let told = told(&world(watch(&url)), args, private);
        assert!(told.contains(why), "{args:?}: {told}");
    }
    assert_eq!(server.arrived().len(), 0, "nothing was opened");
    for (input, why) in [
        (json!({"description": "x", "command": "echo", "ws": {"url": url}}), "not both"),
        (json!({"description": "x", "command": " ", "ws": {"url": url}}), "not both"),
        (json!({"description": "x", "ws": {"url": url, "protocols": ["a", "a"]}}), "twice"),
        (json!({"description": "x", "ws": {"url": "http://example.com/"}}), "only ws and wss"),
        (json!({"description": "x", "ws": {"url": "ws://me:secret@example.com/"}}), "password"),
    ] {
        let told = told(&world(input), &allowed, true);
        assert!(told.contains(why), "{why}: {told}");
    }
    let liar = Loopback::start(|request| opened(request, "no salt", FRAMES));
    let told_liar = told(&world(watch(&format!("ws://{}/", liar.address))), &allowed, true);
    assert!(told_liar.contains("its key is wrong"), "{told_liar}");
    let page = Loopback::serving(b"no socket".to_vec());
    let told_page = told(&world(watch(&format!("ws://{}/", page.address))), &allowed, true);
    assert!(told_page.contains("answered 200"), "{told_page}");
    let huge = Loopback::start(|request| opened(request, SALT, b"\x81\x7f\x00\x00\x00\x00\x7f\x00\x00\x00"));
    let world = world(watch(&format!("ws://{}/", huge.address)));
    let run = streaming(&world, "Monitor").args(allowed).env("RALPH_TEST_PRIVATE_WEB", "1");
    let outcome = finish(run.close());
    let ended = outcome.events().into_iter().find(|event| event["subtype"] == "task_notification").expect("an end");
    assert!(ended["status"] == "failed" && ended["summary"].to_string().contains("larger than"), "{ended}");
}

#[test]
fn a_session_moves_into_a_worktree_and_back() {
    let world = common::world(json!([
        call("EnterWorktree", &json!({"name": "try"})),
        call("Write", &json!({"file_path": "$WD/.claude/worktrees/try/new.txt", "content": "x\n"})),
        call("Bash", &json!({"command": "pwd; git branch --show-current"})),
        call("EnterWorktree", &json!({"name": "again"})),
        call("ExitWorktree", &json!({"action": "remove"})),
        call("ExitWorktree", &json!({"action": "remove", "discard_changes": true})),
        call("Bash", &json!({"command": "pwd; git branch"})),
        say("done"),
    ]));
    let tools = "EnterWorktree,ExitWorktree,Bash,Write";
    let outcome =
        finish(streaming(&world, tools).args(["--permission-mode", "acceptEdits", "--allowedTools", "Bash"]).close());
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let told = tool_results(&outcome);
    assert!(told[0].contains(".claude/worktrees/try") && told[0].contains("worktree-try"), "{told:?}");
    assert!(told[2].contains(".claude/worktrees/try") && told[2].contains("worktree-try"), "{told:?}");
    assert!(told[3].contains("already") && told[4].contains("discard_changes"), "{told:?}");
    assert!(told[5].contains("is removed"), "{told:?}");
    assert!(!told[6].contains("worktree"), "{told:?}");
    assert_eq!(world.read("new.txt"), None);
    assert_eq!(world.read(".claude/worktrees/try/new.txt"), None);
    let shape = outcome.events().into_iter().find(|event| event["tool_use_result"]["worktreeBranch"].is_string());
    assert_eq!(shape.expect("the result")["tool_use_result"]["worktreeBranch"], "worktree-try");
}

#[test]
fn no_worktree_is_entered_elsewhere() {
    let outside = tempfile::tempdir().expect("a folder");
    let world = common::world(json!([
        call("EnterWorktree", &json!({"path": outside.path()})),
        call("EnterWorktree", &json!({"name": "../../out"})),
        call("ExitWorktree", &json!({"action": "remove", "discard_changes": true})),
        say("done"),
    ]));
    let outcome =
        finish(streaming(&world, "EnterWorktree,ExitWorktree").args(["--dangerously-skip-permissions"]).close());
    let told = tool_results(&outcome);
    assert!(told[0].contains("needs") && told[1].contains("needs") && told[2].contains("no worktree"), "{told:?}");
    assert!(outside.path().is_dir() && !world.wd().join(".claude/worktrees").exists());
}
