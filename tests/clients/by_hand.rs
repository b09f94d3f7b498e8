//! Clients that write the protocol by hand: shells, seeds, vibe-kanban, Cline, goose. Played line by line.

use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Duration;
use testkit::{Outcome, Run, Step, World};

/// No line on stdout may be as long as this: the Python SDK's buffer.
const LINE_MAX: usize = 1024 * 1024;

/// A version must be there this soon, or clients give up on it.
const VERSION_WITHIN: Duration = Duration::from_secs(2);

/// Busy machines need some time between starting us and writing to us.
const FIRST_LINE_AT_LEAST: Duration = Duration::from_secs(1);

fn world(turns: Value) -> World {
    World::empty(mock::Script::from_value(turns).expect("a script")).expect("a world")
}

fn claude(world: &World, args: &[&str]) -> Run {
    world.run(&PathBuf::from(env!("CARGO_BIN_EXE_ralph"))).args(args.iter().copied())
}

fn finish(run: Run) -> Outcome {
    let outcome = run.finish().expect("a run");
    assert!(!outcome.timed_out, "it hung: {:?}\n{}", outcome.lines, outcome.stderr);
    assert_eq!(outcome.unmet, Vec::<Value>::new(), "{:?}\n{}", outcome.lines, outcome.stderr);
    outcome
}

fn say(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

fn call(tool: &str, input: &Value) -> Value {
    json!({"content": [{"type": "tool_use", "name": tool, "input": input}]})
}

fn request(id: &str, request: &Value) -> Value {
    json!({"type": "control_request", "request_id": id, "request": request})
}

/// To the question that was asked last.
fn answer(payload: &Value) -> Value {
    json!({"type": "control_response", "response": {"subtype": "success", "request_id": "$REQ", "response": payload}})
}

fn find(events: &[Value], fits: impl Fn(&Value) -> bool) -> &Value {
    events.iter().find(|event| fits(event)).unwrap_or(&Value::Null)
}

fn sent(world: &World, index: usize) -> String {
    let requests: Vec<_> = world.mock().requests().into_iter().filter(mock::Recorded::has_tools).collect();
    requests.get(index).map(|request| request.body.to_string()).unwrap_or_default()
}

const STREAM: [&str; 5] = ["--output-format", "stream-json", "--verbose", "--input-format", "stream-json"];

#[test]
fn s03_print_mode_in_three_formats() {
    let world = world(json!([say("one"), say("two"), say("three")]));
    let text = finish(claude(&world, &["-p", "hi"]).close());
    assert_eq!((text.lines.as_slice(), text.code, &*text.stderr), (&["one".to_owned()][..], Some(0), ""));
    let object = finish(claude(&world, &["-p", "hi", "--output-format", "json"]).close());
    assert_eq!((object.lines.len(), &object.events()[0]["type"], object.code), (1, &json!("result"), Some(0)));
    let stream = finish(claude(&world, &["-p", "hi", "--output-format", "stream-json", "--verbose"]).close());
    let kinds: Vec<_> = stream.events().iter().map(|event| event["type"].clone()).collect();
    assert_eq!(kinds, ["system", "assistant", "result"]);
}

#[test]
fn s04_a_prompt_on_stdin_or_none() {
    let world = world(json!([say("piped"), say("typed")]));
    let piped = finish(claude(&world, &["-p"]).step(Step::SendRaw(b"hi\n".to_vec())).close());
    assert_eq!((piped.lines, piped.code), (vec!["piped".to_owned()], Some(0)));
    let typed = finish(claude(&world, &["-p", "x"]).close());
    assert_eq!((typed.lines, typed.code), (vec!["typed".to_owned()], Some(0)));
}

#[test]
fn s05_an_orchestrator_with_a_schema_and_two_prompts() {
    let schema = r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#;
    let world = world(json!([call("StructuredOutput", &json!({"n": 1})), call("StructuredOutput", &json!({"n": 2}))]));
    let mut args = vec!["-p", "--model", "sonnet", "--tools", "Bash,Read,StructuredOutput", "--json-schema", schema];
    args.extend(STREAM);
    let outcome = finish(
        claude(&world, &args)
            .prompt("first")
            .wait(json!({"type": "result", "structured_output": {"n": 1}}))
            .prompt("second")
            .wait(json!({"type": "result", "structured_output": {"n": 2}}))
            .close(),
    );
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
}

/// A client that is slow to write its first line must not find a closed pipe in place of the reason.
#[test]
fn s25_a_failed_start_waits_for_the_first_line() {
    let args: Vec<&str> = STREAM.into_iter().chain(["--resume", "7f6f1c38-8f5b-4f0e-9d3e-0c1f7a2b3c4d"]).collect();
    let reason = json!({"type": "result", "subtype": "error_during_execution"});
    let world = world(json!([]));
    let silent = finish(claude(&world, &args).wait(reason.clone()).hold());
    assert!(silent.elapsed > FIRST_LINE_AT_LEAST, "gone after {:?}", silent.elapsed);
    let run = claude(&world, &args).wait(reason);
    let spoken = finish(run.send(request("one", &json!({"subtype": "initialize"}))).hold());
    assert!(spoken.elapsed < silent.elapsed, "{:?}", spoken.elapsed);
    assert_eq!((silent.code, spoken.code), (Some(1), Some(1)));
}

/// Its hooks answer "ask", its look-ahead matcher lets reading through, its Stop hook blocks once.
#[test]
fn s28_vibe_kanban() {
    let world = world(json!([
        call("Read", &json!({"file_path": "$WD/nothing"})),
        call("Bash", &json!({"command": "touch x"})),
        say("done"),
        say("committed"),
        say("resumed")
    ]));
    let mut args = vec!["-p", "--permission-prompt-tool=stdio", "--permission-mode=bypassPermissions"];
    args.extend(["--verbose", "--output-format=stream-json", "--input-format=stream-json"]);
    args.extend(["--include-partial-messages", "--replay-user-messages", "--disallowedTools=AskUserQuestion"]);
    let hooks = json!({
        "PreToolUse": [{"matcher": "^(?!(Glob|Grep|NotebookRead|Read|Task|TodoWrite)$).*", "hookCallbackIds": ["approval"]}],
        "Stop": [{"hookCallbackIds": ["commit"]}],
    });
    let asks = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "ask"}});
    let callback =
        |id: &str| json!({"type": "control_request", "request": {"subtype": "hook_callback", "callback_id": id}});
    let outcome = finish(
        claude(&world, &args)
            .send(request("one", &json!({"subtype": "initialize", "hooks": hooks})))
            .send(request("two", &json!({"subtype": "set_permission_mode", "mode": "default"})))
            .prompt("go")
            .wait(callback("approval"))
            .send(answer(&asks))
            .wait(json!({"type": "control_request", "request": {"subtype": "can_use_tool", "tool_name": "Bash"}}))
            .send(answer(&json!({"behavior": "allow", "updatedInput": {"command": "touch y"}})))
            .wait(callback("commit"))
            .send(answer(&json!({"decision": "block", "reason": "commit your work first"})))
            .wait(callback("commit"))
            .send(answer(&json!({})))
            .wait(json!({"type": "result", "result": "committed"}))
            .close(),
    );
    assert!(world.read("y").is_some() && world.read("x").is_none());
    assert!(sent(&world, 3).contains("commit your work first"));
    let events = outcome.events();
    let stops: Vec<_> = events.iter().filter(|event| event["request"]["callback_id"] == "commit").collect();
    let active: Vec<_> = stops.iter().map(|event| event["request"]["input"]["stop_hook_active"].clone()).collect();
    assert_eq!(active, [false, true]);
    assert_eq!(find(&events, |event| event["subtype"] == "init")["permissionMode"], "default");
    vibe_kanban_goes_back(&world, &events);
}

/// Resumes at the answer before the last, and asks for the commands with a lone slash.
fn vibe_kanban_goes_back(world: &World, events: &[Value]) {
    let session = find(events, |event| event["type"] == "result")["session_id"].as_str().unwrap_or_default().to_owned();
    let done =
        find(events, |event| event["message"]["content"][0]["text"] == "done")["uuid"].as_str().unwrap_or_default();
    let mut args = vec!["-p", "--resume", &session, "--resume-session-at", done];
    args.extend(STREAM);
    let resumed = finish(claude(world, &args).prompt("again").close());
    assert_eq!(resumed.result().unwrap_or_default()["result"], "resumed");
    assert!(sent(world, 4).contains("done") && !sent(world, 4).contains("committed"));
    let probe = claude(world, &["-p", "--verbose", "--output-format=stream-json", "--max-turns", "1", "--", "/"]);
    let init = finish(probe.close()).events().remove(0);
    assert!(init["slash_commands"].is_array() && init["plugins"].is_array() && init["agents"].is_array(), "{init}");
}

/// What the action does before its run: a marketplace, a plugin of it; what is not there it learns at once.
#[test]
fn s29_marketplaces_and_plugins() {
    let world = world(json!([say("reviewed")]));
    let market = world.home().join("market");
    for (name, text) in [
        (".claude-plugin/marketplace.json", r#"{"name":"tools","plugins":[{"name":"review","source":"./review"}]}"#),
        ("review/.claude-plugin/plugin.json", r#"{"name":"review","version":"0.1.0"}"#),
        ("review/commands/now.md", "Review it now."),
    ] {
        let path = market.join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
    let market = market.display().to_string();
    for words in [&["plugin", "marketplace", "add", &market][..], &["plugin", "install", "review@tools"]] {
        let outcome = finish(claude(&world, words).close());
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{words:?}");
    }
    let outcome = finish(claude(&world, &["-p", "/review:now"]).close());
    assert_eq!((outcome.lines.as_slice(), outcome.code), (&["reviewed".to_owned()][..], Some(0)), "{}", outcome.stderr);
    assert!(sent(&world, 0).contains("Review it now."));
    for words in [&["plugin", "marketplace", "add", "./somewhere"][..], &["plugin", "install", "something"]] {
        let outcome = finish(claude(&world, words).close());
        assert_eq!((outcome.code, outcome.lines.len()), (Some(1), 0), "{words:?}");
        assert!(outcome.stderr.starts_with("Error: "), "{}", outcome.stderr);
    }
}

#[test]
fn s30_cline() {
    let world = world(json!([say("answer one"), say("answer two")]));
    let denied = "Task,Bash,Glob,Grep,LS,Read,Edit,MultiEdit,Write,NotebookRead,NotebookEdit,WebFetch,TodoRead,TodoWrite,WebSearch,Skill";
    let messages = json!([{"role": "user", "content": [{"type": "text", "text": "the task"}]}]);
    let file = world.home().join("prompt.txt");
    std::fs::write(&file, "You are Cline.").expect("a file");
    let file = file.to_string_lossy();
    for (flag, value) in [("--system-prompt", "You are Cline."), ("--system-prompt-file", &*file)] {
        let args = [flag, value, "--verbose", "--output-format", "stream-json", "--disallowedTools", denied];
        let run = claude(&world, &args).args(["--max-turns", "1", "--model", "claude-sonnet-4-5", "-p"]);
        let outcome = finish(run.step(Step::SendRaw(messages.to_string().into_bytes())).close());
        let texts = outcome.events().iter().filter(|event| event["type"] == "assistant").count();
        assert_eq!((texts, outcome.code), (1, Some(0)), "{flag}: {:?} {}", outcome.lines, outcome.stderr);
    }
    let bodies: Vec<_> = world.mock().requests().into_iter().map(|request| request.body.to_string()).collect();
    assert!(bodies.iter().all(|body| body.contains("You are Cline.") && body.contains("the task")), "{bodies:?}");
}

#[test]
fn s31_goose() {
    let world = world(json!([call("Bash", &json!({"command": "touch x"})), say("done")]));
    let pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": pixel}});
    let content = json!([{"type": "text", "text": "look"}, image]);
    let args: Vec<&str> = STREAM.into_iter().chain(["--permission-prompt-tool", "stdio"]).collect();
    let outcome = finish(
        claude(&world, &args)
            .send(request("req_0", &json!({"subtype": "initialize"})))
            .wait(json!({"type": "control_response", "response": {"subtype": "success", "request_id": "req_0"}}))
            .send(request("req_1", &json!({"subtype": "set_model", "model": "haiku"})))
            .wait(json!({"type": "control_response", "response": {"request_id": "req_1"}}))
            .send(json!({"type": "user", "session_id": "goose-7", "message": {"role": "user", "content": content}}))
            .wait(json!({"type": "control_request", "request": {"subtype": "can_use_tool"}}))
            .send(answer(&json!({"behavior": "allow", "updatedInput": {"command": "touch x"}})))
            .wait(json!({"type": "result", "result": "done"}))
            .close(),
    );
    let events = outcome.events();
    let models = &find(&events, |event| event["response"]["request_id"] == "req_0")["response"]["response"]["models"];
    assert!(models.as_array().is_some_and(|models| models.iter().all(|model| model["value"].is_string())), "{models}");
    assert!(sent(&world, 0).contains("claude-haiku") && sent(&world, 0).contains(pixel));
    assert!(world.read("x").is_some());
}

/// Goose asks for the models and goes: no prompt ever comes.
#[test]
fn s31_goose_lists_models() {
    let outcome = finish(
        claude(&world(json!([])), &STREAM)
            .send(request("req_0", &json!({"subtype": "initialize"})))
            .wait(json!({"type": "control_response", "response": {"request_id": "req_0"}}))
            .close(),
    );
    assert_eq!((outcome.lines.len(), outcome.code, &*outcome.stderr), (1, Some(0), ""), "{:?}", outcome.lines);
}

#[test]
fn s42_lines_of_every_kind() {
    let big = "x".repeat(5_000_000);
    let separators = "a\u{2028}b\u{2029}c";
    let world = world(json!([
        say("one"),
        say(separators),
        call("Bash", &json!({"command": "yes | head -c 3000000"})),
        say("end")
    ]));
    let args: Vec<&str> = STREAM.into_iter().chain(["--dangerously-skip-permissions"]).collect();
    let outcome = finish(
        claude(&world, &args)
            .prompt(&big)
            .wait(json!({"type": "result", "result": "one"}))
            .step(Step::SendRaw(b"{this is not JSON\n\n{\"type\":\"something_new\",\"x\":1}\r\n".to_vec()))
            .step(Step::SendRaw(
                b"{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"crlf\"}}\r\n".to_vec(),
            ))
            .wait(json!({"type": "result", "result": separators}))
            .prompt("much output")
            .wait(json!({"type": "result", "result": "end"}))
            .close(),
    );
    assert!(outcome.lines.iter().all(|line| line.len() < LINE_MAX), "a line is over 1 MiB");
    assert!(outcome.lines.iter().all(|line| !line.contains(['\u{2028}', '\u{2029}'])), "separators must be escaped");
    assert!(sent(&world, 0).len() > big.len(), "the whole prompt is sent");
    assert_eq!(outcome.code, Some(1), "an unreadable line is not forgotten");
}

#[test]
fn s43_the_version() {
    let outcome = finish(claude(&world(json!([])), &["-v"]).close());
    let version = outcome.lines.first().map(String::as_str).unwrap_or_default();
    let (number, name) = version.split_once(' ').unwrap_or_default();
    assert!(number.split('.').filter(|part| part.parse::<u32>().is_ok()).count() == 3, "{version}");
    assert_eq!((name, outcome.code), ("(Claude Code)", Some(0)));
    assert!(outcome.elapsed < VERSION_WITHIN, "{:?}", outcome.elapsed);
}

#[test]
fn s43_options_in_both_forms() {
    let settings = r#"{"permissions":{"allow":["Read"]}}"#;
    for (flag, value) in [
        ("--model", "sonnet"),
        ("--fallback-model", "haiku"),
        ("--permission-mode", "acceptEdits"),
        ("--allowedTools", "Read,Bash(ls:*)"),
        ("--disallowedTools", "WebFetch"),
        ("--tools", "Bash,Read"),
        ("--tools", ""),
        ("--setting-sources", "user,project"),
        ("--setting-sources", ""),
        ("--system-prompt", ""),
        ("--append-system-prompt", "more"),
        ("--max-turns", "3"),
        ("--max-budget-usd", "0.5"),
        ("--max-thinking-tokens", "1024"),
        ("--thinking", "disabled"),
        ("--effort", "low"),
        ("--settings", settings),
        ("--add-dir", "/usr"),
        ("--session-id", "7f6f1c38-8f5b-4f0e-9d3e-0c1f7a2b3c4d"),
        ("--betas", "context-1m-2025-08-07"),
    ] {
        let together = format!("{flag}={value}");
        for words in [vec![flag, value], vec![together.as_str()]] {
            let world = world(json!({"turns": [say("ok")], "untooled": [say("ok")]}));
            let args: Vec<&str> = words.iter().copied().chain(STREAM).collect();
            let outcome = finish(claude(&world, &args).prompt("hi").close());
            let result = outcome.result().unwrap_or_default();
            assert_eq!((&result["result"], outcome.code), (&json!("ok"), Some(0)), "{words:?}: {}", outcome.stderr);
        }
    }
}

#[test]
fn s43_an_unknown_option() {
    for words in [&["--no-such-option"][..], &["--no-such-option=x"], &["--no-such-option", "x"]] {
        let outcome = finish(claude(&world(json!([])), words).close());
        assert!(outcome.stderr.contains("error: unknown option '--no-such-option'"), "{}", outcome.stderr);
        assert_eq!((outcome.code, outcome.lines.len()), (Some(1), 0));
    }
}
