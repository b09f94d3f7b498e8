//! Limits hold, waits do not count, and a loop that gets nowhere stops.

use crate::world::{PROMISE, folder, heard, looped, of, outcomes, told, verdict};
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

#[test]
fn time_cuts_a_running_agent_with_all_it_started() {
    let world = folder();
    let (outcome, events) = told(looped(&world, "hear; say hi; sleep 60", &["--duration", "1s"]));
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
    let (outcome, events) = told(looped(&world, "hear; result 'Nothing to do.'", &["--max", "0"]));
    assert_eq!((outcome.code, verdict(&events)), (Some(3), ("stuck".into(), 3)), "{}", outcome.stderr);
    assert_eq!(of(&events, "strategy_changed").len(), 1);
    assert!(heard(&world).last().unwrap().contains("Try something else"));
}

#[test]
fn every_tenth_iteration_is_summarised_by_a_smaller_model() {
    let world = folder();
    let script = r#"hear; work
        case "$*" in
          *haiku*) echo "$MAX_THINKING_TOKENS" > "$HOME/thinking"
             printf '{"type":"result","is_error":false,"result":"x","structured_output":{"summary":"the story so far"},"total_cost_usd":0.5}\n';;
          *) result "step $n";;
        esac"#;
    let (outcome, events) = told(looped(&world, script, &["11"]));
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    assert_eq!(of(&events, "summarised")[0]["through"], 10);
    assert!(heard(&world).last().unwrap().contains("the story so far"));
    assert_eq!(std::fs::read_to_string(world.home().join("thinking")).unwrap(), "16384\n");
    let cost = of(&events, "verdict")[0]["cost_usd"].as_f64().unwrap();
    assert!((cost - 0.61).abs() < 1e-6, "{cost}");
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
