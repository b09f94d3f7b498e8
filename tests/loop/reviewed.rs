//! `--review`: another agent looks at what is said to be done.

use crate::common::say;
use crate::world::{PROMISE, folder, heard, looped, of, outcomes, ralph, told, verdict, with_model};
use serde_json::json;

/// Both agents in one script: the reviewer is asked for `approve`, and tries to write.
fn script(opinion: &str) -> String {
    let answers = r#"
approves() { printf '{"type":"result","subtype":"success","is_error":false,"result":"x","structured_output":{"approve":true,"findings":[]},"total_cost_usd":0.02}\n'; }
finds() { printf '{"type":"result","subtype":"success","is_error":false,"result":"x","structured_output":{"approve":false,"findings":[{"file":"work.txt","line":1,"text":"it says bad"}]},"total_cost_usd":0.02}\n'; }
case "$*" in *'"approve"'*) echo evil > evil.txt; text=$(cat); "#;
    let worker = format!(
        "exit 0;; esac\nhear\ncase $line in *'it says bad'*) echo good > work.txt;; *) echo bad > work.txt;; esac\nresult '{PROMISE}'"
    );
    format!("{answers}{opinion}; {worker}")
}

#[test]
fn a_reviewer_sends_work_back_and_lets_better_work_pass() {
    let world = folder();
    let script = script(r#"case "$text" in *"+good"*) approves;; *) finds;; esac"#);
    let (outcome, events) = told(looped(&world, &script, &["5", "--check", "test -s work.txt", "--review"]));
    assert_eq!(outcomes(&events), ["not_done", "done"], "{} {:#?}", outcome.stderr, outcome.lines);
    assert_eq!((outcome.code, verdict(&events)), (Some(0), ("done".into(), 0)));
    let reviews: Vec<_> = of(&events, "reviewed").iter().map(|event| event["approved"].as_bool()).collect();
    assert_eq!(reviews, [Some(false), Some(true)]);
    let prompts = heard(&world);
    assert!(prompts[1].contains("a review of your work found:\\n- work.txt:1: it says bad"), "{prompts:?}");
    assert!(!world.wd().join("evil.txt").exists(), "a reviewer cannot write");
    let cost = of(&events, "verdict")[0]["cost_usd"].as_f64().unwrap();
    assert!((cost - 0.06).abs() < 1e-9, "reviews are paid for, too: {cost}");
}

#[test]
fn a_reviewer_that_is_never_content_leaves_it_to_a_person() {
    let world = folder();
    let words = ["9", "--check", "true", "--review", "--review-rounds", "2", "--stuck=false"];
    let (outcome, events) = told(looped(&world, &script("finds"), &words));
    assert_eq!((outcome.code, outcomes(&events)), (Some(3), vec!["not_done".to_owned(), "blocked".into()]));
    let question = of(&events, "verdict")[0]["question"]["text"].as_str().unwrap().to_owned();
    assert!(question.contains("work.txt:1: it says bad") && question.contains("'approve'"), "{question}");
    told(ralph(&world, &["answer", "approve"]));
    let (outcome, events) = told(ralph(&world, &["resume", "--json"]));
    assert_eq!((outcome.code, verdict(&events).0), (Some(0), "done".into()), "{}", outcome.stderr);
    assert!(of(&events, "reviewed").is_empty(), "a person let it pass");
}

#[test]
fn the_built_in_reviewer_gets_goal_diff_and_checks_and_nothing_else() {
    let write = json!({"content": [{"type": "text", "text": "a private thought"}, {"type": "tool_use", "name": "Bash", "input": {"command": "echo new line > out.txt"}}]});
    let opinion = json!({"content": [{"type": "tool_use", "name": "StructuredOutput", "input": {"approve": true, "findings": []}}]});
    let world = with_model(json!([write, say(PROMISE), opinion, say("reviewed")]));
    let config = world.wd().join(".ralph/config.toml");
    std::fs::write(config, "sandbox = \"off\"\nreview_model = \"claude-opus-4-5\"\n").unwrap();
    let run = ralph(&world, &["3", "--json", "--backend", "builtin", "--check", "test -s out.txt", "--review"]);
    let (outcome, events) = told(run);
    assert_eq!(outcomes(&events), ["done"], "{} {:#?}", outcome.stderr, outcome.lines);
    let requests = world.mock().requests();
    let asked = &requests[2].body;
    let text = asked["messages"].to_string();
    assert!(text.contains("Review a change") && text.contains("# Build it") && text.contains("+new line"), "{text}");
    assert!(text.contains("- test -s out.txt"), "{text}");
    assert!(!text.contains("private thought") && !text.contains("iteration"), "{text}");
    assert_eq!(asked["model"], "claude-opus-4-5");
    let tools: Vec<_> = asked["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert!(!tools.contains(&"Write") && !tools.contains(&"Bash"), "{tools:?}");
}
