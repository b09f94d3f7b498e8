//! Sessions in which more happens: refusals, hooks, agents, failures of the API, commits, compactions, signals.

use super::{PRINT, attribute, collector, events, exporting, names, points, spans, sum};
use crate::common::{bash, call, finish, say, world};
use serde_json::{Value, json};
use testkit::{Collector, Outcome, World};

const STREAM: [&str; 6] = ["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"];

fn run(turns: Value, more: &[&str]) -> (Collector, Outcome) {
    let (collector, world) = (collector(), world(turns));
    let outcome = finish(exporting(&world, &collector.url()).args(PRINT).args(more.iter().copied()));
    (collector, outcome)
}

fn decision(event: &Value) -> (String, String) {
    let text = |name: &str| attribute(event, name).as_str().unwrap_or_default().to_owned();
    (text("decision"), text("source"))
}

#[test]
fn a_refused_call_is_decided_and_has_no_result() {
    let write = call("Write", &json!({"file_path": "$WD/new.py", "content": "a\nb\n"}));
    let (collector, _) = run(json!([write, say("ok")]), &[]);
    let decisions = events(&collector, "tool_decision");
    assert_eq!(decision(&decisions[0]), ("reject".into(), "config".into()));
    assert_eq!(attribute(&decisions[0], "permission_mode"), "default");
    assert!(events(&collector, "tool_result").is_empty());
    let point = &points(&collector, "code_edit_tool.decision")[0];
    assert_eq!((attribute(point, "decision"), attribute(point, "language")), (json!("reject"), json!("Python")));
    assert!(spans(&collector, "tool.execution").is_empty());
    assert_eq!((spans(&collector, "tool").len(), spans(&collector, "tool.blocked_on_user").len()), (1, 1));
}

#[test]
fn whoever_decides_is_named() {
    let answer = |behavior: Value| {
        let (collector, world) = (collector(), world(json!([bash("touch x"), say("ok")])));
        let outcome = finish(
            exporting(&world, &collector.url())
                .args(STREAM)
                .args(["--permission-prompt-tool", "stdio"])
                .prompt("go")
                .wait(json!({"type": "control_request"}))
                .send(json!({"type": "control_response", "response":
                    {"subtype": "success", "request_id": "$REQ", "response": behavior}}))
                .wait(json!({"type": "result"}))
                .close(),
        );
        assert!(outcome.unmet.is_empty(), "{:?}", outcome.lines);
        decision(&events(&collector, "tool_decision")[0])
    };
    let input = json!({"command": "touch x"});
    assert_eq!(answer(json!({"behavior": "allow", "updatedInput": input})), ("accept".into(), "user_temporary".into()));
    assert_eq!(answer(json!({"behavior": "deny", "message": "no"})), ("reject".into(), "user_reject".into()));

    let hook = |command: &str| {
        let settings =
            json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": command}]}]}});
        let (collector, _) = run(json!([bash("touch x"), say("ok")]), &["--settings", &settings.to_string()]);
        let registered = &events(&collector, "hook_registered")[0];
        assert_eq!(
            (attribute(registered, "hook_event"), attribute(registered, "hook_source")),
            (json!("PreToolUse"), json!("flagSettings"))
        );
        let started = events(&collector, "hook_execution_start");
        assert_eq!(attribute(&started[0], "hook_name"), "PreToolUse:Bash");
        assert_eq!(attribute(&started[0], "num_hooks"), "1");
        let ended = events(&collector, "hook_execution_complete");
        let told = decision(&events(&collector, "tool_decision")[0]);
        (told, attribute(&ended[0], "num_success"), attribute(&ended[0], "num_blocking"))
    };
    let allows = r#"echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}'"#;
    assert_eq!(hook(allows), (("accept".into(), "hook".into()), json!("1"), json!("0")));
    assert_eq!(hook("exit 2"), (("reject".into(), "hook".into()), json!("0"), json!("1")));
}

#[test]
fn commits_and_pull_requests_are_counted_when_they_succeed() {
    let commit = "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x";
    let turns = json!([bash(commit), bash("git commit -m nothing"), bash("gh pr create --fill"), say("ok")]);
    let (collector, _) = run(turns, &["--dangerously-skip-permissions"]);
    assert_eq!(points(&collector, "commit.count").len(), 1);
    assert_eq!(points(&collector, "commit.count")[0]["asDouble"], 1);
    assert!(points(&collector, "pull_request.count").is_empty());
    let failed = &events(&collector, "tool_result")[1];
    assert_eq!((attribute(failed, "success"), attribute(failed, "error_type")), (json!("false"), json!("ShellError")));
    assert!(attribute(failed, "tool_result_size_bytes").is_null() && attribute(failed, "error").is_null());
}

#[test]
fn a_commit_is_named_where_details_are_released() {
    let commit = "git -c user.name=a -c user.email=a@b commit --allow-empty -m x";
    let told = |gate: &str| {
        let checkout = "git checkout -q -b branch-word";
        let detached = format!("git checkout -q --detach && {commit}");
        let turns = json!([bash(checkout), bash(commit), bash("git rev-parse HEAD"), bash(&detached), say("ok")]);
        let (collector, world) = (collector(), world(turns));
        let run = exporting(&world, &collector.url()).env("OTEL_LOG_TOOL_DETAILS", gate);
        let outcome = finish(run.args(PRINT).args(["--dangerously-skip-permissions"]));
        let results = events(&collector, "tool_result");
        let names = ["vcs.ref.head.revision", "vcs.ref.head.name", "vcs.ref.head.type"];
        let of = |at: usize| names.map(|name| attribute(&results[at], name));
        (crate::common::tool_results(&outcome)[2].clone(), [of(0), of(1), of(3)])
    };
    let (head, [none, on_branch, detached]) = told("1");
    assert_eq!(none, [Value::Null, Value::Null, Value::Null]);
    assert_eq!(on_branch, [json!(head), json!("branch-word"), json!("branch")]);
    assert!(detached[0].is_string() && detached[1..] == [Value::Null, Value::Null], "{detached:?}");
    assert_eq!(told("0").1, [const { [Value::Null, Value::Null, Value::Null] }; 3]);
}

#[test]
fn a_request_that_fails_is_told_once_with_its_attempts() {
    let overloaded = json!({"status": 529});
    let (collector, world) = (collector(), world(json!([overloaded, overloaded, overloaded])));
    let run = exporting(&world, &collector.url()).env("CLAUDE_CODE_MAX_RETRIES", "1");
    let outcome = finish(run.args(PRINT));
    assert_eq!(outcome.code, Some(1));
    let errors = events(&collector, "api_error");
    assert_eq!(errors.len(), 1);
    assert_eq!((attribute(&errors[0], "status_code"), attribute(&errors[0], "attempt")), (json!(529), json!(2)));
    let exhausted = &events(&collector, "api_retries_exhausted")[0];
    assert_eq!(attribute(exhausted, "total_attempts"), 2);
    let span = &spans(&collector, "llm_request")[0];
    assert_eq!((attribute(span, "success"), attribute(span, "error_class")), (json!(false), json!("server_error")));
    assert_eq!((span["status"]["code"].as_u64(), span["events"].as_array().map(Vec::len)), (Some(2), Some(2)));
    assert!(points(&collector, "token.usage").is_empty(), "failed requests count nowhere");
}

#[test]
fn an_agent_hangs_below_its_call_and_counts_as_one() {
    let task = json!({"description": "look", "prompt": "look around", "subagent_type": "Explore"});
    let (collector, _) =
        run(json!([call("Agent", &task), say("seen"), say("ok")]), &["--dangerously-skip-permissions"]);
    let call = &spans(&collector, "tool.execution")[0];
    let requests = spans(&collector, "llm_request");
    let inner = requests.iter().find(|span| attribute(span, "llm_request.context") == "tool").unwrap();
    assert_eq!(inner["parentSpanId"], call["spanId"]);
    assert_eq!(attribute(inner, "query_source_safe"), "agent.builtin.Explore");
    assert!(sum(&collector, "token.usage", "query_source", "subagent") > 0.0);
    let completed = &events(&collector, "subagent_completed")[0];
    assert_eq!(
        (attribute(completed, "agent_type"), attribute(completed, "is_built_in")),
        (json!("Explore"), json!(true))
    );
    assert_eq!(attribute(completed, "agent_id"), attribute(inner, "agent_id"));
}

#[test]
fn a_compaction_is_told_and_its_request_is_auxiliary() {
    let (collector, world) = (collector(), world(json!([say("a long answer"), say("the summary")])));
    let outcome = finish(
        exporting(&world, &collector.url())
            .args(STREAM)
            .prompt("go")
            .wait(json!({"type": "result"}))
            .prompt("/compact")
            .wait(json!({"type": "result"}))
            .close(),
    );
    assert_eq!(outcome.code, Some(0), "{:?}", outcome.lines);
    let told = &events(&collector, "compaction")[0];
    assert_eq!((attribute(told, "trigger"), attribute(told, "success")), (json!("manual"), json!("true")));
    assert!(sum(&collector, "cost.usage", "query_source", "auxiliary") > 0.0);
    let prompts = events(&collector, "user_prompt");
    assert_eq!(
        (attribute(&prompts[1], "command_name"), attribute(&prompts[1], "command_source")),
        (json!("compact"), json!("builtin"))
    );
    let sequence: Vec<Value> =
        spans(&collector, "interaction").iter().map(|span| attribute(span, "interaction.sequence")).collect();
    assert_eq!(sequence, [json!(1), json!(2)]);
    assert_ne!(attribute(&prompts[0], "prompt.id"), attribute(&prompts[1], "prompt.id"));
}

#[test]
fn a_signal_ends_the_interaction_and_everything_is_exported() {
    let (collector, world) = (collector(), world(json!([bash("sleep 30"), say("never")])));
    let outcome = finish(
        exporting(&world, &collector.url())
            .args(STREAM)
            .args(["--dangerously-skip-permissions"])
            .prompt("go")
            .wait(json!({"type": "assistant"}))
            .signal(15)
            .step(testkit::Step::Hold),
    );
    assert_eq!(outcome.code, Some(143), "{:?}", outcome.lines);
    assert_eq!(spans(&collector, "interaction").len(), 1);
    assert!(spans(&collector, "tool.execution").is_empty());
    assert!(names(&collector).contains(&"api_request".to_owned()));
}

#[test]
fn a_session_without_a_prompt_is_one() {
    let (collector, world) = (collector(), world(json!([])));
    let outcome = finish(exporting(&world, &collector.url()).args(STREAM).close());
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_eq!(points(&collector, "session.count")[0]["asDouble"], 1);
    assert!(spans(&collector, "interaction").is_empty());
}

#[test]
fn a_session_that_goes_on_is_counted_as_one_that_does() {
    let script = mock::Script::from_value(json!([say("one"), say("two")])).unwrap();
    let world = World::empty(script).unwrap();
    let first = finish(crate::common::claude(&world).args(PRINT));
    let collector = collector();
    let outcome = finish(exporting(&world, &collector.url()).args(PRINT).args(["--continue"]));
    assert_eq!((first.code, outcome.code), (Some(0), Some(0)));
    assert_eq!(attribute(&points(&collector, "session.count")[0], "start_type"), "continue");
}
