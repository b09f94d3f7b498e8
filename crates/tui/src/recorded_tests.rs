//! Screens of runs that were recorded: the demo; a run with a usage limit, a failed check, a message and a
//! question; and one that failed.

use crate::fixture::screen;
use crate::keys::press;
use crate::replay::{Recording, RecordingContext};
use crate::state::ScreenState;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use cycle::{EventKind, LoopEvent};

const DEMO: &str = include_str!("recordings/demo.ndjson");
const TROUBLE: &str = include_str!("recordings/trouble.ndjson");
const FAILING: &str = include_str!("recordings/failing.ndjson");

fn events(recording: &str) -> Vec<LoopEvent> {
    let read = Recording::read(recording.as_bytes(), RecordingContext::default()).unwrap();
    assert_eq!(read.skipped(), 0);
    read.into_events()
}

fn whole(recording: &str) -> ScreenState {
    until(recording, |_| false)
}

/// The run up to the first event like this.
fn until(recording: &str, last: impl Fn(&EventKind) -> bool) -> ScreenState {
    let mut state = ScreenState::default();
    for event in events(recording) {
        state.apply(&event);
        if last(&event.kind) {
            break;
        }
    }
    state
}

fn keys(state: &mut ScreenState, size: (u16, u16), typed: &str) {
    state.reader.size = size;
    for c in typed.chars() {
        let code = match c {
            '\n' => KeyCode::Enter,
            '\t' => KeyCode::Tab,
            other => KeyCode::Char(other),
        };
        press(state, KeyEvent::new(code, KeyModifiers::NONE));
    }
}

macro_rules! assert_screens {
    ($state:expr, $name:literal, $(($width:literal, $height:literal)),+) => {
        $(insta::assert_snapshot!(
            concat!($name, "_", stringify!($width), "x", stringify!($height)),
            screen(&mut $state, $width, $height)
        );)+
    };
}

#[test]
fn calls_and_a_diff() {
    let mut state =
        until(DEMO, |kind| matches!(kind, EventKind::ToolCall(call) if call.input["new_string"] == "[ $# -gt 0 ]"));
    assert_screens!(state, "diff", (80, 24), (200, 50), (60, 15), (300, 80));
}

#[test]
fn markdown_as_it_streams() {
    for (name, size) in [("80x24", (80, 24)), ("200x50", (200, 50)), ("60x15", (60, 15))] {
        let mut state = ScreenState::default();
        let mut shots = Vec::new();
        for event in events(TROUBLE) {
            state.apply(&event);
            if matches!(&event.kind, EventKind::AgentText(speech) if speech.partial) {
                shots.push(screen(&mut state, size.0, size.1));
            }
        }
        let shot = |part: &str| shots.iter().find(|shot| shot.contains(part)).unwrap();
        insta::assert_snapshot!(format!("streaming_code_{name}"), shot("let end = text.len▌"));
        insta::assert_snapshot!(format!("streaming_table_{name}"), shot("value wanted"));
        // Marks that are still open never show as such.
        let flickers = |shot: &&String| shot.contains("**") || shot.contains("``") || shot.contains("| ");
        assert_eq!(shots.iter().find(flickers), None);
    }
}

#[test]
fn a_limit_with_its_countdown() {
    let mut state = until(TROUBLE, |kind| matches!(kind, EventKind::Waiting { .. }));
    assert_screens!(state, "limit", (80, 24), (200, 50), (60, 15));
    state.tick(state.now + 4_000);
    assert!(screen(&mut state, 80, 24).contains("── waits 7s: the usage limit is reached "));
}

#[test]
fn a_check_that_failed() {
    let mut state = until(TROUBLE, |kind| matches!(kind, EventKind::CheckFinished(check) if !check.passed));
    assert_screens!(state, "check_failed", (80, 24), (200, 50));
}

#[test]
fn a_pause() {
    let mut state = until(TROUBLE, |kind| matches!(kind, EventKind::Paused));
    assert_screens!(state, "paused", (80, 24));
}

#[test]
fn a_question_to_a_person() {
    let mut state = until(TROUBLE, |kind| matches!(kind, EventKind::Question(_)));
    assert_screens!(state, "question", (80, 24), (200, 50), (60, 15));
    keys(&mut state, (80, 24), "aquotes win");
    assert!(screen(&mut state, 80, 24).ends_with(" answer ▸ quotes win"));
}

#[test]
fn the_end() {
    let mut state = whole(DEMO);
    assert_screens!(state, "done", (80, 24), (200, 50), (60, 15), (300, 80));
    let mut state = whole(FAILING);
    assert_screens!(state, "failed", (80, 24), (200, 50));
}

#[test]
fn help_over_a_run() {
    let mut state = until(DEMO, |kind| matches!(kind, EventKind::ToolCall(_)));
    keys(&mut state, (80, 24), "?");
    assert_screens!(state, "help", (80, 24), (200, 50));
}

#[test]
fn a_search() {
    let mut state = whole(TROUBLE);
    keys(&mut state, (80, 24), "/rfind\nn");
    assert_screens!(state, "search", (80, 24));
    let mut state = whole(TROUBLE);
    keys(&mut state, (200, 50), "/rfind\nn");
    assert_screens!(state, "search", (200, 50));
}

#[test]
fn filters() {
    let mut state = whole(TROUBLE);
    keys(&mut state, (80, 24), "ff");
    assert_screens!(state, "only_tools", (80, 24), (200, 50));
    keys(&mut state, (80, 24), "f");
    assert_screens!(state, "only_problems", (80, 24), (200, 50));
}

#[test]
fn an_unfolded_call() {
    let mut state = whole(TROUBLE);
    keys(&mut state, (80, 24), "\t\t\n");
    assert_screens!(state, "unfolded", (80, 24), (200, 50));
    let mut state = until(FAILING, |kind| matches!(kind, EventKind::IterationEnded { .. }));
    keys(&mut state, (80, 24), "e");
    assert_screens!(state, "all_unfolded", (80, 24));
}
