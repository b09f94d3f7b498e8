//! What stands in transcripts beside the messages: final counts, failures, costs, attachments. Other programs read these lines.

use super::{duplex, said_to_model, shell, streaming, transcript, transcript_path};
use crate::common::{call, claude, finish, say, world};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use testkit::World;

fn of_type<'a>(entries: &'a [Value], kind: &str) -> Vec<&'a Value> {
    entries.iter().filter(|entry| entry["type"] == kind).collect()
}

fn of_subtype<'a>(entries: &'a [Value], subtype: &str) -> Vec<&'a Value> {
    entries.iter().filter(|entry| entry["subtype"] == subtype).collect()
}

fn put(world: &World, name: &str, text: &str) {
    let path = world.wd().join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Runs one prompt to its end; the entries of its transcript.
fn written(world: &World, prompt: &str) -> Vec<Value> {
    let outcome = finish(streaming(world, prompt).env("CLAUDE_CODE_MAX_RETRIES", "1"));
    transcript(world, &outcome.session_id().unwrap())
}

#[test]
fn every_line_of_a_message_has_its_final_counts_and_stop_reason() {
    let usage = |output: u64| json!({"input_tokens": 10, "output_tokens": output, "cache_creation_input_tokens": 100});
    let world = world(json!([
        {"usage": usage(300), "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "looking"},
            {"type": "tool_use", "name": "Glob", "input": {"pattern": "*.nothing"}}]},
        {"usage": usage(20), "content": [{"type": "text", "text": "done"}]},
    ]));
    let outcome = finish(streaming(&world, "go"));
    let entries = transcript(&world, &outcome.session_id().unwrap());
    let said: Vec<(u64, &str)> = of_type(&entries, "assistant")
        .into_iter()
        .map(|entry| &entry["message"])
        .map(|message| (message["usage"]["output_tokens"].as_u64().unwrap(), message["stop_reason"].as_str().unwrap()))
        .collect();
    assert_eq!(said, [(300, "tool_use"), (300, "tool_use"), (300, "tool_use"), (20, "end_turn")]);
    // A reader that counts each message once comes to what the result says.
    let by_message: BTreeMap<&str, &Value> = of_type(&entries, "assistant")
        .into_iter()
        .map(|entry| (entry["message"]["id"].as_str().unwrap(), &entry["message"]["usage"]))
        .collect();
    let sum = |pick: fn(&Value) -> &Value| by_message.values().map(|usage| pick(usage).as_u64().unwrap()).sum::<u64>();
    let result = outcome.result().unwrap();
    let told = result["modelUsage"].as_object().unwrap().values().next().unwrap();
    assert_eq!(told["outputTokens"], sum(|usage| &usage["output_tokens"]), "{told}");
    assert_eq!(told["inputTokens"], sum(|usage| &usage["input_tokens"]));
    assert_eq!(told["cacheCreationInputTokens"], sum(|usage| &usage["cache_creation_input_tokens"]));
    let lifetimes = sum(|usage| &usage["cache_creation"]["ephemeral_5m_input_tokens"]);
    assert_eq!(told["cacheCreationInputTokens"], lifetimes, "the split adds up");
}

/// An answer is written when it has ended. Nothing of it is lost where the process ends before.
#[test]
fn a_crash_in_the_middle_of_an_answer_loses_nothing_that_was_said() {
    let half = json!({"content": [{"type": "text", "text": "first"}, {"type": "text", "text": "second"}], "stall_after_events": 4});
    let world = world(json!([half, say("done")]));
    let script = "claude -p go --verbose --output-format stream-json > lines & pid=$!\n\
        n=0; until ls \"$HOME\"/.claude/projects/*/*.unwritten >/dev/null 2>&1; do\n\
        sleep 0.05; n=$((n+1)); [ $n -lt 400 ] || exit 9; done\n\
        kill -9 $pid; wait $pid; exit 0";
    assert_eq!(finish(shell(&world, script).close()).code, Some(0), "the block is kept while the answer goes on");
    assert!(world.read("lines").unwrap().contains("first"));
    let again = finish(streaming(&world, "and now").args(["--continue"]));
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert!(said_to_model(&world, 1).contains("first"), "{}", said_to_model(&world, 1));
    let left = finish(shell(&world, "ls \"$HOME\"/.claude/projects/*/*.unwritten").close());
    assert_ne!(left.code, Some(0), "{:?}", left.lines);
}

#[test]
fn an_interrupted_answer_is_in_the_transcript() {
    let half = json!({"content": [{"type": "text", "text": "first"}, {"type": "text", "text": "second"}], "stall_after_events": 4});
    let world = world(json!([half]));
    let run = duplex(&world).prompt("go").wait(json!({"type": "assistant"}));
    let interrupt = json!({"type": "control_request", "request_id": "i", "request": {"subtype": "interrupt"}});
    let outcome = finish(run.send(interrupt).wait(json!({"type": "result"})).close());
    let entries = transcript(&world, &outcome.session_id().unwrap());
    let said = of_type(&entries, "assistant");
    assert_eq!((said.len(), &said[0]["message"]["stop_reason"]), (1, &Value::Null), "{said:?}");
}

#[test]
fn failures_of_the_api_are_marked_as_such() {
    let limit = json!({"type": "error", "error": {"type": "rate_limit_error", "message": "slow"}});
    let world = world(json!([{"status": 429, "headers": {"retry-after": "0"}, "error": limit}, {"status": 400}]));
    let entries = written(&world, "go");
    let retries = of_subtype(&entries, "api_error");
    assert_eq!(retries.len(), 1, "{entries:?}");
    assert_eq!((&retries[0]["retryAttempt"], &retries[0]["error"]["status"]), (&json!(1), &json!(429)));
    assert!(retries[0]["retryInMs"].is_u64());
    let failure = of_type(&entries, "assistant")[0];
    assert_eq!((&failure["isApiErrorMessage"], &failure["error"]), (&json!(true), &json!("invalid_request")));
    assert_eq!((&failure["apiErrorStatus"], &failure["message"]["model"]), (&json!(400), &json!("<synthetic>")));
}

#[test]
fn a_compaction_is_told_in_the_spelling_of_transcripts() {
    let script = json!({"turns": [say("one")], "untooled": [say("notes")]});
    let world = World::empty(mock::Script::from_value(script).unwrap()).unwrap();
    let run = duplex(&world).prompt("go").wait(json!({"type": "result"})).prompt("/compact");
    let outcome = finish(run.wait(json!({"type": "result"})).close());
    let entries = transcript(&world, &outcome.session_id().unwrap());
    let metadata = &of_subtype(&entries, "compact_boundary")[0]["compactMetadata"];
    assert_eq!(metadata["trigger"], "manual");
    for key in ["preTokens", "postTokens", "durationMs"] {
        assert!(metadata[key].is_u64(), "{key}: {metadata}");
    }
}

#[test]
fn entries_name_the_prompt_that_they_belong_to() {
    let world = world(json!([call("Glob", &json!({"pattern": "*.nothing"})), say("done")]));
    let outcome = finish(streaming(&world, "go").args(["--permission-mode", "acceptEdits"]));
    let entries = transcript(&world, &outcome.session_id().unwrap());
    let users = of_type(&entries, "user");
    let prompt = users.iter().find(|entry| entry["message"]["content"] == "go").unwrap();
    assert!(prompt["promptId"].is_string() && prompt["permissionMode"].is_string(), "{prompt}");
    let result = users.iter().find(|entry| entry["toolUseResult"].is_object()).unwrap();
    assert_eq!(result["promptId"], prompt["promptId"]);
    let last = *of_type(&entries, "last-prompt").last().unwrap();
    let leaf = entries.iter().rfind(|entry| entry["uuid"].is_string()).unwrap();
    assert_eq!((&last["lastPrompt"], &last["leafUuid"]), (&json!("go"), &leaf["uuid"]));
}

#[test]
fn files_and_words_of_hooks_are_attachments_and_come_back() {
    let world = world(json!([say("one"), say("two")]));
    put(&world, "a.txt", "what is in the file\n");
    let context =
        json!({"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "the moon is full"}});
    let hooks = json!({"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": format!("echo '{context}'")}]}]}});
    let run = streaming(&world, "see @a.txt").args(["--settings", &hooks.to_string()]);
    let id = finish(run).session_id().unwrap();
    let entries = transcript(&world, &id);
    let kinds: Vec<&str> =
        of_type(&entries, "attachment").iter().map(|entry| entry["attachment"]["type"].as_str().unwrap()).collect();
    assert!(kinds.contains(&"file") && kinds.contains(&"hook_additional_context"), "{kinds:?}");
    let file = of_type(&entries, "attachment").into_iter().find(|entry| entry["attachment"]["type"] == "file").unwrap();
    assert!(file["attachment"]["filename"].as_str().unwrap().ends_with("a.txt"), "{file}");
    finish(claude(&world).args(["-p", "on", "--resume", &id]));
    for words in ["what is in the file", "the moon is full"] {
        assert_eq!(said_to_model(&world, 0).matches(words).count(), 1);
        assert_eq!(said_to_model(&world, 1).matches(words).count(), 1, "{words} comes back once");
    }
}

/// What earlier versions and other programs have written.
#[test]
fn attachments_of_others_and_of_earlier_versions_come_back_too() {
    use std::io::Write as _;
    let world = world(json!([say("one"), say("two")]));
    let id = finish(streaming(&world, "go")).session_id().unwrap();
    let leaf = transcript(&world, &id).iter().rfind(|entry| entry["uuid"].is_string()).unwrap()["uuid"].clone();
    let meta = json!({"parentUuid": leaf, "type": "user", "uuid": "u1", "isMeta": true,
        "message": {"role": "user", "content": [{"type": "text", "text": "an older reminder"}]}});
    let foreign = json!({"parentUuid": "u1", "type": "attachment", "uuid": "u2",
        "attachment": {"type": "hook_additional_context", "content": ["a foreign reminder"], "hookEvent": "Stop"}});
    let success = json!({"parentUuid": "u2", "type": "attachment", "uuid": "u3",
        "attachment": {"type": "hook_success", "content": "not for the model", "hookEvent": "Stop"}});
    let mut file = std::fs::OpenOptions::new().append(true).open(transcript_path(&world, &id).unwrap()).unwrap();
    writeln!(file, "{meta}\n{foreign}\n{success}").unwrap();
    finish(claude(&world).args(["-p", "on", "--resume", &id]));
    let sent = said_to_model(&world, 1);
    assert!(sent.contains("an older reminder") && sent.contains("a foreign reminder"), "{sent}");
    assert!(!sent.contains("not for the model"), "{sent}");
}

#[test]
fn a_command_stands_as_its_name_and_its_words() {
    let world = world(json!([say("one")]));
    put(&world, ".claude/commands/fix.md", "Fix issue $ARGUMENTS.");
    let entries = written(&world, "/fix 42");
    let prompt = of_type(&entries, "user")[0];
    let content = prompt["message"]["content"].as_str().unwrap();
    for part in [
        "<command-message>fix</command-message>",
        "<command-name>/fix</command-name>",
        "<command-args>42</command-args>",
    ] {
        assert!(content.contains(part), "{content}");
    }
    assert_eq!(of_type(&entries, "last-prompt")[0]["lastPrompt"], "/fix 42");
}

/// Ten dollars or so, whatever the model.
fn costly(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}], "usage": {"input_tokens": 1000, "output_tokens": 1_000_000}})
}

#[test]
fn a_session_that_goes_on_costs_what_it_has_cost_and_a_budget_is_for_the_run() {
    let world = world(json!([costly("one"), say("two"), say("three"), say("four")]));
    let first = finish(streaming(&world, "a"));
    let cost = |outcome: &testkit::Outcome| outcome.result().unwrap()["total_cost_usd"].as_f64().unwrap();
    let spent = cost(&first);
    assert!(spent > 1.0);
    let id = first.session_id().unwrap();
    for words in [vec!["--continue"], vec!["--resume", &id], vec!["--resume", &id, "--fork-session"]] {
        let on = finish(streaming(&world, "b").args(words.clone()).args(["--max-budget-usd", "1"]));
        let result = on.result().unwrap();
        assert_eq!((on.code, &result["subtype"]), (Some(0), &json!("success")), "{words:?}: {result}");
        assert!(cost(&on) > spent && cost(&on) < spent + 1.0, "{words:?}: {}", cost(&on));
        let usage = result["modelUsage"].as_object().unwrap().values().next().unwrap();
        assert!(usage["outputTokens"].as_u64().unwrap() > 1_000_000, "{usage}");
        let new = result["model_usage_since_last_result"].as_object().unwrap().values().next().unwrap();
        assert!(new["outputTokens"].as_u64().unwrap() < 1_000_000, "{new}");
    }
    let state = transcript(&world, &id).into_iter().rfind(|entry| entry["type"] == "cost-state").unwrap();
    assert!(state["totalCostUSD"].as_f64().unwrap() > spent && state["modelUsage"].is_object(), "{state}");
}
