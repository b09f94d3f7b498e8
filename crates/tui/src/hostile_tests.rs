//! Words of agents, people and repositories, whatever is hidden in them, wherever they are shown.

use crate::clean;
use crate::fixture::{calls, ended, fold_kinds, returns, run_started, says, says_more, screen, started, verdict};
use crate::keys::{paste, press};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use cycle::{
    AgentText, CheckFinished, EventKind, IterationFailure, IterationOutcome, Question, QuestionAbout, TodoItem,
    TodoState, VerdictKind,
};
use serde_json::json;

/// Reversed, isolated, invisible, joined, marked, spelled with tags, soft, and what terminals obey.
const HIDDEN: [&str; 12] = [
    "\u{202e}",
    "\u{2066}",
    "\u{200b}",
    "\u{200d}",
    "\u{2060}",
    "\u{feff}",
    "\u{e0041}",
    "\u{ad}",
    "\u{9b}2J",
    "\u{1b}[2J",
    "\u{1b}]0;t\u{7}",
    "\r",
];

/// An event of every kind with `text` in each of its words.
fn everything_said(text: &str) -> Vec<EventKind> {
    let text = || text.to_owned();
    let with_title = match run_started() {
        EventKind::RunStarted(mut run) => {
            (run.title, run.model) = (text(), text());
            EventKind::RunStarted(run)
        }
        other => other,
    };
    let with_strategy = match started(1) {
        EventKind::IterationStarted(mut start) => {
            (start.strategy, start.model) = (Some(text()), text());
            EventKind::IterationStarted(start)
        }
        other => other,
    };
    let with_blocking = match ended(1, 0.0) {
        EventKind::IterationEnded { iteration, mut receipt } => {
            receipt.outcome = IterationOutcome::Failed { failure: IterationFailure::ErrorResult };
            receipt.blocking = Some(text());
            EventKind::IterationEnded { iteration, receipt }
        }
        other => other,
    };
    let question =
        Question { iteration: 1, id: "q".into(), about: QuestionAbout::Choice, text: text(), options: vec![text()] };
    let check =
        CheckFinished { iteration: 1, command: text(), passed: false, exit_code: 1, output: text(), duration_ms: 0 };
    vec![
        with_title,
        with_strategy,
        with_blocking,
        says(1, &text()),
        says_more(1, &text()),
        EventKind::AgentThinking(AgentText { iteration: 1, text: text(), partial: false, parent: None }),
        calls(1, "t", &text(), json!({"command": text()})),
        calls(1, "u", &format!("mcp__{}__tool", text()), json!({})),
        calls(1, "v", "Edit", json!({"file_path": text(), "old_string": text(), "new_string": format!("x{}", text())})),
        returns(1, "open", true, &text()),
        EventKind::PermissionDenied { iteration: 1, tool: text(), id: "w".into(), message: text() },
        EventKind::Question(question),
        EventKind::Answered { id: "q".into(), text: text() },
        EventKind::Todo { items: vec![TodoItem { text: text(), state: TodoState::Open }] },
        EventKind::CheckFinished(check),
        EventKind::Waiting { iteration: 1, until: u64::MAX, reason: text() },
        EventKind::Steered { iteration: 1, text: text() },
        EventKind::StrategyChanged { iteration: 1, strategy: text(), reason: text() },
        EventKind::Warning { iteration: None, text: text() },
        verdict(VerdictKind::Failed, &text()),
    ]
}

#[test]
fn adversary_24_nothing_hides_on_the_screen() {
    for part in HIDDEN {
        for kind in everything_said(&format!("ab{part}cd")) {
            let mut state = fold_kinds([run_started(), started(1), calls(1, "open", "Read", json!({})), kind.clone()]);
            let shown = screen(&mut state, 200, 50);
            let bad = |letter: char| letter != '\n' && (letter.is_control() || clean::is_hidden(letter));
            assert!(shown.contains("ab") && !shown.contains(bad), "{part:?} in {kind:?}:\n{shown}");
            assert!(!shown.contains("abcd"), "what was hidden is shown: {part:?} in {kind:?}:\n{shown}");
        }
    }
}

#[test]
fn adversary_24_nothing_hides_in_what_is_pasted() {
    for part in HIDDEN {
        let mut state = fold_kinds([run_started(), started(1)]);
        press(&mut state, KeyEvent::new(KeyCode::Char('s'), KeyModifiers::NONE));
        paste(&mut state, &format!("ab{part}cd"));
        let shown = screen(&mut state, 80, 24);
        let bad = |letter: char| letter != '\n' && (letter.is_control() || clean::is_hidden(letter));
        assert!(shown.contains(" steer ▸ ab") && !shown.contains(bad), "{part:?}:\n{shown}");
    }
}
