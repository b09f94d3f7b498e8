use super::*;
use serde_json::{Value, json};

fn shown(kinds: impl IntoIterator<Item = EventKind>) -> Vec<String> {
    let mut plain = Plain { folder: "/w/".into(), most: 3, ..Plain::default() };
    kinds.into_iter().flat_map(|kind| plain.lines(&kind.at(0))).collect()
}

fn says(text: &str) -> EventKind {
    EventKind::AgentText(AgentText { iteration: 1, text: text.into(), partial: false, parent: None })
}

fn calls(id: &str, name: &str, input: Value) -> EventKind {
    EventKind::ToolCall(ToolCall { iteration: 1, id: id.into(), name: name.into(), input, parent: None })
}

fn returns(id: &str, is_error: bool, text: &str) -> EventKind {
    EventKind::ToolResult(ToolResult { iteration: 1, id: id.into(), is_error, text: text.into(), parent: None })
}

#[test]
fn escape_sequences_from_agents_are_neutralised() {
    let line = shown([says("a\u{1b}]0;title\u{7}b\rc")]).remove(0);
    assert_eq!(line, "  a␛]0;title␇b␍c");
}

/// Everything that an agent, a person or a file can put words into.
fn everything_said(text: &str) -> Vec<EventKind> {
    let question = Question {
        iteration: 1,
        id: "q".into(),
        about: cycle::QuestionAbout::Choice,
        text: text.into(),
        options: vec![text.into()],
    };
    let check = CheckFinished {
        iteration: 1,
        command: text.into(),
        passed: false,
        exit_code: 1,
        output: text.into(),
        duration_ms: 0,
    };
    let receipt = Receipt {
        outcome: IterationOutcome::Failed { failure: IterationFailure::ErrorResult },
        blocking: Some(text.into()),
        ..Receipt::default()
    };
    vec![
        says(text),
        calls("t", text, json!({"command": text})),
        returns("t", true, text),
        EventKind::PermissionDenied { iteration: 1, tool: text.into(), id: "t".into(), message: text.into() },
        EventKind::Question(question),
        EventKind::Answered { id: "q".into(), text: text.into() },
        EventKind::CheckFinished(check),
        EventKind::Waiting { iteration: 1, until: 9, reason: text.into() },
        EventKind::Steered { iteration: 1, text: text.into() },
        EventKind::StrategyChanged { iteration: 1, strategy: text.into(), reason: text.into() },
        EventKind::IterationEnded { iteration: 1, receipt: Box::new(receipt) },
        EventKind::Warning { iteration: None, text: text.into() },
    ]
}

#[test]
fn adversary_24_nothing_hides_in_a_line() {
    let hidden =
        ["\u{202e}", "\u{2066}", "\u{200b}", "\u{200d}", "\u{feff}", "\u{e0041}", "\u{ad}", "\u{9b}2J", "\u{1b}[2J"];
    for part in hidden {
        for kind in everything_said(&format!("ab{part}cd")) {
            let lines = shown([kind.clone()]);
            let text = lines.concat();
            let bad = |letter: char| letter.is_control() || clean::is_hidden(letter);
            assert!(text.contains("ab") && !text.contains(bad), "{part:?} in {kind:?}: {text:?}");
            assert!(!text.contains("abcd"), "what was hidden is shown: {part:?} in {kind:?}: {text:?}");
        }
    }
}

#[test]
fn colours_of_tools_vanish() {
    assert_eq!(shown([says("\u{1b}[1;31mred\u{1b}[0m")]), ["  red"]);
}

#[test]
fn a_call_is_one_line_with_a_relative_path() {
    assert_eq!(shown([calls("t", "Read", json!({"file_path": "/w/src/a.rs"}))]), ["  ● Read   src/a.rs"]);
    assert_eq!(shown([calls("t", "Read", json!({"command": "a\nb"}))]), ["  ● Read   a"]);
    assert_eq!(shown([calls("t", "Read", json!(null))]).len(), 1);
}

#[test]
fn a_failed_call_is_named() {
    let lines = shown([
        calls("a", "Bash", json!({"command": "make"})),
        calls("b", "Read", json!({"file_path": "/w/x"})),
        returns("b", false, "fine"),
        returns("a", true, "Exit code 2\n\n no rule\nmore"),
    ]);
    assert_eq!(lines, ["  ● Bash   make", "  ● Read   x", "  ✗ Bash   Exit code 2: no rule"]);
}

#[test]
fn a_todo_list_is_told_when_it_changes() {
    let todo = |done: usize| {
        let item = |at: usize| {
            let state = if at < done { TodoState::Done } else { TodoState::Open };
            TodoItem { text: at.to_string(), state }
        };
        EventKind::Todo { items: (0..3).map(item).collect() }
    };
    assert_eq!(shown([todo(1), todo(1), todo(2)]), ["  todo: 1 of 3 done", "  todo: 2 of 3 done"]);
}

#[test]
fn lines_have_no_blanks_at_their_end() {
    assert_eq!(shown([says("one\n\n  two  \n")]), ["  one", "", "    two"]);
}

#[test]
fn a_receipt_reads_well() {
    let receipt = Receipt { cost_usd: 0.5, duration_ms: 61_000, ..Receipt::default() };
    assert_eq!(receipt_lines(2, &receipt), "iteration 2: progress · $0.50 · 0 tokens · 1m 01s");
}

#[test]
fn a_wait_is_counted_down_seldom_at_first_and_then_more_often() {
    let mut plain = Plain::default();
    let three_hours = 3 * 3_600_000;
    let wait = EventKind::Waiting { iteration: 1, until: three_hours, reason: "limit".into() };
    assert_eq!(plain.lines(&wait.at(0)).len(), 1);
    let said: Vec<String> = (0..=three_hours / 1000).filter_map(|second| plain.countdown(second * 1000)).collect();
    let left = ["2h 00m", "1h 00m", "30m 00s", "10m 00s", "5m 00s", "1m 00s", "30s", "10s"];
    assert_eq!(said, left.map(|left| format!("  still waiting, {left} left")));
    plain.lines(&EventKind::Resumed.at(1));
    assert_eq!(plain.countdown(three_hours - 1000), None, "the wait is over");
}

#[test]
fn live_text_is_told_line_by_line() {
    let mut plain = Plain::default();
    let text = |text: &str, partial| {
        EventKind::AgentText(AgentText { iteration: 1, text: text.into(), partial, parent: None }).at(0)
    };
    assert_eq!(plain.lines(&text("one\ntw", true)), ["  one"]);
    assert_eq!(plain.lines(&text("o\nthr", true)), ["  two"]);
    assert_eq!(plain.lines(&text("one\ntwo\nthree\n", false)), ["  three"], "what was told is not told again");
    assert_eq!(plain.lines(&text("next", false)), ["  next"]);
}

#[test]
fn lines_may_begin_with_the_time() {
    let zone = TimeZone::UTC;
    assert_eq!(with_time("  ● Bash   make", 3_723_000, &zone), "01:02:03   ● Bash   make");
    assert_eq!(with_time("", 3_723_000, &zone), "");
}

#[test]
fn every_end_says_how_to_go_on() {
    use cycle::VerdictKind::{Blocked, Done, Failed, Interrupted, Limit, Stuck, Terminated};
    for kind in [Done, Blocked, Stuck, Limit, Failed, Interrupted, Terminated] {
        let verdict = RunVerdict {
            verdict: kind,
            reason: "because".into(),
            exit_code: 0,
            unchecked: false,
            question: None,
            iterations: 1,
            cost_usd: 0.0,
            tokens: cycle::Tokens::default(),
            elapsed_ms: 0,
        };
        let lines = Plain::default().lines(&EventKind::Verdict(verdict).at(0));
        let last = lines.last().unwrap();
        assert!(last.contains("ralph show") || last.contains("ralph resume"), "{kind:?}: {last}");
    }
}

#[test]
fn what_a_check_prints_is_told_as_it_comes_and_not_again() {
    let mut plain = Plain::default();
    let prints = |text: &str| EventKind::CheckOutput { iteration: 1, text: text.into() }.at(0);
    let ends = |passed| {
        let output = "one\ntwo\nerror: three".into();
        let check =
            CheckFinished { iteration: 1, command: "make".into(), passed, exit_code: 1, output, duration_ms: 5 };
        EventKind::CheckFinished(check).at(0)
    };
    let begins = EventKind::CheckStarted { iteration: 1, command: "make".into() }.at(0);
    plain.lines(&begins);
    assert_eq!(plain.lines(&prints("one\ntw")), ["    │ one"]);
    assert_eq!(plain.lines(&prints("o\nerror: three")), ["    │ two"]);
    let end = plain.lines(&ends(false));
    assert_eq!((end[0].as_str(), end.len(), end[2].as_str()), ("    │ error: three", 3, "  error: three"), "{end:?}");
    // Where nobody watched, the whole end of a failed one.
    plain.lines(&begins);
    assert_eq!(plain.lines(&ends(false)).len(), 4);
}
