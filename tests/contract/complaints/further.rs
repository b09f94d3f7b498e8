//! Further complaints, and bugs that the reference has had.

use crate::common::{bash, binary, call, claude, finish, say, world};
use crate::kit::{assert_gone, dialogue, events_of, messages, only_result, shell, stream};
use serde_json::{Value, json};
use testkit::{Step, World};

const SKIP: &str = "--dangerously-skip-permissions";

#[test]
fn f_39449_an_agent_inside_an_agent_answers() {
    let world = world(json!([bash("\"$RALPH\" agent -p inner"), say("from within"), say("outer")]));
    let outcome = finish(stream(&world, "go").args([SKIP]).env("RALPH", &binary().to_string_lossy()));
    assert_eq!((&only_result(&outcome)["result"], outcome.code), (&json!("outer"), Some(0)));
    assert!(messages(&world, 2).contains("\"content\":\"from within\""), "{}", messages(&world, 2));
}

#[test]
fn f_47872_sigterm_ends_it_and_all_it_started() {
    let deaf = "trap '' TERM; setsid sleep 300 & echo $! $$ > pids; kill -TERM $CLAUDE_PID; sleep 300";
    let world = world(json!([bash(deaf)]));
    let outcome = finish(stream(&world, "go").args([SKIP]));
    assert_eq!((outcome.code, outcome.lingered), (Some(143), false));
    assert_eq!(events_of(&outcome, "result", "").len(), 0);
    assert_gone(&world, "pids");
}

/// A client that dies leaves no agent behind.
#[test]
fn f_142_a_reader_that_left_ends_the_run() {
    let world = world(json!([bash("echo again")]));
    let script =
        "\"$RALPH\" agent -p go --verbose --output-format stream-json --dangerously-skip-permissions | head -n 1";
    let outcome = finish(shell(&world, script));
    assert_eq!((outcome.lines.len(), outcome.lingered), (1, false));
}

#[test]
fn f_94741_an_interrupted_run_says_so_in_every_format() {
    for format in ["text", "json", "stream-json"] {
        let world = world(json!([bash("kill -INT $CLAUDE_PID; sleep 300")]));
        let outcome = finish(claude(&world).args(["-p", "go", SKIP, "--output-format", format, "--verbose"]));
        assert_eq!((outcome.code, outcome.lingered), (Some(130), false), "{format}");
        assert!(outcome.lines.join("\n").contains("interrupted"), "{format}: {:?}", outcome.lines);
        if format == "stream-json" {
            let result = only_result(&outcome);
            assert_eq!((&result["is_error"], &result["subtype"]), (&json!(true), &json!("error_during_execution")));
            assert!(result["errors"].as_array().is_some_and(|errors| !errors.is_empty()), "{result}");
        }
    }
}

#[test]
fn f_33343_lists_of_tools_hold_without_a_person() {
    let rows: [(&str, &[&str]); 4] = [
        ("not allowed", &["--allowedTools", "Bash(echo:*)"]),
        ("disallowed", &["--allowedTools", "Bash", "--disallowedTools", "Bash(touch:*)"]),
        ("disallowed whole", &[SKIP, "--disallowedTools", "Bash"]),
        ("not offered", &[SKIP, "--tools", "Read"]),
    ];
    for (name, args) in rows {
        let world = world(json!([bash("touch made"), say("no")]));
        let outcome = finish(stream(&world, "go").args(args.iter().copied()));
        assert_eq!((&only_result(&outcome)["result"], world.read("made")), (&json!("no"), None), "{name}");
        assert!(messages(&world, 1).contains("\"is_error\":true"), "{name}");
    }
    let allowed = world(json!([bash("touch made"), say("yes")]));
    finish(stream(&allowed, "go").args(["--allowedTools", "Bash(touch:*)"]));
    assert_eq!(allowed.read("made").as_deref(), Some(""));
}

/// A world whose user has one hook, a shell command.
fn world_with_hook(event: &str, command: &str, turns: Value) -> World {
    let world = world(turns);
    let settings = json!({"hooks": {event: [{"matcher": "Bash", "hooks": [{"type": "command", "command": command}]}]}});
    std::fs::create_dir_all(world.home().join(".claude")).expect("a folder");
    std::fs::write(world.home().join(".claude/settings.json"), settings.to_string()).expect("settings");
    world
}

#[test]
fn f_33343_a_hook_that_forbids_is_obeyed_in_every_mode() {
    let turns = json!([bash("touch made"), say("no")]);
    let world = world_with_hook("PreToolUse", "echo not-on-my-watch >&2; exit 2", turns);
    let outcome = finish(stream(&world, "go").args([SKIP]));
    assert_eq!((&only_result(&outcome)["result"], world.read("made")), (&json!("no"), None));
    assert!(messages(&world, 1).contains("not-on-my-watch"), "{}", messages(&world, 1));
}

#[test]
fn f_95726_a_permission_request_hook_is_asked_where_nobody_else_is() {
    for (behavior, made) in [("allow", Some(String::new())), ("deny", None)] {
        let decision = json!({"hookSpecificOutput": {
            "hookEventName": "PermissionRequest", "decision": {"behavior": behavior, "message": "says the hook"},
        }});
        let turns = json!([bash("touch made"), say("done")]);
        let world = world_with_hook("PermissionRequest", &format!("cat > asked; echo '{decision}'"), turns);
        let outcome = finish(stream(&world, "go"));
        assert_eq!((&only_result(&outcome)["result"], world.read("made")), (&json!("done"), made), "{behavior}");
        let asked: Value = serde_json::from_str(&world.read("asked").expect("the hook's input")).expect("JSON");
        assert_eq!((&asked["tool_name"], &asked["tool_input"]["command"]), (&json!("Bash"), &json!("touch made")));
        let denials = only_result(&outcome)["permission_denials"].as_array().map(Vec::len);
        assert_eq!(denials, Some(usize::from(behavior == "deny")), "{behavior}");
    }
}

#[test]
fn f_33996_a_key_goes_before_a_login_and_an_empty_key_is_none() {
    for (key, header, value) in [("sk-ant-key", "x-api-key", "sk-ant-key"), ("", "authorization", "Bearer token")] {
        let world = world(json!([say("ok")]));
        let run = stream(&world, "go").env("ANTHROPIC_API_KEY", key).env("CLAUDE_CODE_OAUTH_TOKEN", "token");
        assert_eq!(finish(run).code, Some(0), "{key:?}");
        let headers = &world.mock().requests()[0].headers;
        assert_eq!(headers.get(header).map(String::as_str), Some(value), "{key:?}");
        let other = if header == "x-api-key" { "authorization" } else { "x-api-key" };
        assert_eq!(headers.get(other), None, "{key:?}");
    }
}

/// A command that reads gets the end of its input, never the client's lines.
#[test]
fn f_8049_commands_do_not_read_our_stdin() {
    let world = world(json!([bash("cat; read line; echo \"read: $?\""), say("one"), say("two")]));
    let run = dialogue(&world).args([SKIP]).prompt("first").wait(json!({"type": "assistant"})).prompt("second");
    let outcome = finish(run.wait(json!({"type": "result", "result": "two"})).close());
    assert_eq!((outcome.unmet.len(), outcome.code), (0, Some(0)), "{:?}", outcome.lines);
    assert!(messages(&world, 1).contains("\"content\":\"read: 1\""), "{}", messages(&world, 1));
}

#[test]
fn f_20223_a_mentioned_file_that_is_cut_says_so() {
    let world = world(json!([say("ok")]));
    let lines: Vec<String> = (1..=2500).map(|line| format!("line-{line}")).collect();
    std::fs::write(world.wd().join("long.txt"), lines.join("\n")).expect("a file");
    assert_eq!(finish(stream(&world, "sum up @long.txt please")).code, Some(0));
    let sent = messages(&world, 0);
    assert!(sent.contains("line-2000") && !sent.contains("line-2001"), "not the first 2000 lines");
    assert!(sent.contains("@long.txt has 2500 lines; the first 2000 are above"), "the cut is not said");
}

#[test]
fn r_letters_split_between_chunks_arrive_whole() {
    let text = "Grüße, 漢字, 🦀 und ﷽.";
    for bytes in [1, 2, 3, 7] {
        let said = json!({"content": [{"type": "text", "text": text}], "chunk_bytes": bytes});
        let world = world(json!([said]));
        assert_eq!(only_result(&finish(stream(&world, "go")))["result"], text, "{bytes} bytes at a time");
    }
}

#[test]
fn r_letters_split_between_writes_to_stdin_arrive_whole() {
    let world = world(json!([say("ok")]));
    let line = json!({"type": "user", "message": {"role": "user", "content": "Grüße 🦀"}}).to_string() + "\n";
    let run = line.bytes().fold(dialogue(&world), |run, byte| run.step(Step::SendRaw(vec![byte])));
    let outcome = finish(run.close());
    assert_eq!((outcome.code, &*outcome.stderr), (Some(0), ""));
    assert!(messages(&world, 0).contains("Grüße 🦀"));
}

#[test]
fn r_blank_and_crlf_lines_are_fine() {
    let world = world(json!([say("one"), say("two")]));
    let line = |text: &str| json!({"type": "user", "message": {"role": "user", "content": text}}).to_string();
    let input = format!("\n\r\n  \n{}\r\n\n\r\n{}", line("a"), line("b"));
    let outcome = finish(dialogue(&world).step(Step::SendRaw(input.into_bytes())).close());
    let said: Vec<Value> = events_of(&outcome, "result", "").iter().map(|result| result["result"].clone()).collect();
    assert_eq!((said, &*outcome.stderr, outcome.code), (vec![json!("one"), json!("two")], "", Some(0)));
}

#[test]
fn r_a_stdin_that_never_ends_does_not_hang_a_prompt() {
    let world = world(json!([say("ok")]));
    let outcome = finish(claude(&world).args(["-p", "go"]).hold());
    assert_eq!((outcome.lines, outcome.code), (vec!["ok".into()], Some(0)));
    assert!(outcome.stderr.contains("stdin"), "{}", outcome.stderr);
}

#[test]
fn r_background_output_stays_out_of_ours() {
    let noisy = "echo noise; echo noise >&2; (echo noise >/proc/self/fd/1; echo noise >/proc/self/fd/2) & wait";
    let task = call("Bash", &json!({"command": noisy, "run_in_background": true}));
    let world = world(json!([task, bash(noisy), say("done"), say("noticed")]));
    let outcome = finish(stream(&world, "go").args([SKIP]));
    assert_eq!((outcome.events().len(), &*outcome.stderr, outcome.code), (outcome.lines.len(), "", Some(0)));
}

#[test]
fn r_a_control_request_that_makes_no_sense_is_answered() {
    for request in [json!({"subtype": "set_model", "model": 7}), json!({"subtype": 3}), json!({}), json!("x")] {
        let world = world(json!([say("still here")]));
        let asked = json!({"type": "control_request", "request_id": "r1", "request": request});
        let answered = json!({"type": "control_response", "response": {"request_id": "r1", "subtype": "error"}});
        let outcome = finish(dialogue(&world).send(asked).wait(answered).prompt("hi").close());
        assert_eq!((outcome.unmet.len(), outcome.code), (0, Some(0)), "{request}: {:?}", outcome.lines);
        assert_eq!(only_result(&outcome)["result"], "still here", "{request}");
    }
}
