//! Exit codes, JSON answers and failures: what they mean, event by event.

use crate::answer::{Raw, read};
use crate::handler::OnFailure;
use crate::host::Outcome;
use crate::speech::hear;
use crate::{AskError, Decision, HookAnswer, HookEvent};
use HookEvent::{
    Notification, PermissionDenied, PermissionRequest, PostToolUse, PostToolUseFailure, PreCompact, PreToolUse,
    SessionStart, Stop, StopFailure, SubagentStop, UserPromptSubmit,
};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::time::Duration;

fn exited(event: HookEvent, code: i32, stdout: &str, stderr: &str) -> (HookAnswer, Outcome) {
    let raw = Raw::Exit { code, stdout: stdout.into(), stderr: stderr.into() };
    let answer = read(event, "`x`", OnFailure::Continue, &raw);
    (answer.verdict, answer.outcome)
}

#[test]
fn exit_codes() {
    const ALLOW: &str = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}"#;
    const BLOCK: &str = r#" {"decision":"block","reason":"json says no"}"#;
    let none = None::<&str>;
    // event, code, stdout, stderr → blocked, decision, contexts, errors
    for (event, code, stdout, stderr, blocked, decision, contexts, errors) in [
        (PreToolUse, 0, "", "noise", none, None, 0, 0),
        (PreToolUse, 0, "plain words", "", none, None, 0, 0),
        (PreToolUse, 0, ALLOW, "", none, Some(Decision::Allow), 0, 0),
        (PreToolUse, 0, "{broken", "", none, None, 0, 1),
        (PreToolUse, 2, "", "not here\n", Some("not here"), Some(Decision::Deny), 0, 0),
        (PreToolUse, 2, ALLOW, "not here", Some("not here"), Some(Decision::Deny), 0, 0),
        (PreToolUse, 2, BLOCK, "stderr", Some("json says no"), Some(Decision::Deny), 0, 0),
        (PreToolUse, 2, r#"{"reason":"why"}"#, "stderr", Some("why"), Some(Decision::Deny), 0, 0),
        (PreToolUse, 2, "{broken", "not here", Some("not here"), Some(Decision::Deny), 0, 0),
        (PreToolUse, 2, "", "", Some("A hook blocked this and gave no reason."), Some(Decision::Deny), 0, 0),
        (PreToolUse, 1, "", "oops", none, None, 0, 1),
        (PreToolUse, 1, BLOCK, "oops", Some("json says no"), Some(Decision::Deny), 0, 1),
        (PreToolUse, 127, "{broken", "no such command", none, None, 0, 1),
        (PreToolUse, 137, "", "", none, None, 0, 1),
        (UserPromptSubmit, 0, " context \n", "", none, None, 1, 0),
        (UserPromptSubmit, 0, " \n", "", none, None, 0, 0),
        (UserPromptSubmit, 1, "context", "", none, None, 0, 1),
        (UserPromptSubmit, 2, "", "no", Some("no"), None, 0, 0),
        (SessionStart, 0, "context", "", none, None, 1, 0),
        (SessionStart, 2, "", "no", none, None, 0, 1),
        (Stop, 2, "", "keep going", Some("keep going"), None, 0, 0),
        (Stop, 0, BLOCK, "", Some("json says no"), None, 0, 0),
        (Stop, 0, "plain", "", none, None, 0, 0),
        (SubagentStop, 2, "", "more", Some("more"), None, 0, 0),
        (PreCompact, 2, "", "not now", Some("not now"), None, 0, 0),
        (PostToolUse, 2, "", "lint failed", Some("lint failed"), None, 0, 0),
        (PostToolUseFailure, 0, BLOCK, "", Some("json says no"), None, 0, 0),
        (PermissionRequest, 2, "", "no", none, None, 0, 1),
        (Notification, 2, "", "no", none, None, 0, 1),
        (StopFailure, 2, BLOCK, "no", none, None, 0, 0),
    ] {
        let row = format!("{} exit {code} {stdout:?} {stderr:?}", event.as_str());
        let (verdict, outcome) = exited(event, code, stdout, stderr);
        assert_eq!(verdict.blocked.as_deref(), blocked, "{row}");
        assert_eq!(verdict.decision, decision, "{row}");
        assert_eq!((verdict.contexts.len(), verdict.errors.len()), (contexts, errors), "{row}");
        let fine = code == 0 && errors == 0;
        assert_eq!(outcome, if fine { Outcome::Success } else { Outcome::Error }, "{row}");
    }
}

#[test]
fn answers_in_json() {
    let specific = |value: Value| json!({"hookSpecificOutput": value});
    let rows: Vec<(HookEvent, Value, HookAnswer)> = vec![
        (Stop, json!({}), HookAnswer::default()),
        (Stop, json!({"suppressOutput": true, "new": [1], "reason": null}), HookAnswer::default()),
        (Stop, json!({"continue": true}), HookAnswer::default()),
        (
            Stop,
            json!({"continue": false, "stopReason": "enough"}),
            HookAnswer { stop: Some("enough".into()), ..HookAnswer::default() },
        ),
        (
            PostToolUse,
            json!({"systemMessage": "hi"}),
            HookAnswer { messages: vec!["hi".into()], ..HookAnswer::default() },
        ),
        (Stop, json!({"decision": "approve"}), HookAnswer::default()),
        (
            PreToolUse,
            json!({"decision": "approve", "reason": "fine"}),
            HookAnswer { decision: Some(Decision::Allow), reason: Some("fine".into()), ..HookAnswer::default() },
        ),
        (
            PreToolUse,
            json!({"decision": "approve", "hookSpecificOutput": {"permissionDecision": "ask"}}),
            HookAnswer { decision: Some(Decision::Ask), ..HookAnswer::default() },
        ),
        (
            PreToolUse,
            specific(json!({"permissionDecision": "allow", "updatedInput": {"a": 1}, "additionalContext": "c"})),
            HookAnswer {
                decision: Some(Decision::Allow),
                updated_input: Some(json!({"a": 1})),
                contexts: vec!["c".into()],
                ..HookAnswer::default()
            },
        ),
        (
            PreToolUse,
            specific(json!({"permissionDecision": "defer", "permissionDecisionReason": "later"})),
            HookAnswer { decision: Some(Decision::Defer), reason: Some("later".into()), ..HookAnswer::default() },
        ),
        (PostToolUse, specific(json!({"permissionDecision": "deny"})), HookAnswer::default()),
        (
            PostToolUse,
            specific(json!({"updatedMCPToolOutput": [1], "updatedToolOutput": "short"})),
            HookAnswer { updated_output: Some(json!("short")), ..HookAnswer::default() },
        ),
        (
            PermissionRequest,
            specific(json!({"decision": {"behavior": "deny", "message": "no"}})),
            HookAnswer { permission: Some(json!({"behavior": "deny", "message": "no"})), ..HookAnswer::default() },
        ),
        (PermissionDenied, specific(json!({"retry": true})), HookAnswer { retry: true, ..HookAnswer::default() }),
        (
            SessionStart,
            specific(json!({"sessionTitle": "t", "initialUserMessage": "m"})),
            HookAnswer {
                session_title: Some("t".into()),
                initial_user_message: Some("m".into()),
                ..HookAnswer::default()
            },
        ),
        (PreToolUse, json!({"async": true, "decision": "block"}), HookAnswer::default()),
        (StopFailure, json!({"decision": "block", "continue": false}), HookAnswer::default()),
    ];
    for (event, said, expected) in rows {
        let heard = hear(event, &said).map(|speech| speech.verdict).map_err(|error| error.to_string());
        assert_eq!(heard, Ok(expected), "{} {said}", event.as_str());
    }
}

#[test]
fn wrong_answers_decide_nothing() {
    for (event, said) in [
        (Stop, json!([])),
        (Stop, json!("block")),
        (Stop, json!({"decision": "deny"})),
        (Stop, json!({"decision": true})),
        (Stop, json!({"continue": "false"})),
        (Stop, json!({"systemMessage": 1})),
        (Stop, json!({"hookSpecificOutput": "x"})),
        (Stop, json!({"hookSpecificOutput": {"hookEventName": "PreToolUse"}})),
        (PreToolUse, json!({"hookSpecificOutput": {"permissionDecision": "yes"}})),
        (PreToolUse, json!({"hookSpecificOutput": {"permissionDecision": "Allow"}})),
        (PreToolUse, json!({"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": "rm"}})),
        (PermissionRequest, json!({"hookSpecificOutput": {"decision": {"behavior": "ask"}}})),
        (PermissionRequest, json!({"hookSpecificOutput": {"decision": {}}})),
        (PermissionRequest, json!({"hookSpecificOutput": {"decision": "allow"}})),
    ] {
        assert!(hear(event, &said).is_err(), "{} {said}", event.as_str());
    }
}

#[test]
fn failures_block_only_where_that_was_asked_for() {
    use OnFailure::{Block, BlockOnTimeout, Continue};
    let late = || Raw::TimedOut(Duration::from_secs(5), Some(143));
    let gone = || Raw::Failed(AskError::host("gone"));
    let http = |status, body: &str| Raw::Http { status, body: body.into() };
    for (event, on_failure, raw, blocks, outcome) in [
        (PreToolUse, Continue, late(), false, Outcome::Cancelled),
        (PreToolUse, BlockOnTimeout, late(), true, Outcome::Cancelled),
        (Stop, BlockOnTimeout, late(), false, Outcome::Cancelled),
        (Stop, Block, late(), true, Outcome::Cancelled),
        (SessionStart, Block, late(), false, Outcome::Cancelled),
        (PreToolUse, BlockOnTimeout, gone(), false, Outcome::Error),
        (PreToolUse, Block, gone(), true, Outcome::Error),
        (PreToolUse, Block, Raw::Said(json!({"decision": 1})), true, Outcome::Error),
        (PreToolUse, Block, Raw::Said(json!({})), false, Outcome::Success),
        (PreToolUse, Block, Raw::Said(Value::Null), false, Outcome::Success),
        (PreToolUse, Continue, Raw::Said(json!({"decision": "block"})), true, Outcome::Success),
        (PreToolUse, Continue, http(200, ""), false, Outcome::Success),
        (PreToolUse, Continue, http(204, ""), false, Outcome::Success),
        (PreToolUse, Continue, http(200, r#"{"decision":"block"}"#), true, Outcome::Success),
        (PreToolUse, Continue, http(200, "fine"), false, Outcome::Error),
        (PreToolUse, Continue, http(302, r#"{"decision":"block"}"#), false, Outcome::Error),
        (PreToolUse, Continue, http(500, r#"{"decision":"block"}"#), false, Outcome::Error),
    ] {
        let row = format!("{} {on_failure:?} {raw:?}", event.as_str());
        let answer = read(event, "`x`", on_failure, &raw);
        assert_eq!((answer.verdict.blocked.is_some(), answer.outcome), (blocks, outcome), "{row}");
        assert_eq!(answer.verdict.errors.is_empty(), outcome == Outcome::Success, "{row}");
    }
}

#[test]
fn a_failure_is_named_but_not_at_any_length() {
    let (verdict, _) = exited(Stop, 1, "", &"é".repeat(100_000));
    assert!(verdict.errors[0].starts_with("Stop hook `x` failed with exit code 1: é"), "{}", verdict.errors[0]);
    assert!(verdict.errors[0].chars().count() < 1_100);
}

#[test]
fn permission_answers_merge_to_the_stricter() {
    let says = |behavior: &str| HookAnswer { permission: Some(json!({"behavior": behavior})), ..HookAnswer::default() };
    for (first, later, expected) in [("allow", "deny", "deny"), ("deny", "allow", "deny"), ("allow", "allow", "allow")]
    {
        let merged = says(first).merge(says(later)).permission.unwrap();
        assert_eq!(merged["behavior"], expected, "{first} then {later}");
    }
}

fn decisions() -> impl Strategy<Value = Vec<Option<Decision>>> {
    let one = prop_oneof![
        Just(None),
        Just(Some(Decision::Allow)),
        Just(Some(Decision::Ask)),
        Just(Some(Decision::Defer)),
        Just(Some(Decision::Deny)),
    ];
    prop::collection::vec(one, 0..6)
}

proptest! {
    #[test]
    fn the_strictest_decision_wins_with_its_own_reason(decisions in decisions()) {
        let verdicts = decisions.iter().enumerate().map(|(index, decision)| HookAnswer {
            decision: *decision,
            reason: decision.map(|decision| format!("{decision:?}{index}")),
            blocked: (*decision == Some(Decision::Deny)).then(|| format!("no{index}")),
            contexts: vec![index.to_string()],
            ..HookAnswer::default()
        });
        let merged = verdicts.fold(HookAnswer::default(), HookAnswer::merge);
        let strictest = decisions.iter().flatten().max().copied();
        prop_assert_eq!(merged.decision, strictest);
        prop_assert_eq!(merged.contexts.len(), decisions.len());
        prop_assert_eq!(merged.blocked.is_some(), strictest == Some(Decision::Deny));
        let reason = merged.reason.unwrap_or_default();
        let word = strictest.map(|decision| format!("{decision:?}")).unwrap_or_default();
        prop_assert!(reason.starts_with(&word));
    }

    #[test]
    fn no_output_turns_exit_code_2_into_anything_but_a_denial(stdout in r#"[ -~]{0,40}|\{"hookSpecificOutput":\{"permissionDecision":"(allow|ask)"\}\}"#) {
        let (verdict, _) = exited(PreToolUse, 2, &stdout, "");
        prop_assert_eq!(verdict.decision, Some(Decision::Deny));
        prop_assert!(verdict.blocked.is_some());
    }
}
