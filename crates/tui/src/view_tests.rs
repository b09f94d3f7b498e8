use crate::fixture::{asks, at_work, ended, fold, fold_kinds, run_started, says, screen, started, verdict};
use crate::keys::press;
use crate::state::ScreenState;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use cycle::{EventKind, LoopEvent, VerdictKind};
use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::{Color, Modifier};

fn keys(state: &mut ScreenState, codes: &[KeyCode]) {
    for code in codes {
        press(state, KeyEvent::new(*code, KeyModifiers::NONE));
    }
}

#[test]
fn a_run_at_work() {
    let mut state = fold(&at_work());
    insta::assert_snapshot!("at_work_60x15", screen(&mut state, 60, 15));
    insta::assert_snapshot!("at_work_80x24", screen(&mut state, 80, 24));
    insta::assert_snapshot!("at_work_100x30", screen(&mut state, 100, 30));
    insta::assert_snapshot!("at_work_200x50", screen(&mut state, 200, 50));
    insta::assert_snapshot!("at_work_300x80", screen(&mut state, 300, 80));
}

#[test]
fn a_run_that_ended() {
    let done = verdict(VerdictKind::Done, "the promise was made and every check passed");
    let mut state = fold_kinds([
        run_started(),
        started(1),
        says(1, "# Done\n\n- one\n- two\n\n```rust\nlet x;\n```"),
        ended(1, 0.5),
        done,
    ]);
    insta::assert_snapshot!("ended_80x24", screen(&mut state, 80, 24));
}

#[test]
fn what_needs_a_person() {
    let mut state = fold_kinds([run_started(), started(1), asks(1, "q")]);
    insta::assert_snapshot!("question_60x15", screen(&mut state, 60, 15));
    keys(&mut state, &[KeyCode::Char('a'), KeyCode::Char('2')]);
    assert!(screen(&mut state, 60, 15).ends_with(" answer ▸ 2"));
}

#[test]
fn help_fits_the_smallest_screen() {
    let mut state = fold(&at_work());
    keys(&mut state, &[KeyCode::Char('?')]);
    insta::assert_snapshot!("help_60x15", screen(&mut state, 60, 15));
}

#[test]
fn what_is_special_is_said_in_the_rule() {
    let wait = EventKind::Waiting { iteration: 1, until: crate::fixture::START + 64_000, reason: "usage limit".into() };
    let mut state = fold_kinds([run_started(), started(1), ended(1, 0.0), wait]);
    assert!(screen(&mut state, 80, 24).contains("─ waits 1m 01s: usage limit ─"));
    let mut state = fold_kinds([run_started(), started(1), EventKind::Paused]);
    assert!(screen(&mut state, 80, 24).contains("paused: p goes on"));
    let mut state = fold(&at_work());
    keys(&mut state, &[KeyCode::Char('x')]);
    assert!(screen(&mut state, 80, 24).ends_with("stop now? x stops, any other key goes on"));
}

#[test]
fn a_silence_is_told_unless_a_tool_explains_it() {
    let call = crate::fixture::calls(1, "a", "Bash", serde_json::json!({"command": "make"}));
    for (kinds, told) in [(vec![run_started(), started(1)], true), (vec![run_started(), started(1), call], false)] {
        let mut state = fold_kinds(kinds);
        state.tick(state.now + 9_000);
        assert!(!screen(&mut state, 80, 24).contains("nothing heard"));
        state.tick(state.now + 66_000);
        assert_eq!(screen(&mut state, 80, 24).contains("─ nothing heard for 1m 15s ─"), told);
    }
}

/// The whole screen's styles that use red.
fn reds(state: &ScreenState) -> usize {
    let mut terminal = Terminal::new(TestBackend::new(100, 30)).unwrap();
    terminal.draw(|frame| super::view(state, frame)).unwrap();
    let alarm = |cell: &&ratatui::buffer::Cell| cell.fg == Color::Red && cell.modifier.contains(Modifier::BOLD);
    terminal.backend().buffer().content().iter().filter(alarm).count()
}

#[test]
fn red_is_only_for_what_needs_a_person() {
    assert_eq!(reds(&fold(&at_work())), 0, "failures of tools and checks are the loop's own business");
    assert!(reds(&fold_kinds([run_started(), started(1), asks(1, "q")])) > 0);
    assert!(reds(&fold_kinds([run_started(), verdict(VerdictKind::Stuck, "x")])) > 0);
    assert_eq!(reds(&fold_kinds([run_started(), verdict(VerdictKind::Done, "x")])), 0);
}

const BIDI: char = '\u{202e}';

/// Any kind of event, with any text in it.
fn any_event() -> impl Strategy<Value = EventKind> {
    use crate::fixture::{calls, check_failed, returns, says_more};
    let text = "\\PC{0,60}|[a-z `*#|\\-\n\u{1b}\u{202e}世]{0,200}";
    prop_oneof![
        Just(run_started()),
        (0u32..5).prop_map(started),
        (0u32..5, text).prop_map(|(n, text)| says(n, &text)),
        (0u32..5, text).prop_map(|(n, text)| says_more(n, &text)),
        (0u32..5, "[a-c]", text).prop_map(|(n, id, text)| calls(n, &id, "Bash", serde_json::json!({"command": text}))),
        (0u32..5, "[a-c]", text).prop_map(|(n, id, text)| calls(
            n,
            &id,
            "Edit",
            serde_json::json!({"old_string": "a", "new_string": text})
        )),
        (0u32..5, "[a-c]", any::<bool>(), text).prop_map(|(n, id, bad, text)| returns(n, &id, bad, &text)),
        (0u32..5).prop_map(|n| asks(n, "q")),
        text.prop_map(|text| EventKind::Answered { id: "q".into(), text }),
        text.prop_map(|text| EventKind::Warning { iteration: None, text }),
        (any::<u64>(), text).prop_map(|(until, reason)| EventKind::Waiting { iteration: 1, until, reason }),
        (0u32..5).prop_map(check_failed),
        (0u32..5, any::<f64>()).prop_map(|(n, cost)| ended(n, cost)),
        text.prop_map(|text| verdict(VerdictKind::Failed, &text)),
        Just(EventKind::Paused),
        Just(EventKind::Resumed),
    ]
}

fn any_key() -> impl Strategy<Value = KeyCode> {
    let letters = prop::sample::select("?/nNfekjgGpsaxqh[] 2".chars().collect::<Vec<_>>()).prop_map(KeyCode::Char);
    let others = [
        KeyCode::PageUp,
        KeyCode::PageDown,
        KeyCode::Home,
        KeyCode::End,
        KeyCode::Tab,
        KeyCode::BackTab,
        KeyCode::Enter,
        KeyCode::Esc,
        KeyCode::Left,
        KeyCode::Backspace,
    ];
    prop_oneof![letters, prop::sample::select(others.to_vec())]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn anything_renders_at_any_size(
        events in prop::collection::vec((any::<u64>(), any_event()), 0..30),
        pressed in prop::collection::vec(any_key(), 0..12),
        width in 0u16..310,
        height in 0u16..90,
    ) {
        let events: Vec<LoopEvent> = events.into_iter().map(|(at, kind)| kind.at(at)).collect();
        let mut state = fold(&events);
        state.reader.size = (width, height);
        for code in pressed {
            press(&mut state, KeyEvent::new(code, KeyModifiers::NONE));
        }
        let shown = screen(&mut state, width, height);
        prop_assert!(!shown.chars().any(|c| c.is_control() && c != '\n'), "{shown:?}");
        prop_assert!(!shown.contains(BIDI), "{shown:?}");
    }
}
