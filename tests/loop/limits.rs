//! Limits hold, waits do not count, and a loop that gets nowhere stops.

use crate::common::say;
use crate::world::{PROMISE, called, folder, heard, looped, of, outcomes, ralph, told, verdict, with_model};
use serde_json::{Value, json};
use std::time::Duration;

#[test]
fn iterations_cost_tokens_and_time_end_a_run_with_exit_code_2() {
    for (words, iterations) in [
        (&["3"][..], 3),
        (&["--max", "0", "--max-cost", "0.02"], 2),
        (&["--max=0", "--max-tokens=40"], 3),
        (&["--max", "0", "--day-cost", "0.03"], 3),
    ] {
        let world = folder();
        let (outcome, events) = told(looped(&world, "hear; work; say hi; result \"step $n\"", words));
        assert_eq!((outcome.code, verdict(&events)), (Some(2), ("limit".into(), 2)), "{words:?} {}", outcome.stderr);
        assert_eq!(of(&events, "iteration_started").len(), iterations, "{words:?}");
    }
}

/// An agent that waits for a time which it has set itself would be ended as one that does not leave after its result.
#[test]
fn agents_of_a_loop_set_no_wakeups_unless_the_user_says_so() {
    for (given, expected) in [(None, "wakeups-off:1"), (Some("0"), "wakeups-off:0")] {
        let world = folder();
        let run = looped(&world, "hear; work; say \"wakeups-off:$CLAUDE_CODE_DISABLE_CRON\"; result done", &["1"]);
        let (outcome, events) = told(match given {
            Some(value) => run.env("CLAUDE_CODE_DISABLE_CRON", value),
            None => run,
        });
        assert!(json!(events).to_string().contains(expected), "{given:?}: {:?} {}", outcome.lines, outcome.stderr);
    }
}

/// An agent that names no cost until its end, and has no end.
const SPENDS: &str = r#"hear; work; printf '{"type":"assistant","message":{"id":"m1","model":"claude-sonnet-4-5","content":[{"type":"text","text":"hi"}],"usage":{"input_tokens":1000000,"output_tokens":0}}}\n'; sleep 60"#;

#[test]
fn money_is_counted_as_messages_come_and_cuts_an_agent_that_has_not_said_what_it_costs() {
    for (words, outcome) in [(&["--max-cost", "2"][..], "cut"), (&["1", "--iteration-cost", "2"], "overrun")] {
        let world = folder();
        let (run, events) = told(looped(&world, SPENDS, words));
        assert_eq!(outcomes(&events), [outcome], "{words:?} {}", run.stderr);
        assert!(run.elapsed < Duration::from_secs(30), "{:?}", run.elapsed);
        let usage = of(&events, "usage")[0];
        assert!(usage["cost_usd"].as_f64().unwrap() > 2.0 && usage["estimated"] == true, "{usage}");
        let receipt = &of(&events, "iteration_ended")[0]["receipt"];
        assert!(receipt["cost_usd"].as_f64().unwrap() > 2.0, "{receipt}");
        assert!(receipt["evidence"].to_string().contains("estimate"), "{receipt}");
    }
}

#[test]
fn what_an_agent_that_died_had_used_counts_and_what_it_says_itself_counts_more() {
    let world = folder();
    let script = format!("if [ $n = 1 ]; then {}; else result 'step'; fi", SPENDS.replace("sleep 60", "exit 3"));
    let (_, events) = told(looped(&world, &script, &["2"]));
    let cost = |event: &Value| event["receipt"]["cost_usd"].as_f64().unwrap();
    let ended = of(&events, "iteration_ended");
    assert!(cost(ended[0]) > 2.0 && (cost(ended[1]) - 0.01).abs() < 1e-9, "{ended:?}");
    let spent = of(&events, "verdict")[0]["cost_usd"].as_f64().unwrap();
    assert!((spent - cost(ended[0]) - 0.01).abs() < 1e-9, "{spent}");
}

#[test]
fn a_resumed_run_keeps_its_flags_but_not_its_used_up_iterations() {
    let world = folder();
    let script = format!("hear; work; if [ $n -ge 3 ]; then result '{PROMISE}'; else result \"step $n\"; fi");
    let (first, _) = told(looped(&world, &script, &["1", "--check", "test -e never", "--max-cost", "5"]));
    assert_eq!(first.code, Some(2), "{}", first.stderr);
    let (second, events) = told(ralph(&world, &["resume", "--json", "--max", "3"]));
    assert_eq!(
        (second.code, outcomes(&events)),
        (Some(2), vec!["progress".to_owned(), "not_done".into()]),
        "{}",
        second.stderr
    );
    let limits = &of(&events, "run_started")[0]["limits"];
    assert_eq!((&limits["iterations"], &limits["run"]["usd"]), (&3.into(), &5.0.into()), "{limits}");
    let (third, events) = told(ralph(&world, &["resume", "--json", "--check", "true"]));
    let limits = &of(&events, "run_started")[0]["limits"];
    assert_eq!((third.code, &limits["iterations"]), (Some(0), &30.into()), "{limits}");
}

#[test]
fn time_cuts_a_running_agent_with_all_it_started() {
    let world = folder();
    // Long enough for the clock to be looked at several times before it is due.
    let (outcome, events) = told(looped(&world, "hear; say hi; sleep 60", &["--duration", "2500ms"]));
    assert_eq!((outcome.code, outcomes(&events)), (Some(2), vec!["cut".to_owned()]), "{}", outcome.stderr);
    assert!(outcome.elapsed < Duration::from_secs(20), "{:?}", outcome.elapsed);
    assert!(!outcome.lingered);
}

#[test]
fn a_limit_of_the_day_holds_over_runs() {
    let world = folder();
    let script = "hear; work; result \"step $n\"";
    told(looped(&world, script, &["2"]));
    let (outcome, events) = told(looped(&world, script, &["--day-cost", "0.03"]));
    assert_eq!((outcome.code, of(&events, "iteration_started").len()), (Some(2), 1));
}

#[test]
fn a_loop_that_gets_nowhere_changes_strategy_and_then_stops() {
    let world = folder();
    let words = ["--max", "0", "--fallback-model", "opus"];
    let (outcome, events) = told(looped(&world, "hear; result 'Nothing to do.'", &words));
    assert_eq!((outcome.code, verdict(&events)), (Some(3), ("stuck".into(), 3)), "{}", outcome.stderr);
    assert_eq!(of(&events, "strategy_changed").len(), 1);
    let changed = events.iter().position(|event| event["type"] == "strategy_changed").unwrap();
    let model = |event: &&Value| event["model"].as_str().unwrap().to_owned();
    assert!(of(&events[..changed], "iteration_started").iter().map(model).all(|model| model == "sonnet"));
    let after = of(&events[changed..], "iteration_started");
    assert!(!after.is_empty() && after.iter().map(model).all(|model| model == "opus"), "another model is tried");
    assert!(called(&world).last().unwrap().contains("--model opus"));
    assert!(!heard(&world)[0].contains("Try something else"));
    assert!(heard(&world).last().unwrap().contains("Try something else"));
}

#[test]
fn work_that_sounds_alike_is_no_standstill_as_long_as_something_changes() {
    let world = folder();
    let (outcome, events) = told(looped(&world, "hear; work; result 'Fixed one more.'", &["14"]));
    assert_eq!((outcome.code, verdict(&events).0), (Some(2), "limit".into()), "{}", outcome.stderr);
    assert_eq!(outcomes(&events), vec!["progress"; 14]);
    assert!(of(&events, "strategy_changed").is_empty());
}

#[test]
fn commits_are_progress() {
    let world = folder();
    let git = "git -c user.name=a -c user.email=a@b commit -qm step --allow-empty";
    let (_, events) = told(looped(&world, &format!("hear; {git}; result 'Nothing to do.'"), &["9"]));
    assert_eq!(outcomes(&events), vec!["progress"; 9]);
    let evidence = of(&events, "iteration_ended")[0]["receipt"]["evidence"].to_string();
    assert!(evidence.contains("commit ") && evidence.contains(" step"), "{evidence}");
}

#[test]
fn sub_agents_count_in_cost_and_tokens() {
    let input = json!({"description": "look", "prompt": "Look around", "subagent_type": "general-purpose"});
    let call = json!({"content": [{"type": "tool_use", "name": "Agent", "input": input}]});
    let turns = json!([call, say("I looked."), say("A step.")]);
    let run = |words: &[&str]| {
        let world = with_model(turns.clone());
        let (outcome, events) = told(ralph(&world, &[&["1", "--json", "--backend", "builtin"], words].concat()));
        (world.mock().requests().len(), outcome, events)
    };
    let (asked, outcome, events) = run(&[]);
    assert_eq!((asked, outcome.code), (3, Some(2)), "{} {:#?}", outcome.stderr, outcome.lines);
    let last = of(&events, "verdict")[0];
    // What the mock counts for each request, three times.
    let tokens = json!({"input": 300, "output": 75, "cache_read": 9, "cache_write": 60});
    assert_eq!(last["tokens"], tokens, "the sub-agent's are in it");
    let result = of(&events, "agent").into_iter().rfind(|event| event["line"]["type"] == "result").unwrap();
    let cost = result["line"]["total_cost_usd"].as_f64().unwrap();
    assert!(cost > 0.0 && (last["cost_usd"].as_f64().unwrap() - cost).abs() < 1e-9, "{last}");
    let (_, _, events) = run(&["--max-tokens", "400"]);
    let reason = of(&events, "verdict")[0]["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("of 400 tokens are used"), "{reason}");
}

#[test]
fn a_summary_is_paid_for_out_of_the_same_purse() {
    let world = folder();
    let script = r#"hear; work
        case "$*" in *haiku*) printf '{"type":"result","is_error":false,"result":"so far","total_cost_usd":0.5}\n'; exit 0;; esac
        result "step $n""#;
    let (outcome, events) = told(looped(&world, script, &["--max-cost", "0.3", "--summarise-every", "2"]));
    assert_eq!((outcome.code, outcomes(&events).len()), (Some(2), 2), "{}", outcome.stderr);
    assert_eq!(of(&events, "verdict")[0]["cost_usd"].as_f64().map(|usd| (usd * 100.0).round()), Some(52.0));
}

#[test]
fn a_summariser_that_never_ends_is_cut_with_the_run() {
    let world = folder();
    let script = "hear; work; case \"$*\" in *haiku*) sleep 60;; esac; result \"step $n\"";
    let (outcome, events) = told(looped(&world, script, &["--duration", "3s", "--summarise-every", "1"]));
    assert_eq!((outcome.code, verdict(&events).0), (Some(2), "limit".into()), "{}", outcome.stderr);
    assert!(outcome.elapsed < Duration::from_secs(20) && !outcome.lingered, "{:?}", outcome.elapsed);
}

#[test]
fn a_usage_limit_on_standard_error_is_understood_too() {
    let world = folder();
    let script = format!(
        "hear; work; if [ $n = 1 ]; then echo 'API Error: 429 Too Many Requests, retry after 1s' >&2; exit 1; fi; result '{PROMISE}'"
    );
    let (outcome, events) = told(looped(&world, &script, &["1"]));
    assert_eq!((outcome.code, outcomes(&events)), (Some(0), vec!["deferred".to_owned(), "done".into()]));
    assert!(outcome.elapsed < Duration::from_secs(20), "the named second is waited for, not a minute");
}
