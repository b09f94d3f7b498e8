use super::*;
use crate::fixture::{
    asks, at_work, calls, check_failed, ended, fold, fold_kinds, returns, run_started, says, says_more,
};
use crate::fixture::{started, verdict};
use cycle::{Receipt, VerdictKind};
use serde_json::json;

fn speeches(state: &ScreenState) -> Vec<(&str, bool)> {
    fn speech(entry: &Entry) -> Option<(&str, bool)> {
        if let Body::Speech(speech) = &entry.body { Some((&speech.text, speech.growing)) } else { None }
    }
    state.feed.entries().iter().filter_map(speech).collect()
}

fn statuses(state: &ScreenState) -> Vec<Status> {
    let status = |entry: &Entry| match &entry.body {
        Body::Tool(tool) => Some(tool.status),
        _ => None,
    };
    state.feed.entries().iter().filter_map(status).collect()
}

#[test]
fn pieces_grow_and_a_whole_takes_their_place() {
    let state = fold_kinds([started(1), says_more(1, "a"), says_more(1, "b")]);
    assert_eq!(speeches(&state), [("ab", true)]);
    let state = fold_kinds([started(1), says_more(1, "a"), says_more(1, "b"), says(1, "abc"), says(1, "next")]);
    assert_eq!(speeches(&state), [("abc", false), ("next", false)]);
}

#[test]
fn a_call_ends_the_speech_before_it() {
    let state = fold_kinds([started(1), says_more(1, "a"), calls(1, "x", "Bash", json!({})), says_more(1, "b")]);
    assert_eq!(speeches(&state), [("a", false), ("b", true)]);
}

#[test]
fn agents_that_think_and_sub_agents_do_not_mix() {
    let thought = |text: &str| {
        EventKind::AgentThinking(cycle::AgentText { iteration: 1, text: text.into(), partial: true, parent: None })
    };
    let nested = EventKind::AgentText(cycle::AgentText {
        iteration: 1,
        text: "n".into(),
        partial: true,
        parent: Some("t".into()),
    });
    let state = fold_kinds([started(1), thought("h"), says_more(1, "a"), nested, thought("m"), says_more(1, "b")]);
    assert_eq!(speeches(&state), [("hm", true), ("ab", true), ("n", true)]);
}

#[test]
fn calls_get_their_answers() {
    let denied =
        EventKind::PermissionDenied { iteration: 1, tool: "Bash".into(), id: "c".into(), message: "not here".into() };
    let state = fold_kinds([
        started(1),
        calls(1, "a", "Bash", json!({})),
        calls(1, "b", "Bash", json!({})),
        calls(1, "c", "Bash", json!({})),
        calls(1, "d", "Bash", json!({})),
        returns(1, "b", true, "no"),
        returns(1, "a", false, "yes"),
        denied,
        returns(1, "c", true, "refused"),
        returns(1, "unknown", false, ""),
        ended(1, 0.0),
    ]);
    assert_eq!(statuses(&state), [Status::Ok, Status::Failed, Status::Denied, Status::Lost]);
}

#[test]
fn money_and_tokens_are_sums_of_what_ended_and_what_runs() {
    let state = fold(&at_work());
    assert!((state.spending().usd - 1.84).abs() < 1e-9);
    assert_eq!(state.spending().tokens.total(), 1_500 + 65_400);
    let resumed = |kind: EventKind| match kind {
        EventKind::RunStarted(mut run) => {
            let tokens = Tokens { input: 7, ..Tokens::default() };
            run.resumed = Some(cycle::Resumed { iterations: 3, cost_usd: 2.0, tokens, elapsed_ms: 60_000 });
            EventKind::RunStarted(run)
        }
        other => other,
    };
    let state = fold_kinds([resumed(run_started()), started(4), ended(4, 0.5)]);
    assert!((state.spending().usd - 2.5).abs() < 1e-9);
    assert_eq!((state.iteration, state.elapsed_ms()), (4, 62_000));
}

#[test]
fn strange_costs_do_no_harm() {
    for cost in [f64::NAN, f64::INFINITY, -5.0] {
        let state = fold_kinds([started(1), ended(1, cost), ended(2, 1.0)]);
        assert!((state.spending().usd - 1.0).abs() < 1e-9, "{cost}");
    }
}

#[test]
fn time_never_runs_backwards() {
    let mut state = fold_kinds([run_started(), started(1)]);
    let elapsed = state.elapsed_ms();
    state.tick(0);
    assert_eq!(state.elapsed_ms(), elapsed);
    state.apply(&verdict(VerdictKind::Done, "ok").at(0));
    assert_eq!(state.elapsed_ms(), 723_000);
}

#[test]
fn a_question_waits_until_somebody_answers_or_the_run_goes_on() {
    let state = fold_kinds([started(1), asks(1, "q"), asks(1, "q")]);
    assert!(state.question.is_some());
    assert_eq!(state.feed.entries().len(), 2, "asked twice under one name is one question");
    let answer = EventKind::Answered { id: "q".into(), text: "sqlite".into() };
    for after in [answer, returns(1, "q", false, "sqlite"), started(2)] {
        let state = fold_kinds([started(1), asks(1, "q"), after.clone()]);
        assert!(state.question.is_none(), "{after:?}");
    }
    let state = fold_kinds([started(1), asks(1, "q"), returns(1, "q", true, "nobody here")]);
    assert!(state.question.is_some());
}

#[test]
fn a_check_is_one_entry() {
    let begun = EventKind::CheckStarted { iteration: 1, command: "cargo test".into() };
    let state = fold_kinds([started(1), begun, check_failed(1)]);
    let Body::Check(check) = &state.feed.entries()[1].body else { panic!("not a check") };
    assert_eq!(check.done.as_ref().map(|done| (done.passed, done.exit_code)), Some((false, 101)));
    assert_eq!(fold_kinds([started(1), check_failed(1)]).feed.entries().len(), 2, "a check without a start is shown");
}

#[test]
fn memory_stays_flat_over_a_thousand_iterations() {
    let mut state = ScreenState::default();
    for number in 1..=1_000 {
        state.apply(&started(number).at(u64::from(number)));
        for call in 0..8 {
            let id = format!("{number}-{call}");
            state.apply(&calls(number, &id, "Bash", json!({"command": "x".repeat(500)})).at(0));
            state.apply(&returns(number, &id, false, &"y".repeat(2_000)).at(0));
        }
        let receipt = Receipt { summary: "z".repeat(5_000), ..Receipt::default() };
        state.apply(&EventKind::IterationEnded { iteration: number, receipt: Box::new(receipt) }.at(0));
    }
    assert!(state.feed.entries().len() <= 4_000 && state.past.len() == PAST_MAX);
    let bytes: usize = state.feed.entries().iter().map(|entry| entry.plain().len()).sum();
    assert!(bytes <= 8 * 1024 * 1024, "{bytes}");
}

#[test]
fn words_from_outside_are_harmless_everywhere() {
    let bad = "\u{1b}]0;x\u{7}\u{202e}";
    let kinds = [
        EventKind::Warning { iteration: None, text: bad.into() },
        EventKind::Steered { iteration: 1, text: bad.into() },
        EventKind::Waiting { iteration: 1, until: 0, reason: bad.into() },
        EventKind::Todo { items: vec![TodoItem { text: bad.into(), state: cycle::TodoState::Open }] },
        EventKind::CheckStarted { iteration: 1, command: bad.into() },
        calls(1, "a", bad, json!({"command": bad})),
        returns(1, "a", true, bad),
        says(1, bad),
        verdict(VerdictKind::Failed, bad),
    ];
    let state = fold_kinds(kinds);
    let shown: String =
        state.feed.entries().iter().map(Entry::plain).chain(state.todo.iter().map(|i| i.text.clone())).collect();
    assert!(!shown.chars().any(|c| c.is_control() || c == '\u{202e}'), "{shown:?}");
}

#[test]
fn issue_10_1_1_an_agent_that_waits_for_the_api_is_shown_with_a_countdown() {
    let retry = cycle::ApiRetry {
        iteration: 1,
        attempt: 3,
        most: 10,
        delay_ms: 30_000,
        status: Some(529),
        error: "overloaded".into(),
    };
    let mut state = fold_kinds([run_started(), started(1), EventKind::ApiRetry(retry.clone())]);
    let shown = crate::fixture::screen(&mut state, 100, 24);
    assert!(shown.contains("waits 30s: the API is overloaded (HTTP 529); the agent tries again (3 of 10)"), "{shown}");
    let mut state = fold_kinds([run_started(), started(1), EventKind::ApiRetry(retry), says(1, "there it is")]);
    assert!(!crate::fixture::screen(&mut state, 100, 24).contains("waits"));
}
